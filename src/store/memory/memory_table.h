// MemoryTable: what the embedded store asks of a table, one class for each kind. Records pass through; nothing here knows who reads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rondo/store/store.h"
#include "store/table_rules.h"

namespace rondo::store {

/// Shared by the store and its subscriptions. Scheduler's thread.
class MemoryTable : public std::enable_shared_from_this<MemoryTable> {
 public:
  explicit MemoryTable(TableSpec spec) : spec_(std::move(spec)) {}
  virtual ~MemoryTable() = default;
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  const TableSpec& spec() const noexcept { return spec_; }

  /// 'change' has passed check_change() and names no field twice. Applied when this returns ok.
  virtual Status write(Change change) = 0;
  virtual Result<std::unique_ptr<Subscription>> subscribe() = 0;
  /// The row, or an empty record.
  virtual Record get(std::string_view key) const = 0;
  virtual Result<RowPage> scan(std::string_view cursor, std::size_t max) const = 0;
  virtual Result<RowPage> scan_written(std::string_view cursor, std::size_t max) const { return scan(cursor, max); }
  virtual Store::Size size() const = 0;

 private:
  TableSpec spec_;
};

/// One page of a table whose rows lie in a KeyedRows: 'row_of(id)' is the record, empty where there is no row.
template <class Rows, class RowOf>
Result<RowPage> scan_rows(const Rows& rows, std::string_view cursor, std::size_t max, RowOf&& row_of) {
  const Result<std::uint32_t> start = parse_cursor(cursor);
  if (!start) return failure(start.error());
  RowPage page;
  std::uint32_t id = *start;
  for (; id < rows.end_id(); ++id) {
    const Record& record = row_of(id);
    if (!record) continue;
    if (page.rows.size() >= max && !page.rows.empty()) break;
    page.rows.push_back(record);
  }
  if (id < rows.end_id()) page.next = std::to_string(id);
  return page;
}

}  // namespace rondo::store
