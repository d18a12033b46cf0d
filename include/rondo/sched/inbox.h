// Inbox: what other threads have left for several sources of one scheduler. A wake of each source by itself costs both processors the cache
// lines of that source and of the list of wakes. Where much comes for many, one word says for whom, and the scheduler's thread takes all of
// it at once. Where it comes in close succession, the scheduler lets it gather for up to limits::kPollAfter, so that the lines of the inbox
// change processors for many items and not for each.
#pragma once

#include <atomic>
#include <cstdint>

#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;
class Source;

/// Base of what belongs to one scheduler (Scheduler::add) and is filled by any threads, one at a time: under a lock, say.
class Inbox {
 public:
  Inbox() = default;
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Bit p: something is left for a source of priority p. Any thread; what others leave at the same time is seen later, and never lost.
  std::uint64_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

 protected:
  /// Leaves the scheduler, if it was added to one.
  virtual ~Inbox();
  /// One thread at a time: something is left for a source of 'priority' of 'scheduler', to which this belongs. True if that sleeps: then
  /// Scheduler::look_into_inboxes() must be called. Each priority's own first poster is told, so that none waits for a less urgent thread
  /// that the machine holds up just before it calls.
  bool mark(Priority priority, const Scheduler& scheduler) noexcept {
    const std::uint64_t bit = 1ULL << priority.level();
    const std::uint64_t before = waiting();
    if ((before & bit) != 0) [[likely]]
      return false;
    return mark_anew(before, bit, scheduler);
  }
  /// The scheduler's thread, while nobody marks: all of it is taken.
  void clear() noexcept { waiting_.store(0, std::memory_order_relaxed); }

 private:
  friend class Scheduler;
  bool mark_anew(std::uint64_t before, std::uint64_t bit, const Scheduler& scheduler) noexcept;
  /// The scheduler's thread, between two turns: gives the sources what is theirs, and wakes them. How many items other threads have left
  /// since the last call.
  virtual std::uint64_t hand_out() noexcept = 0;
  /// Whether what waits for the priority of 'source' is for it.
  virtual bool is_for(const Source& source) const noexcept = 0;

  Scheduler* scheduler_ = nullptr;
  Inbox* next_ = nullptr;
  // Written when something comes for a priority for which nothing waited, and looked at between any two items: on a line of its own.
  alignas(64) std::atomic<std::uint64_t> waiting_{0};
};

}  // namespace rondo
