#include "rondod/store_sink.h"

#include <algorithm>
#include <utility>

#include "rondo/admin/suggest.h"

namespace rondo::daemon {

Status check_table(const Store& store, std::string_view table) {
  const std::vector<TableSpec> tables = store.tables();
  std::vector<std::string_view> names;
  for (const TableSpec& spec : tables) names.push_back(spec.name);
  if (std::ranges::find(names, table) != names.end()) return {};
  return Status{Code::NotFound, "no table '" + std::string{table} + "'" + did_you_mean(table, names)};
}

Status StoreSink::begin(std::string_view table) {
  table_ = std::string{table};
  done_ = failures_.listener(table);
  return check_table(store_, table);
}

Status StoreSink::row(BulkOp op, std::string_view key, std::span<const BulkField> fields) {
  if (op == BulkOp::Delete) return write(Change::remove(key));
  fields_.clear();
  for (const BulkField& field : fields) fields_.push_back({field.name, field.value});
  if (Status checked = check_record(key, fields_); !checked.ok()) return checked;
  return write(Change::set(key, std::span<const Field>{fields_}));
}

Status StoreSink::write(Change change) {
  if (!watchers_.traces()) return store_.write(table_, std::move(change), done_);
  Status written = store_.write(table_, change, done_);
  if (written.ok()) watchers_.written(table_, change);
  return written;
}

}  // namespace rondo::daemon
