// Recovery: delivers the rows that a store still has from an earlier process to the consumers of this one. It reads the tables page by page
// and stages each row as a Set; if a table is full it waits. After a failed read, or a cursor lost with a connection, it reads the table
// from the beginning. So a row may be delivered twice, as the same Set. A source; scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"
#include "rondo/store/store.h"

namespace rondo::store {

struct RecoveryOptions {
  Priority priority;
  Duration retry{0};  // The delay before a failed read is retried.
  std::vector<std::string> tables = {};
  /// ResourceExhausted: the table is full; retry after room().
  std::function<Status(std::string_view table, Change row)> stage = {};
  /// Called once, in the turn that staged the last row.
  std::function<void()> on_done = {};
  /// Called with the reason of a failed read, once per table, and for each row that cannot be staged. A read of a store that is not
  /// connected, as at every start, is only retried: the store's health() reports that.
  std::function<void(std::string_view table, const Status& why)> on_trouble = {};
};

class Recovery final : public Source {
 public:
  /// Joins 'scheduler' and begins in a later turn. 'store' must have the tables, and must outlive this object or be destroyed together with
  /// it.
  Recovery(Scheduler& scheduler, Store& store, RecoveryOptions options);

  bool is_done() const noexcept { return table_ == options_.tables.size(); }
  std::uint64_t rows() const noexcept { return rows_; }
  /// A consumer has taken from a table.
  void room();

  Turn run(const Budget& budget) override;

 private:
  void ask();
  void answered(const Result<RowPage>& page, bool was_connected);
  bool stage_next();
  void page_done();
  void notify(const Status& why) const;

  Store& store_;
  Scheduler& scheduler_;
  const RecoveryOptions options_;
  std::size_t table_ = 0;  // The index in options_.tables of the table being read.
  RowPage page_;
  std::size_t next_ = 0;  // The index in the page's rows.
  bool asked_ = false;
  bool is_full_ = false;
  bool reported_ = false;  // A failed read of this table was reported.
  std::uint64_t rows_ = 0;
  TimerSource timer_;
};

}  // namespace rondo::store
