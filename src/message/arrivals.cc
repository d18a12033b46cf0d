#include "message/arrivals.h"

#include <bit>
#include <mutex>
#include <utility>

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

std::uint64_t Arrivals::hand_out() noexcept {
  std::array<NodeList, limits::kPriorities> taken;
  std::uint64_t filled = 0;
  std::uint64_t came = 0;
  {
    const std::lock_guard guard(lock_);
    clear();
    if (++batch_ == Node::kInHand) ++batch_;
    filled = std::exchange(filled_, 0);
    came = std::exchange(came_, 0);
    for_each_level(filled, [&](std::size_t level) { taken[level] = std::exchange(lists_[level], {}); });
  }
  for_each_level(filled, [&](std::size_t level) { lanes_[level].load(std::memory_order_relaxed)->accept(taken[level]); });
  return came;
}

bool Arrivals::is_for(const Source& source) const noexcept {
  return lanes_[source.priority().level()].load(std::memory_order_relaxed) == &source;
}

}  // namespace rondo::message
