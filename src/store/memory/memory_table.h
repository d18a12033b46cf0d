// MemoryTable: the interface of a table in the embedded store, with one class for each kind. A table passes records through and does not
// know its readers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"
#include "store/memory/row_persister.h"
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

  /// 'change' has passed check_change() and names no field twice. The change is applied when this returns ok.
  virtual Status write(Change change) = 0;
  virtual Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options = {}) = 0;
  /// The row, or an empty record.
  virtual Record get(std::string_view key) const = 0;
  virtual Result<RowPage> scan(std::string_view cursor, std::size_t max) const = 0;
  virtual Result<RowPage> scan_written(std::string_view cursor, std::size_t max) const { return scan(cursor, max); }
  virtual Store::Size size() const = 0;

  /// From now on the table reports to 'persister' what must exist after a restart. 'persister' must outlive the table's writes. Null: the
  /// table keeps nothing.
  void persist_with(RowPersister* persister) noexcept { persister_ = persister; }
  /// Adds a standing row, before the table has a consumer or a persister. A Channel ignores it.
  virtual void restore(Record row) { static_cast<void>(row); }
  /// Queue: adds an entry that was kept, before the table has a consumer or a persister. The queue's limit does not apply: the kept entries
  /// include those that a consumer had taken.
  virtual void restore_entry(Change change) { static_cast<void>(change); }
  /// Changes are marked with the time of this scheduler's turns, for Subscription::next_arrival(). Without it they have no time.
  void take_time_of(const Scheduler& scheduler) noexcept { scheduler_ = &scheduler; }
  /// Replaces the row limit of the table's spec.
  void set_rows_max(std::size_t rows_max) noexcept { spec_.rows_max = rows_max; }

 protected:
  RowPersister* persister() const noexcept { return persister_; }
  Instant now() const noexcept { return scheduler_ == nullptr ? Instant{} : scheduler_->now(); }

 private:
  TableSpec spec_;
  RowPersister* persister_ = nullptr;
  const Scheduler* scheduler_ = nullptr;
};

/// The number of empty slots that one page may pass.
inline constexpr std::uint32_t kPlacesOfPage = 4096;

/// Returns one page of a table whose rows are in a KeyedRows. 'row_of(id)' is the record, empty where there is no row.
template <class Rows, class RowOf>
Result<RowPage> scan_rows(const Rows& rows, std::string_view cursor, std::size_t max, RowOf&& row_of) {
  const Result<std::uint32_t> start = parse_cursor(cursor);
  if (!start) return failure(start.error());
  RowPage page;
  std::uint32_t id = *start;
  // A table that was larger before may consist mostly of empty slots, so the number of slots per page is limited, too.
  const auto places_end = static_cast<std::uint32_t>(std::min<std::uint64_t>(rows.end_id(), std::uint64_t{id} + max + kPlacesOfPage));
  for (; id < places_end; ++id) {
    const Record& record = row_of(id);
    if (!record) continue;
    if (page.rows.size() >= max && !page.rows.empty()) break;
    page.rows.push_back(record);
  }
  if (id < rows.end_id()) page.next = std::to_string(id);
  return page;
}

}  // namespace rondo::store
