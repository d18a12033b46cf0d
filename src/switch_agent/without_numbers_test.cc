// The texts of refused orders.
#include "switch_agent/without_numbers.h"

#include <gtest/gtest.h>

namespace rondo::switch_agent {
namespace {

TEST(WithoutNumbers, ErrorsNameNextHopsByTheirAddresses) {
  EXPECT_EQ(without_numbers("nexthop 301989889 to 10.0.0.2 on swp1: Nexthop has invalid gateway"),
            "next hop 10.0.0.2 on swp1: Nexthop has invalid gateway");
  EXPECT_EQ(without_numbers("route 10.0.0.0/8 via nexthop 301989889: held by a route of protocol static (4)"),
            "route 10.0.0.0/8: held by a route of protocol static (4)");
  EXPECT_EQ(without_numbers("group 7 of 5 6*2 ... (12 members): Invalid nexthop id"), "the group of next hops: Invalid nexthop id");
  for (const char* const same : {"", "nexthop 7", "nexthop ", "group ", "group 7 of 5", "the group a of b: c", "next hop 10.0.0.2: down"}) {
    EXPECT_EQ(without_numbers(same), same);
  }
}

}  // namespace
}  // namespace rondo::switch_agent
