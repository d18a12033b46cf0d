// TableView: gathers the complete new content of a table and then applies it. For a producer that starts and knows the desired content of
// its table, but not the current content. Only the difference is written, so an unchanged row is not touched. SONiC's ProducerStateTable
// has it as create_temp_view() and apply_temp_view(); docs/guide/mixing-with-sonic.md describes the differences.
//
//   TableView view(scheduler, store, "ROUTE_TABLE");
//   for (const Route& route : routes) view.set(route.prefix, {{"nexthop", route.nexthop}});
//   view.apply([](const Result<ViewTotals>& end) { ... });
//
// apply() compares each row of the table, as it will be after all waiting changes are popped (Store::scan_written), with the view:
//   the table's row                       is written
//   the same fields and values            nothing
//   other values, or fewer fields         a Set of all fields of the view's row
//   a field that the view's has not       a Delete and a Set of all fields, together
//   no row in the view                    a Delete
//
// Then it writes each row that only the view has as a Set. Values are compared as text. It works in turns like any source, with a bounded
// number of writes in flight; unchanged rows are never deleted meanwhile. If it is interrupted, even by the end of the process, some rows
// are old and some new, and the next apply() completes the work. A lost connection or a full store delays it; it then compares once more.
//
// set() and remove() may be called during apply(): the newest value counts. Other writers of the same rows race with it.
//
// Threads: the scheduler's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"
#include "rondo/store/record.h"

namespace rondo {

class Scheduler;
class Store;

/// What apply() did, in rows.
struct ViewTotals {
  std::size_t same = 0;  // Result of the last comparison.
  std::size_t set = 0;
  std::size_t replaced = 0;  // Rows with a Delete and a Set.
  std::size_t removed = 0;
  /// Times it had limits::kViewWrites writes in flight and waited for answers.
  std::size_t full_windows = 0;
  /// Compares the row counts only, not full_windows.
  friend bool operator==(const ViewTotals& a, const ViewTotals& b) noexcept {
    return a.same == b.same && a.set == b.set && a.replaced == b.replaced && a.removed == b.removed;
  }
};

/// Called in a turn of the view; it must not destroy the view. Must not throw.
using ViewDone = std::function<void(const Result<ViewTotals>& end)>;

class TableView {
 public:
  /// An empty view of a Staged or Watched table. Joins 'scheduler'; both must outlive the view. 'priority' is that of the turns in which it
  /// compares and writes; 'retry' the time until the next attempt after the store was unreachable or full.
  TableView(Scheduler& scheduler, Store& store, std::string table, Priority priority = Priority{}, Duration retry = 1s);
  /// Drops rows that were not applied; what apply() has written stays. O(rows).
  ~TableView();
  TableView(const TableView&) = delete;
  TableView& operator=(const TableView&) = delete;

  /// Merges with the view's row of that key, as writes to a table do. InvalidArgument for an empty key or name of a field and for sizes
  /// beyond limits, ResourceExhausted for more than limits::kTableRows rows or a merged row beyond the limits. During apply() also the
  /// errors of Store::write(); the view is then unchanged.
  Status set(Record row);
  Status set(std::string_view key, std::span<const Field> fields);
  Status set(std::string_view key, FieldList fields);
  Status remove(std::string_view key);
  /// Number of rows in the view.
  std::size_t size() const noexcept;

  /// Begins to apply the view to the table. FailedPrecondition while an apply() is in progress, and after success until the next set() or
  /// remove(): the view is then empty, and a second call would delete every row. A new empty view does delete them.
  /// 'done' is called once. With success, all of the difference is confirmed and the view is empty; from then on a producer writes to the
  /// table directly. An error means that waiting cannot help: no such table, a table without rows, a row that the store refuses, or a table
  /// that stays full for 20 attempts. The view is then unchanged and may be applied again.
  Status apply(ViewDone done = {});
  bool is_applying() const noexcept;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace rondo
