#include "commands/row_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "admin/bulk_writer.h"
#include "rondo/admin/limits.h"
#include "rondo/base/text.h"
#include "rondo/store/record.h"
#include "switch_agent/row_check.h"
#include "switch_agent/tables.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// If the file names more rows of a table than this, all its rows are read in one answer.
constexpr std::size_t kReadOneByOne = 256;

using Places = std::map<std::pair<std::string, std::string>, std::size_t>;

RowFields fields_of(const json::object& row) {
  RowFields fields;
  for (const json::value& field : row.at("fields").as_array()) {
    const json::array& pair = field.as_array();
    fields.emplace_back(unescape_text(pair.at(0).as_string()), unescape_text(pair.at(1).as_string()));
  }
  return fields;
}

Status read_row(Backend& backend, PlannedRow& row) {
  const Result<json::object> answer = backend.call("get", {{"table", escape_text(row.table)}, {"key", escape_text(row.key)}}, {});
  if (answer) row.now = fields_of(*answer);
  return answer || answer.error().code() == StatusCode::NotFound ? Status{} : answer.error();
}

/// Reads the planned rows of one table: one by one, or from a list of all its rows.
Status read_rows(Backend& backend, std::vector<PlannedRow>& plan, const Places& places, const std::string& table) {
  std::vector<std::size_t> of_table;
  for (const auto& [name, at] : places) {
    if (name.first == table) of_table.push_back(at);
  }
  std::vector<std::size_t> to_get;
  if (of_table.size() <= kReadOneByOne) {
    to_get = of_table;
  } else {
    const auto take = [&](const json::value& row) {
      const auto place = places.find({table, unescape_text(row.at("key").as_string())});
      if (place == places.end()) return;
      if (row.as_object().contains("large")) {
        to_get.push_back(place->second);
      } else {
        plan[place->second].now = fields_of(row.as_object());
      }
    };
    if (const Result<json::object> answer = backend.call("show", {{"table", escape_text(table)}}, take); !answer) return answer.error();
  }
  for (const std::size_t at : to_get) {
    if (Status read = read_row(backend, plan[at]); !read.ok()) return read;
  }
  return {};
}

void put(RowFields& fields, const std::pair<std::string, std::string>& field) {
  const auto known = std::ranges::find(fields, field.first, &std::pair<std::string, std::string>::first);
  if (known == fields.end()) {
    fields.push_back(field);
  } else {
    known->second = field.second;
  }
}

const std::string* value_of(const RowFields& fields, const std::string& name) {
  const auto found = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
  return found == fields.end() ? nullptr : &found->second;
}

/// A field that differs: 'from' or 'to' is null where it is absent.
struct FieldChange {
  std::string name;
  const std::string* from = nullptr;
  const std::string* to = nullptr;
};

std::vector<FieldChange> changes_of(const PlannedRow& row) {
  static const RowFields kNone;
  const RowFields& now = row.now ? *row.now : kNone;
  const RowFields& wanted = row.wanted ? *row.wanted : kNone;
  std::vector<FieldChange> changes;
  for (const auto& [name, value] : wanted) {
    const std::string* const old = value_of(now, name);
    if (old == nullptr || *old != value) changes.push_back({name, old, &value});
  }
  for (const auto& [name, value] : now) {
    if (value_of(wanted, name) == nullptr) changes.push_back({name, &value, nullptr});
  }
  return changes;
}

/// Returns "added", "changed", "removed", or empty for an unchanged row.
std::string_view kind_of(const PlannedRow& row) {
  if (!row.now && !row.wanted) return {};
  if (!row.now) return "added";
  if (!row.wanted) return "removed";
  return changes_of(row).empty() ? std::string_view{} : "changed";
}

std::string line_of(const PlannedRow& row, std::string_view kind) {
  std::string line{kind == "added" ? "+ " : kind == "removed" ? "- " : "~ "};
  line.append(escape_text(row.table + ":" + row.key));
  if (kind == "removed") return line;
  for (const FieldChange& change : changes_of(row)) {
    line.append(change.to == nullptr ? " -" : " ").append(escape_text(change.name)).append("=");
    if (change.from != nullptr) line.append(escape_text(*change.from));
    if (change.from != nullptr && change.to != nullptr) line.append(" -> ");
    if (change.to != nullptr) line.append(escape_text(*change.to));
  }
  return line;
}

}  // namespace

