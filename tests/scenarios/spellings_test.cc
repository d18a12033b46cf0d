// Several rows whose keys spell one object, because a program that writes to a Redis may choose any spelling. The first row has the
// object; the others wait and report for which row. Deleting one row removes nothing of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "agent_box.h"

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
    box.plane.add_port("A");
    box.start();
    box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    box.set("INTF_TABLE", "A", {});
    box.set("INTF_TABLE", "A:2001:db8:a::1/64", {});
    box.set("NEIGH_TABLE", "A:2001:db8:a::2", {{"neigh", "02:00:00:00:00:02"}});
    box.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "2001:db8:a::2"}, {"ifname", "A"}});
    box.run_for(1s);
  }
  void set_route(const char* key, bool blackhole) {
    blackhole ? box.set("ROUTE_TABLE", key, {{"blackhole", "true"}}) : box.set("ROUTE_TABLE", key, {{"nexthop_group", "1"}});
  }
  Lines of(std::string_view kind) {
    Lines lines = box.actual();
    std::erase_if(lines, [kind](const std::string& line) { return !line.starts_with(kind); });
    return lines;
  }
  AgentBox box;
  const std::string unicast = std::string{"route "} + kPlain + " via {A 2001:db8:a::2*1}";
};

TEST_F(Spelt, TheSecondRowOfARouteWaitsAndNamesTheFirst) {
  set_route(kPlain, false);
  box.run_for(1s);
  set_route(kLoud, true);
  box.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast));
  EXPECT_THAT(box.why("ROUTE_TABLE", kLoud), AllOf(HasSubstr("the same route as ROUTE_TABLE 2001:db8:7::/48"), HasSubstr("waits")));
  EXPECT_EQ(box.owed(), 1U);
  box.remove("ROUTE_TABLE", kLoud);
  box.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast)) << "the deletion of one took the other's";
  EXPECT_EQ(box.owed(), 0U);
  box.remove("ROUTE_TABLE", kPlain);
  box.run_for(1s);
  EXPECT_THAT(of("route "), IsEmpty());
}

TEST_F(Spelt, TheRowThatWaitsHasTheRouteWhenTheFirstGoes) {
  set_route(kLoud, true);
  box.run_for(1s);
  set_route(kPlain, false);
  set_route(kLong, false);
  box.run_for(1s);
  EXPECT_EQ(box.owed(), 2U);
  EXPECT_THAT(box.why("ROUTE_TABLE", kPlain), HasSubstr("the same route as ROUTE_TABLE 2001:DB8:7::/48"));
  box.remove("ROUTE_TABLE", kPlain);
  box.run_for(1s);
  EXPECT_EQ(of("route ").size(), 1U);
  box.remove("ROUTE_TABLE", kLoud);
  box.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast));
  EXPECT_EQ(box.owed(), 0U);
  set_route(kLong, true);  // This row has the route now.
  box.run_for(1s);
  EXPECT_EQ(of("route ").size(), 1U);
  EXPECT_THAT(of("route "), Not(Contains(unicast)));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Spelt, OfTwoInOneBatchOneHasTheRoute) {
  for (const bool plain_first : {true, false}) {
    set_route(plain_first ? kPlain : kLoud, false);
    set_route(plain_first ? kLoud : kPlain, false);
    box.run_for(1s);
    EXPECT_THAT(of("route "), ElementsAre(unicast));
    EXPECT_EQ(box.owed(), 1U) << "both say done";
    box.remove("ROUTE_TABLE", plain_first ? kPlain : kLoud);
    box.run_for(1s);
    EXPECT_THAT(of("route "), ElementsAre(unicast));
    EXPECT_EQ(box.owed(), 0U);
    box.remove("ROUTE_TABLE", plain_first ? kLoud : kPlain);
    box.run_for(1s);
    EXPECT_THAT(of("route "), IsEmpty());
  }
}

TEST_F(Spelt, AHostRouteWithoutItsLengthIsTheSameRoute) {
  set_route("10.9.0.1/32", true);
  box.run_for(1s);
  set_route("10.9.0.1", true);
  box.run_for(1s);
  EXPECT_EQ(box.owed(), 1U);
  box.remove("ROUTE_TABLE", "10.9.0.1");
  box.run_for(1s);
  EXPECT_EQ(of("route ").size(), 1U);
}

