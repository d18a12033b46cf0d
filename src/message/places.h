// Places: the memory of a lane's waiting messages. Allocated in chunks up to a limit, reused, and freed only with the lane. An array
// stores the free places, so that a place which another processor used last is written without being read first.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "message/node.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"

namespace rondo::message {

/// Guarded by its lane's lock, unless a function states otherwise.
class Places {
 public:
  explicit Places(std::size_t most) noexcept : most_(most) {}

  /// Returns nullptr when all places are in use, or an allocation failed.
  Node* take() noexcept {
    if (!free_.empty()) {
      Node* const used = free_.back();
      free_.pop_back();
      return used;
    }
    if (fresh_ == fresh_end_ && !add_chunk()) return nullptr;
    return fresh_++;
  }

  /// Any thread, without the lock.
  std::size_t made() const noexcept { return made_.load(std::memory_order_relaxed); }

  /// 'used' were returned by take().
  void give_back(std::span<Node* const> used) noexcept {
    RONDO_ASSERT(free_.size() + used.size() <= free_.capacity());
    free_.insert(free_.end(), used.begin(), used.end());
  }

 private:
  bool add_chunk() noexcept {
    const std::size_t before = made();
    const std::size_t room = most_ - before;
    if (room == 0) return false;
    const std::size_t count = room < limits::kMessagePlacesChunk ? room : limits::kMessagePlacesChunk;
    try {
      if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 8);
      if (free_.capacity() < before + count) free_.reserve(2 * before + count);
      auto chunk = std::make_unique_for_overwrite<Node[]>(count);
      fresh_ = chunk.get();
      chunks_.push_back(std::move(chunk));
    } catch (const std::bad_alloc&) {
      return false;
    }
    fresh_end_ = fresh_ + count;
    made_.store(before + count, std::memory_order_relaxed);
    return true;
  }

  const std::size_t most_;
  std::atomic<std::size_t> made_{0};  // Written under the lock.
  Node* fresh_ = nullptr;             // Places of the newest chunk that were never used.
  Node* fresh_end_ = nullptr;
  std::vector<Node*> free_;  // The last element was freed last; has room for all places.
  std::vector<std::unique_ptr<Node[]>> chunks_;
};

/// Free places reserved for one thread.
class PlacesInHand {
 public:
  bool empty() const noexcept { return count_ == 0; }
  bool full() const noexcept { return count_ == kRoom; }
  Node* take() noexcept { return count_ != 0 ? held_[--count_] : nullptr; }
  /// Must not be called when it is full.
  void keep(Node& place) noexcept { held_[count_++] = &place; }
  void fill_from(Places& places) noexcept {
    while (count_ < limits::kMessagePlacesKept) {
      Node* const place = places.take();
      if (place == nullptr) return;
      held_[count_++] = place;
    }
  }
  /// Returns enough places that the next calls need not do it again. Under the lane's lock.
  void give_back_to(Places& places) noexcept {
    if (count_ <= kLeft) return;
    places.give_back({held_.data() + kLeft, count_ - kLeft});
    count_ = kLeft;
  }
  bool has_too_many() const noexcept { return count_ > limits::kMessagePlacesKept; }

 private:
  static constexpr std::size_t kLeft = limits::kMessagePlacesKept / 4;
  static constexpr std::size_t kRoom = 4 * limits::kMessagePlacesKept;
  std::size_t count_ = 0;
  std::array<Node*, kRoom> held_;
};

}  // namespace rondo::message
