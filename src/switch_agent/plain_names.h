// Replaces internal names of the switch agent by the terms of an operator. The next hops that routes share are a row of a table that only
// the agent writes; its key consists of their addresses, ports and weights.
#pragma once

#include <string>
#include <string_view>

namespace rondo::switch_agent {

/// "NEXTHOP_SET 10.0.0.1@Ethernet0*1+10.0.0.2@Ethernet4*2: parked" becomes "next hops 10.0.0.1 on Ethernet0, 10.0.0.2 on Ethernet4 (weight
/// 2): parked". O(length).
std::string plain_names(std::string_view text);

/// The text of an error about an order for a next hop, a group or a route, without the numbers that the agent gives to next hops and
/// groups: "nexthop 7 to 10.0.0.2 on swp1: ..." becomes "next hop 10.0.0.2 on swp1: ...". O(length).
std::string without_numbers(std::string words);

}  // namespace rondo::switch_agent
