// The commands that read rows: get, keys, show, tables.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "commands/answers.h"
#include "commands/context.h"
#include "commands/row_lister.h"
#include "commands/row_state.h"
#include "commands/store_sink.h"
#include "commands/watchers.h"
#include "rondo/admin/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

/// A row up to this size is answered whole. A larger one is answered field by field, with each value in pieces of this size; the caller
/// joins them, so a row has no limit of size.
constexpr std::size_t kWholeBytes = 32 * 1024;

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

/// Adds the pending change of a row, and its state in the data plane if its Orch reports that.
void add_state(json::object& row, const WhyLink& link) {
  row["state"] = state_word(link);
  if (link.plane != PlaneState::Unknown) row["plane"] = json::string{to_string(link.plane)};
}

void command_get(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  context.with_key(table, arguments.text("key"), reply, [&store, reply, table, &context](const std::string& key) {
    get_row(store, table, key, reply,
            [reply, table, key, &runtime = context.runtime, standby_for = context.standby_for()](const Result<Record>& record) mutable {
              if (!record) return reply.fail(record.error());
              if (!*record) return reply.fail(Status{StatusCode::NotFound, "no row '" + escape_text(key) + "' in " + table});
              if (record->bytes() > kWholeBytes) return answer_parts(std::move(reply), *record);
              const WhyLink link = runtime.row_state(table, *record);
              json::object row{{"key", text(key)}, {"fields", fields_json(record->fields())}};
              add_state(row, link);
              row["note"] =
                  sentence(standby_for.empty() ? full_note(runtime, link) : standby_note(standby_for) + "; " + full_note(runtime, link));
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
    return reply.fail(
        Status{StatusCode::InvalidArgument, "the pattern is longer than " + std::to_string(limits::kPatternBytes) + " bytes"});
  const Clock& clock = context.runtime.clock();
  const auto until = until_of(clock, arguments);
  if (!until) return reply.fail(until.error());
  reply.expect_rows();
  const auto list = [&store, &clock, table, until = *until, cursor = arguments.text("cursor"), make_row = std::move(make_row),
                     reply](const std::string& keys) {
    std::make_shared<RowLister>(store, clock, table, keys, until, make_row)->start(cursor, reply);
  };
  if (pattern.find_first_of("*?") != std::string::npos) return list(pattern);
  context.with_key(table, pattern, reply, list);
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
      shown["large"] = true;  // `get` returns its fields.
    } else {
      shown["fields"] = fields_json(row.fields());
    }
    shown["note"] = sentence(state_note(link));
    return shown;
  });
}

/// Adds the counts of the states of a table's rows, if an Orch consumes it.
void add_counts(json::object& row, const ConsumerStats& stats) {
  if (stats.plane) row["installed"] = stats.plane->installed;
  row["pending"] = stats.queued + stats.in_flight + (stats.plane ? stats.plane->pending : 0);
  row["waiting"] = stats.parked;
  if (stats.plane) {
    row["withdrawn"] = stats.plane->withdrawn;
    row["refused"] = stats.plane->refused;
    row["lost"] = stats.plane->lost;
  }
  row["rejected"] = stats.rejected_rows;
}

void command_tables(Context& context, Reply reply) {
  Store& store = context.runtime.store();
  std::map<std::string, ConsumerStats, std::less<>> consumers;
  for (ConsumerStats& stats : context.runtime.consumers()) consumers.emplace(stats.table, std::move(stats));
  answer_each(std::move(reply), store.tables(), [&store, consumers = std::move(consumers)](const TableSpec& spec) {
    const auto size = store.size(spec.name);
    json::object row{{"table", text(spec.name)},
                     {"kind", json::string{to_string(spec.kind)}},
                     {"rows", size && size->rows ? json::value(*size->rows) : json::value(nullptr)},
                     {"staged", size ? size->staged : 0}};
    if (const auto consumer = consumers.find(spec.name); consumer != consumers.end()) add_counts(row, consumer->second);
    return row;
  });
}

}  // namespace

void add_row_commands(StandardAdder& commands) {
  const ArgumentSpec table = table_argument();
  const ArgumentSpec key = key_argument();
  commands.add({"get", "Show a row as its consumer has taken it", {table, key}, CommandEffect::Reads}, command_get);
  const std::vector<ArgumentSpec> of_list{table, optional("pattern", ArgumentKind::Text, "Only keys that match: * and ?"),
                                          optional("count", ArgumentKind::Integer, "At most so many"), cursor_argument(),
                                          optional("milliseconds", ArgumentKind::Integer, "End after this time")};
  commands.add({"keys", "List the keys of a table", of_list, CommandEffect::Reads}, command_keys);
  commands.add({"show", "List the rows of a table with their states and fields", of_list, CommandEffect::Reads}, command_show);
  commands.add({"tables", "List the tables with their sizes", {}, CommandEffect::Reads}, command_tables);
}

}  // namespace rondo::commands
