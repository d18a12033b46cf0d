// Withdrawals: the ports because of which rows are withdrawn from the data plane, for operators.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rondo::switch_agent {

class Interfaces;
class NexthopGroups;
class Ports;
class Routes;

struct Withdrawal {
  std::string why;         // "port Ethernet0 has no carrier since ...", "IPv6 is switched off on Ethernet0: ...".
  std::size_t groups = 0;  // Next-hop groups that have a next hop on it and no usable one on another port.
  std::size_t routes = 0;  // Routes on these groups.
};

struct Withdrawals {
  std::vector<Withdrawal> by_port = {};  // The port that affects the most routes is first.
  bool is_cut = false;                   // The number of groups visited reached its limit: there may be more.
};

/// Returns the ports that are down or have no IPv6, and caused withdrawn groups. A group on several such ports counts for each. Visits a
/// bounded number of groups.
Withdrawals withdrawals(const Ports& ports, const Interfaces& interfaces, const NexthopGroups& groups, const Routes& routes);

}  // namespace rondo::switch_agent
