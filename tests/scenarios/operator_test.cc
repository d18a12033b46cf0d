// The reports to an operator about rows that the kernel refuses or has lost, and about replaced rows, on the simulated kernel. The state
// and `why` name the cause and its remedy, and a row is programmed when the cause ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Operator : public ::testing::Test {
 protected:
  Operator() {
    testbed.plane.add_port("A");
    testbed.start();
    testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    testbed.set("INTF_TABLE", "A", {});
    testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
    testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    testbed.run_for(1s);
  }
  std::string state(std::string_view table, std::string_view key) {
    return std::string{to_string(testbed.runtime.row_state(table, key).plane)};
  }
  AgentTestbed testbed;
  const std::string v6 = "A:2001:db8:a::1/64";
};

TEST_F(Operator, AnAddressWaitsWhileIpv6IsSwitchedOffAndComesInWhenItIsOn) {
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  const std::uint64_t before = testbed.plane.executed();
  testbed.set("INTF_TABLE", v6, {});
  testbed.run_for(9s);
  EXPECT_THAT(testbed.rejects, IsEmpty());
  EXPECT_LE(testbed.plane.executed() - before, 6U) << "one attempt in two seconds";
  EXPECT_THAT(testbed.why("INTF_TABLE", v6),
              AllOf(HasSubstr("IPv6 is switched off on A"), HasSubstr("set the sysctl net.ipv6.conf.A.disable_ipv6 to 0")));
  testbed.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  testbed.run_for(3s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
}

TEST_F(Operator, AnAddressWaitsWhileTheMtuIsBelowThatOfIpv6) {
  testbed.set("PORT_TABLE", "A", {{"mtu", "1000"}});
  testbed.run_for(1s);
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, EINVAL);
  testbed.set("INTF_TABLE", v6, {});
  testbed.run_for(5s);
  EXPECT_THAT(testbed.rejects, IsEmpty());
  EXPECT_THAT(testbed.why("INTF_TABLE", v6), HasSubstr("the MTU of A is 1000, and IPv6 needs 1280: raise it"));
  testbed.plane.fail_by_chance(OrderKind::Address, 0, EINVAL);
  testbed.set("PORT_TABLE", "A", {{"mtu", "1500"}});
  testbed.run_for(3s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
}

TEST_F(Operator, ARefusalOfAnAddressThatHasAnotherCauseIsARejectStill) {
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, EINVAL);
  testbed.set("INTF_TABLE", v6, {});
  testbed.run_for(1s);
  EXPECT_EQ(testbed.rejects.size(), 1U);
}

TEST_F(Operator, AnInstalledAddressThatIpv6TookAwayComesBackWhenItIsOn) {
  testbed.set("INTF_TABLE", v6, {});
  testbed.run_for(1s);
  ASSERT_EQ(state("INTF_TABLE", v6), "installed");
  const IfIndex port = testbed.links().front().port;
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{port, false, {}}).ok());
  testbed.run_for(1s);
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.run_for(5s);
  EXPECT_EQ(state("INTF_TABLE", v6), "withdrawn");
  EXPECT_THAT(testbed.why("INTF_TABLE", v6), HasSubstr("IPv6 is switched off on A"));
  testbed.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  testbed.run_for(3s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
}

TEST_F(Operator, AnIpv6AddressOfAPortThatIsDownIsInTheKernelIfItWasSetSince) {
  testbed.set("INTF_TABLE", v6, {});
  testbed.run_for(1s);
  testbed.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  testbed.run_for(1s);
  ASSERT_EQ(testbed.plane.addresses()->size(), 1U);
  EXPECT_EQ(state("INTF_TABLE", v6), "withdrawn");
  EXPECT_EQ(testbed.stats("INTF_TABLE").plane->withdrawn, 1U);
  testbed.set("INTF_TABLE", v6, {});
  testbed.run_for(1s);
  ASSERT_EQ(testbed.plane.addresses()->size(), 2U);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
  EXPECT_EQ(testbed.runtime.row_state("INTF_TABLE", v6).note, "tentative: the port is down");
  EXPECT_EQ(testbed.stats("INTF_TABLE").plane->withdrawn, 0U);
  ASSERT_TRUE(
      testbed.plane.meddle(AddressDelete{testbed.links().front().port, Prefix{IpAddress::parse("2001:db8:a::1").value(), 64}}).ok());
  testbed.run_for(5s);
  EXPECT_EQ(testbed.plane.addresses()->size(), 2U) << "an audit repairs it";
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.run_for(1s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
  EXPECT_EQ(testbed.runtime.row_state("INTF_TABLE", v6).note, "");
}

TEST_F(Operator, RefusalsOfTheDataPlaneAndDifferencesNamePorts) {
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, EINVAL);
  testbed.set("INTF_TABLE", "A:10.9.0.1/24", {});
  testbed.plane.fail_by_chance(OrderKind::Neighbor, 1.0, EINVAL);
  testbed.set("NEIGH_TABLE", "A:10.0.0.9", {{"neigh", "02:00:00:00:00:09"}});
  testbed.plane.fail_by_chance(OrderKind::Link, 1.0, EINVAL);
  testbed.set("PORT_TABLE", "A", {{"mtu", "9000"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("INTF_TABLE", "A:10.9.0.1/24"), HasSubstr("address 10.9.0.1/24 on A: "));
  EXPECT_THAT(testbed.why("NEIGH_TABLE", "A:10.0.0.9"), HasSubstr("neighbor 10.0.0.9 at 02:00:00:00:00:09 on A: "));
  EXPECT_THAT(testbed.why("PORT_TABLE", "A"), HasSubstr("A up mtu 9000: "));
  testbed.plane.fail_by_chance(OrderKind::Link, 0, EINVAL);
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{testbed.links().front().port, false, {}}).ok());
  testbed.run_for(1s);
  ASSERT_EQ(testbed.agent.port_differences().size(), 1U);
  EXPECT_EQ(testbed.agent.port_differences().front().wanted, "A up");
  EXPECT_THAT(testbed.agent.port_differences().front().actual, HasSubstr("A down mtu"));
}

