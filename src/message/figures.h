// Figures: the counters of one agent or one queue. Each is an atomic with one writer at a time, so counting costs a plain increment and
// any thread may read.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string_view>

#include "rondo/base/metrics.h"
#include "rondo/message/agents.h"

namespace rondo::message {

using Counter = std::atomic<std::uint64_t>;

/// Called by the counter's one writer.
inline void bump(Counter& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}
inline std::uint64_t read(const Counter& counter) noexcept { return counter.load(std::memory_order_relaxed); }

/// As Log2Histogram, for one writer and any number of readers.
class SharedHistogram {
 public:
  void add(std::uint64_t value) noexcept {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    bump(counts_[width < kBuckets ? width : kBuckets - 1]);
  }
  void add(const SharedHistogram& other) noexcept {
    for (unsigned i = 0; i < kBuckets; ++i) bump(counts_[i], read(other.counts_[i]));
  }
  Log2Histogram copy() const noexcept {
    std::array<std::uint64_t, kBuckets> counts{};
    for (unsigned i = 0; i < kBuckets; ++i) counts[i] = read(counts_[i]);
    return Log2Histogram::from_counts(counts);
  }

 private:
  static constexpr unsigned kBuckets = 48;
  std::array<Counter, kBuckets> counts_{};
};

struct Figures {
  // Written by the agent's thread.
  alignas(64) Counter gone{0};  // Left the queue: handled or dropped.
  Counter served{0};
  Counter faults{0};
  Counter parked{0};
  // Written by the holder of the queue's lock.
  alignas(64) Counter posted{0};
  // Written by any thread, with atomic additions, because these events are rare.
  Counter refused{0};
  Counter dropped{0};
  Counter coalesced{0};
  alignas(64) SharedHistogram wait;

  std::uint64_t waiting() const noexcept {
    const std::uint64_t left = gone.load(std::memory_order_acquire);  // Read before the posts, so that the difference is not negative.
    const std::uint64_t came = read(posted);
    return came > left ? came - left : 0;
  }
  /// Adds the counts of 'other', except those of waiting messages.
  void add(const Figures& other) noexcept;
  MessageFigures copy(std::string_view name, Priority priority) const;
};

}  // namespace rondo::message
