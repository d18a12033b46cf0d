// TableView: the whole new content of a table, gathered beside it and then applied: what a producer needs that starts anew and knows what
// its table is to hold, but not what it holds. Only the difference is written, so a row that stays is not touched. SONiC's
// ProducerStateTable has it as create_temp_view() and apply_temp_view(); docs/guide/mixing-with-sonic.md says what differs.
//
//   TableView view(scheduler, store, "ROUTE_TABLE");
//   for (const Route& route : routes) view.set(route.prefix, {{"nexthop", route.nexthop}});
//   view.apply([](const Result<ViewTotals>& end) { ... });
//
// apply() holds each row of the table, as it will be when all that waits has been popped (Store::scan_written), against the view:
//
//   the table's row                       is written
//   the same fields and values            nothing
//   other values, or fewer fields         a Set of all fields of the view's row
//   a field that the view's has not       a Delete and a Set of all fields, together
//   no row in the view                    a Delete
//
// and then each row that only the view has as a Set. Values are compared as text. It takes its time, in turns like any source, with bounded
// pieces under way; rows that stay are never deleted in between. Cut short, even by the end of the process, it leaves some rows old and
// some new, and the next apply() finishes. A connection that is lost, or a store that is full for a while, delays it; then it compares once
// more.
//
// set() and remove() go on meanwhile: the newest counts. Others who write the same rows meanwhile race with it.
//
// Threads: the scheduler's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
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

struct TableViewOptions {
  Priority priority = Priority{};  // Of the turns in which it compares and writes.
  /// After the store was away or full, until the next try.
  Duration retry = 1s;
};

/// What apply() did, in rows.
struct ViewTotals {
  std::size_t same = 0;  // As the last comparison found them.
  std::size_t set = 0;
  std::size_t replaced = 0;  // A Delete and a Set.
  std::size_t removed = 0;
  /// Times it had limits::kViewWrites writes under way and waited for answers.
  std::size_t full_windows = 0;
  /// Of what was done; how often it waited is no part of it.
  friend bool operator==(const ViewTotals& a, const ViewTotals& b) noexcept {
    return a.same == b.same && a.set == b.set && a.replaced == b.replaced && a.removed == b.removed;
  }
};

/// Called in a turn of the view, which must not be destroyed in it. Must not throw.
using ViewDone = std::function<void(const Result<ViewTotals>& end)>;

class TableView {
 public:
  /// An empty view of a Staged or Watched table. Joins 'scheduler'; both must outlive the view.
  TableView(Scheduler& scheduler, Store& store, std::string table, TableViewOptions options = {});
  /// What was not applied is forgotten; what apply() had written stays written. O(rows).
  ~TableView();
  TableView(const TableView&) = delete;
  TableView& operator=(const TableView&) = delete;

  /// Merges with the view's row of that key, as writes to a table do. InvalidArgument for sizes beyond limits, ResourceExhausted for more
  /// than limits::kTableRows rows or a merged row beyond the limits. While it is being applied also what Store::write() may answer; then
  /// the view is as before.
  Status set(Record row);
  Status set(std::string_view key, std::span<const Field> fields);
  Status set(std::string_view key, std::initializer_list<Field> fields) { return set(key, std::span{fields.begin(), fields.size()}); }
  Status remove(std::string_view key);
  /// Rows of the view.
  std::size_t size() const noexcept;

  /// Begins to make the table what the view is; FailedPrecondition while it is being applied, and after success until set() or remove() is
  /// called: the view is empty then, and a second call would delete every row. A new view that is empty does delete them. 'done' is told
  /// once: when all of the difference is confirmed, and then the view is empty, and writes go to the table again, or with the error of what
  /// no waiting can cure (no such table, one that has no rows, a row the store refuses, a table that stays full for 20 tries). Then the
  /// view is as before and may be applied again.
  Status apply(ViewDone done = {});
  bool is_applying() const noexcept;

 private:
  class Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace rondo
