// WaitHistograms: how long the sources of one scheduler waited, a histogram for each. They lie apart from the sources, whose turns would
// otherwise spread over so much memory that ten thousand of them outgrow the processor's table of pages. Scheduler's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/base/metrics.h"

namespace rondo {

class WaitHistograms {
 public:
  /// The number of an empty one. Throws bad_alloc, and has no effect then.
  std::uint32_t take() {
    if (free_.empty()) add_chunk();
    const std::uint32_t number = free_.back();
    free_.pop_back();
    at(number).clear();
    return number;
  }
  void give_back(std::uint32_t number) noexcept { free_.push_back(number); }

  Log2Histogram& at(std::uint32_t number) noexcept { return (*chunks_[number / kChunk])[number % kChunk]; }
  const Log2Histogram& at(std::uint32_t number) const noexcept { return (*chunks_[number / kChunk])[number % kChunk]; }

 private:
  static constexpr std::size_t kChunk = 16;
  using Chunk = std::array<Log2Histogram, kChunk>;

  void add_chunk() {
    const std::size_t made = chunks_.size() * kChunk;
    if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 1);
    if (free_.capacity() < made + kChunk) free_.reserve(2 * made + kChunk);
    chunks_.push_back(std::make_unique<Chunk>());
    for (std::size_t number = made + kChunk; number-- > made;) free_.push_back(static_cast<std::uint32_t>(number));
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::uint32_t> free_;  // Room for all that were made.
};

}  // namespace rondo
