// The texts of orders for people, without the numbers that the agent gives to next hops and groups.
#pragma once

#include <string>

namespace rondo::switch_agent {

/// The text of an error about an order for a next hop, a group or a route, without the numbers: "nexthop 7 to 10.0.0.2 on swp1: ..."
/// becomes "next hop 10.0.0.2 on swp1: ...". O(length).
std::string without_numbers(std::string words);

}  // namespace rondo::switch_agent
