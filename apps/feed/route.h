// Route: one row of a routing table to feed: prefix and next-hop group. 32 bytes, so that a full table fits in a few dozen megabytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "feed/prefix.h"

namespace rondo::feed {

struct Route {
  Prefix prefix;
  std::uint16_t group = 0;
  bool withdrawn = false;  // From a file of updates: the route is withdrawn.
};

/// The families that occur in a table.
struct Families {
  bool v4 = false;
  bool v6 = false;
};
Families families_of(std::span<const Route> routes) noexcept;

/// Sorts by family, address, length. O(n log n).
void sort_routes(std::vector<Route>& routes);
/// Applies a permutation that depends only on 'seed' (Fisher-Yates with splitmix64) and is the same on every machine. O(n).
void shuffle_routes(std::vector<Route>& routes, std::uint64_t seed);

/// The next number of the splitmix64 sequence (Steele, Lea, Flood 2014).
std::uint64_t splitmix64(std::uint64_t& state) noexcept;

}  // namespace rondo::feed
