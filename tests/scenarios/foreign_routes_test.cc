// Routes of other programs with our metric: a row does not replace such a route, the deletion of a row does not delete it, and the row is
// programmed when the other route is deleted. Next hops of other programs that have numbers of ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::HasSubstr;

constexpr std::uint8_t kStatic = 4;
const Prefix kPrefix = Prefix::parse("172.16.0.0/24").value();

class ForeignRoutes : public ::testing::Test {
 protected:
  ForeignRoutes() { begin(testbed); }
  /// A group of one next hop. Other programs have next hops of the numbers 'taken'.
  static void begin(AgentTestbed& testbed, const std::vector<NexthopId>& taken = {}) {
    const IfIndex port = testbed.plane.add_port("A");
    for (const NexthopId id : taken) testbed.plane.add_foreign_nexthop(id, IpAddress::parse("10.0.0.9").value(), port, kStatic);
    testbed.start();
    testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    testbed.set("INTF_TABLE", "A", {});
    testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
    testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    testbed.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
    testbed.run_for(1s);
  }
  void set_route() { testbed.set("ROUTE_TABLE", "172.16.0.0/24", {{"nexthop_group", "1"}}); }
  PlaneState state() {
    const WhyLink link = testbed.runtime.why("ROUTE_TABLE", "172.16.0.0/24").chain.front();
    return link.plane;
  }
  AgentTestbed testbed;
};

TEST_F(ForeignRoutes, ARowWaitsForTheEndOfARouteThatIsNotOurs) {
  testbed.plane.add_foreign_route(kPrefix, kStatic);
  set_route();
  testbed.set("ROUTE_TABLE", "172.16.1.0/24", {{"nexthop_group", "1"}});
  testbed.run_for(5s);
  EXPECT_EQ(testbed.plane.route_count(), 1U) << "the other row's";
  EXPECT_EQ(testbed.unsettled(), 1U);
  EXPECT_EQ(state(), PlaneState::Foreign) << "not only waiting";
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "172.16.0.0/24"), HasSubstr("held by a route of protocol static (4)"));
  EXPECT_TRUE(testbed.plane.remove_foreign_route(kPrefix)) << "it was taken";
  testbed.run_for(5s);
  EXPECT_EQ(testbed.plane.route_count(), 2U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

// The state after a change of [dataplane] protocol: each row is held by a route of the earlier number.
TEST_F(ForeignRoutes, ARouteThatStaysIsTriedLessAndLess) {
  testbed.plane.add_foreign_route(kPrefix, 202);
  set_route();
  testbed.run_for(600s);
  EXPECT_LE(testbed.agent.routes().counts().refused, 25U) << "not one each second";
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "172.16.0.0/24"), HasSubstr("set protocol = 202 again, or remove what it left"));
  EXPECT_TRUE(testbed.plane.remove_foreign_route(kPrefix));
  testbed.run_for(35s);
  EXPECT_EQ(state(), PlaneState::Installed);
}

TEST_F(ForeignRoutes, TheEndOfTheRowLeavesIt) {
  testbed.plane.add_foreign_route(kPrefix, kStatic);
  set_route();
  testbed.run_for(5s);
  testbed.remove("ROUTE_TABLE", "172.16.0.0/24");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_TRUE(testbed.plane.remove_foreign_route(kPrefix));
}

TEST_F(ForeignRoutes, ARouteThatAnotherProgramHasReplacedIsNotCountedAsRepaired) {
  set_route();
  testbed.run_for(1s);
  testbed.plane.add_foreign_route(kPrefix, kStatic);
  testbed.run_for(5s);
  EXPECT_EQ(state(), PlaneState::Foreign);
  const AuditFigures& figures = testbed.agent.audit()->figures(ObjectKind::Route);
  EXPECT_EQ(figures.missing, 1U);
  EXPECT_EQ(figures.repaired, 0U);
}

