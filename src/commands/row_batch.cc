// The command `write`: rows of any tables, all of them or none. One request is checked as a whole and then written within one turn, so no
// other writer comes between the check and the writes, consumers find all rows, and a durable store puts them into one commit. Its
// neighbour is row_writes.cc, which writes one row. Scheduler's thread; at most limits::kAdminRequestValues JSON values in a turn,
// which take it some 2 ms.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "commands/change_text.h"
#include "commands/context.h"
#include "commands/store_sink.h"
#include "rondo/base/limits.h"
#include "store/table_rules.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

/// Why a batch is refused, and because of which of its rows.
struct Refusal {
  std::size_t row = 0;
  Status why;
};

Status check_fields(const RowArgument& row) {
  std::vector<Field> fields;
  for (const auto& [name, value] : row.fields) fields.push_back({name, value});
  const Status named = row.is_delete ? Status{} : store::check_names(row.key, fields);
  return named.ok() ? check_record(row.key, fields) : named;
}

/// True if the table takes 'changes' more, whatever their keys. A key that is both a row and staged counts twice, so a table that is nearly
/// full may be refused without need; none is accepted that has no room.
Status check_room(const Store& store, const TableSpec& spec, std::size_t changes) {
  const Result<Store::Size> size = store.size(spec.name);
  if (!size) return size.error();
  if (spec.kind == TableKind::Channel)
    return {StatusCode::InvalidArgument, "table " + spec.name + " is a channel: it takes events and no rows"};
  if (!size->rows) {
    return {StatusCode::Unimplemented,
            "the rows of table " + spec.name + " are on a server, which takes them in several steps: they cannot be written all or none"};
  }
  const std::size_t used = spec.kind == TableKind::Queue ? size->staged : *size->rows + size->staged;
  const std::size_t most = spec.kind == TableKind::Queue ? std::min(spec.rows_max, limits::kQueuedEvents) : spec.rows_max;
  if (used <= most && changes <= most - used) return {};
  return {StatusCode::ResourceExhausted, "table " + spec.name + " of at most " + std::to_string(most) + " rows has " +
                                             std::to_string(used) + ": it may not have room for " + std::to_string(changes)};
}

std::optional<Refusal> check(Runtime& runtime, const std::vector<RowArgument>& rows) {
  const Store& store = runtime.store();
  std::map<std::string, std::pair<std::size_t, std::size_t>> tables;  // The first row of each table, and how many there are.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [table, is_new] = tables.try_emplace(rows[i].table, i, 0);
    Status bad = is_new ? check_written_table(runtime, rows[i].table) : Status{};
    if (bad.ok()) bad = check_fields(rows[i]);
    if (!bad.ok()) return Refusal{i, std::move(bad)};
    ++table->second.second;
  }
  for (const TableSpec& spec : store.tables()) {
    const auto found = tables.find(spec.name);
    if (found == tables.end()) continue;
    if (Status full = check_room(store, spec, found->second.second); !full.ok()) return Refusal{found->second.first, std::move(full)};
  }
  return std::nullopt;
}

/// The answer, in the form of a bulk write's. Sent when the last run of rows is settled.
struct Answer {
  explicit Answer(Reply to) : reply(std::move(to)) {}
  void refuse(std::size_t row, std::string_view key, const Status& why) {
    if (!first_error.empty()) return;
    first_error = {{"row", row}, {"key", text(key)}, {"code", to_string(why.code())}, {"message", sentence(why.message())}};
  }
  void settled(std::size_t first_row, const BulkSink::Unwritten& found) {
    accepted -= found.rows;
    unwritten += found.rows;
    if (found.rows > 0) refuse(first_row + found.first_row, found.first_key, found.first);
    if (--open > 0) return;
    json::object result{{"accepted", accepted}, {"refused", refused}};
    if (unwritten > 0) result["unwritten"] = unwritten;
    if (!first_error.empty()) result["first_error"] = std::move(first_error);
    reply.finish(result);
  }

  Reply reply;
  std::size_t open = 1;  // Runs of rows that are not settled, and the writing itself.
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t unwritten = 0;
  json::object first_error;
};

/// Rows of a batch that a log has one by one. It has the sums of a larger batch: the log also sums beyond its rate of lines.
constexpr std::size_t kToldRows = 16;

/// Tells a log what each row of a small batch changes, when the store has read the rows and accepted the writes.
struct ToldRows {
  struct Row {
    RowArgument given;
    std::pair<std::string, std::string> name;  // Table, and the key as the store has it.
  };
  Reply::TellRow tell;
  std::vector<Row> rows = {};
  std::map<std::pair<std::string, std::string>, FieldValues> known = {};  // The content of rows, by name.
  std::size_t open = 1;                                                   // Reads under way, and the writing itself.

