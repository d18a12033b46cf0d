// The commands about rows: set, del, get, keys, show, tables.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "commands/answers.h"
#include "commands/context.h"
#include "commands/row_lister.h"
#include "commands/store_sink.h"
#include "commands/watchers.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

/// A row up to this size is answered whole; a larger one field by field, and a value in pieces of this size. The caller puts them together
/// and meets no bound.
constexpr std::size_t kWholeBytes = 32 * 1024;

void write_row(Context& context, const Arguments& arguments, Reply reply, Op op) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  const std::string key = arguments.text("key");
  // Done means on the disk, or in the server, where that is what the table promises.
  const bool waits = context.failures.waits_for_end(table);
  const WriteDone done =
      !waits ? context.failures.listener(table) : [answer = context.failures.answerer(table, key), reply](const Status& end) mutable {
        if (!end.ok()) return reply.fail(answer(end));
        reply.finish();
      };
  Change change = Change::remove(key);
  if (op == Op::Set) {
    const auto pairs = arguments.fields();
    std::vector<Field> fields;
    for (const auto& [name, value] : pairs) fields.push_back({name, value});
    if (Status bad = check_record(key, fields); !bad.ok()) return reply.fail(bad);
    change = Change::set(key, std::span<const Field>{fields});
  }
  const Status written = store.write(table, change, done);
  if (!written.ok()) return reply.fail(written);
  context.watchers.written(table, change);
  if (!waits) reply.finish();
}

void command_set(Context& context, const Arguments& arguments, Reply reply) { write_row(context, arguments, std::move(reply), Op::Set); }

void command_del(Context& context, const Arguments& arguments, Reply reply) { write_row(context, arguments, std::move(reply), Op::Delete); }

/// A large row: [field number, name, part of its value], the parts of a value in order.
void answer_parts(Reply reply, const Record& record) {
  reply.row(json::array{-1, text(record.key()), ""});
  reply.stream([record, field = std::size_t{0}, done = std::size_t{0}](Reply& page) mutable {
    const Fields fields = record.fields();
    while (field < fields.size() && !page.page_full()) {
      const std::string_view part = fields[field].value.substr(done, kWholeBytes);
      page.row(json::array{field, text(fields[field].name), text(part)});
      done += part.size();
      if (done < fields[field].value.size()) continue;
      ++field;
      done = 0;
    }
    return field < fields.size();
  });
}

std::string_view state_word(const WhyLink& link) {
  switch (link.state) {
    case WhyLink::State::Rejected: return "rejected";
    case WhyLink::State::Parked: return "parked";
    case WhyLink::State::Queued: return "queued";
    case WhyLink::State::InFlight: return "in-flight";
    case WhyLink::State::Absent: break;  // Nothing is owed for a row that the store has.
  }
  return "done";
}

std::string state_note(const WhyLink& link) {
  if (link.state == WhyLink::State::Absent) return {};
  std::string note = link.note;
  for (std::size_t i = 0; i < std::min(link.missing, link.facts.size()); ++i) {
    note.append(note.empty() ? "" : "; ").append("waits for ").append(link.facts[i].to_string());
  }
  return note;
}

void command_get(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  const std::string key = arguments.text("key");
  store.get(table, key, [reply, table, key](const Result<Record>& record) mutable {
    if (!record) return reply.fail(record.error());
    if (!*record) return reply.fail(Status{Code::NotFound, "no row '" + escape_text(key) + "' in " + table});
    if (record->bytes() > kWholeBytes) return answer_parts(std::move(reply), *record);
    reply.finish(json::object{{"key", text(key)}, {"fields", fields_json(record->fields())}});
  });
}

/// Answers with a row for each row of the table whose key matches the arguments' pattern.
void list_rows(Context& context, const Arguments& arguments, Reply reply, RowLister::MakeRow make_row) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  std::string pattern = arguments.text("pattern");
  if (pattern.size() > limits::kPatternBytes)
    return reply.fail(Status{Code::InvalidArgument, "the pattern is longer than " + std::to_string(limits::kPatternBytes) + " bytes"});
  const std::int64_t most = arguments.integer("count", INT64_MAX);
  if (most < 1) return reply.fail(Status{Code::InvalidArgument, "'count' must be at least 1"});
  reply.expect_rows();
  std::make_shared<RowLister>(store, table, std::move(pattern), static_cast<std::uint64_t>(most), std::move(make_row))
      ->ask(std::move(reply));
}

void command_keys(Context& context, const Arguments& arguments, Reply reply) {
  list_rows(context, arguments, std::move(reply), [](const Record& row) { return json::object{{"key", text(row.key())}}; });
}

void command_show(Context& context, const Arguments& arguments, Reply reply) {
  list_rows(context, arguments, std::move(reply), [&runtime = context.runtime, table = arguments.text("table")](const Record& row) {
    const WhyLink link = runtime.row_state(table, row.key());
    json::object shown{{"key", text(row.key())}, {"state", state_word(link)}};
    if (row.bytes() > kWholeBytes) {
      shown["large"] = true;  // `get` tells its fields.
    } else {
      shown["fields"] = fields_json(row.fields());
    }
    shown["note"] = sentence(state_note(link));
    return shown;
  });
}

void command_tables(Context& context, Reply reply) {
  Store& store = context.runtime.store();
  answer_each(std::move(reply), store.tables(), [&store](const TableSpec& spec) {
    const auto size = store.size(spec.name);
    return json::object{{"table", text(spec.name)},
                        {"kind", json::string{to_string(spec.kind)}},
                        {"rows", size && size->rows ? json::value(*size->rows) : json::value(nullptr)},
                        {"staged", size ? size->staged : 0}};
  });
}

}  // namespace

void add_row_commands(StandardAdder& commands) {
  const ArgumentSpec table = table_argument();
  const ArgumentSpec key = key_argument();
  commands.add(
      {"set", "Write a row; fields that are not named keep their value", {table, key, optional("fields", ArgumentKind::Fields, "Fields")}},
      command_set);
  commands.add({"del", "Delete a row", {table, key}}, command_del);
  commands.add({"get", "Show a row as its consumer has taken it", {table, key}, CommandEffect::Reads}, command_get);
  commands.add({"keys",
                "List the keys of a table",
                {table, optional("pattern", ArgumentKind::Text, "Only keys that match: * and ?"),
                 optional("count", ArgumentKind::Integer, "At most so many")},
                CommandEffect::Reads},
               command_keys);
  commands.add({"show",
                "List the rows of a table with their states and fields",
                {table, optional("pattern", ArgumentKind::Text, "Only keys that match: * and ?"),
                 optional("count", ArgumentKind::Integer, "At most so many")},
                CommandEffect::Reads},
               command_show);
  commands.add({"tables", "List the tables with their sizes", {}, CommandEffect::Reads}, command_tables);
}

}  // namespace rondo::commands
