// What rows and zebra say of next hops beside a gateway and a port: both families in one set, weights of 16 bits, gateways that no subnet
// contains, and the preferred source of a route. Each case on the simulated kernel, beside next_hops_linux_test.cc on the real one.
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NextHops : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string port : {"A", "B"}) testbed.plane.add_port(port);
    testbed.start();
    for (const std::string n : {"0", "1"}) {
      const std::string port = n == "0" ? "A" : "B";
      testbed.set("PORT_TABLE", port, {{"admin_status", "up"}});
      testbed.set("INTF_TABLE", port, {});
      testbed.set("INTF_TABLE", port + ":10.0." + n + ".1/24", {});
      testbed.set("NEIGH_TABLE", port + ":10.0." + n + ".2", {{"neigh", "02:00:00:00:00:02"}});
      testbed.set("NEIGH_TABLE", port + ":fe80::9", {{"neigh", "02:00:00:00:00:09"}});
    }
    testbed.run_for(1s);
  }
  std::string state(std::string_view key) { return std::string{to_string(testbed.runtime.row_state("ROUTE_TABLE", key).plane)}; }
  std::string note(std::string_view key) { return std::string{testbed.runtime.row_state("ROUTE_TABLE", key).note}; }
  std::optional<RouteEntry> route(const char* prefix) { return testbed.plane.route(Prefix::parse(prefix).value()); }
  IpAddress source(const char* prefix) { return route(prefix) ? route(prefix)->source : IpAddress{}; }
  /// The next hops of a route in the kernel as texts.
  std::vector<std::string> hops_of(const char* prefix) {
    std::vector<std::string> hops;
    if (!route(prefix)) return hops;
    const NexthopEntry group = *testbed.plane.nexthop(route(prefix)->nexthop);
    for (const GroupMember& member : group.members) {
      const NexthopEntry one = *testbed.plane.nexthop(member.nexthop);
      hops.push_back(one.gateway.to_string() + "*" + std::to_string(member.weight) + (one.onlink ? " onlink" : ""));
    }
    return hops;
  }
  static IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

  AgentTestbed testbed;
};

/// A set whose first and last port had gateways of two families was refused, and the kernel kept the earlier next hops.
TEST_F(NextHops, AnIpv4RouteHasThoseOfBothFamiliesInAnyOrder) {
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  testbed.run_for(1s);
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2,fe80::9"}, {"ifname", "A,B"}});
  testbed.set("ROUTE_TABLE", "21.0.0.0/8", {{"nexthop", "fe80::9,10.0.1.2"}, {"ifname", "A,B"}});
  testbed.set("NEXTHOP_GROUP_TABLE", "g", {{"nexthop", "fe80::9,10.0.1.2"}, {"ifname", "A,B"}});
  testbed.set("ROUTE_TABLE", "22.0.0.0/8", {{"nexthop_group", "g"}});
  testbed.set("ROUTE_TABLE", "2001:db8::/32", {{"nexthop", "fe80::9,10.0.1.2"}, {"ifname", "A,B"}});
  testbed.run_for(1s);
  EXPECT_THAT(hops_of("20.0.0.0/8"), ElementsAre("10.0.0.2*1", "fe80::9*1"));
  EXPECT_THAT(hops_of("21.0.0.0/8"), ElementsAre("fe80::9*1", "10.0.1.2*1"));
  EXPECT_THAT(hops_of("22.0.0.0/8"), ElementsAre("fe80::9*1", "10.0.1.2*1"));
  EXPECT_THAT(testbed.rejects, ElementsAre(HasSubstr("'10.0.1.2': an IPv6 route cannot have an IPv4 next hop")));
}

TEST_F(NextHops, WeightsKeepTheirProportion) {
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2,10.0.1.2"}, {"ifname", "A,B"}, {"weight", "300,900"}});
  testbed.run_for(1s);
  EXPECT_THAT(hops_of("20.0.0.0/8"), ElementsAre("10.0.0.2*1", "10.0.1.2*3"));
}

