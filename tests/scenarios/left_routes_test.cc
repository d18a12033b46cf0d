// Routes that the data plane is not to have although rows ask for them: out of ports of other software, and to subnets that the kernel has
// from an address of a port. Routes to a device without a gateway. Simulated kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class LeftRoutes : public ::testing::Test {
 protected:
  LeftRoutes() {
    for (const char* const port : {"A", "B", "eth0"}) testbed.plane.add_port(port);
    testbed.start();
    for (const char* const port : {"A", "B"}) {
      testbed.set("PORT_TABLE", port, {{"admin_status", "up"}});
      testbed.set("INTF_TABLE", port, {});
    }
    testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
    testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set_group("a", "10.0.0.2", "A");
    set_group("b", "10.99.0.254", "eth0");
    testbed.run_for(1s);
  }
  void set_group(const char* name, const char* gateways, const char* ports) {
    testbed.set("NEXTHOP_GROUP_TABLE", name, {{"nexthop", gateways}, {"ifname", ports}});
  }
  void set_route(const char* prefix, const char* group) { testbed.set("ROUTE_TABLE", prefix, {{"nexthop_group", group}}); }
  void set_hops(const char* prefix, const char* gateways, const char* ports) {
    testbed.set("ROUTE_TABLE", prefix, {{"nexthop", gateways}, {"ifname", ports}});
  }
  std::string state(std::string_view key) { return state("ROUTE_TABLE", key); }
  std::string state(std::string_view table, std::string_view key) {
    return std::string{to_string(testbed.runtime.row_state(table, key).plane)};
  }
  std::string routes() {
    std::string text;
    for (const std::string& line : testbed.actual()) {
      if (line.starts_with("route")) text += line + "\n";
    }
    return text;
  }
  AgentTestbed testbed;
};

TEST_F(LeftRoutes, ARouteThatMovesToAGroupOfOtherSoftwareIsWithdrawn) {
  set_route("0.0.0.0/0", "a");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), HasSubstr("10.0.0.2"));
  set_route("0.0.0.0/0", "b");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 0U) << routes();
  EXPECT_EQ(testbed.unsettled(), 0U) << "neither the group nor the route waits";
  EXPECT_EQ(state("0.0.0.0/0"), "foreign");
  EXPECT_EQ(state("NEXTHOP_GROUP_TABLE", "b"), "foreign");
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "0.0.0.0/0"), HasSubstr("left to other software"));
  set_route("0.0.0.0/0", "a");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), HasSubstr("10.0.0.2"));
  EXPECT_EQ(state("0.0.0.0/0"), "installed");
}

TEST_F(LeftRoutes, ARouteFollowsItsGroupToOtherSoftwareAndBack) {
  set_route("0.0.0.0/0", "a");
  set_route("192.168.0.0/16", "b");
  testbed.run_for(1s);
  set_group("a", "10.99.0.254", "eth0");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 0U) << routes();
  EXPECT_EQ(state("0.0.0.0/0"), "foreign");
  EXPECT_EQ(testbed.unsettled(), 0U);
  set_group("a", "10.0.0.2", "A");
  set_group("b", "10.0.0.2", "A");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 2U) << routes();
  EXPECT_EQ(state("0.0.0.0/0"), "installed");
  EXPECT_EQ(state("192.168.0.0/16"), "installed") << "it named the group while that was of other software";
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(LeftRoutes, ARouteThatCameBeforeItsGroupOfOtherSoftwareDoesNotWait) {
  set_route("0.0.0.0/0", "c");
  testbed.run_for(1s);
  EXPECT_EQ(state("0.0.0.0/0"), "waiting");
  set_group("c", "10.99.0.254,172.17.0.2", "eth0,docker0");
  testbed.run_for(1s);
  EXPECT_EQ(state("0.0.0.0/0"), "foreign");
  EXPECT_EQ(testbed.unsettled(), 0U);
  testbed.remove("NEXTHOP_GROUP_TABLE", "c");
  testbed.run_for(1s);
  EXPECT_EQ(state("0.0.0.0/0"), "waiting");
  testbed.remove("ROUTE_TABLE", "0.0.0.0/0");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(LeftRoutes, ANextHopOfOtherSoftwareIsLeftOutOfAMixedSet) {
  set_group("c", "10.0.0.2,10.99.0.254", "A,eth0");
  set_route("192.168.0.0/16", "c");
  set_hops("192.169.0.0/16", "10.0.0.2,10.99.0.254", "A,eth0");
  set_hops("192.170.0.0/16", "10.99.0.254,10.98.0.254", "eth0,usb0");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 2U) << routes();
  EXPECT_THAT(routes(), Not(HasSubstr("eth0")));
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_EQ(testbed.agent.nexthop_groups().left_out().unresolved, 0U) << "no neighbour of it is missing";
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr("10.99.0.254 on eth0: the port is left to other software"));
}

