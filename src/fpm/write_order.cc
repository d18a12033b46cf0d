#include "fpm/write_order.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"

namespace rondo::fpm {

void WriteOrder::add(std::uint32_t route, Lane lane, std::uint8_t length, Instant now) {
  if (route >= links_.size()) links_.resize(std::size_t{route} + 1);
  if (contains(route)) {
    if (lane != kChanged || links_[route].lane == kChanged) return;
    now = links_[route].since;
    unlink(route);
  }
  append(route, lane, lane == kChanged || lane == kBulk ? 0 : length, now);
}

WriteOrder::Lane WriteOrder::next_lane() const noexcept {
  const bool changes = !lanes_[kChanged].lists.empty() && (changes_ < kChangesInTurn || busy_.empty());
  return changes ? kChanged : busy_[turn_];
}

WriteOrder::Lists::const_iterator WriteOrder::next_list(const Waiting& waiting) noexcept {
  if (waiting.shortest < kShortestInTurn) return waiting.lists.begin();
  const auto next = waiting.lists.upper_bound(waiting.length);
  return next != waiting.lists.end() ? next : waiting.lists.begin();
}

void WriteOrder::pop() {
  RONDO_ASSERT(size_ > 0);
  const Lane lane = next_lane();
  changes_ = lane == kChanged ? std::min(changes_ + 1, kChangesInTurn) : 0;
  Waiting& waiting = lanes_[lane];
  const auto next = next_list(waiting);
  if (++waiting.shortest > kShortestInTurn) {
    waiting.shortest = 0;
    waiting.length = next->first;
  }
  const std::size_t lanes = busy_.size();
  unlink(next->second.first);
  if (lane != kChanged && busy_.size() == lanes) ++turn_;
  if (turn_ >= busy_.size()) turn_ = 0;
}

void WriteOrder::append(std::uint32_t route, Lane lane, std::uint8_t length, Instant since) {
  Lists& lists = lanes_[lane].lists;
  if (lists.empty() && lane != kChanged) busy_.push_back(lane);
  List& list = lists[length];
  links_[route] = {.before = list.last, .after = kNone, .lane = lane, .length = length, .since = since};
  (list.last == kNone ? list.first : links_[list.last].after) = route;
  list.last = route;
  ++size_;
}

void WriteOrder::unlink(std::uint32_t route) {
  const Link link = std::exchange(links_[route], Link{});
  Lists& lists = lanes_[link.lane].lists;
  const auto at = lists.find(link.length);
  List& list = at->second;
  (link.before == kNone ? list.first : links_[link.before].after) = link.after;
  (link.after == kNone ? list.last : links_[link.after].before) = link.before;
  --size_;
  if (list.first == kNone) lists.erase(at);
  if (link.lane == kChanged || !lists.empty()) return;
  const auto busy = std::ranges::find(busy_, link.lane);
  if (busy - busy_.begin() < static_cast<std::ptrdiff_t>(turn_)) --turn_;
  busy_.erase(busy);
  if (turn_ >= busy_.size()) turn_ = 0;
}

}  // namespace rondo::fpm