  void ended() {
    if (--open > 0) return;
    for (const auto& [given, name] : rows) {
      std::vector<Field> fields;
      for (const auto& [field, value] : given.fields) fields.push_back({field, value});
      const auto [before, is_unknown] = known.try_emplace(name);
      const Change change = given.is_delete ? Change::remove(given.key) : Change::set(given.key, std::span<const Field>{fields});
      FieldValues after = values_after(before->second, {change});
      const ChangeText text = change_text(before->second, after);
      tell(escape_text(given.table) + " " + escape_text(given.key), is_unknown ? "(unknown)" : text.before, text.after);
      // For a further row of the batch with this name. A Set does not tell what an unknown row has besides.
      before->second = std::move(after);
      if (is_unknown && !given.is_delete) known.erase(before);
    }
  }
};

/// The key that StoreSink writes. It reports an exception of the program's function.
std::string stored_key(const Context& context, const RowArgument& row) try {
  const CanonicalKey canonical_key = context.canonical_key_of(row.table);
  return canonical_key != nullptr ? canonical_key(row.key).value_or(row.key) : row.key;
} catch (...) {
  return row.key;
}

/// Has the store read the rows as they are before the writes that follow. Null: no log wants each of them. While changes of a table wait,
/// the content of its rows is unknown.
std::shared_ptr<ToldRows> read_rows(Context& context, const std::vector<RowArgument>& rows, Reply& reply) {
  Reply::TellRow tell = rows.size() <= kToldRows ? reply.tell_rows() : nullptr;
  if (!tell) return nullptr;
  const auto told = std::make_shared<ToldRows>(ToldRows{.tell = std::move(tell)});
  for (const RowArgument& row : rows) {
    const auto& [table, key] = told->rows.emplace_back(ToldRows::Row{row, {row.table, stored_key(context, row)}}).name;
    if (const auto size = context.runtime.store().size(table); size && size->staged > 0) continue;
    ++told->open;
    get_row(context.runtime.store(), table, key, reply, [told, name = std::pair{table, key}](const Result<Record>& read) {
      if (read) told->known.insert_or_assign(name, values_of(*read));
      told->ended();
    });
  }
  return told;
}

/// Writes the rows from 'at' on that have one table. False if the store refuses one all the same: a durable store whose disk is far behind.
bool write_run(StoreSink& sink, const std::vector<RowArgument>& rows, std::size_t& at, const std::shared_ptr<Answer>& answer) {
  const std::size_t first = at;
  Status taken = sink.begin(rows[first].table);
  std::vector<BulkField> fields;
  for (; taken.ok() && at < rows.size() && rows[at].table == rows[first].table; ++at) {
    fields.clear();
    for (const auto& [name, value] : rows[at].fields) fields.push_back({name, value});
    taken = sink.row(rows[at].is_delete ? BulkOp::Delete : BulkOp::Set, rows[at].key, fields);
    if (!taken.ok()) break;
    ++answer->accepted;
  }
  if (!taken.ok()) answer->refuse(at, rows[at].key, taken);
  ++answer->open;
  static_cast<void>(sink.end());
  sink.when_settled([answer, first](const BulkSink::Unwritten& unwritten) { answer->settled(first, unwritten); });
  return taken.ok();
}

void command_write(Context& context, const Arguments& arguments, Reply reply) {
  const std::vector<RowArgument> rows = arguments.rows("rows");
  const auto answer = std::make_shared<Answer>(std::move(reply));
  if (const std::optional<Refusal> refused = check(context.runtime, rows)) {
    answer->refused = rows.size();
    answer->refuse(refused->row, rows[refused->row].key, refused->why.with_context("nothing was written"));
    return answer->settled(0, {});
  }
  const std::shared_ptr<ToldRows> told = read_rows(context, rows, answer->reply);
  StoreSink sink(context.runtime, context.failures, context.watchers, context.options.canonical_key, context.options.claim_of);
  std::size_t at = 0;
  while (at < rows.size() && write_run(sink, rows, at, answer)) continue;
  if (told != nullptr) {
    told->rows.resize(at);
    told->ended();
  }
  answer->refused = rows.size() - at;
  answer->settled(0, {});
}

}  // namespace

void add_batch_command(StandardAdder& commands) {
  commands.add(
      {.name = "write", .help = "Write rows of any tables, all or none", .arguments = {{"rows", ArgumentKind::Rows, true, "Rows"}}},
      command_write);
}

}  // namespace rondo::commands