TEST_F(LeftRoutes, ANextHopWithoutAGatewayIsTheDevice) {
  set_hops("192.168.0.0/16", "10.0.0.2", "A");
  testbed.run_for(1s);
  set_hops("192.168.0.0/16", "0.0.0.0", "B");
  set_group("d", "0.0.0.0", "B");
  set_route("192.169.0.0/16", "d");
  set_hops("192.170.0.0/16", "0.0.0.0,10.0.0.2", "B,A");
  set_hops("2001:db8:1::/48", "::", "B");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 0U) << testbed.why("ROUTE_TABLE", "192.168.0.0/16");
  EXPECT_EQ(testbed.plane.route_count(), 4U) << routes();
  EXPECT_THAT(testbed.actual(), Contains(HasSubstr("192.168.0.0/16 via {B 0.0.0.0"))) << routes();
  EXPECT_THAT(testbed.actual(), Contains(HasSubstr("192.169.0.0/16 via {B 0.0.0.0"))) << routes();
  EXPECT_THAT(testbed.actual(), Contains(HasSubstr("2001:db8:1::/48 via {B ::"))) << routes();
  EXPECT_EQ(state("192.170.0.0/16"), "installed");
  testbed.plane.set_carrier("B", false);
  testbed.run_for(1s);
  EXPECT_EQ(state("192.168.0.0/16"), "withdrawn");
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "192.170.0.0/16"), HasSubstr("without B: the port has no carrier"));
  testbed.plane.set_carrier("B", true);
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 4U) << routes();
}

TEST_F(LeftRoutes, AConnectedSubnetIsLeftToTheKernelWhicheverRowComesFirst) {
  set_hops("10.0.0.0/24", "0.0.0.0", "A");
  set_group("d", "0.0.0.0", "B");
  set_route("10.1.0.0/24", "d");
  set_hops("10.2.0.0/24", "0.0.0.0", "B");
  testbed.run_for(1s);
  EXPECT_EQ(state("10.0.0.0/24"), "foreign");
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "10.0.0.0/24"), HasSubstr("the kernel has this subnet itself"));
  EXPECT_EQ(testbed.plane.route_count(), 2U) << routes();
  testbed.set("INTF_TABLE", "B:10.1.0.1/24", {});
  testbed.set("INTF_TABLE", "B:10.2.0.1/24", {});
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 0U) << routes();
  EXPECT_EQ(state("10.1.0.0/24"), "foreign");
  EXPECT_EQ(state("10.2.0.0/24"), "foreign");
  EXPECT_EQ(testbed.unsettled(), 0U) << "they count as done";
  testbed.remove("INTF_TABLE", "B:10.1.0.1/24");
  testbed.remove("INTF_TABLE", "B:10.2.0.1/24");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 2U) << routes();
  EXPECT_EQ(state("10.1.0.0/24"), "installed");
  // The same group with a gateway: the subnet of its former device decides no more.
  testbed.set("INTF_TABLE", "B:10.1.0.1/24", {});
  testbed.run_for(1s);
  set_group("d", "10.0.0.2", "A");
  testbed.run_for(1s);
  EXPECT_EQ(state("10.1.0.0/24"), "installed");
}

}  // namespace
}  // namespace rondo::switch_agent
