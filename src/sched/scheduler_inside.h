// Scheduler::Inside: marks that a thread is in a call that runs turns, waits or polls, which makes it the scheduler's owner
// (Scheduler::is_here). Used only by scheduler.cc and scheduler_wait.cc.
#pragma once

#include "rondo/sched/scheduler.h"

namespace rondo {

class Scheduler::Inside {
 public:
  explicit Inside(Scheduler& scheduler) noexcept : scheduler_(scheduler) {
    scheduler_.move_here();
    scheduler_.inside_.store(scheduler_.inside_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  ~Inside() { scheduler_.inside_.store(scheduler_.inside_.load(std::memory_order_relaxed) - 1, std::memory_order_release); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Scheduler& scheduler_;
};

}  // namespace rondo
