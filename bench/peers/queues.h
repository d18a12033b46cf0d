// What users of a loop write themselves where it has no queue of messages of its own: one behind a lock for other threads, and one for the
// loop's thread. The loop is woken by its own means when a queue was empty.
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

/// As many as a queue of Rondo's has here, too.
inline constexpr std::size_t kQueueMost = 4'000'000;

/// A vector behind a mutex. The receiving side takes all that there is with one swap, which is as fast as such a queue can be; who is more
/// urgent waits for all of it.
class LockedQueue {
 public:
  /// Any thread. True if it was empty: the loop must be woken.
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

/// The loop's thread. One message a turn of the loop, so that it is the loop that says who is next.
class LocalQueue {
 public:
  /// True if it was empty.
  bool push(std::int64_t message) {
    require(waiting_.size() < kQueueMost, "a queue is full");
    waiting_.push_back(message);
    return waiting_.size() == 1;
  }
  /// True if there are more. The message stays in the queue until it has been handled, so one that its handler sends finds the loop awake.
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
