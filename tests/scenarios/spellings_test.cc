// Several rows whose keys spell one object, because a program that writes to a Redis may choose any spelling. The first row has the
// object; the others wait and report for which row. Deleting one row removes nothing of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPlain = "2001:db8:7::/48";
constexpr const char* kLoud = "2001:DB8:7::/48";
constexpr const char* kLong = "2001:0db8:7::/48";

class Spelt : public ::testing::Test {
 protected:
  Spelt() {
    testbed.plane.add_port("A");
    testbed.start();
    testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    testbed.set("INTF_TABLE", "A", {});
    testbed.set("INTF_TABLE", "A:2001:db8:a::1/64", {});
    testbed.set("NEIGH_TABLE", "A:2001:db8:a::2", {{"neigh", "02:00:00:00:00:02"}});
    testbed.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "2001:db8:a::2"}, {"ifname", "A"}});
    testbed.run_for(1s);
  }
  void set_route(const char* key, bool blackhole) {
    blackhole ? testbed.set("ROUTE_TABLE", key, {{"blackhole", "true"}}) : testbed.set("ROUTE_TABLE", key, {{"nexthop_group", "1"}});
  }
  Lines of(std::string_view kind) {
    Lines lines = testbed.actual();
    std::erase_if(lines, [kind](const std::string& line) { return !line.starts_with(kind); });
    return lines;
  }
  AgentTestbed testbed;
  const std::string unicast = std::string{"route "} + kPlain + " via {A 2001:db8:a::2*1}";
};

TEST_F(Spelt, TheSecondRowOfARouteWaitsAndNamesTheFirst) {
  set_route(kPlain, false);
  testbed.run_for(1s);
  set_route(kLoud, true);
  testbed.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast));
  EXPECT_THAT(testbed.why("ROUTE_TABLE", kLoud), AllOf(HasSubstr("the same route as ROUTE_TABLE 2001:db8:7::/48"), HasSubstr("waits")));
  EXPECT_EQ(testbed.unsettled(), 1U);
  testbed.remove("ROUTE_TABLE", kLoud);
  testbed.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast)) << "the deletion of one took the other's";
  EXPECT_EQ(testbed.unsettled(), 0U);
  testbed.remove("ROUTE_TABLE", kPlain);
  testbed.run_for(1s);
  EXPECT_THAT(of("route "), IsEmpty());
}

TEST_F(Spelt, TheRowThatWaitsHasTheRouteWhenTheFirstGoes) {
  set_route(kLoud, true);
  testbed.run_for(1s);
  set_route(kPlain, false);
  set_route(kLong, false);
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 2U);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", kPlain), HasSubstr("the same route as ROUTE_TABLE 2001:DB8:7::/48"));
  testbed.remove("ROUTE_TABLE", kPlain);
  testbed.run_for(1s);
  EXPECT_EQ(of("route ").size(), 1U);
  testbed.remove("ROUTE_TABLE", kLoud);
  testbed.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast));
  EXPECT_EQ(testbed.unsettled(), 0U);
  set_route(kLong, true);  // This row has the route now.
  testbed.run_for(1s);
  EXPECT_EQ(of("route ").size(), 1U);
  EXPECT_THAT(of("route "), Not(Contains(unicast)));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Spelt, OfTwoInOneBatchOneHasTheRoute) {
  for (const bool plain_first : {true, false}) {
    set_route(plain_first ? kPlain : kLoud, false);
    set_route(plain_first ? kLoud : kPlain, false);
    testbed.run_for(1s);
    EXPECT_THAT(of("route "), ElementsAre(unicast));
    EXPECT_EQ(testbed.unsettled(), 1U) << "both say done";
    testbed.remove("ROUTE_TABLE", plain_first ? kPlain : kLoud);
    testbed.run_for(1s);
    EXPECT_THAT(of("route "), ElementsAre(unicast));
    EXPECT_EQ(testbed.unsettled(), 0U);
    testbed.remove("ROUTE_TABLE", plain_first ? kLoud : kPlain);
    testbed.run_for(1s);
    EXPECT_THAT(of("route "), IsEmpty());
  }
}

TEST_F(Spelt, AHostRouteWithoutItsLengthIsTheSameRoute) {
  set_route("10.9.0.1/32", true);
  testbed.run_for(1s);
  set_route("10.9.0.1", true);
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 1U);
  testbed.remove("ROUTE_TABLE", "10.9.0.1");
  testbed.run_for(1s);
  EXPECT_EQ(of("route ").size(), 1U);
}

