#include "message/figures.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace rondo::message {

void SharedHistogram::clear() noexcept {
  for (Counter& count : counts_) count.store(0, std::memory_order_relaxed);
}

void SharedHistogram::add(const SharedHistogram& other) noexcept {
  for (unsigned i = 0; i < kBuckets; ++i) bump(counts_[i], read(other.counts_[i]));
}

Log2Histogram SharedHistogram::copy() const noexcept {
  std::array<std::uint64_t, kBuckets> counts{};
  for (unsigned i = 0; i < kBuckets; ++i) counts[i] = read(counts_[i]);
  return Log2Histogram::from_counts(counts);
}

void Figures::reset(std::string_view called, Priority level) noexcept {
  for (Counter* counter : {&posted_here, &gone, &served, &faults, &parked, &posted_elsewhere, &refused, &dropped, &coalesced}) {
    counter->store(0, std::memory_order_relaxed);
  }
  wait.clear();
  priority.store(level.level(), std::memory_order_relaxed);
  char text[kNameWords * sizeof(std::uint64_t)] = {};
  called.copy(text, sizeof text - 1);
  for (std::size_t i = 0; i < kNameWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, text + i * sizeof word, sizeof word);
    name[i].store(word, std::memory_order_relaxed);
  }
}

void Figures::add(const Figures& other) noexcept {
  bump(served, read(other.served));
  bump(faults, read(other.faults));
  bump(refused, read(other.refused));
  bump(dropped, read(other.dropped));
  bump(coalesced, read(other.coalesced));
  wait.add(other.wait);
}

MessageFigures Figures::copy() const {
  MessageFigures copied;
  char text[kNameWords * sizeof(std::uint64_t)] = {};
  for (std::size_t i = 0; i < kNameWords; ++i) {
    const std::uint64_t word = read(name[i]);
    std::memcpy(text + i * sizeof word, &word, sizeof word);
  }
  text[sizeof text - 1] = '\0';
  copied.name = text;
  copied.priority = Priority{static_cast<unsigned>(read(priority)) % limits::kPriorities};
  // 'gone' is read before the posts, so that the difference is never negative.
  const std::uint64_t left = gone.load(std::memory_order_acquire);
  copied.parked = read(parked);
  copied.served = read(served);
  copied.refused = read(refused);
  copied.dropped = read(dropped);
  copied.coalesced = read(coalesced);
  copied.faults = read(faults);
  const std::uint64_t came = posted();
  copied.queued = came > left ? came - left : 0;
  copied.wait_ns = wait.copy();
  return copied;
}

FiguresRegistry::~FiguresRegistry() {
  for (std::size_t i = 0; i < made_; ++i) delete chunks_[i].load(std::memory_order_relaxed);
}

Figures* FiguresRegistry::take(std::string_view name, Priority priority) {
  Figures* taken = nullptr;
  {
    const std::lock_guard guard(lock_);
    if (free_.empty()) {
      if (made_ == kChunks) return nullptr;
      free_.reserve((made_ + 1) * kChunk);
      auto chunk = std::make_unique<Chunk>();
      for (Figures& figures : *chunk) free_.push_back(&figures);
      std::ranges::reverse(free_);
      chunks_[made_++].store(chunk.release(), std::memory_order_release);
    }
    taken = free_.back();
    free_.pop_back();
  }
  taken->reset(name, priority);
  taken->generation.fetch_add(1, std::memory_order_release);
  return taken;
}

void FiguresRegistry::give_back(Figures& figures) noexcept {
  figures.generation.fetch_add(1, std::memory_order_acq_rel);
  const std::lock_guard guard(lock_);
  free_.push_back(&figures);
}

std::vector<MessageFigures> FiguresRegistry::read_all() const {
  std::vector<MessageFigures> all;
  for (const std::atomic<Chunk*>& place : chunks_) {
    const Chunk* const chunk = place.load(std::memory_order_acquire);
    if (chunk == nullptr) break;
    for (const Figures& figures : *chunk) {
      const std::uint64_t before = figures.generation.load(std::memory_order_acquire);
      if (before % 2 == 0) continue;
      MessageFigures copied = figures.copy();
      std::atomic_thread_fence(std::memory_order_acquire);
      if (figures.generation.load(std::memory_order_relaxed) == before) all.push_back(std::move(copied));
    }
  }
  return all;
}

}  // namespace rondo::message
