// Ring: a bounded queue between two threads, one that puts and one that takes. A power of two of slots; each side owns its index, publishes
// it once a batch and keeps a copy of the other's, so that a batch costs two cache lines and no lock. It wakes nobody: it says when the
// other side has to be woken. See src/store/bridge for a use.
//
// No wake-up is lost between "there is nothing" and "asleep". Whoever finds nothing first says that it waits (A), then looks at the index
// again (B). The other side first publishes its index (C), then looks whether somebody waits (D). All four are sequentially consistent, so
// in their one total order either C comes before B, and the look finds the items, or A comes before D, and the publisher is told to wake.
// The same holds for room, with the sides exchanged. A publisher whose other side does not wait pays one store and one load a batch.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "rondo/base/assert.h"

namespace rondo {

template <class T>
class Ring {
 public:
  /// 'capacity' is rounded up to a power of two, 2 at least.
  explicit Ring(std::size_t capacity)
      : capacity_(std::bit_ceil(std::max<std::size_t>(capacity, 2))), slots_(std::make_unique<T[]>(capacity_)) {}

  std::size_t capacity() const noexcept { return capacity_; }

  // --- The side that puts.

  /// Slots free now; looks at the other side only when fewer than 'wanted' were known to be.
  std::size_t room(std::size_t wanted = 1) noexcept {
    std::size_t free = capacity_ - (put_.next - put_.other_seen);
    if (free < wanted) {
      put_.other_seen = take_.shared.load(std::memory_order_acquire);
      free = capacity_ - (put_.next - put_.other_seen);
    }
    return free;
  }
  /// Into the next slot, for which there must be room. Not seen before publish().
  void put(T&& item) noexcept {
    RONDO_ASSERT(put_.next - put_.other_seen < capacity_);
    slots_[put_.next++ & (capacity_ - 1)] = std::move(item);
  }
  /// Lets the other side see what was put. True: it waits, and must be woken; whoever is told so is the only one. It may have taken all of
  /// it meanwhile and wait anew: so whoever is woken and finds nothing must say once more that it waits. Where nothing was put since the
  /// last time nobody is told: who is woken for nothing would have to say anew that it waits.
  [[nodiscard]] bool publish() noexcept {
    if (put_.shared.load(std::memory_order_relaxed) == put_.next) return false;
    put_.shared.store(put_.next, std::memory_order_seq_cst);                                                       // C
    return take_.waits.load(std::memory_order_seq_cst) && take_.waits.exchange(false, std::memory_order_seq_cst);  // D
  }
  /// Says that this side waits until 'slots' are free. True if they are not; false: go on.
  [[nodiscard]] bool wait_for_room(std::size_t slots) noexcept {
    put_.waits.store(true, std::memory_order_seq_cst);               // A
    put_.other_seen = take_.shared.load(std::memory_order_seq_cst);  // B
    return capacity_ - (put_.next - put_.other_seen) < slots;
  }

  // --- The side that takes.

  /// Items there now; looks at the other side only when fewer than 'wanted' were known to be.
  std::size_t available(std::size_t wanted = 1) noexcept {
    if (take_.other_seen - take_.next < wanted) take_.other_seen = put_.shared.load(std::memory_order_acquire);
    return take_.other_seen - take_.next;
  }
  /// The oldest, and those behind it, of which available() told.
  T& peek(std::size_t index = 0) noexcept { return slots_[(take_.next + index) & (capacity_ - 1)]; }
  /// Takes the oldest out. The slot is given back by release().
  T take() noexcept {
    RONDO_ASSERT(take_.next != take_.other_seen);
    return std::exchange(slots_[take_.next++ & (capacity_ - 1)], T{});
  }
  /// Gives the slots of what was taken back. True: the other side waits for room, at least 'slots' are free now, and it must be woken.
  [[nodiscard]] bool release(std::size_t slots) noexcept {
    take_.shared.store(take_.next, std::memory_order_seq_cst);      // C
    if (!put_.waits.load(std::memory_order_seq_cst)) return false;  // D
    const std::size_t used = put_.shared.load(std::memory_order_acquire) - take_.next;
    return capacity_ - used >= slots && put_.waits.exchange(false, std::memory_order_seq_cst);
  }
  /// Says that this side waits for items. True if there are none; false: go on.
  [[nodiscard]] bool wait_for_items() noexcept {
    take_.waits.store(true, std::memory_order_seq_cst);              // A
    take_.other_seen = put_.shared.load(std::memory_order_seq_cst);  // B
    return take_.other_seen == take_.next;
  }

  /// Items that were published and whose slots were not given back. Any thread; exact on the side that takes as long as nothing is put.
  std::size_t size() const noexcept {
    const std::size_t taken = take_.shared.load(std::memory_order_acquire);
    return put_.shared.load(std::memory_order_acquire) - taken;
  }

 private:
  /// What one side owns and the other reads: apart from each other by cache lines.
  struct alignas(64) Side {
    std::atomic<std::size_t> shared{0};  // The index as the other side may see it. Runs on for ever; the slot is its lower bits.
    std::atomic<bool> waits{false};
    alignas(64) std::size_t next = 0;  // The index as its owner knows it.
    std::size_t other_seen = 0;        // The other's, when it was looked at last.
  };
  const std::size_t capacity_;
  std::unique_ptr<T[]> slots_;
  Side put_;
  Side take_;
};

}  // namespace rondo