// Another program replaces our route: deleting the row must not delete that route.
TEST_F(ForeignRoutes, ADeleteNamesOurProtocol) {
  set_route();
  testbed.run_for(1s);
  testbed.plane.add_foreign_route(kPrefix, kStatic);
  testbed.remove("ROUTE_TABLE", "172.16.0.0/24");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_TRUE(testbed.plane.remove_foreign_route(kPrefix));
}

// The kernel drops our route with its next hop; before it is restored, another program creates a route there.
TEST_F(ForeignRoutes, WhatIsPutBackDoesNotTakeThePlaceOfAnother) {
  set_route();
  testbed.run_for(1s);
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  ASSERT_EQ(testbed.plane.route_count(), 0U);
  testbed.plane.add_foreign_route(kPrefix, kStatic);
  testbed.plane.set_carrier("A", true);
  testbed.run_for(2s);
  EXPECT_EQ(testbed.plane.route_count(), 0U);
  EXPECT_EQ(state(), PlaneState::Foreign);
  EXPECT_TRUE(testbed.plane.remove_foreign_route(kPrefix)) << "it was taken";
  testbed.run_for(2s);
  EXPECT_EQ(testbed.plane.route_count(), 1U);
  EXPECT_EQ(state(), PlaneState::Installed);
}

std::vector<NexthopId> numbers_of(AgentTestbed& testbed) {
  std::vector<NexthopId> numbers;
  const auto nexthops = testbed.plane.nexthops().value();
  for (const NexthopEntry& entry : nexthops) numbers.push_back(entry.id);
  return numbers;
}

TEST_F(ForeignRoutes, NumbersOfOtherProgramsAreLeftAlone) {
  const std::vector<NexthopId> first = numbers_of(testbed);
  ASSERT_EQ(first.size(), 2U) << "the numbers that a next hop and a group choose first";
  AgentTestbed other;
  ASSERT_NO_FATAL_FAILURE(begin(other, first));
  other.set("ROUTE_TABLE", "172.16.0.0/24", {{"nexthop_group", "1"}});
  other.run_for(5s);
  EXPECT_EQ(other.plane.route_count(), 1U);
  EXPECT_EQ(other.unsettled(), 0U);
  const std::vector<NexthopId> second = numbers_of(other);
  ASSERT_EQ(second.size(), 2U);
  for (const NexthopId id : second) EXPECT_EQ(std::ranges::count(first, id), 0) << id.value();
  // The members change, and everything is deleted.
  other.set("NEIGH_TABLE", "A:10.0.0.3", {{"neigh", "02:00:00:00:00:03"}});
  other.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.3"}, {"ifname", "A"}});
  other.run_for(1s);
  EXPECT_EQ(other.plane.route_count(), 1U);
  for (const auto& [table, key] : {std::pair{"ROUTE_TABLE", "172.16.0.0/24"}, std::pair{"NEXTHOP_GROUP_TABLE", "1"}}) {
    other.remove(table, key);
    other.run_for(1s);
  }
  EXPECT_EQ(numbers_of(other).size(), 0U);
  for (const NexthopId id : first) EXPECT_TRUE(other.plane.remove_foreign_nexthop(id)) << id.value();
}

// Between the loss of a next hop with the carrier and its return, another program takes its number.
TEST_F(ForeignRoutes, ANumberThatAnotherProgramTookMeanwhileIsLeftAlone) {
  set_route();
  testbed.run_for(1s);
  const std::vector<NexthopId> before = numbers_of(testbed);
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  ASSERT_EQ(numbers_of(testbed).size(), 0U);
  testbed.plane.add_port("B");
  for (const NexthopId id : before) testbed.plane.add_foreign_nexthop(id, IpAddress::parse("10.9.0.9").value(), IfIndex{2}, kStatic);
  testbed.plane.set_carrier("A", true);
  testbed.run_for(2s);
  EXPECT_EQ(testbed.plane.route_count(), 1U);
  for (const NexthopId id : before) EXPECT_TRUE(testbed.plane.remove_foreign_nexthop(id)) << id.value();
  EXPECT_EQ(numbers_of(testbed).size(), 2U);
  EXPECT_EQ(state(), PlaneState::Installed);
}

}  // namespace
}  // namespace rondo::switch_agent
