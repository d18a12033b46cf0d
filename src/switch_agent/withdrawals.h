// Withdrawals: by which ports rows are withdrawn from the data plane, for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rondo::switch_agent {

class NexthopGroups;
class Ports;
class Routes;

struct Withdrawal {
  std::string why;         // "port Ethernet0 has no carrier since ...".
  std::size_t groups = 0;  // Next-hop groups with a next hop on it that no other port keeps.
  std::size_t routes = 0;  // Routes on these.
};

struct Withdrawals {
  std::vector<Withdrawal> by_port = {};  // Those that took the most routes first.
  bool is_cut = false;                   // Not all groups were looked at: there may be more.
};

/// The ports that are down and took groups with them. A group on several such ports counts for each. Looks at a bounded number of groups.
Withdrawals withdrawals(const Ports& ports, const NexthopGroups& groups, const Routes& routes);

}  // namespace rondo::switch_agent
