// Lot and Batch, the operations of one submission and those of one apply(); LaneQueue and LaneChoice: the submissions of one lane, divided
// into batches, and the choice of the next batch's lane. One thread uses each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rondo/base/time.h"
#include "sched/executor_tap.h"

namespace rondo::executor {

/// The operations of one submit().
struct Lot {
  std::unique_ptr<Operations> operations;
  Instant submitted;
  std::size_t size = 0;
  std::size_t taken = 0;  // Operations that were moved into batches.
};

/// The part of a batch that belongs to one lot.
struct Share {
  std::size_t count = 0;
  bool is_last = false;  // The lot ends with this share.
  std::shared_ptr<Lot> lot;
};

/// The operations of one apply(), from one or more lots.
struct Batch {
  std::unique_ptr<Operations> operations;
  std::size_t size = 0;
  std::vector<Share> shares;
  std::size_t lane = 0;
  std::uint64_t first = 0;  // The number of its first operation in its lane, counted from 0; the others follow it.
  std::uint64_t failed = 0;
  Duration busy{0};
};

/// Submissions in order.
class LaneQueue {
 public:
  void push(std::shared_ptr<Lot> lot) {
    left_ += lot->size;
    waiting_.push_back(std::move(lot));
  }
  bool empty() const noexcept { return waiting_.empty(); }
  /// The number of waiting operations.
  std::size_t size() const noexcept { return left_; }
  /// The number of the operation that is taken next, which is the number of operations taken.
  std::uint64_t next() const noexcept { return taken_; }

  /// Fills 'batch' with up to 'max' operations, oldest first.
  void take(Batch& batch, std::size_t max) {
    batch.first = taken_;
    batch.shares.reserve(std::min(max, waiting_.size()));
    while (!waiting_.empty() && batch.size < max) {
      std::shared_ptr<Lot>& front = waiting_.front();
      const std::size_t left = front->size - front->taken;
      const std::size_t count = std::min(left, max - batch.size);
      batch.operations->take(*front->operations, front->taken, count, std::min(max, batch.size + left_));
      front->taken += count;
      batch.size += count;
      left_ -= count;
      taken_ += count;
      const bool is_last = count == left;
      batch.shares.push_back({.count = count, .is_last = is_last, .lot = is_last ? std::move(front) : front});
      if (is_last) waiting_.pop_front();
    }
  }

 private:
  std::deque<std::shared_ptr<Lot>> waiting_;
  std::size_t left_ = 0;
  std::uint64_t taken_ = 0;
};

/// Returns the most urgent waiting lane that has not used its share of batches in this round; if there is none, the next round begins. A
/// lane's share is renewed when a more urgent lane is chosen, so that it gets a batch after each batch of the more urgent one.
class LaneChoice {
 public:
  explicit LaneChoice(std::vector<unsigned> shares) : shares_(std::move(shares)), used_(shares_.size()) {}

  /// 'waits' returns whether the lane with that number has waiting operations.
  template <class Waits>
  std::optional<std::size_t> next(const Waits& waits) {
    std::optional<std::size_t> waiting;  // The first waiting lane whose share is used up.
    for (std::size_t lane = 0; lane < shares_.size(); ++lane) {
      if (!waits(lane)) continue;
      if (used_[lane] < shares_[lane]) return choose(lane);
      if (!waiting) waiting = lane;
    }
    if (!waiting) return std::nullopt;
    std::ranges::fill(used_, 0U);
    return choose(*waiting);
  }

 private:
  std::size_t choose(std::size_t lane) {
    ++used_[lane];
    std::fill(used_.begin() + static_cast<std::ptrdiff_t>(lane) + 1, used_.end(), 0U);
    return lane;
  }

  std::vector<unsigned> shares_;
  std::vector<unsigned> used_;
};

}  // namespace rondo::executor
