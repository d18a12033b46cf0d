// Arrivals: what other threads have posted to the lanes of one home, a list for each lane under one lock, so that the scheduler's thread
// takes all of it at once, and the lock, the lists and the mark change processors once for many messages, however many lanes they are for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "message/node.h"
#include "rondo/base/limits.h"
#include "rondo/base/time.h"
#include "rondo/sched/inbox.h"

namespace rondo::message {

class Lane;

class Arrivals final : public Inbox {
 public:
  /// Held by posts of other threads, and whoever looks at what they have left.
  std::mutex& lock() noexcept { return lock_; }

  // --- Under the lock.
  /// From now on 'lane' is given what comes for its priority.
  void join(Lane& lane) noexcept;
  bool empty(Priority priority) const noexcept { return lists_[priority.level()].empty(); }
  /// The number of those that have not been taken; never Node::kInHand.
  std::uint32_t batch() const noexcept { return batch_; }
  /// True if 'scheduler' must be told. What the scheduler's own thread posts outside of agents' turns is nothing to wait for more of.
  bool push(Node& node, Priority priority, const Scheduler& scheduler, bool from_own_thread) noexcept {
    lists_[priority.level()].push(node);
    filled_ |= 1ULL << priority.level();
    came_ += from_own_thread ? 0 : 1;
    return mark(priority, scheduler);
  }
  /// Takes out 'node', which has not been taken and is of a type with a limit.
  void unlink(Node& node, Priority priority) noexcept { lists_[priority.level()].unlink(node); }

  // --- Without it.
  /// Any thread: when the oldest of those that wait here for 'priority' was posted; never() if none does.
  Instant oldest(Priority priority) const noexcept {
    const std::lock_guard guard(lock_);
    const NodeList& list = lists_[priority.level()];
    return list.empty() ? Instant::never() : list.first->enqueued;
  }
  bool has_any_for(Priority priority) const noexcept { return (waiting() >> priority.level() & 1) != 0; }
  /// The scheduler's thread, also in a turn: every lane has what came for it, and is awake.
  void take() noexcept { hand_out(); }

 private:
  std::uint64_t hand_out() noexcept override;
  bool is_for(const Source& source) const noexcept override;

  alignas(64) mutable std::mutex lock_;
  std::uint32_t batch_ = 1;
  std::uint64_t filled_ = 0;  // Bit p: the list of priority p is not empty.
  std::uint64_t came_ = 0;
  std::array<NodeList, limits::kPriorities> lists_{};

  // The scheduler's thread.
  alignas(64) std::array<std::atomic<Lane*>, limits::kPriorities> lanes_{};  // Lanes join under the lock, on any thread.
};

}  // namespace rondo::message
