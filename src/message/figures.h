// Figures: the counters of one agent or one queue. Each is an atomic with one writer at a time, so counting costs a plain increment and
// any thread may read. Blocks are returned to the system only with the registry. A generation that is odd while the block is in use tells
// a reader whether the block changed owners meanwhile (a sequence lock; its fences are those of Boehm, MSPC 2012). No lock on either side.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "rondo/base/limits.h"
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
  void clear() noexcept;
  void add(const SharedHistogram& other) noexcept;
  Log2Histogram copy() const noexcept;

 private:
  static constexpr unsigned kBuckets = 48;
  std::array<Counter, kBuckets> counts_{};
};

struct alignas(64) Figures {
  static constexpr std::size_t kNameWords = 6;
  std::atomic<std::uint64_t> generation{0};
  std::array<Counter, kNameWords> name{};
  Counter priority{0};
  // Written by the agent's thread.
  alignas(64) Counter posted_here{0};
  Counter gone{0};  // Left the queue: handled or dropped.
  Counter served{0};
  Counter faults{0};
  Counter parked{0};
  // Written by the holder of the queue's lock.
  alignas(64) Counter posted_elsewhere{0};
  // Written by any thread, with atomic additions, because these events are rare.
  Counter refused{0};
  Counter dropped{0};
  Counter coalesced{0};
  alignas(64) SharedHistogram wait;

  std::uint64_t posted() const noexcept { return read(posted_here) + read(posted_elsewhere); }
  void reset(std::string_view called, Priority level) noexcept;
  /// Adds the counts of 'other', except those of waiting messages.
  void add(const Figures& other) noexcept;
  /// Returns a copy; inconsistent if the block changes owners meanwhile.
  MessageFigures copy() const;
};

class FiguresRegistry {
 public:
  FiguresRegistry() = default;
  ~FiguresRegistry();
  FiguresRegistry(const FiguresRegistry&) = delete;
  FiguresRegistry& operator=(const FiguresRegistry&) = delete;

  /// Any thread; takes a lock. nullptr when limits::kAgents are in use. Throws bad_alloc.
  Figures* take(std::string_view name, Priority priority);
  void give_back(Figures& figures) noexcept;
  /// Any thread, without a lock.
  std::vector<MessageFigures> read_all() const;

 private:
  static constexpr std::size_t kChunk = 64;
  static constexpr std::size_t kChunks = limits::kAgents / kChunk;
  using Chunk = std::array<Figures, kChunk>;
  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  std::mutex lock_;
  std::vector<Figures*> free_;  // Guarded by lock_; room for all blocks is reserved, so give_back() allocates nothing.
  std::size_t made_ = 0;        // Chunks; guarded by lock_.
};

}  // namespace rondo::message
