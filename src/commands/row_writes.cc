// The commands that write one row: set and del. A `set` that replaces or unsets fields reads the row first. It is a Set of fields if no
// field is removed, otherwise a Delete and a Set, written in one turn.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "commands/change_text.h"
#include "commands/context.h"
#include "commands/store_sink.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace json = boost::json;

namespace {

/// Maximum time that a write waits for its row, as for watch.
constexpr std::int64_t kWaitMsMost = 1'000'000'000;

/// One call of `set` or `del`.
struct RowWrite {
  std::string table;
  Change change;
  bool replace = false;
  std::vector<std::string> unset = {};
  std::optional<std::chrono::milliseconds> wait = {};
};

Status check_unset(const RowWrite& write) {
  for (const Field field : write.change.fields()) {
    if (std::ranges::find(write.unset, field.name) == write.unset.end()) continue;
    return {StatusCode::InvalidArgument, "field " + quoted(field.name) + " is both set and unset"};
  }
  return {};
}

/// Returns the changes after which the row, whose present content is 'row', has the requested content. 'row' is empty if there is none.
std::vector<Change> changes_of(const RowWrite& write, const Record& row) {
  const Fields set = write.change.fields();
  std::vector<Field> left;  // Fields of the row that the call did not name.
  bool goes = false;
  if (row) {
    for (const Field field : row.fields()) {
      if (set.contains(field.name)) continue;
      if (write.replace || std::ranges::find(write.unset, field.name) != write.unset.end()) {
        goes = true;
      } else {
        left.push_back(field);
      }
    }
  }
  if (!goes) return {write.change};
  for (const Field field : set) left.push_back(field);
  return {Change::remove(write.change.key()), Change::set(write.change.key(), std::span<const Field>{left})};
}

/// Tells a log what a write changes, when the row of before it is read and the store has accepted the write.
struct ToldChange {
  Reply::TellChange tell;
  std::vector<Change> changes;
  std::optional<Result<Record>> before = {};
  bool is_written = false;