TEST_F(Spelt, ARouteThatIsRefusedLeavesThePrefixToTheOtherRow) {
  testbed.plane.fail_nth(OrderKind::Route, 1, EOPNOTSUPP);
  set_route(kLoud, true);
  testbed.run_for(1s);
  ASSERT_EQ(testbed.rejects.size(), 1U);
  set_route(kPlain, false);
  testbed.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Spelt, OfTwoRowsOfANeighborTheFirstHasIt) {
  testbed.set("NEIGH_TABLE", "A:2001:DB8:A::2", {{"neigh", "02:00:00:00:00:77"}});
  testbed.run_for(1s);
  EXPECT_THAT(of("neighbor "), ElementsAre("neighbor A 2001:db8:a::2 02:00:00:00:00:02"));
  EXPECT_THAT(testbed.why("NEIGH_TABLE", "A:2001:DB8:A::2"), HasSubstr("the same neighbour as NEIGH_TABLE A:2001:db8:a::2"));
  testbed.remove("NEIGH_TABLE", "A:2001:DB8:A::2");
  testbed.run_for(1s);
  EXPECT_EQ(of("neighbor ").size(), 1U);
  EXPECT_EQ(testbed.unsettled(), 0U);
  testbed.set("NEIGH_TABLE", "A:2001:DB8:A::2", {{"neigh", "02:00:00:00:00:77"}});
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.remove("NEIGH_TABLE", "A:2001:db8:a::2");
  testbed.run_for(1s);
  EXPECT_THAT(of("neighbor "), ElementsAre("neighbor A 2001:db8:a::2 02:00:00:00:00:77"));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Spelt, OfTwoRowsOfAnAddressTheFirstHasIt) {
  testbed.set("INTF_TABLE", "A:2001:DB8:B::1/64", {});
  testbed.run_for(1s);
  testbed.set("INTF_TABLE", "A:2001:db8:b::1/64", {});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("INTF_TABLE", "A:2001:db8:b::1/64"), HasSubstr("the same address as INTF_TABLE A:2001:DB8:B::1/64"));
  testbed.remove("INTF_TABLE", "A:2001:DB8:B::1/64");
  testbed.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:b::1/64"));
  EXPECT_EQ(testbed.unsettled(), 0U);
  testbed.remove("INTF_TABLE", "A:2001:DB8:B::1/64");
  testbed.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:b::1/64"));
}

/// The kernel identifies an IPv6 address by its bits alone: a second length would replace the first, and the first the second, without end.
TEST_F(Spelt, OfTwoLengthsOfOneIpv6AddressTheFirstHasIt) {
  testbed.set("INTF_TABLE", "A:2001:db8:a::1/128", {});
  testbed.run_for(1s);
  const std::uint64_t orders = testbed.plane.executed();
  testbed.run_for(20s);
  EXPECT_EQ(testbed.plane.executed(), orders) << "the two rows fight";
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/64"));
  EXPECT_EQ(to_string(testbed.runtime.row_state("INTF_TABLE", "A:2001:db8:a::1/64").plane), "installed");
  EXPECT_EQ(to_string(testbed.runtime.row_state("INTF_TABLE", "A:2001:db8:a::1/128").plane), "waiting");
  EXPECT_THAT(testbed.why("INTF_TABLE", "A:2001:db8:a::1/128"), HasSubstr("the same address as INTF_TABLE A:2001:db8:a::1/64"));
  testbed.remove("INTF_TABLE", "A:2001:db8:a::1/128");
  testbed.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/64")) << "the deletion of the row that waits took the other's";
  EXPECT_EQ(testbed.unsettled(), 0U);
  testbed.set("INTF_TABLE", "A:2001:DB8:A::1/128", {});
  testbed.set("INTF_TABLE", "A:2001:db8:a::1/80", {});
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.remove("NEIGH_TABLE", "A:2001:db8:a::2");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 2U);
  testbed.remove("INTF_TABLE", "A:2001:db8:a::1/64");
  testbed.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/128")) << "the row that waited longest has it now";
  EXPECT_EQ(testbed.unsettled(), 1U);
  testbed.remove("INTF_TABLE", "A:2001:DB8:A::1/128");
  testbed.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/80"));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Spelt, TwoLengthsOfOneIpv4AddressAreTwoAddresses) {
  testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
  testbed.set("INTF_TABLE", "A:10.0.0.1/32", {});
  testbed.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 10.0.0.1/24"));
  EXPECT_THAT(of("address "), Contains("address A 10.0.0.1/32"));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Spelt, ARowThatWaitsSaysNothingOfAnEarlierChange) {
  set_route(kPlain, false);
  testbed.run_for(1s);
  set_route(kLoud, true);
  testbed.set("NEIGH_TABLE", "A:2001:DB8:A::2", {{"neigh", "02:00:00:00:00:77"}});
  testbed.set("INTF_TABLE", "A:2001:DB8:A::1/64", {});
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 3U);
  for (const auto& [table, key] :
       {std::pair{"ROUTE_TABLE", kLoud}, std::pair{"NEIGH_TABLE", "A:2001:DB8:A::2"}, std::pair{"INTF_TABLE", "A:2001:DB8:A::1/64"}}) {
    EXPECT_THAT(testbed.why(table, key), Not(HasSubstr("what was asked for before"))) << table;
  }
}

}  // namespace
}  // namespace rondo::switch_agent
