// Sources: the preferred source addresses of routes, as numbers: a million routes have few different ones. Routes count their references.
// One thread. O(sources) for a new reference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fpm/limits.h"
#include "rondo/base/assert.h"
#include "rondo/dataplane/ip.h"

namespace rondo::fpm {

class Sources {
 public:
  using Number = std::uint8_t;
  static constexpr Number kNone = 0;
  static_assert(limits::kFpmSources <= UINT8_MAX);

  /// Returns the number of the address, and counts a reference. kNone: there is no room for another address.
  Number refer(const IpAddress& address) {
    auto place = std::find_if(places_.begin() + 1, places_.end(), [&](const Place& one) { return one.uses > 0 && one.address == address; });
    if (place == places_.end()) place = std::find_if(places_.begin() + 1, places_.end(), [](const Place& one) { return one.uses == 0; });
    if (place == places_.end()) {
      if (places_.size() > limits::kFpmSources) return kNone;
      place = places_.insert(place, Place{});
    }
    place->address = address;
    if (place->uses++ == 0) ++used_;
    return static_cast<Number>(place - places_.begin());
  }
  void refer(Number number) noexcept { places_[number].uses += number == kNone ? 0 : 1; }
  void release(Number number) noexcept {
    if (number == kNone) return;
    RONDO_ASSERT(places_[number].uses > 0);
    if (--places_[number].uses == 0) --used_;
  }
  /// 0.0.0.0 for kNone.
  const IpAddress& address(Number number) const noexcept { return places_[number].address; }
  std::size_t used() const noexcept { return used_; }

 private:
  struct Place {
    IpAddress address{};
    std::uint32_t uses = 0;
  };
  std::vector<Place> places_{1};  // By number; the first is kNone.
  std::size_t used_ = 0;
};

}  // namespace rondo::fpm