  void check() const {
    if (!before || !is_written) return;
    const FieldValues row = *before ? values_of(**before) : std::nullopt;
    const ChangeText text = change_text(row, values_after(row, changes));
    tell(*before ? text.before : "(unknown)", text.after);
  }
};

/// Has the store read the row as it is before the writes that follow. Null: no log wants it. While changes of the table wait, the row's
/// content is unknown.
std::shared_ptr<ToldChange> read_before(Context& context, const RowWrite& write, const std::vector<Change>& changes, Reply& reply) {
  Reply::TellChange tell = reply.tell_change();
  if (!tell) return nullptr;
  auto told = std::make_shared<ToldChange>(ToldChange{.tell = std::move(tell), .changes = changes});
  if (const auto size = context.runtime.store().size(write.table); size && size->staged > 0) {
    told->before = failure(StatusCode::FailedPrecondition, "changes wait");
    return told;
  }
  get_row(context.runtime.store(), write.table, write.change.key(), reply, [told](const Result<Record>& row) {
    told->before = row;
    told->check();
  });
  return told;
}

/// The number of the newest change, if its row's trace can name it.
json::object answer_of(const RowWaits::Written& written) {
  return written.change == 0 ? json::object{} : json::object{{"change", written.change}};
}

/// Writes the changes, in order. The end of the last one, or the outcome of the row, ends 'reply'.
void write_changes(Context& context, const RowWrite& write, const std::vector<Change>& changes, Reply reply) {
  Store& store = context.runtime.store();
  const std::string key{write.change.key()};
  // Done means on the disk, or in the server, if the table's contract says so.
  const WriteAnswer when = context.failures.answer_of(write.table);
  const bool waits = WriteFailures::waits_for_end(when);
  const auto written = std::make_shared<RowWaits::Written>(RowWaits::Written{.is_stored = !waits});
  if (write.wait) {
    const Instant deadline = context.runtime.clock().now() + *write.wait;
    if (Status added = context.waits.add(write.table, changes.back(), deadline, written, reply); !added.ok()) {
      return reply.fail(added.with_context("nothing was written"));
    }
  }
  const std::shared_ptr<ToldChange> told = read_before(context, write, changes, reply);
  for (const Change& change : changes) {
    WriteDone done;
    if (waits) {
      const bool is_last = &change == &changes.back();
      const bool ends = is_last && !write.wait;
      done = [answer = context.failures.answerer(when, key), is_last, ends, written, reply](const Status& end) mutable {
        if (!end.ok()) {
          const Status why = answer(end);
          if (reply.wanted()) reply.fail(why);
          return;
        }
        written->is_stored = written->is_stored || is_last;
        if (ends && reply.wanted()) reply.finish(answer_of(*written));  // Otherwise it was answered that the store does not confirm it.
      };
    }
    if (const Status accepted = store.write(write.table, change, done); !accepted.ok()) {
      context.waits.check_soon();
      return reply.fail(accepted);
    }
    written->change = context.watchers.written(write.table, change);
  }
  if (told != nullptr) {
    told->is_written = true;
    told->check();
  }
  if (waits && !write.wait) context.waits.add_unconfirmed(reply);
  if (!waits && !write.wait) reply.finish(answer_of(*written));
}

/// Reads the row first. While changes of the table wait, the row's next content is unknown here.
void write_after_read(Context& context, std::shared_ptr<const RowWrite> write, Reply reply) {
  Store& store = context.runtime.store();
  if (const auto size = store.size(write->table); !write->replace && size && size->staged > 0) {
    return reply.fail(Status{StatusCode::FailedPrecondition,
                             "changes of " + write->table + " wait for its consumer, so what the row holds is not known"});
  }
  get_row(store, write->table, write->change.key(), reply,
          [of = context.weak_from_this(), write, reply](const Result<Record>& row) mutable {
            const std::shared_ptr<Context> alive = of.lock();
            if (alive == nullptr || !reply.wanted()) return;
            if (!row) return reply.fail(row.error());
            if (!*row && !write->replace && write->change.fields().empty()) {
              return reply.fail(Status{StatusCode::NotFound, "no row '" + escape_text(write->change.key()) + "' in " + write->table});
            }
            if (!*row && !write->replace) return write_changes(*alive, *write, {write->change}, std::move(reply));
            std::vector<Change> changes = changes_of(*write, *row);
            // The row's newest changes are unknown, so a Delete comes first to remove fields that this call cannot name.
            const auto size = alive->runtime.store().size(write->table);
            if (changes.size() == 1 && size && size->staged > 0) changes.insert(changes.begin(), Change::remove(write->change.key()));
            write_changes(*alive, *write, changes, std::move(reply));
          });
}

Change with_key(const Change& change, std::string_view key) {
  std::vector<Field> fields;
  for (const Field field : change.fields()) fields.push_back(field);
  return {change.op(), Record::make(key, fields)};
}

/// Writes the row that the key denotes.
void write_row(Context& context, RowWrite write, Reply reply) {
  const std::string table = write.table;
  const std::string given{write.change.key()};
  context.with_key(table, given, reply, [of = context.weak_from_this(), write = std::move(write), reply](const std::string& key) {
    const std::shared_ptr<Context> alive = of.lock();
    if (alive == nullptr) return;
    if (const Status claimed = check_claim(alive->claim_of(write.table, key), write.table, key); !claimed.ok()) {
      return Reply{reply}.fail(claimed);
    }
    RowWrite named = write;
    if (named.change.key() != key) named.change = with_key(write.change, key);
    if (!named.replace && named.unset.empty()) return write_changes(*alive, named, {named.change}, reply);
    write_after_read(*alive, std::make_shared<const RowWrite>(std::move(named)), reply);
  });
}

/// Reads the parts of a call that set and del share. Empty when 'reply' has failed.
std::optional<RowWrite> read_call(Context& context, const Arguments& arguments, Change change, Reply& reply) {
  RowWrite write{.table = arguments.text("table"), .change = std::move(change)};
  if (Status known = check_written_table(context.runtime, write.table); !known.ok()) return reply.fail(known), std::nullopt;
  if (Status bad = check_record(write.change.record()); !bad.ok()) return reply.fail(bad), std::nullopt;
  if (!arguments.has("wait_ms")) return write;
  const std::int64_t wait_ms = arguments.integer("wait_ms", 0);
  if (wait_ms < 1 || wait_ms > kWaitMsMost) {
    reply.fail(Status{StatusCode::InvalidArgument, "'wait_ms' must be from 1 to " + std::to_string(kWaitMsMost)});
    return std::nullopt;
  }
  write.wait = std::chrono::milliseconds{wait_ms};
  return write;
}

void command_set(Context& context, const Arguments& arguments, Reply reply) {
  const std::string key = arguments.text("key");
  const auto pairs = arguments.fields();
  std::vector<Field> fields;
  for (const auto& [name, value] : pairs) fields.push_back({name, value});
  if (Status bad = check_record(key, fields); !bad.ok()) return reply.fail(bad);
  std::optional<RowWrite> write = read_call(context, arguments, Change::set(key, std::span<const Field>{fields}), reply);
  if (!write) return;
  write->replace = arguments.flag("replace");
  if (arguments.has("unset")) {
    for (auto& [name, value] : arguments.fields("unset")) write->unset.push_back(std::move(name));
  }
  if (Status bad = check_unset(*write); !bad.ok()) return reply.fail(bad);
  write_row(context, *std::move(write), std::move(reply));
}

void command_del(Context& context, const Arguments& arguments, Reply reply) {
  const std::string key = arguments.text("key");
  if (Status bad = check_record(key, {}); !bad.ok()) return reply.fail(bad);
  std::optional<RowWrite> write = read_call(context, arguments, Change::remove(key), reply);
  if (write) write_row(context, *std::move(write), std::move(reply));
}

}  // namespace

void add_write_commands(StandardAdder& commands) {
  const ArgumentSpec wait =
      optional("wait_ms", ArgumentKind::Integer, "Answer when the row is done, rejected or parked, or after this time");
  commands.add({.name = "set",
                .help = "Write a row; fields that are not named keep their value",
                .arguments = {table_argument(), key_argument(), optional("fields", ArgumentKind::Fields, "Fields"), wait,
                              optional("replace", ArgumentKind::Flag, "Fields that are not named go"),
                              optional("unset", ArgumentKind::Fields, "Fields that go; their values do not count")}},
               command_set);
  commands.add({.name = "del", .help = "Delete a row", .arguments = {table_argument(), key_argument(), wait}}, command_del);
}

}  // namespace rondo::commands
