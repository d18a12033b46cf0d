// The command history: the last changes of a row. The journal is read on a thread, one call after the other.
#include <algorithm>
#include <atomic>
#include <memory>
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
    Rows rows = Rows::Written;
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
    auto found = journal::history_of(call.files, call.table, call.key, call.rows,
                                     {.changes = call.count, .bytes = limits::kHistoryBytes, .is_over = is_over});
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
constexpr std::size_t kFields = 64;             // Fields of one change in an answer.
constexpr std::size_t kValue = 200;             // Bytes of a value.
constexpr std::size_t kFieldBytes = 64 * 1024;  // Fields of a change up to so many bytes: kCountUpTo of them fit kAdminOutputBytes.

json::value value_json(const std::optional<std::string>& value) {
  return value ? json::value(text(shorten(*value, kValue))) : json::value(nullptr);
}

json::object object_of(const journal::HistoryChange& change) {
  json::object row{{"at", microsecond_text(change.wall)}, {"op", to_string(change.op)}};
  if (!change.by.empty()) row["by"] = sentence(change.by);
  json::array fields;
  std::size_t bytes = 0;
  for (const journal::HistoryField& field : change.fields) {
    if (fields.size() == kFields || bytes >= kFieldBytes) break;
    json::object one{{"name", text(shorten(field.name, kValue))}, {"after", value_json(field.after)}};
    if (field.is_known) one["before"] = value_json(field.before);
    bytes += json::serialize(one).size();
    fields.push_back(std::move(one));
  }
  if (change.fields.size() > fields.size()) row["fields_beyond"] = change.fields.size() - fields.size();
  row["fields"] = std::move(fields);
  return row;
}

/// Answers with the changes from 'next' on, one page a turn.
void send_pages(const std::shared_ptr<const journal::History>& history, std::size_t next, Reply reply) {
  while (next < history->changes.size() && !reply.page_full()) reply.row(object_of(history->changes[next++]));
  if (next < history->changes.size()) return reply.next_turn([history, next](Reply later) { send_pages(history, next, std::move(later)); });
  json::object result{{"damaged", history->is_damaged}};
  if (!history->stopped.empty()) result["stopped"] = history->stopped;
  reply.finish(result);
}

void answer_with(HistoryReader::Call& call, Reply reply) {
  if (!call.status.ok()) return reply.fail(call.status);
  reply.expect_rows();
  send_pages(std::make_shared<const journal::History>(std::move(call.history)), 0, std::move(reply));
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
  const auto is_whole = [&](const TableSpec& spec) { return spec.name == table && spec.kind == TableKind::Watched; };
  const Rows rows = std::ranges::any_of(context.runtime.store().tables(), is_whole) ? Rows::Whole : Rows::Written;
  HistoryReader::Call call{.files = journal->files(), .table = table, .key = {}, .rows = rows, .count = static_cast<std::size_t>(count)};
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
