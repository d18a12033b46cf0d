// RowWaits: answers to writes that wait for the outcome of their row ('set' and 'del' with wait_ms). A tap of the row reports when the
// consumer has taken the change and what its handler returned; nothing is polled. Scheduler's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "rondo/admin/command.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/timer.h"

namespace rondo::commands {

class RowWaits {
 public:
  /// How far the store is with a write whose row is awaited. The writer sets it.
  struct Written {
    bool is_stored = false;    // The store has confirmed it; until then no answer claims that the row was written.
    std::uint64_t change = 0;  // Watchers::written().
  };
  RowWaits(Runtime& runtime, Priority priority);
  ~RowWaits();
  RowWaits(const RowWaits&) = delete;
  RowWaits& operator=(const RowWaits&) = delete;

  /// Call it before the write of 'change'. 'reply' ends when the row is done, rejected or parked on facts for half a second, or at
  /// 'deadline'. A caller that ends it before, because the write is refused, calls check_soon(). NotFound if no Orch of this runtime
  /// consumes 'table'.
  Status add(const std::string& table, const Change& change, Instant deadline, std::shared_ptr<const Written> written, Reply reply);
  /// For a write that ends with the store's answer: fails 'reply' if the store has not answered after some seconds and is in trouble. A
  /// store without trouble may take its time.
  void add_unconfirmed(Reply reply);
  /// Checks every wait in a turn of its own.
  void check_soon();
  std::size_t size() const noexcept { return waits_.size(); }

 private:
  class Wait;
  struct Unconfirmed {
    Instant due;
    Reply reply;
  };
  void check();
  void check_unconfirmed();

  Runtime& runtime_;
  TimerSource timer_;
  TimerSource store_timer_;
  std::vector<std::unique_ptr<Wait>> waits_;
  std::deque<Unconfirmed> unconfirmed_;  // Sorted by their times.
  bool is_soon_ = false;                 // A check is due.
};

}  // namespace rondo::commands
