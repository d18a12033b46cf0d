// See route.h.
#include "feed/route.h"

#include <algorithm>
#include <utility>

namespace rondo::feed {

Families families_of(std::span<const Route> routes) noexcept {
  Families families;
  for (const Route& route : routes) (route.prefix.family == Family::V4 ? families.v4 : families.v6) = true;
  return families;
}

void sort_routes(std::vector<Route>& routes) {
  std::ranges::sort(routes, [](const Route& a, const Route& b) { return a.prefix < b.prefix; });
}

void shuffle_routes(std::vector<Route>& routes, std::uint64_t seed) {
  for (std::size_t left = routes.size(); left > 1; --left) {
    // The remainder's bias is below 2^-40 for tables of this size.
    std::swap(routes[left - 1], routes[splitmix64(seed) % left]);
  }
}

std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  std::uint64_t mixed = state += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebU;
  return mixed ^ mixed >> 31U;
}

}  // namespace rondo::feed
