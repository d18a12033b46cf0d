// RowCheck: compares the rows that this process has written with what their store has, a page at a time, and has those written again that
// another program has changed or deleted. A row must differ in two reads, kSecondRead apart, because a write of it may be under way at the
// first one. Bound: of N rows each is read once in (N / kPage + 1) * kPeriod; pages follow each other faster while rows differ. Scheduler's
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/sched/priority.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"
#include "rondo/store/store.h"

namespace rondo::managers {

/// A row that this process has written.
struct OwnRow {
  std::string table;
  std::string key;
  Record content;
  bool is_whole = false;  // Fields that another program has added are a change, too.
};

/// The owner of the rows.
struct RowCheckOptions {
  /// Appends at most 'max' rows behind 'cursor', and sets 'cursor' to the last one. Makes it empty at the end.
  std::function<void(std::string& cursor, std::size_t max, std::vector<OwnRow>& rows)> page = {};
  /// Whether the row is still to have this content.
  std::function<bool(const OwnRow& row)> is_current = {};
  /// Writes the row again. 'found' is what the store has; empty (false): no row.
  std::function<void(const OwnRow& row, const Record& found)> repair = {};
  /// A key that another program gave another type is written again, too: the store refuses that, which repair() reports.
  bool writes_over_types = false;
};

class RowCheck {
 public:
  static constexpr Duration kPeriod = 1s;         // Between two pages.
  static constexpr Duration kSecondRead = 200ms;  // Between two pages while rows differ.
  static constexpr std::size_t kPage = 256;

  /// 'store' must outlive it.
  RowCheck(std::string name, Priority priority, Store& store, RowCheckOptions options);
  /// Begins. Called once.
  void start(Scheduler& scheduler);

  /// Rows that were written again, since the start.
  std::uint64_t repaired() const noexcept { return repaired_; }
  /// The newest of them, for people.
  const std::string& newest() const noexcept { return newest_; }

 private:
  void tick();
  void read(OwnRow row, bool is_second);
  void compare(OwnRow row, const Result<Record>& found, bool is_second);

  Store& store_;
  const RowCheckOptions options_;
  Scheduler* scheduler_ = nullptr;
  TimerSource timer_;
  std::string cursor_;
  std::vector<OwnRow> differ_;  // After their first read. At most a page.
  std::size_t unanswered_ = 0;
  std::uint64_t repaired_ = 0;
  std::string newest_;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // Answers of the store may come after the end.
};

}  // namespace rondo::managers