std::string key_of(const LoadRow& row) {
  const switch_agent::TableReference* const table = switch_agent::find_table(row.table);
  const bool has_spellings = table != nullptr && table->canonical_key != nullptr;
  return has_spellings ? table->canonical_key(row.key).value_or(row.key) : row.key;
}

Result<std::vector<PlannedRow>> plan_rows(Backend& backend, std::span<const LoadRow> rows, bool replace) {
  std::vector<PlannedRow> plan;
  Places places;
  std::set<std::string> tables;
  std::vector<std::size_t> of_row;
  for (const LoadRow& row : rows) {
    const auto [place, is_new] = places.try_emplace({row.table, key_of(row)}, plan.size());
    if (is_new) plan.push_back({.table = row.table, .key = place->first.second});
    tables.insert(row.table);
    of_row.push_back(place->second);
  }
  for (const std::string& table : tables) {
    if (Status read = read_rows(backend, plan, places, table); !read.ok())
      return failure(read.with_context("reading the rows of " + table));
  }
  for (PlannedRow& row : plan) row.wanted = row.now;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PlannedRow& row = plan[of_row[i]];
    row.offset = rows[i].offset;
    if (rows[i].op == BulkOp::Delete) {
      row.wanted.reset();
      continue;
    }
    if (!row.wanted || replace) row.wanted.emplace();
    for (const auto& field : rows[i].fields) put(*row.wanted, field);
  }
  return plan;
}

Result<std::optional<RefusedRow>> first_refused(Backend& backend, std::span<const PlannedRow> plan) {
  const Result<json::object> version = backend.call("version", {}, {});
  if (!version) return failure(version.error());
  const bool is_switch = version->at("name") == "rondod";  // Another program may have tables of these names with other rules.
  std::set<std::string> tables;
  const Result<json::object> listed =
      backend.call("tables", {}, [&tables](const json::value& row) { tables.insert(unescape_text(row.at("table").as_string())); });
  if (!listed) return failure(listed.error());
  for (const PlannedRow& row : plan) {
    if (!tables.contains(row.table)) return RefusedRow{{StatusCode::NotFound, "no table '" + row.table + "'"}, row.offset};
    std::vector<Field> fields;
    if (row.wanted) {
      for (const auto& [name, value] : *row.wanted) fields.push_back({name, value});
    }
    Status bad = check_record(row.key, fields);
    if (bad.ok() && row.wanted && is_switch) bad = switch_agent::check_row(row.table, row.key, Record::make(row.key, fields).fields());
    if (!bad.ok()) return RefusedRow{bad.with_context("row '" + row.table + ":" + row.key + "'"), row.offset};
  }
  return std::nullopt;
}

namespace {

/// The writes that make the daemon's rows those of the plan.
std::vector<LoadRow> writes_of(std::span<const PlannedRow> plan) {
  std::vector<LoadRow> rows;
  for (const PlannedRow& row : plan) {
    if (kind_of(row).empty()) continue;
    const std::vector<FieldChange> changes = changes_of(row);
    const bool goes = !row.wanted || std::ranges::any_of(changes, [](const FieldChange& change) { return change.to == nullptr; });
    if (row.now && goes) rows.push_back({row.table, row.key, BulkOp::Delete, {}, row.offset});
    if (!row.wanted) continue;
    RowFields fields;
    for (const FieldChange& change : changes) {
      if (!goes) fields.emplace_back(change.name, *change.to);
    }
    rows.push_back({row.table, row.key, BulkOp::Set, goes ? *row.wanted : std::move(fields), row.offset});
  }
  return rows;
}

json::array request_row(const LoadRow& row) {
  json::array request{json::string{escape_text(row.table)}, json::string{escape_text(row.key)}};
  request.emplace_back(row.op == BulkOp::Delete ? "DEL" : "SET");
  if (row.op == BulkOp::Delete) return request;
  json::array fields;
  for (const auto& [name, value] : row.fields)
    fields.push_back(json::array{json::string{escape_text(name)}, json::string{escape_text(value)}});
  request.push_back(std::move(fields));
  return request;
}

/// JSON values of the row in a request: the row, its texts, and for each field a pair of texts.
std::size_t values_of(const LoadRow& row) { return row.op == BulkOp::Delete ? 4 : 5 + 3 * row.fields.size(); }

std::uint64_t count_in(const json::object& answer, std::string_view name) {
  const json::value* const value = answer.if_contains(name);
  return value == nullptr ? 0 : value->to_number<std::uint64_t>();
}

}  // namespace