TEST_F(NextHops, AGatewayThatNoSubnetContainsIsOnlink) {
  testbed.set("NEIGH_TABLE", "B:169.254.0.1", {{"neigh", "02:00:00:00:00:09"}});
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2,169.254.0.1"}, {"ifname", "A,B"}, {"onlink", "false,true"}});
  testbed.run_for(1s);
  EXPECT_THAT(hops_of("20.0.0.0/8"), ElementsAre("10.0.0.2*1", "169.254.0.1*1 onlink"));
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "169.254.0.1"}, {"ifname", "B"}, {"onlink", "true"}});
  testbed.run_for(1s);
  EXPECT_THAT(hops_of("20.0.0.0/8"), ElementsAre("169.254.0.1*1 onlink"));
  testbed.set("ROUTE_TABLE", "21.0.0.0/8", {{"nexthop", "10.0.1.2"}, {"ifname", "B"}, {"onlink", "true"}});
  testbed.set("ROUTE_TABLE", "22.0.0.0/8", {{"nexthop", "10.0.1.2"}, {"ifname", "B"}});
  testbed.run_for(1s);
  EXPECT_THAT(hops_of("21.0.0.0/8"), ElementsAre("10.0.1.2*1 onlink"));
  EXPECT_THAT(hops_of("22.0.0.0/8"), ElementsAre("10.0.1.2*1"));
  testbed.remove("ROUTE_TABLE", "21.0.0.0/8");
  testbed.remove("NEIGH_TABLE", "B:10.0.1.2");
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("NEIGH_TABLE", "B:10.0.1.2"), HasSubstr("neighbor-unused")) << "one of its two next hops is left";
  testbed.remove("ROUTE_TABLE", "22.0.0.0/8");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(NextHops, AnAuditRestoresOnlinkAndThePreferredSource) {
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}, {"onlink", "true"}, {"prefsrc", "10.0.1.1"}});
  testbed.run_for(1s);
  const RouteEntry before = *route("20.0.0.0/8");
  const NexthopEntry one = *testbed.plane.nexthop(testbed.plane.nexthop(before.nexthop)->members[0].nexthop);
  ASSERT_TRUE(testbed.plane.meddle(NexthopSet{.id = one.id, .gateway = one.gateway, .port = one.port}).ok());
  ASSERT_TRUE(testbed.plane.meddle(RouteSet{.prefix = before.prefix, .nexthop = before.nexthop}).ok());
  testbed.run_for(5s);
  EXPECT_THAT(hops_of("20.0.0.0/8"), ElementsAre("10.0.0.2*1 onlink"));
  EXPECT_EQ(source("20.0.0.0/8"), ip("10.0.1.1"));
}

/// Routes with and without a source share their next hops.
TEST_F(NextHops, APreferredSourceComesChangesAndGoes) {
  const auto set = [this](const char* prefix, const char* source) {
    testbed.set("ROUTE_TABLE", prefix, {{"nexthop", "10.0.0.2"}, {"ifname", "A"}, {"prefsrc", source}});
  };
  set("20.0.0.0/8", "10.0.0.1");
  set("21.0.0.0/8", "10.0.1.1");
  set("22.0.0.0/8", "");
  testbed.run_for(1s);
  EXPECT_EQ(source("20.0.0.0/8"), ip("10.0.0.1"));
  EXPECT_EQ(source("21.0.0.0/8"), ip("10.0.1.1"));
  EXPECT_EQ(source("22.0.0.0/8"), IpAddress{});
  EXPECT_EQ(route("20.0.0.0/8")->nexthop, route("22.0.0.0/8")->nexthop);
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").plane->installed, 3U);
  set("20.0.0.0/8", "10.0.1.1");
  set("21.0.0.0/8", "");
  testbed.run_for(1s);
  EXPECT_EQ(source("20.0.0.0/8"), ip("10.0.1.1"));
  EXPECT_EQ(source("21.0.0.0/8"), IpAddress{});
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  EXPECT_FALSE(route("20.0.0.0/8"));
  testbed.plane.set_carrier("A", true);
  testbed.run_for(1s);
  EXPECT_EQ(source("20.0.0.0/8"), ip("10.0.1.1")) << "put back with its source";
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").plane->installed, 3U);
  for (const char* const prefix : {"20.0.0.0/8", "21.0.0.0/8", "22.0.0.0/8"}) testbed.remove("ROUTE_TABLE", prefix);
  testbed.run_for(20s);
  EXPECT_TRUE(testbed.plane.nexthops().value().empty()) << "the set is not used any more";
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(NextHops, ASourceThatIsNotOnThisHostIsRefusedUntilItComes) {
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}, {"prefsrc", "10.1.0.32"}});
  testbed.run_for(2s);
  EXPECT_EQ(state("20.0.0.0/8"), "refused");
  EXPECT_THAT(note("20.0.0.0/8"), HasSubstr("src 10.1.0.32: the preferred source is not an address of this host"));
  EXPECT_TRUE(testbed.rejects.empty());
  testbed.set("INTF_TABLE", "B:10.1.0.32/32", {});
  testbed.run_for(6s);
  EXPECT_EQ(state("20.0.0.0/8"), "installed");
  EXPECT_EQ(source("20.0.0.0/8"), ip("10.1.0.32"));
  // The kernel drops the route with the address.
  testbed.remove("INTF_TABLE", "B:10.1.0.32/32");
  testbed.run_for(4s);
  EXPECT_FALSE(route("20.0.0.0/8"));
  EXPECT_EQ(state("20.0.0.0/8"), "refused");
  EXPECT_THAT(note("20.0.0.0/8"), HasSubstr("the preferred source is not an address of this host"));
  testbed.set("INTF_TABLE", "B:10.1.0.32/32", {});
  testbed.run_for(6s);
  EXPECT_EQ(state("20.0.0.0/8"), "installed");
  // The same with another program's address.
  testbed.remove("INTF_TABLE", "B:10.1.0.32/32");
  testbed.run_for(4s);
  const IfIndex port = testbed.agent.port_ids().find("A");
  const Prefix address = Prefix::parse_interface("10.1.0.32/32").value();
  ASSERT_TRUE(testbed.plane.meddle(AddressSet{.port = port, .address = address}).ok());
  testbed.run_for(6s);
  EXPECT_EQ(state("20.0.0.0/8"), "installed");
  ASSERT_TRUE(testbed.plane.meddle(AddressDelete{.port = port, .address = address}).ok());
  testbed.run_for(4s);
  EXPECT_EQ(state("20.0.0.0/8"), "refused");
}

}  // namespace
}  // namespace rondo::switch_agent
