// FdbBook: what the bridges have learned, as a monitor of a data plane has reported it. Bounded: stations beyond the limit are left out and
// counted. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/learned.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/limits.h"

namespace rondo {

class FdbBook {
 public:
  using Place = std::pair<IfIndex, MacAddress>;  // Bridge, station.

  explicit FdbBook(std::size_t max = limits::kLearnedStations) : max_(max) {}

  /// Returns true if the event changes what is known, so that it must be reported. O(log(stations)).
  bool learn(const FdbEvent& event) {
    const Place place{event.bridge, event.mac};
    const auto found = known_.find(place);
    if (event.removed) return found != known_.end() && known_.erase(place) != 0;
    if (found != known_.end()) return std::exchange(found->second, event.port) != event.port;
    if (known_.size() >= max_) {
      ++left_out_;
      has_left_out_ = true;
      return false;
    }
    known_.emplace(place, event.port);
    return true;
  }
  /// The removals of the stations that are not in 'present'.
  std::vector<FdbEvent> absent(const std::set<Place>& present) const {
    std::vector<FdbEvent> events;
    for (const auto& [place, port] : known_) {
      if (!present.contains(place)) events.push_back({.bridge = place.first, .port = port, .mac = place.second, .removed = true});
    }
    return events;
  }
  /// True once when stations were left out and a quarter of the room is free again: the caller reads them again.
  bool take_room() {
    if (!has_left_out_ || known_.size() > max_ - max_ / 4) return false;
    has_left_out_ = false;
    return true;
  }
  /// How often a station was left out.
  std::uint64_t left_out() const noexcept { return left_out_; }
  /// False again after take_room().
  bool leaves_out() const noexcept { return has_left_out_; }

 private:
  const std::size_t max_;
  std::map<Place, IfIndex> known_;  // The port of each station.
  std::uint64_t left_out_ = 0;
  bool has_left_out_ = false;
};

}  // namespace rondo
