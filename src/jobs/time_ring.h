// TimeRing: runs in the order of their time, for the next minute: 60 slots, one for each second (Orth's time ring). A slot keeps its runs
// in order, so each fires at its millisecond. A run whose second has passed goes into the current slot and fires at the next take(). One
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rondo/base/time.h"

namespace rondo::jobs {

class TimeRing {
 public:
  static constexpr std::int64_t kSlots = 60;

  struct Entry {
    WallTime due;
    std::int64_t run;
  };

  /// False if 'due' is more than kSlots - 1 seconds after 'now', or after the last take() if the clock was set back since: it has no slot
  /// yet. O(log entries of the second).
  bool push(Entry entry, WallTime now);
  /// Moves at most 'max' entries that are due at 'now' to 'out', the earliest first. After a pause it takes all slots that it has missed.
  /// A clock that was set back takes nothing until it is where it was. O(slots passed + result).
  void take(WallTime now, std::size_t max, std::vector<Entry>& out);
  /// When the next entry is due. O(kSlots).
  std::optional<WallTime> next_due() const;
  std::size_t size() const noexcept { return size_; }

 private:
  using Slot = std::vector<Entry>;  // A heap: the earliest entry is first.
  static std::int64_t second_of(WallTime time) noexcept;
  Slot& slot_of(std::int64_t second) noexcept { return slots_[static_cast<std::size_t>(second % kSlots)]; }

  std::array<Slot, kSlots> slots_;
  std::int64_t current_ = 0;  // The second of the last take(), or of the push() into an empty ring. Each entry is in a slot from current_
                              // to current_ + kSlots - 1.
  std::size_t size_ = 0;
};

}  // namespace rondo::jobs
