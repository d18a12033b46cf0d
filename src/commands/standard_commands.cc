#include "rondo/commands/standard_commands.h"

#include <utility>

#include "admin/peer.h"
#include "admin/server.h"
#include "commands/answers.h"
#include "commands/context.h"
#include "commands/store_sink.h"
#include "rondo/journal/journal.h"

namespace rondo {

namespace commands {

void Context::with_key(const std::string& table, const std::string& key, const Reply& reply,
                       std::function<void(const std::string& key)> use) {
  const CanonicalKey canonical_key = canonical_key_of(table);
  const std::optional<std::string> canonical = canonical_key != nullptr ? canonical_key(key) : std::nullopt;
  if (!canonical) return use(key);
  get_row(runtime.store(), table, key, reply,
          [key, canonical = *canonical, use = std::move(use)](const Result<Record>& record) { use(record && *record ? key : canonical); });
}

namespace {
constexpr Duration kPeriod = 1s;
}  // namespace

Context::Context(CommandRegistry& commands, Runtime& of, StandardCommandsOptions given)
    : registry(commands),
      runtime(of),
      options(std::move(given)),
      started(of.clock().now()),
      failures(of.store()),
      watchers(of, options.priority),
      waits(of, options.priority),
      timer("incidents", options.priority, [this] { check(); }) {
  runtime.scheduler().add(timer);
  timer.arm_every(kPeriod, started + kPeriod);
}

// Without its timer nothing would end the record.
Context::~Context() { runtime.scheduler().end_turn_record(); }

void Context::check() {
  incidents.check(runtime, failures);
  end_unread_turns(runtime.scheduler(), runtime.clock().now());
}

}  // namespace commands

commands::Context& commands::context_of(StandardCommands& commands) noexcept { return *commands.context_; }

StandardCommands::StandardCommands(std::shared_ptr<commands::Context> context) : context_(std::move(context)) {}

StandardCommands::~StandardCommands() = default;

Status StandardCommands::serve(AdminServerOptions options) {
  if (is_serving()) return {StatusCode::FailedPrecondition, "the commands are already served at " + context_->server->path()};
  const auto make_sink = [context = context_.get()] {
    return std::make_unique<commands::StoreSink>(context->runtime, context->failures, context->watchers, context->options.canonical_key,
                                                 context->options.claim_of);
  };
  AdminServerSetup setup{std::move(options)};
  setup.on_notice = context_->on_notice;
  setup.on_write = [journal = Journal::of(context_->runtime), context = context_.get()](const AdminWrite& write) {
    if (journal != nullptr && journal->on()) {
      const std::string who = write.caller.token.empty() ? std::string{} : name_of(write.caller) + " ";
      const std::string rows = write.rows == 1 ? std::string{} : ", " + std::to_string(write.rows) + " rows";
      journal->written_by(write.caller.user, write.caller.process, who + std::string{write.command} + " " + std::string{write.what} + rows);
    }
    if (context->on_write && !write.is_told_later) context->on_write(write);
  };
  setup.on_change = [context = context_.get()] { return context->on_write; };
  auto server = AdminServer::open(context_->runtime.scheduler(), context_->registry, std::move(setup), make_sink);
  if (!server) return server.error().with_context("opening the admin socket");
  context_->server = std::move(*server);
  return {};
}

void StandardCommands::stop_serving() { context_->server.reset(); }

bool StandardCommands::is_serving() const noexcept { return context_->server != nullptr; }

std::uint64_t StandardCommands::failed_writes() const noexcept { return context_->failures.count(); }

const Status& StandardCommands::last_failed_write() const noexcept { return context_->failures.last(); }

Result<std::unique_ptr<StandardCommands>> add_standard_commands(CommandRegistry& registry, Runtime& runtime,
                                                                StandardCommandsOptions options) {
  auto context = std::make_shared<commands::Context>(registry, runtime, std::move(options));
  commands::StandardAdder adder(registry, context);
  for (const auto add : {commands::add_row_commands, commands::add_write_commands, commands::add_batch_command, commands::add_why_commands,
                         commands::add_figure_commands, commands::add_watch_commands, commands::add_turn_commands,
                         commands::add_support_commands, commands::add_history_command}) {
    add(adder);
  }
  if (!adder.status().ok()) return failure(adder.status());
  return std::unique_ptr<StandardCommands>{new StandardCommands(std::move(context))};
}

}  // namespace rondo
