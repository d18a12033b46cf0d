// The terms of an operator for the next hops that routes share.
#include "switch_agent/plain_names.h"

#include <gtest/gtest.h>

namespace rondo::switch_agent {
namespace {

TEST(PlainNames, SharedNextHopsAreNamedByTheirAddresses) {
  EXPECT_EQ(plain_names("NEXTHOP_SET 1.2.3.4@Ethernet0*1: parked"), "next hops 1.2.3.4 on Ethernet0: parked");
  EXPECT_EQ(plain_names("waits for nexthop-set fd00::1@swp1*1+fd00::2@swp2*3"),
            "waits for next hops fd00::1 on swp1, fd00::2 on swp2 (weight 3)");
  EXPECT_EQ(plain_names("nexthop-set:10.0.0.1@swp1*1/onlink+10.0.1.1@swp2*3/onlink: parked"),
            "next hops 10.0.0.1 on swp1 (onlink), 10.0.1.1 on swp2 (weight 3) (onlink): parked");
  EXPECT_EQ(plain_names("waits for nexthop-set:10.0.0.2@Ethernet0*1"), "waits for next hops 10.0.0.2 on Ethernet0");
  EXPECT_EQ(plain_names("NEXTHOP_SET"), "next hops");
  EXPECT_EQ(plain_names("NEXTHOP_SET sweep"), "next hops sweep");
  for (const char* const same : {"neighbor swp1:10.0.0.2", "a@b", "1@", "1.1.1.1@p*", "", "+1.1.1.1", "user@host * 3", "_NEXTHOP_SET:a",
                                 "NEXTHOP_SETTINGS", "NEXTHOP_SET_CHANNEL@0", "RONDO_INFLIGHT@MY_NEXTHOP_SET"}) {
    EXPECT_EQ(plain_names(same), same);
  }
}

TEST(PlainNames, ErrorsNameNextHopsByTheirAddresses) {
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
