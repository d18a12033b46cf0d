// The commands for a support bundle (rondo dump): config, limits, health, log. Nothing they answer holds a secret.
#include <sys/utsname.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "rondo/admin/secrets.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondod/answers.h"
#include "rondod/command_adder.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;

/// Hides secrets in each text. Keys that let clients in are named, not shown.
void hide_in(json::value& value, std::string_view name) {
  if (auto* const object = value.if_object()) {
    for (auto& member : *object) hide_in(member.value(), {member.key().data(), member.key().size()});
  } else if (auto* const array = value.if_array()) {
    for (json::value& element : *array) hide_in(element, name);
  } else if (auto* const given = value.if_string()) {
    value = name == "allowed_clients" ? json::value("***") : json::value(hide_secrets({given->data(), given->size()}));
  }
}

void command_config(const CommandContext& context, Reply reply) {
  json::value config = json::parse(to_json(context.config));
  hide_in(config, {});
  reply.finish(config.get_object());
}

/// What of the page of limits an operator may meet.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 24> kShownLimits{{
    {"batch_items", limits::kBatchItems},
    {"turn_time_us", static_cast<std::uint64_t>(limits::kTurnTime.count() / 1000)},
    {"long_turn_us", static_cast<std::uint64_t>(limits::kLongTurn.count() / 1000)},
    {"mailbox_messages", limits::kMailboxMessages},
    {"timers_per_turn", limits::kTimersPerTurn},
    {"name_bytes", limits::kNameBytes},
    {"value_bytes", limits::kValueBytes},
    {"record_bytes", limits::kRecordBytes},
    {"fields", limits::kFields},
    {"tables", limits::kTables},
    {"table_rows", limits::kTableRows},
    {"queued_events", limits::kQueuedEvents},
    {"ledger_rows", limits::kLedgerRows},
    {"waits_per_change", limits::kWaitsPerChange},
    {"why_links", limits::kWhyDepth},
    {"why_facts", limits::kWhyFacts},
    {"rejections_kept", limits::kRejectionsKept},
    {"journal_bytes", limits::kJournalBytes},
    {"programmer_orders", limits::kProgrammerOps},
    {"netlink_batch", limits::kNetlinkBatch},
    {"admin_connections", limits::kAdminConnections},
    {"admin_frame_bytes", limits::kAdminFrameBytes},
    {"admin_page_rows", limits::kAdminPageRows},
    {"watch_events", limits::kWatchEvents},
}};

void command_limits(const CommandContext&, Reply reply) {
  json::object all;
  for (const auto& [name, value] : kShownLimits) all[name] = value;
  reply.finish(all);
}

void add_file_troubles(const std::string& path, const TableFileFigures& file, Instant now, json::array& troubles) {
  if (!file.trouble.ok()) {
    const std::string seconds = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - file.failing_since).count());
    troubles.push_back(
        text("file " + path + ": nothing could be written for " + seconds + " s, " + std::to_string(file.waiting) +
             " records wait and are lost when the daemon ends before there is room: " + std::string{file.trouble.message()}));
  }
  if (!file.damage.empty()) {
    troubles.push_back(text("file " + path + " was damaged when it was opened, " + std::to_string(file.damage.size()) +
                            " parts are lost (the first: " + file.damage.front() + "); kept as " + file.damaged_file +
                            "; feed the tables again"));
  }
}

/// Troubles that are known, each in words; none of them: "healthy".
void command_health(const CommandContext& context, Reply reply) {
  Runtime& runtime = context.runtime;
  json::array troubles;
  if (const Status store = runtime.store().health(); !store.ok()) troubles.push_back(text("store: " + hide_secrets(store.message())));
  const Instant now = runtime.clock().now();
  for (const std::unique_ptr<TableFile>& file : context.files) add_file_troubles(file->path(), file->figures(), now, troubles);
  runtime.scheduler().for_each_source([&troubles](const Source& source) {
    if (source.quarantine().ok() || troubles.size() >= limits::kAdminPageRows) return;
    troubles.push_back(text("source " + std::string{source.name()} + " is quarantined: " + std::string{source.quarantine().message()}));
  });
  const auto count = [&troubles](std::uint64_t number, std::string_view what) {
    if (number != 0) troubles.push_back(text(std::to_string(number) + " " + std::string{what}));
  };
  count(runtime.scheduler().stats().sweep_rescues, "lost wake-ups were rescued");
  count(runtime.journal().stats().write_errors, "writes of the journal failed");
  count(runtime.journal().stats().dropped, "records of the journal were dropped");
  count(context.failures.count(), "accepted writes failed later");
  count(context.agent.programmer().stats().failed, "orders were refused by the data plane");
  utsname system{};
  ::uname(&system);
  reply.finish(json::object{{"healthy", troubles.empty()},
                            {"troubles", std::move(troubles)},
                            {"kernel", json::object{{"system", text(system.sysname)},
                                                    {"release", text(system.release)},
                                                    {"version", text(system.version)},
                                                    {"machine", text(system.machine)}}}});
}

void command_log(const CommandContext& context, Reply reply) {
  answer_each(std::move(reply), context.log.lines(), [](const std::string& line) {
    return json::object{{"line", text(hide_secrets(line))}};
  });
}

}  // namespace

void add_support_commands(CommandAdder& commands) {
  commands.add({"config", "The configuration in force, without secrets", {}}, command_config);
  commands.add({"limits", "The bounds that an operator may meet", {}}, command_limits);
  commands.add({"health", "Known troubles, and the kernel", {}}, command_health);
  commands.add({"log", "The newest lines of the daemon's log, without secrets", {}}, command_log);
}

}  // namespace rondo::daemon
