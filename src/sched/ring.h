// Ring: a bounded queue between one producer thread and one consumer thread. A power of two of slots. Each side owns its index, publishes
// it once a batch and keeps a copy of the other's index. So a batch costs two cache lines and no lock. The ring wakes no thread: its calls
// return whether the caller must wake the other side. See src/store/bridge for a use.
//
// No wake-up is lost between "empty" and "asleep". A side that finds nothing first sets its flag that it waits (A), then reads the other's
// index again (B). The other side first publishes its index (C), then reads the flag (D). All four are sequentially consistent, so they
// have one total order. Either C comes before B, and the reader finds the items; or A comes before D, and the publisher must wake the
// waiter. The same holds for room, with the sides exchanged. If the other side does not wait, a publisher pays one store and one load a
// batch.
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
  /// 'capacity' is rounded up to a power of two, at least 2.
  explicit Ring(std::size_t capacity)
      : capacity_(std::bit_ceil(std::max<std::size_t>(capacity, 2))), slots_(std::make_unique<T[]>(capacity_)) {}

  std::size_t capacity() const noexcept { return capacity_; }

  // --- The producer's side.

  /// Returns the number of free slots; reads the consumer's index only when fewer than 'wanted' were known to be free.
  std::size_t room(std::size_t wanted = 1) noexcept {
    std::size_t free = capacity_ - (put_.next - put_.other_seen);
    if (free < wanted) {
      put_.other_seen = take_.shared.load(std::memory_order_acquire);
      free = capacity_ - (put_.next - put_.other_seen);
    }
    return free;
  }
  /// Stores 'item' in the next slot, which must be free. The consumer sees it after publish().
  void put(T&& item) noexcept {
    RONDO_ASSERT(put_.next - put_.other_seen < capacity_);
    slots_[put_.next++ & (capacity_ - 1)] = std::move(item);
  }
  /// Publishes the stored items. Returns true if the consumer waits and this caller must wake it. The consumer may have taken all items
  /// meanwhile and wait anew, so a consumer that is woken and finds none must set its flag again. Returns false if nothing was stored
  /// since the last call, because a needless wake makes the consumer set its flag again.
  [[nodiscard]] bool publish() noexcept {
    if (put_.shared.load(std::memory_order_relaxed) == put_.next) return false;
    put_.shared.store(put_.next, std::memory_order_seq_cst);                                                       // C
    return take_.waits.load(std::memory_order_seq_cst) && take_.waits.exchange(false, std::memory_order_seq_cst);  // D
  }
  /// Sets the flag that the producer waits until 'slots' are free. Returns true if they are not; on false the caller continues.
  [[nodiscard]] bool wait_for_room(std::size_t slots) noexcept {
    put_.waits.store(true, std::memory_order_seq_cst);               // A
    put_.other_seen = take_.shared.load(std::memory_order_seq_cst);  // B
    return capacity_ - (put_.next - put_.other_seen) < slots;
  }

  // --- The consumer's side.

  /// Returns the number of items; reads the producer's index only when fewer than 'wanted' were known.
  std::size_t available(std::size_t wanted = 1) noexcept {
    if (take_.other_seen - take_.next < wanted) take_.other_seen = put_.shared.load(std::memory_order_acquire);
    return take_.other_seen - take_.next;
  }
  /// The item at 'index' behind the oldest; available() must have counted it.
  T& peek(std::size_t index = 0) noexcept { return slots_[(take_.next + index) & (capacity_ - 1)]; }
  /// Takes the oldest item out. release() frees its slot.
  T take() noexcept {
    RONDO_ASSERT(take_.next != take_.other_seen);
    return std::exchange(slots_[take_.next++ & (capacity_ - 1)], T{});
  }
  /// Frees the slots of taken items. Returns true if the producer waits for room, at least 'slots' are free now, and the caller must wake
  /// it.
  [[nodiscard]] bool release(std::size_t slots) noexcept {
    take_.shared.store(take_.next, std::memory_order_seq_cst);      // C
    if (!put_.waits.load(std::memory_order_seq_cst)) return false;  // D
    const std::size_t used = put_.shared.load(std::memory_order_acquire) - take_.next;
    return capacity_ - used >= slots && put_.waits.exchange(false, std::memory_order_seq_cst);
  }
  /// Sets the flag that the consumer waits for items. Returns true if there are none; on false the caller continues.
  [[nodiscard]] bool wait_for_items() noexcept {
    take_.waits.store(true, std::memory_order_seq_cst);              // A
    take_.other_seen = put_.shared.load(std::memory_order_seq_cst);  // B
    return take_.other_seen == take_.next;
  }

  /// The number of published items whose slots were not freed. Any thread; exact on the consumer's side as long as nothing is published.
  std::size_t size() const noexcept {
    const std::size_t taken = take_.shared.load(std::memory_order_acquire);
    return put_.shared.load(std::memory_order_acquire) - taken;
  }

 private:
  /// The members of one side, which the other side reads, on cache lines of their own.
  struct alignas(64) Side {
    std::atomic<std::size_t> shared{0};  // The index as the other side may see it. It never wraps to zero; the slot is its lower bits.
    std::atomic<bool> waits{false};
    alignas(64) std::size_t next = 0;  // The index as its owner knows it.
    std::size_t other_seen = 0;        // The other side's index when it was last read.
  };
  const std::size_t capacity_;
  std::unique_ptr<T[]> slots_;
  Side put_;
  Side take_;
};

}  // namespace rondo
