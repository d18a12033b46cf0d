// EventBuffer: what one Channel subscription has not taken yet: events in order, bounded, with the places where some are missing. Shared by
// every store. One thread.
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

  /// Full: the event is dropped and counted, and a gap is marked behind those that wait.
  void push(const Change& event);
  /// Marks that events may be missing between those that wait and the next one.
  void mark_gap();

  std::size_t take(std::size_t max, std::vector<Change>& out);
  Gap take_gap();
  bool empty() const noexcept { return events_.empty(); }
  std::size_t size() const noexcept { return events_.size(); }
  std::uint64_t dropped() const noexcept { return dropped_; }
  /// Something for take() or for take_gap().
  bool has_news() const noexcept { return !events_.empty() || !gaps_.empty() || passed_gap_; }

 private:
  std::size_t capacity_;
  std::deque<Change> events_;
  std::deque<std::uint64_t> gaps_;  // Each before the event of that number; ascending, none twice.
  std::uint64_t front_number_ = 0;  // Of events_.front(), or of the event to come.
  bool passed_gap_ = false;         // take() went past a gap that was not read.
  std::uint64_t dropped_ = 0;
};

}  // namespace rondo::store
