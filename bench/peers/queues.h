// The queues that users write for loops without message queues: one with a lock for other threads, and one for the loop's thread. Each
// wakes the loop by the loop's own means when it was empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "peers/loop.h"
#include "peers/measure.h"

namespace rondo::bench {

/// The same capacity as a queue of Rondo.
inline constexpr std::size_t kQueueMost = 4'000'000;

/// A vector behind a mutex. The receiver takes its whole content with one swap, which is the fastest such queue; a more urgent message
/// waits for all of it.
class LockedQueue {
 public:
  /// Any thread. Returns true if it was empty: the caller must wake the loop.
  bool push(std::int64_t message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    require(arriving_.size() < kQueueMost, "a queue is full");
    arriving_.push_back(message);
    return arriving_.size() == 1;
  }
  void hand_to(Receiver& receiver) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      arriving_.swap(taken_);
    }
    for (const std::int64_t message : taken_) receiver.take(message);
    taken_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::int64_t> arriving_;  // Guarded by mutex_.
  std::vector<std::int64_t> taken_;
};

/// The loop's thread only. It hands over one message per turn of the loop, so that the loop decides the order.
class LocalQueue {
 public:
  /// Returns true if it was empty.
  bool push(std::int64_t message) {
    require(waiting_.size() < kQueueMost, "a queue is full");
    waiting_.push_back(message);
    return waiting_.size() == 1;
  }
  /// Returns true if there are more. The message stays in the queue until it was handled, so that a message sent by its handler finds the
  /// loop awake.
  bool hand_one_to(Receiver& receiver) {
    receiver.take(waiting_.front());
    waiting_.pop_front();
    return !waiting_.empty();
  }
  bool empty() const { return waiting_.empty(); }

 private:
  std::deque<std::int64_t> waiting_;
};

}  // namespace rondo::bench
