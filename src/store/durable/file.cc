// See store/durable/durable_file.h.
#include "store/durable/durable_file.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/durable/link_target.h"
#include "store/durable/log_content.h"
#include "store/durable/log_file.h"

namespace rondo {

using store::durable::LogContent;
using store::durable::LogFile;

namespace {

DurableFileTable visit_table(const LogContent::Table& table, const std::function<void(const TableSpec&, const Change&)>& each) {
  DurableFileTable found{.spec = table.spec, .rows = 0, .deletes = 0, .entries = table.entries.size()};
  for (std::uint32_t id = 0; id < table.rows.end_id(); ++id) {
    const LogContent::Row& row = table.rows[id];
    if (!row.record) continue;
    ++(row.deleted ? found.deletes : found.rows);
    if (each) each(table.spec, Change{row.deleted ? ChangeOp::Delete : ChangeOp::Set, row.record});
  }
  for (const auto& [number, change] : table.entries) {
    if (each) each(table.spec, change);
  }
  return found;
}

}  // namespace

Status check_durable_file(const std::string& path) {
  const Result<std::unique_ptr<LogFile>> file = LogFile::open(store::durable::link_target(path), LogFile::Mode::ReadOnly);
  return file || file.error().code() == StatusCode::NotFound ? Status{} : file.error();
}

Result<DurableFile> read_durable_file(const std::string& path, const std::function<void(const TableSpec&, const Change&)>& each) {
  Result<std::unique_ptr<LogFile>> file = LogFile::open(store::durable::link_target(path), LogFile::Mode::ReadOnly);
  if (!file) return failure(file.error());
  LogContent content;
  LogFile::Reading reading = (*file)->read([&content](std::string_view entry) { return content.add(entry); });
  if (!reading.failed.ok()) return failure(std::move(reading.failed));
  std::ranges::move(content.drop_nameless(), std::back_inserter(reading.damage));
  DurableFile found{.groups = reading.entries, .bytes = reading.bytes, .damage = {}, .tables = {}};
  for (const Status& lost : reading.damage) found.damage.push_back(lost.to_string());
  for (const auto& table : content.tables()) {
    if (table != nullptr) found.tables.push_back(visit_table(*table, each));
  }
  return found;
}

}  // namespace rondo
