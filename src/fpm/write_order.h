// WriteOrder: the routes whose rows are to be written, each once, in the order of writing. A change of a route that has a row goes before
// new routes, at most kChangesInTurn times in succession. New routes have a lane for each protocol and family, and routes that the book
// itself queues have one more. These lanes take turns, one route each, so a few routes of OSPF do not wait for a table of BGP.
// Of the new routes of a lane the shortest prefix is written first: the kernel's tree of routes then grows from its top, and a whole table
// costs the kernel less than in the order of its addresses (docs/performance.md). After kShortestInTurn of them another length has its
// turn, so that each length is served. Of one length, and in the other lanes, the first one queued is the first one written.
// One thread. O(log n) in the number of lengths that wait, at most 129.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "rondo/base/time.h"

namespace rondo::fpm {

class WriteOrder {
 public:
  using Lane = std::uint16_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr unsigned kChangesInTurn = 3;
  static constexpr unsigned kShortestInTurn = 32;
  /// Changes and deletions of routes that have a row.
  static constexpr Lane kChanged = 0;
  /// Routes that the book queues, because next hops have changed or the session has not sent them again.
  static constexpr Lane kBulk = 1;
  static Lane lane_of(std::uint8_t protocol, bool is_v6) noexcept { return static_cast<Lane>(2U + 2U * protocol + (is_v6 ? 1U : 0U)); }

  /// Adds a route of this prefix length at the end of a lane. A route that waits in another lane moves if this one is kChanged, and stays
  /// otherwise. It waits since 'now', or since it was first added.
  void add(std::uint32_t route, Lane lane, std::uint8_t length, Instant now);
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  bool contains(std::uint32_t route) const noexcept { return route < links_.size() && links_[route].lane != kNoLane; }
  /// The route whose turn it is. The order must not be empty.
  std::uint32_t front() const noexcept { return next_list(lanes_[next_lane()])->second.first; }
  Instant front_since() const noexcept { return links_[front()].since; }
  /// Removes front().
  void pop();

 private:
  static constexpr Lane kNoLane = UINT16_MAX;
  static constexpr std::size_t kLanes = 2 + 2 * 256;
  struct Link {
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
    Lane lane = kNoLane;
    std::uint8_t length = 0;
    Instant since;
  };
  struct List {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  using Lists = std::map<std::uint8_t, List>;  // By prefix length. None is empty.
  struct Waiting {
    Lists lists;
    unsigned shortest = 0;    // Taken in succession from the first list.
    std::uint8_t length = 0;  // The length that was served last out of turn.
  };
  Lane next_lane() const noexcept;
  static Lists::const_iterator next_list(const Waiting& waiting) noexcept;
  void append(std::uint32_t route, Lane lane, std::uint8_t length, Instant since);
  void unlink(std::uint32_t route);

  std::deque<Link> links_;  // By route. It grows without copying.
  std::array<Waiting, kLanes> lanes_;
  std::vector<Lane> busy_;  // Lanes that have routes, except kChanged.
  std::size_t turn_ = 0;    // The lane of 'busy_' that is next.
  unsigned changes_ = 0;    // Taken in succession from kChanged.
  std::size_t size_ = 0;
};

}  // namespace rondo::fpm
