#include "backends/file/backend.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "commands/load.h"
#include "rondo/base/text.h"
#include "rondo/store/durable_store.h"
#include "store/durable/durable_file.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

json::array fields_of(const Change& change) {
  json::array fields;
  for (const Field field : change.fields()) fields.push_back(json::array{escape_text(field.name), escape_text(field.value)});
  return fields;
}

/// A row in the form of `rondo load`.
json::object load_row(const TableSpec& table, const Change& change) {
  std::vector<BulkField> fields;
  for (const Field field : change.fields()) fields.push_back({field.name, field.value});
  return load_entry(table.name, change.key(), change.op() == ChangeOp::Delete ? BulkOp::Delete : BulkOp::Set, fields);
}

/// A change that waits for its consumer. An entry of a Queue has fields, which no other command shows.
json::object pending_row(const TableSpec& table, const Change& change) {
  json::object row{{"key", escape_text(change.key())}, {"op", to_string(change.op())}};
  if (table.kind == TableKind::Queue) row["fields"] = fields_of(change);
  return row;
}

class FileBackend final : public Backend {
 public:
  explicit FileBackend(std::string path) : path_(std::move(path)) {}

  Result<json::object> call(const std::string& command, const json::object& arguments, const OnRow& on_row) override {
    json::array rows;
    const OnRow tell = on_row ? on_row : OnRow{[&rows](const json::value& row) { rows.push_back(row); }};
    const auto text = [&arguments](std::string_view name) {
      const json::value* const value = arguments.if_contains(name);
      return value == nullptr ? std::string{} : unescape_text(value->as_string());
    };
    Result<json::object> result = answer(command, text("table"), text("key"), command == "keys" ? wanted_keys(arguments, tell) : tell);
    if (result && command != "get") (*result)["rows"] = std::move(rows);
    return result;
  }

  Status lacking() const override { return lacking_; }

  Result<BulkTotals> write(const std::function<Status(BulkSink&)>&, const std::function<void(const BulkTotals&)>&) override {
    return failure(read_only());
  }

 private:
  Status read_only() const { return {StatusCode::Unimplemented, path_ + " can only be read: a daemon writes it"}; }

  /// Passes whole rows to 'each', and stores what is damaged.
  Result<DurableFile> read(const std::function<void(const TableSpec& spec, const Change& change)>& each) {
    auto file = read_durable_file(path_, each);
    if (file && !file->damage.empty()) {
      lacking_ = {StatusCode::DataLoss, path_ + " is damaged, what is whole of it was read: " + file->damage.front() +
                                            (file->damage.size() == 1 ? "" : ", and " + std::to_string(file->damage.size() - 1) + " more") +
                                            "; doctor names all"};
    }
    return file;
  }

  Result<json::object> answer(const std::string& command, const std::string& table, const std::string& key, const OnRow& tell) {
    if (command == "doctor") return examine(tell);
    if (command == "tables") return list_tables(tell);
    if (command == "get") return get(table, key);
    bool known = table.empty();
    const auto file = read([&](const TableSpec& spec, const Change& change) {
      known = known || spec.name == table;
      if (!table.empty() && spec.name != table) return;
      const bool waits = change.op() == ChangeOp::Delete || spec.kind == TableKind::Queue;
      if (command == "keys" && !waits) tell(json::object{{"key", escape_text(change.key())}});
      if (command == "pending" && waits) tell(pending_row(spec, change));
      if (command == "export" && !waits) tell(load_row(spec, change));
    });
    if (!file) return failure(file.error());
    if (command != "keys" && command != "pending" && command != "export") return failure(read_only());
    known = known || std::ranges::any_of(file->tables, [&table](const DurableFileTable& one) { return one.spec.name == table; });
    if (!known) return failure(StatusCode::NotFound, path_ + " has no table " + quoted(table));
    return json::object{};
  }

  Result<json::object> list_tables(const OnRow& tell) {
    const auto file = read({});
    if (!file) return failure(file.error());
    for (const DurableFileTable& table : file->tables) {
      tell(json::object{{"table", escape_text(table.spec.name)},
                        {"kind", to_string(table.spec.kind)},
                        {"rows", table.rows},
                        {"deletes", table.deletes},
                        {"entries", table.entries}});
    }
    return json::object{};
  }

  Result<json::object> get(const std::string& table, const std::string& key) {
    json::object found;
    const auto file = read([&](const TableSpec& spec, const Change& change) {
      if (spec.name == table && change.key() == key && change.op() == ChangeOp::Set)
        found = {{"key", escape_text(key)}, {"fields", fields_of(change)}};
    });
    if (!file) return failure(file.error());
    if (found.empty()) return failure(StatusCode::NotFound, "table " + quoted(table) + " of " + path_ + " has no row " + quoted(key));
    return found;
  }

  Result<json::object> examine(const OnRow& tell) {
    const auto file = read_durable_file(path_);
    if (!file) return failure(file.error());
    std::size_t rows = 0;
    for (const DurableFileTable& table : file->tables) rows += table.rows;
    const auto finding = [&tell](std::string_view level, std::string_view setting, const std::string& value, std::string_view meaning,
                                 std::string_view remedy) {
      tell(json::object{{"level", level}, {"setting", setting}, {"value", escape_text(value)}, {"meaning", meaning}, {"remedy", remedy}});
    };
    for (const std::string& lost : file->damage) {
      finding(
          "problem", "damage", lost, "a part of the file cannot be read; the rows that were there are lost, or as they were before",
          "start the daemon: it keeps what is whole, and the damaged file beside it, and refuses a file of which nothing can be read; then "
          "feed the tables again");
    }
    finding("ok", "groups", std::to_string(file->groups), "", "");
    finding("ok", "bytes", std::to_string(file->bytes), "", "");
    finding("ok", "tables", std::to_string(file->tables.size()), "", "");
    finding("ok", "rows", std::to_string(rows), "", "");
    return json::object{{"problems", file->damage.size()}, {"advice", 0}};
  }

  std::string path_;
  Status lacking_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_file(const Options& options) {
  const Result<DurableStoreOptions> where = parse_durable_address(options.store.where);
  if (!where) return failure(where.error());
  return std::make_unique<FileBackend>(where->path);
}

}  // namespace rondo::cli
