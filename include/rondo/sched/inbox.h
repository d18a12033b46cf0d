// Inbox: holds what other threads post for several sources of one scheduler. Waking each source separately moves the cache lines of the
// source and of the wake list between processors. With an inbox, one word says which priorities have something, and the scheduler thread
// takes all of it in one step. When posts arrive in close succession, the scheduler waits up to limits::kPollAfter before it takes them.
// Then the cache lines of the inbox move between processors once for many items.
#pragma once

#include <atomic>
#include <cstdint>

#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;
class Source;

/// Base of an object that belongs to one scheduler (Scheduler::add). Any thread may fill it, but only one at a time, for example under a
/// lock.
class Inbox {
 public:
  Inbox() = default;
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Bit p is set while something waits for a source of priority p. Any thread. A concurrent post may become visible later, but is never
  /// lost.
  std::uint64_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

 protected:
  /// Leaves the scheduler, if it was added to one.
  virtual ~Inbox();
  /// Called after a post for a source of 'priority' of 'scheduler', to which this inbox belongs. One thread at a time. True if the
  /// scheduler sleeps: then the caller must call Scheduler::check_inboxes(). The first poster of each priority gets this answer. So an
  /// urgent post never depends on a less urgent thread that is preempted before its own call.
  bool mark(Priority priority, const Scheduler& scheduler) noexcept {
    const std::uint64_t bit = 1ULL << priority.level();
    const std::uint64_t before = waiting();
    if ((before & bit) != 0) [[likely]]
      return false;
    return mark_anew(before, bit, scheduler);
  }
  /// Called on the scheduler thread, while no thread is in mark(), after everything was taken.
  void clear() noexcept { waiting_.store(0, std::memory_order_relaxed); }

 private:
  friend class Scheduler;
  bool mark_anew(std::uint64_t before, std::uint64_t bit, const Scheduler& scheduler) noexcept;
  /// Called on the scheduler thread between two turns: gives the posted items to their sources and wakes them. Returns how many items other
  /// threads have posted since the last call.
  virtual std::uint64_t hand_out() noexcept = 0;
  /// True if the items waiting at the priority of 'source' are for that source.
  virtual bool is_for(const Source& source) const noexcept = 0;

  Scheduler* scheduler_ = nullptr;
  Inbox* next_ = nullptr;
  // Written when a post arrives for a priority without waiting posts, and read between any two items: it has a cache line of its own.
  alignas(64) std::atomic<std::uint64_t> waiting_{0};
};

}  // namespace rondo
