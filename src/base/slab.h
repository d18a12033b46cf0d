// Slab: numbered places for T that never move. Grows by chunks, so adding the millionth element costs what adding the first did (a vector
// would copy 80 MB in one turn). Freed places are used again, last freed first. One thread. O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/base/assert.h"

namespace rondo {

/// T is default-constructible; a freed T keeps its last value until it is taken again, so its owner resets what must not linger.
template <class T>
class Slab {
 public:
  static constexpr std::uint32_t kChunk = 1024;

  std::uint32_t take() {
    ++live_;
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    if (used_ % kChunk == 0) chunks_.push_back(std::make_unique<T[]>(kChunk));
    return used_++;
  }
  void give_back(std::uint32_t slot) {
    RONDO_ASSERT(slot < used_ && live_ > 0);
    --live_;
    free_.push_back(slot);
  }
  T& operator[](std::uint32_t slot) noexcept { return chunks_[slot / kChunk][slot % kChunk]; }
  const T& operator[](std::uint32_t slot) const noexcept { return chunks_[slot / kChunk][slot % kChunk]; }

  /// Slots are below this number, live or free.
  std::uint32_t limit() const noexcept { return used_; }
  std::size_t live() const noexcept { return live_; }
  std::size_t bytes() const noexcept { return chunks_.size() * kChunk * sizeof(T) + free_.capacity() * sizeof(std::uint32_t); }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
  std::size_t live_ = 0;
};

}  // namespace rondo