TEST_F(Operator, ManyAddressesWithoutIpv6AreTriedByOneOfThem) {
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  const auto key = [](int i) { return "A:2001:db8:a::" + std::to_string(i + 10) + "/64"; };
  for (int i = 0; i < 40; ++i) testbed.set("INTF_TABLE", key(i), {});
  testbed.run_for(1s);
  const std::uint64_t before = testbed.plane.executed();
  testbed.run_for(10s);
  EXPECT_LE(testbed.plane.executed() - before, 6U);
  EXPECT_EQ(state("INTF_TABLE", key(39)), "waiting");
  testbed.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  testbed.run_for(3s);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(state("INTF_TABLE", key(i)), "installed") << key(i);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Operator, RowsThatWaitForIpv6FollowTheDeletionOfTheAddressThatIsTried) {
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  testbed.set("INTF_TABLE", "A:2001:db8:a::1/64", {});
  testbed.run_for(1s);
  testbed.set("INTF_TABLE", "A:2001:db8:b::1/64", {});
  testbed.run_for(1s);
  testbed.remove("INTF_TABLE", "A:2001:db8:a::1/64");
  testbed.run_for(1s);
  testbed.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  testbed.run_for(5s);
  EXPECT_EQ(state("INTF_TABLE", "A:2001:db8:b::1/64"), "installed");
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Operator, Ipv6RowsWaitWhileTheMtuOfTheirPortIsTooSmall) {
  const std::string neighbor = "A:2001:db8:a::2";
  testbed.set("INTF_TABLE", v6, {});
  testbed.set("NEIGH_TABLE", neighbor, {{"neigh", "02:00:00:00:00:03"}});
  testbed.run_for(1s);
  ASSERT_EQ(state("NEIGH_TABLE", neighbor), "installed");
  const IfIndex port = testbed.links().front().port;
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{port, {}, 1000}).ok());
  testbed.run_for(1s);
  const std::uint64_t before = testbed.plane.executed();
  testbed.run_for(10s);
  EXPECT_EQ(testbed.plane.executed(), before) << "nothing is tried: the kernel reports the MTU";
  EXPECT_EQ(state("INTF_TABLE", v6), "withdrawn");
  EXPECT_EQ(state("NEIGH_TABLE", neighbor), "waiting");
  EXPECT_THAT(testbed.why("NEIGH_TABLE", neighbor), HasSubstr("the MTU of A is 1000, and IPv6 needs 1280: raise it"));
  EXPECT_EQ(testbed.stats("NEIGH_TABLE").plane->installed, 1U) << "the IPv4 neighbour";
  EXPECT_EQ(state("NEIGH_TABLE", "A:10.0.0.2"), "installed");
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{port, {}, 1500}).ok());
  testbed.run_for(1s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
  EXPECT_EQ(state("NEIGH_TABLE", neighbor), "installed");
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(Operator, ANextHopWaitsWhileIpv6IsSwitchedOff) {
  testbed.set("INTF_TABLE", v6, {});
  testbed.set("NEIGH_TABLE", "A:2001:db8:a::2", {{"neigh", "02:00:00:00:00:03"}});
  testbed.run_for(1s);
  testbed.plane.fail_by_chance(OrderKind::Nexthop, 1.0, EACCES);
  testbed.set("NEXTHOP_GROUP_TABLE", "6", {{"nexthop", "2001:db8:a::2"}, {"ifname", "A"}});
  testbed.run_for(5s);
  EXPECT_THAT(testbed.rejects, IsEmpty());
  EXPECT_THAT(testbed.why("NEXTHOP_GROUP_TABLE", "6"), HasSubstr("IPv6 is switched off on A"));
  testbed.plane.fail_by_chance(OrderKind::Nexthop, 0, EACCES);
  testbed.run_for(3s);
  EXPECT_EQ(state("NEXTHOP_GROUP_TABLE", "6"), "installed");
}

TEST_F(Operator, APortThatAnotherProgramTookDownIsNotCalledInstalled) {
  const IfIndex port = testbed.links().front().port;
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{port, false, {}}).ok());
  testbed.run_for(1s);
  EXPECT_EQ(state("PORT_TABLE", "A"), "lost");
  EXPECT_THAT(testbed.why("PORT_TABLE", "A"), AllOf(HasSubstr("another program changed it, and its row asks for up"),
                                                    HasSubstr("'rondo set PORT_TABLE A admin_status=up' sets it up again")));
  EXPECT_THAT(testbed.why("NEIGH_TABLE", "A:10.0.0.2"), HasSubstr("another program changed it")) << "what waits for the port leads to it";
  EXPECT_EQ(testbed.stats("PORT_TABLE").plane->lost, 1U);
  EXPECT_EQ(testbed.stats("PORT_TABLE").plane->installed, 0U);
  EXPECT_EQ(testbed.agent.port_differences().size(), 1U);
  EXPECT_FALSE(testbed.links().front().admin_up) << "an operator's 'ip link set down' is respected";
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.run_for(1s);
  EXPECT_EQ(state("PORT_TABLE", "A"), "installed");
  EXPECT_EQ(testbed.stats("PORT_TABLE").plane->lost, 0U);
}

