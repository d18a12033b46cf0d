#include "jobs/time_ring.h"

#include <algorithm>
#include <tuple>

namespace rondo::jobs {

namespace {
/// Runs of one instant fire in the order of their ids.
bool is_later(const TimeRing::Entry& a, const TimeRing::Entry& b) noexcept { return std::tie(a.due, a.run) > std::tie(b.due, b.run); }
}  // namespace

/// Instants before 1970 are in second 0.
std::int64_t TimeRing::second_of(WallTime time) noexcept { return std::max<std::int64_t>(time.nanoseconds(), 0) / 1'000'000'000; }

bool TimeRing::push(Entry entry, WallTime now) {
  if (size_ == 0) current_ = second_of(now);
  const std::int64_t second = std::max(second_of(entry.due), current_);
  if (second >= current_ + kSlots) return false;
  Slot& slot = slot_of(second);
  slot.push_back(entry);
  std::ranges::push_heap(slot, is_later);
  ++size_;
  return true;
}

void TimeRing::take(WallTime now, std::size_t max, std::vector<Entry>& out) {
  const std::int64_t last = second_of(now);
  for (;; ++current_) {
    Slot& slot = slot_of(current_);
    while (max > 0 && !slot.empty() && slot.front().due <= now) {
      std::ranges::pop_heap(slot, is_later);
      out.push_back(slot.back());
      slot.pop_back();
      --size_;
      --max;
    }
    if (!slot.empty() || current_ >= last) return;
    if (size_ == 0) {
      current_ = last;
      return;
    }
  }
}

std::optional<WallTime> TimeRing::next_due() const {
  if (size_ == 0) return std::nullopt;
  for (std::int64_t second = current_;; ++second) {
    const Slot& slot = slots_[static_cast<std::size_t>(second % kSlots)];
    if (!slot.empty()) return slot.front().due;
  }
}

}  // namespace rondo::jobs
