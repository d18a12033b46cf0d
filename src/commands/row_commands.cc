// The commands about rows: set, del, get, keys, show, tables.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "commands/context.h"
#include "commands/row_lister.h"
#include "commands/row_state.h"
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

/// The longest that a write waits for its row, as of watch.
constexpr std::int64_t kWaitMsMost = 1'000'000'000;

/// Lets 'reply' wait for what becomes of the row that is about to be written.
Status wait_for_row(Context& context, const std::string& table, const Change& change, std::int64_t wait_ms, const Reply& reply) {
  if (wait_ms < 1 || wait_ms > kWaitMsMost) {
    return {Code::InvalidArgument, "'wait_ms' must be from 1 to " + std::to_string(kWaitMsMost)};
  }
  const Instant deadline = context.runtime.clock().now() + std::chrono::milliseconds{wait_ms};
  const Status added = context.waits.add(table, change, deadline, reply);
  return added.ok() ? added : added.with_context("nothing was written");
}

/// Of the commands set and del.
struct RowWrite {
  std::string table;
  Op op = Op::Set;
  std::vector<std::pair<std::string, std::string>> fields;
  std::optional<std::int64_t> wait_ms;
};

void write_row(Context& context, const RowWrite& row, const std::string& key, Reply reply) {
  const std::string& table = row.table;
  Store& store = context.runtime.store();
  // Done means on the disk, or in the server, where that is what the table promises.
  const bool waits = context.failures.waits_for_end(table);
  const bool waits_for_row = row.wait_ms.has_value();
  WriteDone done = context.failures.listener(table);
  if (waits) {
    done = [answer = context.failures.answerer(table, key), waits_for_row, reply](const Status& end) mutable {
      if (!end.ok()) return reply.fail(answer(end));
      if (!waits_for_row) reply.finish();
    };
  }
  Change change = Change::remove(key);
  if (row.op == Op::Set) {
    std::vector<Field> fields;
    for (const auto& [name, value] : row.fields) fields.push_back({name, value});
    if (Status bad = check_record(key, fields); !bad.ok()) return reply.fail(bad);
    change = Change::set(key, std::span<const Field>{fields});
  }
  if (waits_for_row) {
    if (Status waiting = wait_for_row(context, table, change, *row.wait_ms, reply); !waiting.ok()) {
      return reply.fail(waiting);
    }
  }
  if (const Status written = store.write(table, change, done); !written.ok()) {
    context.waits.look_soon();
    return reply.fail(written);
  }
  context.watchers.written(table, change);
  if (!waits && !waits_for_row) reply.finish();
}

void write_row(Context& context, const Arguments& arguments, Reply reply, Op op) {
  RowWrite row{.table = arguments.text("table"), .op = op, .fields = {}, .wait_ms = {}};
  if (Status known = check_table(context.runtime.store(), row.table); !known.ok()) return reply.fail(known);
  if (op == Op::Set) row.fields = arguments.fields();
  if (arguments.has("wait_ms")) row.wait_ms = arguments.integer("wait_ms", 0);
  const std::string table = row.table;
  context.with_key(table, arguments.text("key"), [of = context.shared_from_this(), row = std::move(row), reply](const std::string& key) {
    write_row(*of, row, key, reply);
  });
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

/// What is owed for a row, and where it stands in the data plane if its Orch tells.
void add_state(json::object& row, const WhyLink& link) {
  row["state"] = state_word(link);
  if (link.plane != PlaneState::Unknown) row["plane"] = json::string{to_string(link.plane)};
}

void command_get(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  context.with_key(table, arguments.text("key"), [&store, reply, table, &runtime = context.runtime](const std::string& key) {
    store.get(table, key, [reply, table, key, &runtime](const Result<Record>& record) mutable {
      if (!record) return reply.fail(record.error());
      if (!*record) return reply.fail(Status{Code::NotFound, "no row '" + escape_text(key) + "' in " + table});
      if (record->bytes() > kWholeBytes) return answer_parts(std::move(reply), *record);
      const WhyLink link = runtime.row_state(table, *record);
      json::object row{{"key", text(key)}, {"fields", fields_json(record->fields())}};
      add_state(row, link);
      row["note"] = sentence(state_note(link));
      reply.finish(row);
    });
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
  const auto list = [&store, table, most, make_row = std::move(make_row), reply](const std::string& keys) {
    std::make_shared<RowLister>(store, table, keys, static_cast<std::uint64_t>(most), make_row)->ask(reply);
  };
  if (pattern.find_first_of("*?") != std::string::npos) return list(pattern);
  context.with_key(table, pattern, list);
}

void command_keys(Context& context, const Arguments& arguments, Reply reply) {
  list_rows(context, arguments, std::move(reply), [](const Record& row) { return json::object{{"key", text(row.key())}}; });
}

void command_show(Context& context, const Arguments& arguments, Reply reply) {
  list_rows(context, arguments, std::move(reply), [&runtime = context.runtime, table = arguments.text("table")](const Record& row) {
    const WhyLink link = runtime.row_state(table, row);
    json::object shown{{"key", text(row.key())}};
    add_state(shown, link);
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
  const ArgumentSpec wait =
      optional("wait_ms", ArgumentKind::Integer, "Answer when the row is done, rejected or parked, or after this time");
  commands.add({"set",
                "Write a row; fields that are not named keep their value",
                {table, key, optional("fields", ArgumentKind::Fields, "Fields"), wait}},
               command_set);
  commands.add({"del", "Delete a row", {table, key, wait}}, command_del);
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
