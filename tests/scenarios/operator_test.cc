// The reports to an operator about rows that the kernel refuses or has lost, and about replaced rows, on the simulated kernel. The state
// and `why` name the cause and its remedy, and a row is programmed when the cause ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "agent_box.h"

namespace rondo::switch_agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Operator : public ::testing::Test {
 protected:
  Operator() {
    box.plane.add_port("A");
    box.start();
    box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    box.set("INTF_TABLE", "A", {});
    box.set("INTF_TABLE", "A:10.0.0.1/24", {});
    box.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    box.run_for(1s);
  }
  std::string state(std::string_view table, std::string_view key) {
    return std::string{to_string(box.runtime.row_state(table, key).plane)};
  }
  AgentBox box;
  const std::string v6 = "A:2001:db8:a::1/64";
};

TEST_F(Operator, AnAddressWaitsWhileIpv6IsSwitchedOffAndComesInWhenItIsOn) {
  box.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  const std::uint64_t before = box.plane.executed();
  box.set("INTF_TABLE", v6, {});
  box.run_for(9s);
  EXPECT_THAT(box.rejects, IsEmpty());
  EXPECT_LE(box.plane.executed() - before, 6U) << "one attempt in two seconds";
  EXPECT_THAT(box.why("INTF_TABLE", v6),
              AllOf(HasSubstr("IPv6 is switched off on A"), HasSubstr("set the sysctl net.ipv6.conf.A.disable_ipv6 to 0")));
  box.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  box.run_for(3s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
}

TEST_F(Operator, AnAddressWaitsWhileTheMtuIsBelowThatOfIpv6) {
  box.set("PORT_TABLE", "A", {{"mtu", "1000"}});
  box.run_for(1s);
  box.plane.fail_by_chance(OrderKind::Address, 1.0, EINVAL);
  box.set("INTF_TABLE", v6, {});
  box.run_for(5s);
  EXPECT_THAT(box.rejects, IsEmpty());
  EXPECT_THAT(box.why("INTF_TABLE", v6), HasSubstr("the MTU of A is 1000, and IPv6 needs 1280: raise it"));
  box.plane.fail_by_chance(OrderKind::Address, 0, EINVAL);
  box.set("PORT_TABLE", "A", {{"mtu", "1500"}});
  box.run_for(3s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
}

TEST_F(Operator, ARefusalOfAnAddressThatHasAnotherCauseIsARejectStill) {
  box.plane.fail_by_chance(OrderKind::Address, 1.0, EINVAL);
  box.set("INTF_TABLE", v6, {});
  box.run_for(1s);
  EXPECT_EQ(box.rejects.size(), 1U);
}

TEST_F(Operator, AnInstalledAddressThatIpv6TookAwayComesBackWhenItIsOn) {
  box.set("INTF_TABLE", v6, {});
  box.run_for(1s);
  ASSERT_EQ(state("INTF_TABLE", v6), "installed");
  const IfIndex port = box.links().front().port;
  box.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  ASSERT_TRUE(box.plane.meddle(LinkSet{port, false, {}}).ok());
  box.run_for(1s);
  box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  box.run_for(5s);
  EXPECT_EQ(state("INTF_TABLE", v6), "withdrawn");
  EXPECT_THAT(box.why("INTF_TABLE", v6), HasSubstr("IPv6 is switched off on A"));
  box.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  box.run_for(3s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
}

TEST_F(Operator, ManyAddressesWithoutIpv6AreTriedByOneOfThem) {
  box.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  const auto key = [](int i) { return "A:2001:db8:a::" + std::to_string(i + 10) + "/64"; };
  for (int i = 0; i < 40; ++i) box.set("INTF_TABLE", key(i), {});
  box.run_for(1s);
  const std::uint64_t before = box.plane.executed();
  box.run_for(10s);
  EXPECT_LE(box.plane.executed() - before, 6U);
  EXPECT_EQ(state("INTF_TABLE", key(39)), "waiting");
  box.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  box.run_for(3s);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(state("INTF_TABLE", key(i)), "installed") << key(i);
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Operator, RowsThatWaitForIpv6FollowTheDeletionOfTheAddressThatIsTried) {
  box.plane.fail_by_chance(OrderKind::Address, 1.0, EACCES);
  box.set("INTF_TABLE", "A:2001:db8:a::1/64", {});
  box.run_for(1s);
  box.set("INTF_TABLE", "A:2001:db8:b::1/64", {});
  box.run_for(1s);
  box.remove("INTF_TABLE", "A:2001:db8:a::1/64");
  box.run_for(1s);
  box.plane.fail_by_chance(OrderKind::Address, 0, EACCES);
  box.run_for(5s);
  EXPECT_EQ(state("INTF_TABLE", "A:2001:db8:b::1/64"), "installed");
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Operator, Ipv6RowsWaitWhileTheMtuOfTheirPortIsTooSmall) {
  const std::string neighbor = "A:2001:db8:a::2";
  box.set("INTF_TABLE", v6, {});
  box.set("NEIGH_TABLE", neighbor, {{"neigh", "02:00:00:00:00:03"}});
  box.run_for(1s);
  ASSERT_EQ(state("NEIGH_TABLE", neighbor), "installed");
  const IfIndex port = box.links().front().port;
  ASSERT_TRUE(box.plane.meddle(LinkSet{port, {}, 1000}).ok());
  box.run_for(1s);
  const std::uint64_t before = box.plane.executed();
  box.run_for(10s);
  EXPECT_EQ(box.plane.executed(), before) << "nothing is tried: the kernel reports the MTU";
  EXPECT_EQ(state("INTF_TABLE", v6), "withdrawn");
  EXPECT_EQ(state("NEIGH_TABLE", neighbor), "waiting");
  EXPECT_THAT(box.why("NEIGH_TABLE", neighbor), HasSubstr("the MTU of A is 1000, and IPv6 needs 1280: raise it"));
  EXPECT_EQ(box.stats("NEIGH_TABLE").plane->installed, 1U) << "the IPv4 neighbour";
  EXPECT_EQ(state("NEIGH_TABLE", "A:10.0.0.2"), "installed");
  ASSERT_TRUE(box.plane.meddle(LinkSet{port, {}, 1500}).ok());
  box.run_for(1s);
  EXPECT_EQ(state("INTF_TABLE", v6), "installed");
  EXPECT_EQ(state("NEIGH_TABLE", neighbor), "installed");
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(Operator, ANextHopWaitsWhileIpv6IsSwitchedOff) {
  box.set("INTF_TABLE", v6, {});
  box.set("NEIGH_TABLE", "A:2001:db8:a::2", {{"neigh", "02:00:00:00:00:03"}});
  box.run_for(1s);
  box.plane.fail_by_chance(OrderKind::Nexthop, 1.0, EACCES);
  box.set("NEXTHOP_GROUP_TABLE", "6", {{"nexthop", "2001:db8:a::2"}, {"ifname", "A"}});
  box.run_for(5s);
  EXPECT_THAT(box.rejects, IsEmpty());
  EXPECT_THAT(box.why("NEXTHOP_GROUP_TABLE", "6"), HasSubstr("IPv6 is switched off on A"));
  box.plane.fail_by_chance(OrderKind::Nexthop, 0, EACCES);
  box.run_for(3s);
  EXPECT_EQ(state("NEXTHOP_GROUP_TABLE", "6"), "installed");
}

TEST_F(Operator, APortThatAnotherProgramTookDownIsNotCalledInstalled) {
  const IfIndex port = box.links().front().port;
  ASSERT_TRUE(box.plane.meddle(LinkSet{port, false, {}}).ok());
  box.run_for(1s);
  EXPECT_EQ(state("PORT_TABLE", "A"), "lost");
  EXPECT_THAT(box.why("PORT_TABLE", "A"), AllOf(HasSubstr("another program changed it, and its row asks for up"),
                                                HasSubstr("'rondo set PORT_TABLE A admin_status=up' sets it up again")));
  EXPECT_THAT(box.why("NEIGH_TABLE", "A:10.0.0.2"), HasSubstr("another program changed it")) << "what waits for the port leads to it";
  EXPECT_EQ(box.stats("PORT_TABLE").plane->lost, 1U);
  EXPECT_EQ(box.stats("PORT_TABLE").plane->installed, 0U);
  EXPECT_EQ(box.agent.port_differences().size(), 1U);
  EXPECT_FALSE(box.links().front().admin_up) << "an operator's 'ip link set down' is respected";
  box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  box.run_for(1s);
  EXPECT_EQ(state("PORT_TABLE", "A"), "installed");
  EXPECT_EQ(box.stats("PORT_TABLE").plane->lost, 0U);
}

TEST_F(Operator, ADeleteAndASetOfARouteChangeItInOneStep) {
  box.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  box.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
  box.run_for(1s);
  ASSERT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "installed");
  const std::uint64_t before = box.plane.executed();
  box.remove("ROUTE_TABLE", "192.168.0.0/16");
  box.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
  box.run_for(1s);
  EXPECT_EQ(box.plane.executed() - before, 1U) << "a replacement, and no Delete";
  EXPECT_EQ(box.plane.route(Prefix::parse("192.168.0.0/16").value())->type, RouteType::Blackhole);
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  box.run_for(1s);
  EXPECT_EQ(box.owed(), 0U) << "the group is not in use any more";
}

TEST_F(Operator, ADeleteAndASetOfARouteThatStaysOrdersNothing) {
  box.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
  box.run_for(1s);
  const std::uint64_t before = box.plane.executed();
  box.remove("ROUTE_TABLE", "192.168.0.0/16");
  box.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
  box.run_for(1s);
  EXPECT_EQ(box.plane.executed(), before);
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "installed");
}

}  // namespace
}  // namespace rondo::switch_agent
