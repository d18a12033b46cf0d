#include "switch_agent/nexthop_sets.h"

namespace rondo::switch_agent {

std::string name_of(const std::vector<Hop>& hops) {
  std::string name;
  for (const Hop& hop : hops) {
    name.append(name.empty() ? "" : ", ").append(hop.gateway.to_string()).append(" on ").append(hop.port);
    if (hop.weight != 1) name.append(" (weight ").append(std::to_string(hop.weight)).append(")");
    if (hop.onlink) name.append(" (onlink)");
  }
  return name;
}

}  // namespace rondo::switch_agent
