// ShortLock: a mutex for a handful of instructions, in one word. A thread that finds it taken looks again some hundred times before it
// sleeps, so two threads that meet seldom pay for a switch; a thread that was preempted inside costs the others a sleep, not a time slice
// of spinning. Three states, as in Drepper, "Futexes are tricky" (2011), section 5: who lets go of it makes a system call only where
// somebody may sleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/pause.h"

namespace rondo::message {

class ShortLock {
 public:
  ShortLock() noexcept = default;
  ShortLock(const ShortLock&) = delete;
  ShortLock& operator=(const ShortLock&) = delete;
  void lock() noexcept {
    std::uint32_t free = kFree;
    if (!word_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed)) [[unlikely]]
      lock_contended();
  }
  void unlock() noexcept {
    if (word_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      word_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kAwaited = 2;  // Taken, and somebody may sleep.
  static constexpr unsigned kLooks = 500;

  [[gnu::noinline]] void lock_contended() noexcept {
    if (has_other_processors()) {
      for (unsigned looks = 0; looks < kLooks; ++looks) {
        pause_briefly();
        std::uint32_t free = kFree;
        if (word_.load(std::memory_order_relaxed) == kFree &&
            word_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed)) {
          return;
        }
      }
    }
    // Whoever has slept does not know whether others still do.
    while (word_.exchange(kAwaited, std::memory_order_acquire) != kFree) word_.wait(kAwaited, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> word_{kFree};
};

}  // namespace rondo::message