TEST_F(Operator, ARoutedPortThatAnotherProgramPutsIntoABridgeIsNamed) {
  const IfIndex bridge = testbed.plane.add_bridge("br0");
  const IfIndex port = testbed.links().front().port;
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{.port = port, .master = bridge}).ok());
  testbed.run_for(2s);
  EXPECT_EQ(state("INTF_TABLE", "A"), "lost");
  EXPECT_THAT(testbed.why("INTF_TABLE", "A"),
              AllOf(HasSubstr("another program has put A into the bridge br0"), HasSubstr("'ip link set A nomaster'")));
  EXPECT_EQ(testbed.stats("INTF_TABLE").plane.value_or(PlaneCounts{}).lost, 1U);
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{.port = port, .master = IfIndex{}}).ok());
  testbed.run_for(2s);
  EXPECT_EQ(state("INTF_TABLE", "A"), "installed");
}

/// rondod made the bridge, and no row makes the port a member of its VLAN.
TEST_F(Operator, ARoutedPortThatAnotherProgramPutsIntoTheBridgeOfAVlanIsNamed) {
  testbed.set("VLAN_TABLE", "Vlan10", {{"admin_status", "up"}});
  testbed.run_for(1s);
  const auto links = testbed.links();
  const IfIndex port = std::ranges::find(links, "A", &LinkEvent::name)->port;
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{.port = port, .master = std::ranges::find(links, "Vlan10", &LinkEvent::name)->port}).ok());
  testbed.run_for(2s);
  EXPECT_EQ(state("INTF_TABLE", "A"), "lost");
  EXPECT_THAT(testbed.why("INTF_TABLE", "A"), HasSubstr("another program has put A into the bridge Vlan10"));
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{.port = port, .master = IfIndex{}}).ok());
  testbed.run_for(2s);
  EXPECT_EQ(state("INTF_TABLE", "A"), "installed");
}

TEST_F(Operator, ADeleteAndASetOfARouteChangeItInOneStep) {
  testbed.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
  testbed.run_for(1s);
  ASSERT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "installed");
  const std::uint64_t before = testbed.plane.executed();
  testbed.remove("ROUTE_TABLE", "192.168.0.0/16");
  testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.executed() - before, 1U) << "a replacement, and no Delete";
  EXPECT_EQ(testbed.plane.route(Prefix::parse("192.168.0.0/16").value())->type, RouteType::Blackhole);
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 0U) << "the group is not in use any more";
}

TEST_F(Operator, ADeleteAndASetOfARouteThatStaysOrdersNothing) {
  testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
  testbed.run_for(1s);
  const std::uint64_t before = testbed.plane.executed();
  testbed.remove("ROUTE_TABLE", "192.168.0.0/16");
  testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.executed(), before);
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "installed");
}

}  // namespace
}  // namespace rondo::switch_agent
