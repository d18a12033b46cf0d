// Routes over several next hops of which some have no neighbour: they go on without those after a moment, and are widened when these come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PartialGroups : public ::testing::Test {
 protected:
  PartialGroups() {
    for (const char* const port : {"A", "B", "C"}) testbed.plane.add_port(port);
    testbed.start();
    int net = 0;
    for (const std::string port : {"A", "B", "C"}) {
      testbed.set("PORT_TABLE", port, {{"admin_status", "up"}});
      testbed.set("INTF_TABLE", port, {});
      testbed.set("INTF_TABLE", port + ":10.0." + std::to_string(++net) + ".1/24", {});
    }
    testbed.run_for(1s);
  }
  void set_route() { testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.1.2,10.0.2.2,10.0.3.2"}, {"ifname", "A,B,C"}}); }
  void set_neighbor(const std::string& key) { testbed.set("NEIGH_TABLE", key, {{"neigh", "02:00:00:00:00:02"}}); }
  Lines routes() {
    Lines lines = testbed.actual();
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("route "); });
    return lines;
  }
  std::vector<std::string> lacking() const {
    std::vector<std::string> all;
    testbed.agent.nexthop_groups().for_each_lacking([&all](std::string_view neighbor) { all.emplace_back(neighbor); });
    return all;
  }
  AgentTestbed testbed;
  const std::string one = "route 20.0.0.0/8 via {B 10.0.2.2*1}";
  const std::string two = "route 20.0.0.0/8 via {B 10.0.2.2*1, C 10.0.3.2*1}";
  const std::string all = "route 20.0.0.0/8 via {A 10.0.1.2*1, B 10.0.2.2*1, C 10.0.3.2*1}";
};

TEST_F(PartialGroups, ARouteGoesOnWithTheNextHopsThatAreResolvedAndIsWidened) {
  set_route();
  set_neighbor("B:10.0.2.2");
  testbed.run_for(200ms);
  EXPECT_THAT(routes(), IsEmpty()) << "the others may come soon";
  testbed.run_for(200ms);
  EXPECT_THAT(routes(), ElementsAre(one));
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "20.0.0.0/8"), Not(HasSubstr("waits")));
  set_neighbor("C:10.0.3.2");
  testbed.run_for(50ms);
  EXPECT_THAT(routes(), ElementsAre(two)) << "without a wait";
  set_neighbor("A:10.0.1.2");
  testbed.run_for(50ms);
  EXPECT_THAT(routes(), ElementsAre(all));
  EXPECT_THAT(lacking(), IsEmpty());
}

/// With one of them asked for, a route stayed out of the kernel while that host was silent, although another would have answered.
TEST_F(PartialGroups, WhereNoneIsResolvedAllOfThemAreLackingAndEachSuffices) {
  set_route();
  testbed.set("NEXTHOP_GROUP_TABLE", "g", {{"nexthop", "10.0.2.9,10.0.1.9"}, {"ifname", "B,A"}});
  testbed.run_for(2s);
  EXPECT_THAT(lacking(), ::testing::UnorderedElementsAre("A:10.0.1.2", "B:10.0.2.2", "C:10.0.3.2", "A:10.0.1.9", "B:10.0.2.9"));
  for (const char* const missing : {"A:10.0.1.2", "B:10.0.2.2", "C:10.0.3.2"}) {
    EXPECT_THAT(testbed.why("ROUTE_TABLE", "20.0.0.0/8"), HasSubstr(missing));
  }
  set_neighbor("B:10.0.2.2");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre(one));
  EXPECT_THAT(lacking(), ::testing::UnorderedElementsAre("A:10.0.1.2", "C:10.0.3.2", "A:10.0.1.9", "B:10.0.2.9"));
}

TEST_F(PartialGroups, NeighboursThatComeTogetherMakeOneGroup) {
  set_route();
  for (const char* const key : {"B:10.0.2.2", "C:10.0.3.2", "A:10.0.1.2"}) {
    set_neighbor(key);
    testbed.run_for(50ms);
  }
  EXPECT_THAT(routes(), ElementsAre(all));
  const std::uint64_t orders = testbed.agent.nexthop_groups().counts().group_replaces;
  testbed.run_for(2s);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().group_replaces, orders);
}

TEST_F(PartialGroups, WithoutAnyNeighbourTheRouteWaitsForTheFirst) {
  set_route();
  testbed.run_for(5s);
  EXPECT_THAT(routes(), IsEmpty());
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "20.0.0.0/8"), HasSubstr("NEIGH_TABLE:A:10.0.1.2"));
  set_neighbor("B:10.0.2.2");
  testbed.run_for(100ms);
  EXPECT_THAT(routes(), IsEmpty()) << "the others may come soon";
  testbed.run_for(300ms);
  EXPECT_THAT(routes(), ElementsAre(one));
}

TEST_F(PartialGroups, WhatIsLeftOutIsForgottenWithItsRoutes) {
  set_route();
  set_neighbor("B:10.0.2.2");
  testbed.run_for(1s);
  EXPECT_THAT(lacking(), ElementsAre("A:10.0.1.2", "C:10.0.3.2"));
  testbed.remove("ROUTE_TABLE", "20.0.0.0/8");
  testbed.run_for(1s);
  testbed.set("ROUTE_TABLE", "30.0.0.0/8", {{"nexthop", "10.0.2.2,10.0.3.9"}, {"ifname", "B,C"}});
  testbed.run_for(1s);
  EXPECT_THAT(lacking(), ElementsAre("C:10.0.3.9"));
}

TEST_F(PartialGroups, APortThatGoesTakesItsNextHopAndLeavesTheOthers) {
  set_route();
  set_neighbor("B:10.0.2.2");
  set_neighbor("C:10.0.3.2");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre(two));
  testbed.set("PORT_TABLE", "C", {{"admin_status", "down"}});
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre(one));
  testbed.set("PORT_TABLE", "C", {{"admin_status", "up"}});
  set_neighbor("A:10.0.1.2");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre(all));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

}  // namespace
}  // namespace rondo::switch_agent
