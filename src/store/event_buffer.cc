#include "store/event_buffer.h"

#include <utility>

namespace rondo::store {

void EventBuffer::push(const Change& event) {
  if (events_.size() >= capacity_) {
    ++dropped_;
    mark_gap();
    return;
  }
  events_.push_back(event);
}

void EventBuffer::mark_gap() {
  const std::uint64_t next = front_number_ + events_.size();
  if (gaps_.empty() || gaps_.back() != next) gaps_.push_back(next);
}

std::size_t EventBuffer::take(std::size_t max, std::vector<Change>& out) {
  std::size_t taken = 0;
  while (taken < max && !events_.empty()) {
    if (!gaps_.empty() && gaps_.front() == front_number_) {
      if (taken > 0) break;
      gaps_.pop_front();
      passed_gap_ = true;
    }
    out.push_back(std::move(events_.front()));
    events_.pop_front();
    ++front_number_;
    ++taken;
  }
  return taken;
}

bool EventBuffer::take_gap() {
  bool gap = std::exchange(passed_gap_, false);
  if (!gaps_.empty() && gaps_.front() == front_number_) {
    gaps_.pop_front();
    gap = true;
  }
  return gap;
}

}  // namespace rondo::store
