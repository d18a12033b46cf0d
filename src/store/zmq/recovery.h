// Recovery: the rows that a store still has from an earlier process, on their way to consumers that know nothing of them. Reads the tables
// page by page and stages each row as a Set; a full table is waited for. A read that fails, or whose place was lost with a connection,
// begins its table anew: a row may come twice, as the same Set. A source; scheduler's thread.
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
  Duration retry{0};  // Between two tries of a read that failed.
  std::vector<std::string> tables = {};
  /// ResourceExhausted: the table is full, try again after room().
  std::function<Status(std::string_view table, Change row)> stage = {};
  /// Told once, in the turn that staged the last row.
  std::function<void()> on_done = {};
  /// Told why a read failed, once a table, and of each row that cannot be staged.
  std::function<void(std::string_view table, const Status& why)> on_trouble = {};
};

class Recovery final : public Source {
 public:
  /// Joins 'scheduler' and begins in a turn to come. 'store' outlives it and has the tables, or both end together.
  Recovery(Scheduler& scheduler, Store& store, RecoveryOptions options);

  bool is_done() const noexcept { return table_ == options_.tables.size(); }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Somebody has taken from a table.
  void room();

  Turn run(const Budget& budget) override;

 private:
  void ask();
  void answered(const Result<RowPage>& page);
  bool stage_next();
  void page_done();
  void tell(const Status& why) const;

  Store& store_;
  Scheduler& scheduler_;
  const RecoveryOptions options_;
  std::size_t table_ = 0;  // Of options_.tables: the one being read.
  RowPage page_;
  std::size_t next_ = 0;  // Of the page's rows.
  bool asked_ = false;
  bool is_full_ = false;
  bool told_ = false;  // Of the table's failed reads.
  std::uint64_t rows_ = 0;
  TimerSource timer_;
};

}  // namespace rondo::store
