// Slab: numbered places for T with stable addresses. It grows by chunks, so adding the millionth element costs as much as the first (a
// vector would copy 80 MB in one turn). Freed places are reused, last freed first. One thread. O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rondo/base/assert.h"

namespace rondo {

/// T is default-constructible. A freed T keeps its last value until the place is reused, so its owner must reset what it holds.
template <class T>
class Slab {
 public:
  static constexpr std::uint32_t kChunk = 1024;

  /// Changes nothing if an allocation fails.
  std::uint32_t take() {
    if (first_free_ != kEnd) {
      ++live_;
      return std::exchange(first_free_, next_free(first_free_));
    }
    if (used_ % kChunk == 0) {
      // One of the two may exist already, if an allocation failed between them.
      if (chunks_.size() == next_free_.size()) chunks_.push_back(std::make_unique<T[]>(kChunk));
      next_free_.push_back(std::make_unique<std::uint32_t[]>(kChunk));
    }
    ++live_;
    return used_++;
  }
  void give_back(std::uint32_t slot) {
    RONDO_ASSERT(slot < used_ && live_ > 0);
    --live_;
    next_free(slot) = std::exchange(first_free_, slot);
  }
  T& operator[](std::uint32_t slot) noexcept { return chunks_[slot / kChunk][slot % kChunk]; }
  const T& operator[](std::uint32_t slot) const noexcept { return chunks_[slot / kChunk][slot % kChunk]; }

  /// Slots, used or free, are below this number.
  std::uint32_t limit() const noexcept { return used_; }
  std::size_t live() const noexcept { return live_; }
  std::size_t bytes() const noexcept { return chunks_.size() * kChunk * (sizeof(T) + sizeof(std::uint32_t)); }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFU;
  std::uint32_t& next_free(std::uint32_t slot) noexcept { return next_free_[slot / kChunk][slot % kChunk]; }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::unique_ptr<std::uint32_t[]>> next_free_;  // Links the freed places: a vector of them would grow by copying.
  std::uint32_t first_free_ = kEnd;
  std::uint32_t used_ = 0;
  std::size_t live_ = 0;
};

}  // namespace rondo
