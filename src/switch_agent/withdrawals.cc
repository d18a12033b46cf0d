#include "switch_agent/withdrawals.h"

#include <algorithm>
#include <utility>

#include "switch_agent/interfaces.h"
#include "switch_agent/nexthop_groups.h"
#include "switch_agent/ports.h"
#include "switch_agent/routes.h"

namespace rondo::switch_agent {

namespace {
/// Bounds the time of the command, whatever the number of groups on a port.
constexpr std::size_t kGroupsLooked = 4096;
}  // namespace

Withdrawals withdrawals(const Ports& ports, const Interfaces& interfaces, const NexthopGroups& groups, const Routes& routes) {
  Withdrawals all;
  std::size_t looked = 0;
  groups.for_each_port([&](std::string_view port) {
    std::string why = ports.trouble(port);
    if (why.empty()) why = interfaces.ipv6_words(port);
    if (why.empty()) return true;
    Withdrawal one{std::move(why)};
    groups.for_each_withdrawn(port, [&](const Fact& fact) {
      all.is_cut = looked++ == kGroupsLooked;
      if (all.is_cut) return false;
      ++one.groups;
      one.routes += routes.routes_of(fact);
      return true;
    });
    if (one.groups != 0) all.by_port.push_back(std::move(one));
    return !all.is_cut;
  });
  std::ranges::stable_sort(all.by_port, std::ranges::greater{}, [](const Withdrawal& one) { return std::pair{one.routes, one.groups}; });
  return all;
}

}  // namespace rondo::switch_agent