Status write_plan(std::span<const PlannedRow> plan, BulkSink& sink, std::vector<std::size_t>& offsets) {
  const std::vector<LoadRow> rows = writes_of(plan);
  for (const LoadRow& row : rows) offsets.push_back(row.offset);
  return write_rows(rows, sink);
}

Result<BulkTotals> write_plan_atomically(std::span<const PlannedRow> plan, Backend& backend, std::vector<std::size_t>& offsets) {
  constexpr std::size_t kOtherBytes = 100;  // Bytes of a request: its id, the command, the name of the argument.
  constexpr std::size_t kOtherValues = 4;
  const std::vector<LoadRow> rows = writes_of(plan);
  json::array list;
  std::size_t values = kOtherValues;
  for (const LoadRow& row : rows) {
    offsets.push_back(row.offset);
    values += values_of(row);
    list.push_back(request_row(row));
  }
  if (rows.empty()) return BulkTotals{};
  const std::size_t bytes = json::serialize(list).size() + kOtherBytes;
  if (bytes > limits::kAdminRequestBytes || values > limits::kAdminRequestValues) {
    return failure(StatusCode::InvalidArgument, "nothing was written: " + std::to_string(rows.size()) + " changes of " +
                                                    std::to_string(bytes) + " bytes and " + std::to_string(values) +
                                                    " JSON values; what is written all or none is one request of at most " +
                                                    std::to_string(limits::kAdminRequestBytes) + " bytes and " +
                                                    std::to_string(limits::kAdminRequestValues) + " values");
  }
  const Result<json::object> answer = backend.call("write", {{"rows", std::move(list)}}, {});
  if (!answer) return failure(answer.error());
  BulkTotals totals;
  totals.sent = rows.size();
  totals.accepted = count_in(*answer, "accepted");
  totals.refused = count_in(*answer, "refused");
  totals.unwritten = count_in(*answer, "unwritten");
  if (const json::value* const first = answer->if_contains("first_error"); first != nullptr) {
    const json::object& error = first->as_object();
    totals.first_row = count_in(error, "row");
    const std::string row = totals.first_row < rows.size() ? rows[totals.first_row].table + ":" + rows[totals.first_row].key : "?";
    const std::string code{error.at("code").as_string()};
    totals.first_error = Status{code_named(code), "row '" + row + "': " + code + ": " + std::string{error.at("message").as_string()}};
  }
  return totals;
}

std::string diff_text(std::span<const PlannedRow> plan) {
  std::string text;
  std::map<std::string_view, std::size_t> counts;
  for (const PlannedRow& row : plan) {
    const std::string_view kind = kind_of(row);
    ++counts[kind];
    if (!kind.empty()) text.append(line_of(row, kind)).append("\n");
  }
  for (const std::string_view kind : {"added", "changed", "removed"})
    text.append(std::to_string(counts[kind])).append(" ").append(kind).append(", ");
  return text.append(std::to_string(counts[{}])).append(" as they are\n");
}

json::object diff_json(std::span<const PlannedRow> plan) {
  json::array rows;
  std::size_t same = 0;
  for (const PlannedRow& row : plan) {
    const std::string_view kind = kind_of(row);
    same += kind.empty();
    if (kind.empty()) continue;
    json::array fields;
    for (const FieldChange& change : changes_of(row)) {
      const auto text = [](const std::string* value) { return value == nullptr ? json::value(nullptr) : json::value(escape_text(*value)); };
      fields.push_back(json::object{{"name", escape_text(change.name)}, {"from", text(change.from)}, {"to", text(change.to)}});
    }
    rows.push_back(
        json::object{{"table", escape_text(row.table)}, {"key", escape_text(row.key)}, {"change", kind}, {"fields", std::move(fields)}});
  }
  return {{"rows", std::move(rows)}, {"unchanged", same}};
}

}  // namespace rondo::cli
