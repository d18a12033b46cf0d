#include "fpm/write_order.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"

namespace rondo::fpm {

void WriteOrder::add(std::uint32_t route, Lane lane, Instant now) {
  if (route >= links_.size()) links_.resize(std::size_t{route} + 1);
  if (contains(route)) {
    if (lane != kChanged || links_[route].lane == kChanged) return;
    now = links_[route].since;
    unlink(route);
  }
  append(route, lane, now);
}

WriteOrder::Lane WriteOrder::next_lane() const noexcept {
  const bool changes = heads_[kChanged].first != kNone && (changes_ < kChangesInTurn || busy_.empty());
  return changes ? kChanged : busy_[turn_];
}

void WriteOrder::pop() {
  RONDO_ASSERT(size_ > 0);
  const Lane lane = next_lane();
  changes_ = lane == kChanged ? std::min(changes_ + 1, kChangesInTurn) : 0;
  const std::size_t lanes = busy_.size();
  unlink(heads_[lane].first);
  if (lane != kChanged && busy_.size() == lanes) ++turn_;
  if (turn_ >= busy_.size()) turn_ = 0;
}

void WriteOrder::append(std::uint32_t route, Lane lane, Instant since) {
  Head& head = heads_[lane];
  links_[route] = {.before = head.last, .after = kNone, .lane = lane, .since = since};
  if (head.last == kNone) {
    head.first = route;
    if (lane != kChanged) busy_.push_back(lane);
  } else {
    links_[head.last].after = route;
  }
  head.last = route;
  ++size_;
}

void WriteOrder::unlink(std::uint32_t route) {
  const Link link = std::exchange(links_[route], Link{});
  Head& head = heads_[link.lane];
  (link.before == kNone ? head.first : links_[link.before].after) = link.after;
  (link.after == kNone ? head.last : links_[link.after].before) = link.before;
  --size_;
  if (link.lane == kChanged || head.first != kNone) return;
  const auto at = std::ranges::find(busy_, link.lane);
  if (at - busy_.begin() < static_cast<std::ptrdiff_t>(turn_)) --turn_;
  busy_.erase(at);
  if (turn_ >= busy_.size()) turn_ = 0;
}

}  // namespace rondo::fpm
