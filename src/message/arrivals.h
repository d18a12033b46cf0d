// Arrivals: the messages that other threads have posted to the lanes of one home: a list for each lane, all under one lock. The
// scheduler's thread takes all lists together. So the cache lines of lock, lists and mark move between processors once for many messages,
// however many lanes those are for.
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
  /// Held by posts of other threads and by readers of the lists.
  std::mutex& lock() noexcept { return lock_; }

  // --- Under the lock.
  /// From now on 'lane' receives the arrivals of its priority.
  void join(Lane& lane) noexcept;
  bool empty(Priority priority) const noexcept { return lists_[priority.level()].empty(); }
  /// The number of the batch that has not been taken; never Node::kInHand.
  std::uint32_t batch() const noexcept { return batch_; }
  /// Returns true if 'scheduler' must be woken. Posts of the scheduler's own thread outside of agents' turns do not make the loop gather.
  bool push(Node& node, Priority priority, const Scheduler& scheduler, bool from_own_thread) noexcept {
    lists_[priority.level()].push(node);
    filled_ |= 1ULL << priority.level();
    came_ += from_own_thread ? 0 : 1;
    return mark(priority, scheduler);
  }
  /// Takes out 'node', which has not been taken and whose type has a limit.
  void unlink(Node& node, Priority priority) noexcept { lists_[priority.level()].unlink(node); }

  // --- Without the lock.
  /// Any thread: when the oldest waiting arrival of 'priority' was posted; never() if there is none.
  Instant oldest(Priority priority) const noexcept {
    const std::lock_guard guard(lock_);
    const NodeList& list = lists_[priority.level()];
    return list.empty() ? Instant::never() : list.first->enqueued;
  }
  bool has_any_for(Priority priority) const noexcept { return (waiting() >> priority.level() & 1) != 0; }
  /// The scheduler's thread, also in a turn: moves all arrivals to their lanes and wakes those.
  void take() noexcept { hand_out(); }

 private:
  std::uint64_t hand_out() noexcept override;
  bool is_for(const Source& source) const noexcept override;

  alignas(64) mutable std::mutex lock_;
  std::uint32_t batch_ = 1;
  std::uint64_t filled_ = 0;  // Bit p: the list of priority p is not empty.
  std::uint64_t came_ = 0;
  std::array<NodeList, limits::kPriorities> lists_{};

  // Used by the scheduler's thread.
  alignas(64) std::array<std::atomic<Lane*>, limits::kPriorities> lanes_{};  // Lanes join under the lock, on any thread.
};

}  // namespace rondo::message
