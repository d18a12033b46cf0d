#include "message/arrivals.h"

#include <bit>
#include <mutex>
#include <utility>

#include "base/prefetch.h"
#include "message/lane.h"

namespace rondo::message {

namespace {
/// Calls 'visit' for each priority of 'set'.
template <class Visit>
void for_each_level(std::uint64_t set, const Visit& visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<std::size_t>(std::countr_zero(set)));
}
}  // namespace

void Arrivals::join(Lane& lane) noexcept { lanes_[lane.priority().level()].store(&lane, std::memory_order_relaxed); }

void Arrivals::take() noexcept {
  std::uint64_t taken = 0;
  clear();
  {
    const std::lock_guard<ShortLock> guard(lock_);
    taken = detach();
  }
  give(taken);
}

/// Under the lock, so no message is looked at.
std::uint64_t Arrivals::detach() noexcept {
  side_ ^= 1U;
  if (++batch_ == Node::kInHand) ++batch_;
  return std::exchange(filled_, 0);
}

void Arrivals::give(std::uint64_t taken) noexcept {
  Lists& lists = lists_[side_ ^ 1U];
  for_each_level(taken, [&](std::size_t level) { prefetch_to_write(lists[level].nodes.first); });
  for_each_level(taken, [&](std::size_t level) {
    lanes_[level].load(std::memory_order_relaxed)->accept(lists[level].nodes);
    lists[level].note(nullptr);  // The lane tells of them by now: nobody who looks misses the oldest.
  });
}

std::uint64_t Arrivals::hand_out() noexcept {
  std::uint64_t taken = 0;
  std::uint64_t came = 0;
  clear();
  {
    const std::lock_guard<ShortLock> guard(lock_);
    taken = detach();
    came = came_;
  }
  give(taken);
  return came - std::exchange(told_, came);
}

bool Arrivals::is_for(const Source& source) const noexcept {
  return lanes_[source.priority().level()].load(std::memory_order_relaxed) == &source;
}

}  // namespace rondo::message
