// EventBuffer: the events that one Channel subscription has not taken yet, in order and bounded, and the positions where events are
// missing. Every store uses it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "rondo/store/store.h"

namespace rondo::store {

class EventBuffer {
 public:
  explicit EventBuffer(std::size_t capacity) noexcept : capacity_(capacity) {}

  /// When full, drops and counts the event, and marks a gap behind the waiting events.
  void push(const Change& event);
  /// Marks that events may be missing between the waiting ones and the next one.
  void mark_gap();

  std::size_t take(std::size_t max, std::vector<Change>& out);
  bool take_gap();
  bool empty() const noexcept { return events_.empty(); }
  std::size_t size() const noexcept { return events_.size(); }
  std::uint64_t dropped() const noexcept { return dropped_; }
  /// True if take() or take_gap() has something to return.
  bool has_news() const noexcept { return !events_.empty() || !gaps_.empty() || passed_gap_; }

 private:
  std::size_t capacity_;
  std::deque<Change> events_;
  std::deque<std::uint64_t> gaps_;  // The event number that each gap precedes; ascending, without duplicates.
  std::uint64_t front_number_ = 0;  // The number of events_.front(), or of the next event if there is none.
  bool passed_gap_ = false;         // take() passed a gap that was not read.
  std::uint64_t dropped_ = 0;
};

}  // namespace rondo::store