TEST_F(Spelt, ARouteThatIsRefusedLeavesThePrefixToTheOtherRow) {
  box.plane.fail_nth(OrderKind::Route, 1, EOPNOTSUPP);
  set_route(kLoud, true);
  box.run_for(1s);
  ASSERT_EQ(box.rejects.size(), 1U);
  set_route(kPlain, false);
  box.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(unicast));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Spelt, OfTwoRowsOfANeighborTheFirstHasIt) {
  box.set("NEIGH_TABLE", "A:2001:DB8:A::2", {{"neigh", "02:00:00:00:00:77"}});
  box.run_for(1s);
  EXPECT_THAT(of("neighbor "), ElementsAre("neighbor A 2001:db8:a::2 02:00:00:00:00:02"));
  EXPECT_THAT(box.why("NEIGH_TABLE", "A:2001:DB8:A::2"), HasSubstr("the same neighbour as NEIGH_TABLE A:2001:db8:a::2"));
  box.remove("NEIGH_TABLE", "A:2001:DB8:A::2");
  box.run_for(1s);
  EXPECT_EQ(of("neighbor ").size(), 1U);
  EXPECT_EQ(box.owed(), 0U);
  box.set("NEIGH_TABLE", "A:2001:DB8:A::2", {{"neigh", "02:00:00:00:00:77"}});
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  box.remove("NEIGH_TABLE", "A:2001:db8:a::2");
  box.run_for(1s);
  EXPECT_THAT(of("neighbor "), ElementsAre("neighbor A 2001:db8:a::2 02:00:00:00:00:77"));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Spelt, OfTwoRowsOfAnAddressTheFirstHasIt) {
  box.set("INTF_TABLE", "A:2001:DB8:B::1/64", {});
  box.run_for(1s);
  box.set("INTF_TABLE", "A:2001:db8:b::1/64", {});
  box.run_for(1s);
  EXPECT_THAT(box.why("INTF_TABLE", "A:2001:db8:b::1/64"), HasSubstr("the same address as INTF_TABLE A:2001:DB8:B::1/64"));
  box.remove("INTF_TABLE", "A:2001:DB8:B::1/64");
  box.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:b::1/64"));
  EXPECT_EQ(box.owed(), 0U);
  box.remove("INTF_TABLE", "A:2001:DB8:B::1/64");
  box.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:b::1/64"));
}

/// The kernel identifies an IPv6 address by its bits alone: a second length would replace the first, and the first the second, without end.
TEST_F(Spelt, OfTwoLengthsOfOneIpv6AddressTheFirstHasIt) {
  box.set("INTF_TABLE", "A:2001:db8:a::1/128", {});
  box.run_for(1s);
  const std::uint64_t orders = box.plane.executed();
  box.run_for(20s);
  EXPECT_EQ(box.plane.executed(), orders) << "the two rows fight";
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/64"));
  EXPECT_EQ(to_string(box.runtime.row_state("INTF_TABLE", "A:2001:db8:a::1/64").plane), "installed");
  EXPECT_EQ(to_string(box.runtime.row_state("INTF_TABLE", "A:2001:db8:a::1/128").plane), "waiting");
  EXPECT_THAT(box.why("INTF_TABLE", "A:2001:db8:a::1/128"), HasSubstr("the same address as INTF_TABLE A:2001:db8:a::1/64"));
  box.remove("INTF_TABLE", "A:2001:db8:a::1/128");
  box.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/64")) << "the deletion of the row that waits took the other's";
  EXPECT_EQ(box.owed(), 0U);
  box.set("INTF_TABLE", "A:2001:DB8:A::1/128", {});
  box.set("INTF_TABLE", "A:2001:db8:a::1/80", {});
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  box.remove("NEIGH_TABLE", "A:2001:db8:a::2");
  box.run_for(1s);
  EXPECT_EQ(box.owed(), 2U);
  box.remove("INTF_TABLE", "A:2001:db8:a::1/64");
  box.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/128")) << "the row that waited longest has it now";
  EXPECT_EQ(box.owed(), 1U);
  box.remove("INTF_TABLE", "A:2001:DB8:A::1/128");
  box.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 2001:db8:a::1/80"));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Spelt, TwoLengthsOfOneIpv4AddressAreTwoAddresses) {
  box.set("INTF_TABLE", "A:10.0.0.1/24", {});
  box.set("INTF_TABLE", "A:10.0.0.1/32", {});
  box.run_for(1s);
  EXPECT_THAT(of("address "), Contains("address A 10.0.0.1/24"));
  EXPECT_THAT(of("address "), Contains("address A 10.0.0.1/32"));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Spelt, ARowThatWaitsSaysNothingOfAnEarlierChange) {
  set_route(kPlain, false);
  box.run_for(1s);
  set_route(kLoud, true);
  box.set("NEIGH_TABLE", "A:2001:DB8:A::2", {{"neigh", "02:00:00:00:00:77"}});
  box.set("INTF_TABLE", "A:2001:DB8:A::1/64", {});
  box.run_for(1s);
  EXPECT_EQ(box.owed(), 3U);
  for (const auto& [table, key] :
       {std::pair{"ROUTE_TABLE", kLoud}, std::pair{"NEIGH_TABLE", "A:2001:DB8:A::2"}, std::pair{"INTF_TABLE", "A:2001:DB8:A::1/64"}}) {
    EXPECT_THAT(box.why(table, key), Not(HasSubstr("what was asked for before"))) << table;
  }
}

}  // namespace
}  // namespace rondo::switch_agent
