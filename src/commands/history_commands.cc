// The command history: the last changes of a row. The journal is read on a thread, one call after the other.
#include <atomic>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "commands/context.h"
#include "commands/store_sink.h"
#include "journal/history.h"
#include "journal/recorder.h"
#include "rondo/base/clock.h"
#include "rondo/commands/limits.h"
#include "rondo/sched/executor.h"
#include "sched/executor_tap.h"

namespace rondo::commands {

namespace json = boost::json;

/// Scheduler's thread. Its end ends a reading that is under way.
struct HistoryReader {
  struct Call {
    std::vector<std::string> files;
    std::string table;
    std::string key;
    std::size_t count = 0;
    journal::History history = {};
    Status status = {};
  };

  HistoryReader(Scheduler& scheduler, Priority priority)
      : executor(
            scheduler,
            [this](std::span<Call> calls) {
              for (Call& call : calls) read(call);
            },
            {.name = "journal history",
             .target = "the journal",
             .priority = priority,
             .operations_max = limits::kHistoryCalls,
             .batch_max = 1,
             .at_end = ExecutorEnd::Drop},
            unrecorded) {}
  ~HistoryReader() { is_ending = true; }
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;

  void read(Call& call) const {
    const SystemClock clock;
    const auto is_over = [&, until = clock.now() + limits::kHistoryTime] { return is_ending || clock.now() >= until; };
    auto found =
        journal::history_of(call.files, call.table, call.key, {.changes = call.count, .bytes = limits::kHistoryBytes, .is_over = is_over});
    if (!found) call.status = found.error();
    if (found) call.history = *std::move(found);
  }

  std::atomic<bool> is_ending = false;
  ExecutorTap unrecorded;  // A replay reads no files.
  Executor<Call> executor;
};

namespace {

constexpr std::int64_t kCount = 20;  // Without an argument.
constexpr std::int64_t kCountUpTo = 100;
constexpr std::size_t kFields = 64;  // Fields of one change in an answer.
constexpr std::size_t kValue = 200;  // Bytes of a value.

json::value value_json(const std::optional<std::string>& value) {
  return value ? json::value(text(shorten(*value, kValue))) : json::value(nullptr);
}

json::object object_of(const journal::HistoryChange& change) {
  json::object row{{"at", microsecond_text(change.wall)}, {"op", to_string(change.op)}};
  if (!change.by.empty()) row["by"] = sentence(change.by);
  json::array fields;
  for (const journal::HistoryField& field : change.fields) {
    if (fields.size() == kFields) break;
    json::object one{{"name", text(shorten(field.name, kValue))}, {"after", value_json(field.after)}};
    if (field.is_known) one["before"] = value_json(field.before);
    fields.push_back(std::move(one));
  }
  row["fields"] = std::move(fields);
  if (change.fields.size() > kFields) row["fields_beyond"] = change.fields.size() - kFields;
  return row;
}

void answer_with(const HistoryReader::Call& call, Reply reply) {
  if (!call.status.ok()) return reply.fail(call.status);
  reply.expect_rows();
  for (const journal::HistoryChange& change : call.history.changes) reply.row(object_of(change));
  json::object result{{"damaged", call.history.is_damaged}};
  if (!call.history.stopped.empty()) result["stopped"] = call.history.stopped;
  reply.finish(result);
}

void read(Context& context, HistoryReader::Call call, Reply reply) {
  if (context.history == nullptr) {
    context.history = std::make_shared<HistoryReader>(context.runtime.scheduler(), context.options.priority);
  }
  if (!context.history->executor.has_room()) {
    const std::string calls = std::to_string(context.history->executor.in_flight());
    return reply.fail({StatusCode::ResourceExhausted, calls + " calls wait for a reading of the journal: try again later"});
  }
  std::vector<HistoryReader::Call> calls;
  calls.push_back(std::move(call));
  context.history->executor.submit(0, std::move(calls), [reply](std::span<HistoryReader::Call> read) { answer_with(read.front(), reply); });
}

void command_history(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  if (const Status known = check_table(context.runtime.store(), table); !known.ok()) return reply.fail(known);
  const std::int64_t count = arguments.integer("count", kCount);
  if (count < 1 || count > kCountUpTo)
    return reply.fail({StatusCode::InvalidArgument, "'count' must be from 1 to " + std::to_string(kCountUpTo)});
  const JournalRecorder* const journal = JournalRecorder::of(context.runtime);
  if (journal == nullptr || journal->files().empty()) {
    return reply.fail({StatusCode::FailedPrecondition,
                       "the program has no journal, which keeps the changes of rows: rondod has one with 'file' in the section [journal]"});
  }
  HistoryReader::Call call{.files = journal->files(), .table = table, .key = {}, .count = static_cast<std::size_t>(count)};
  context.with_key(table, arguments.text("key"), reply,
                   [of = context.weak_from_this(), call = std::move(call), reply](const std::string& key) mutable {
                     const std::shared_ptr<Context> alive = of.lock();
                     if (alive == nullptr) return;
                     call.key = key;
                     read(*alive, std::move(call), reply);
                   });
}

}  // namespace

void add_history_command(StandardAdder& commands) {
  commands.add({.name = "history",
                .help = "List the last changes of a row, the newest first, from the journal",
                .arguments = {table_argument(), key_argument(), optional("count", ArgumentKind::Integer, "1 to 100, by default 20")},
                .effect = CommandEffect::Reads},
               command_history);
}

}  // namespace rondo::commands
