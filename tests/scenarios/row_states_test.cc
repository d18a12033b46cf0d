// The states of rows in the data plane, one cause per test, on the simulated kernel: `why`, `get` and `show` must match the kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A port, a neighbour on it, a group with the neighbour, and a route on the group.
class StatesOfRows : public ::testing::Test {
 protected:
  StatesOfRows() {
    testbed.plane.add_port("A");
    testbed.start();
    testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    testbed.set("INTF_TABLE", "A", {});
    testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
    testbed.set("INTF_TABLE", "A:2001:db8:a::1/64", {});
    testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    testbed.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
    testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
    testbed.set("ROUTE_TABLE", "192.169.0.0/16", {{"blackhole", "true"}});
    testbed.run_for(1s);
  }
  std::string state(std::string_view table, std::string_view key) {
    return std::string{to_string(testbed.runtime.row_state(table, key).plane)};
  }
  std::string last_of_why(std::string_view table, std::string_view key) {
    const WhyLink last = testbed.runtime.why(table, key).chain.back();
    return last.table + " " + last.key + " " + std::string{to_string(last.plane)} + ": " + last.note;
  }
  AgentTestbed testbed;
};

TEST_F(StatesOfRows, WhatTheKernelHasIsInstalled) {
  for (const auto& [table, key] :
       {std::pair{"PORT_TABLE", "A"}, std::pair{"INTF_TABLE", "A"}, std::pair{"INTF_TABLE", "A:10.0.0.1/24"},
        std::pair{"INTF_TABLE", "A:2001:db8:a::1/64"}, std::pair{"NEIGH_TABLE", "A:10.0.0.2"}, std::pair{"NEXTHOP_GROUP_TABLE", "1"},
        std::pair{"ROUTE_TABLE", "192.168.0.0/16"}, std::pair{"ROUTE_TABLE", "192.169.0.0/16"}}) {
    EXPECT_EQ(state(table, key), "installed") << table << " " << key;
  }
  EXPECT_EQ(state("ROUTE_TABLE", "10.0.0.0/8"), "") << "no such row";
}

TEST_F(StatesOfRows, ARouteWhosePortLostItsCarrierIsWithdrawnAndWhyWalksToThePort) {
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  ASSERT_EQ(testbed.plane.route_count(), 1U) << "the blackhole";
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "withdrawn");
  EXPECT_EQ(state("ROUTE_TABLE", "192.169.0.0/16"), "installed");
  EXPECT_EQ(state("NEXTHOP_GROUP_TABLE", "1"), "withdrawn");
  EXPECT_EQ(state("NEIGH_TABLE", "A:10.0.0.2"), "installed") << "the kernel keeps it";
  const Why why = testbed.runtime.why("ROUTE_TABLE", "192.168.0.0/16");
  ASSERT_EQ(why.chain.size(), 3U);
  EXPECT_FALSE(why.cycle);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "192.168.0.0/16"),
              AllOf(HasSubstr("ROUTE_TABLE:192.168.0.0/16 waits for nexthop-group:1"),
                    HasSubstr("NEXTHOP_GROUP_TABLE:1 waits for carrier:A (no usable member: 10.0.0.2 on A: the port has no carrier)")));
  EXPECT_THAT(last_of_why("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr("PORT_TABLE A installed: port A has no carrier since 20"));
  testbed.plane.set_carrier("A", true);
  testbed.run_for(1s);
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "installed");
  EXPECT_EQ(testbed.plane.route_count(), 2U);
}

TEST_F(StatesOfRows, RowsAreCountedByWhereTheyStand) {
  const auto told = [this](std::string_view table) {
    const PlaneCounts counts = testbed.stats(table).plane.value();
    return std::to_string(counts.installed) + " installed, " + std::to_string(counts.pending) + " pending, " +
           std::to_string(counts.withdrawn) + " withdrawn";
  };
  EXPECT_EQ(told("PORT_TABLE"), "1 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("INTF_TABLE"), "3 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("NEIGH_TABLE"), "1 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("NEXTHOP_GROUP_TABLE"), "1 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("ROUTE_TABLE"), "2 installed, 0 pending, 0 withdrawn");
  EXPECT_TRUE(testbed.agent.withdrawals().by_port.empty());
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  EXPECT_EQ(told("NEXTHOP_GROUP_TABLE"), "0 installed, 0 pending, 1 withdrawn");
  EXPECT_EQ(told("ROUTE_TABLE"), "1 installed, 0 pending, 1 withdrawn");
  EXPECT_EQ(told("INTF_TABLE"), "3 installed, 0 pending, 0 withdrawn");
  const Withdrawals by = testbed.agent.withdrawals();
  ASSERT_EQ(by.by_port.size(), 1U);
  EXPECT_THAT(by.by_port.front().why, HasSubstr("port A has no carrier since 20"));
  EXPECT_EQ(by.by_port.front().routes, 1U);
  EXPECT_EQ(by.by_port.front().groups, 1U);
  testbed.plane.remove_port("A");
  testbed.run_for(1s);
  EXPECT_EQ(told("PORT_TABLE"), "0 installed, 0 pending, 0 withdrawn") << "it waits for its device";
  EXPECT_EQ(told("INTF_TABLE"), "0 installed, 0 pending, 3 withdrawn");
  EXPECT_EQ(told("NEIGH_TABLE"), "0 installed, 0 pending, 0 withdrawn") << "it waits for the port";
  testbed.plane.add_port("A");
  testbed.run_for(1s);
  EXPECT_EQ(told("ROUTE_TABLE"), "2 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("INTF_TABLE"), "3 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("NEXTHOP_GROUP_TABLE"), "1 installed, 0 pending, 0 withdrawn");
  testbed.remove("ROUTE_TABLE", "192.168.0.0/16");
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.remove("NEIGH_TABLE", "A:10.0.0.2");
  testbed.remove("INTF_TABLE", "A:10.0.0.1/24");
  testbed.run_for(1s);
  EXPECT_EQ(told("ROUTE_TABLE"), "1 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("NEXTHOP_GROUP_TABLE"), "0 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("NEIGH_TABLE"), "0 installed, 0 pending, 0 withdrawn");
  EXPECT_EQ(told("INTF_TABLE"), "2 installed, 0 pending, 0 withdrawn");
}

TEST_F(StatesOfRows, AGroupThatComesWhileItsPortIsDownIsWithdrawn) {
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  testbed.set("NEXTHOP_GROUP_TABLE", "2", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  testbed.run_for(1s);
  EXPECT_EQ(state("NEXTHOP_GROUP_TABLE", "2"), "withdrawn");
  EXPECT_EQ(testbed.stats("NEXTHOP_GROUP_TABLE").plane->withdrawn, 2U);
}

TEST_F(StatesOfRows, ARouteIsNotCalledInstalledBeforeItIsPutBack) {
  constexpr int kRoutes = 1000;
  for (int i = 0; i < kRoutes; ++i) {
    testbed.set("ROUTE_TABLE", "172.16." + std::to_string(i / 4) + "." + std::to_string(i % 4 * 64) + "/26", {{"nexthop_group", "1"}});
  }
  testbed.run_for(1s);
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  testbed.plane.set_carrier("A", true);
  bool has_seen_some = false;
  for (int step = 0; step < 1000; ++step) {
    if (!testbed.runtime.scheduler().turn()) testbed.run_for(1ms);
    const std::size_t installed = testbed.stats("ROUTE_TABLE").plane->installed;
    ASSERT_LE(installed, testbed.plane.route_count());
    has_seen_some = has_seen_some || (installed > 1 && installed < kRoutes);
  }
  EXPECT_TRUE(has_seen_some) << "the test looks while routes are put back";
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").plane->installed, kRoutes + 2U);
}

TEST_F(StatesOfRows, AnAdministrativeDownIsToldOfAllThatGoesWithIt) {
  testbed.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  testbed.run_for(1s);
  EXPECT_EQ(state("PORT_TABLE", "A"), "installed") << "the row asks for it";
  EXPECT_EQ(state("INTF_TABLE", "A:10.0.0.1/24"), "installed");
  EXPECT_EQ(state("INTF_TABLE", "A:2001:db8:a::1/64"), "withdrawn");
  EXPECT_EQ(state("NEIGH_TABLE", "A:10.0.0.2"), "waiting");
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "withdrawn");
  EXPECT_THAT(last_of_why("NEIGH_TABLE", "A:10.0.0.2"), HasSubstr("port A is administratively down since 20"));
  EXPECT_THAT(last_of_why("INTF_TABLE", "A:2001:db8:a::1/64"), HasSubstr("port A is administratively down since 20"));
}

/// The kernel drops the neighbours of a port that goes down, and accepts one that comes after that. The answer is read after the event.
TEST_F(StatesOfRows, ANeighbourThatReachesTheKernelAfterItsPortWentDownIsDeleted) {
  const IpAddress address = IpAddress::parse("10.0.0.3").value();
  const IfIndex port = testbed.links().at(0).port;
  const std::uint64_t before = testbed.plane.executed();
  testbed.set("NEIGH_TABLE", "A:10.0.0.3", {{"neigh", "02:00:00:00:00:03"}});
  while (testbed.plane.executed() == before) testbed.run_for(1ns);
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{.port = port, .up = false}).ok());
  ASSERT_TRUE(testbed.plane.meddle(NeighborSet{port, address, MacAddress::parse("02:00:00:00:00:03").value()}).ok());
  testbed.run_for(1s);
  EXPECT_THAT(testbed.actual(), testing::Not(testing::Contains(HasSubstr("neighbor A 10.0.0.3"))));
}

TEST_F(StatesOfRows, ADeletedDeviceIsToldOfAllThatWasOnIt) {
  testbed.plane.remove_port("A");
  testbed.run_for(1s);
  EXPECT_EQ(state("PORT_TABLE", "A"), "waiting");
  EXPECT_EQ(state("INTF_TABLE", "A"), "withdrawn");
  EXPECT_EQ(state("INTF_TABLE", "A:10.0.0.1/24"), "withdrawn");
  EXPECT_EQ(state("NEIGH_TABLE", "A:10.0.0.2"), "waiting");
  EXPECT_EQ(state("NEXTHOP_GROUP_TABLE", "1"), "withdrawn");
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "withdrawn");
  EXPECT_THAT(last_of_why("ROUTE_TABLE", "192.168.0.0/16"),
              AllOf(HasSubstr("PORT_TABLE A waiting"), HasSubstr("the kernel has no device named 'A' since 20")));
}

TEST_F(StatesOfRows, ADeadPortIsForgottenUnlessARowAsksForIt) {
  const auto names = [this] {
    std::string all;
    for (const Ports::Port& port : testbed.agent.ports().ports()) all += port.name + (port.exists ? " " : "(absent) ");
    return all;
  };
  for (int i = 0; i < 100; ++i) {
    testbed.plane.add_port("veth" + std::to_string(i));
    testbed.run_for(1ms);
    testbed.plane.remove_port("veth" + std::to_string(i));
    testbed.run_for(1ms);
  }
  EXPECT_EQ(names(), "A ");
  testbed.plane.remove_port("A");
  testbed.set("PORT_TABLE", "B", {{"admin_status", "up"}});
  testbed.run_for(1s);
  EXPECT_EQ(names(), "A(absent) B(absent) ");
  EXPECT_THAT(testbed.agent.ports().without_device(testbed.world.clock().now() - 10s), testing::ElementsAre("A")) << "it was there before";
  testbed.run_for(10s);
  EXPECT_THAT(testbed.agent.ports().without_device(testbed.world.clock().now() - 10s), testing::ElementsAre("A", "B"));
  testbed.remove("PORT_TABLE", "B");
  testbed.run_for(1s);
  EXPECT_EQ(names(), "A(absent) ");
  testbed.plane.add_port("A");
  testbed.run_for(1s);
  EXPECT_EQ(names(), "A ");
  EXPECT_THAT(testbed.agent.ports().without_device(testbed.world.clock().now() - 10s), testing::IsEmpty());
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "installed");
}

TEST_F(StatesOfRows, WhatTheKernelRefusesIsRefusedAndWhatParsesNotIsNot) {
  testbed.plane.fail_nth(OrderKind::Route, 1, EPERM);
  testbed.set("ROUTE_TABLE", "172.16.0.0/16", {{"nexthop_group", "1"}});
  testbed.set("ROUTE_TABLE", "172.17.0.0/16", {{"blackhole", "perhaps"}});
  testbed.run_for(1s);
  EXPECT_EQ(state("ROUTE_TABLE", "172.16.0.0/16"), "refused");
  EXPECT_EQ(state("ROUTE_TABLE", "172.17.0.0/16"), "") << "rejected before anything was ordered";
}

TEST_F(StatesOfRows, ARejectedChangeOfAnInstalledRouteSaysThatTheOldOneStays) {
  testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", ""}, {"blackhole", "perhaps"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.runtime.row_state("ROUTE_TABLE", "192.168.0.0/16").note, HasSubstr("what was asked for before is installed"));
}

TEST_F(StatesOfRows, ARowThatWaitsIsWaiting) {
  testbed.set("ROUTE_TABLE", "172.16.0.0/16", {{"nexthop_group", "7"}});
  testbed.run_for(1s);
  EXPECT_EQ(state("ROUTE_TABLE", "172.16.0.0/16"), "waiting");
}

TEST_F(StatesOfRows, ARouteOfOtherSoftwareIsForeign) {
  const std::vector<Field> fields{{"nexthop", "10.0.0.2"}, {"ifname", "eth0"}};
  testbed.set("ROUTE_TABLE", "172.16.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "eth0"}});
  testbed.run_for(1s);
  const WhyLink link = testbed.runtime.row_state("ROUTE_TABLE", Record::make("172.16.0.0/16", fields));
  EXPECT_EQ(link.plane, PlaneState::Foreign);
  EXPECT_THAT(link.note, HasSubstr("left to other software"));
}

TEST_F(StatesOfRows, WhatAnAuditFoundGoneIsLost) {
  testbed.agent.row_states().on_lost(
      [](std::string_view table, std::string_view key) { return table == "ROUTE_TABLE" && key == "192.168.0.0/16"; });
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "lost");
  EXPECT_EQ(state("ROUTE_TABLE", "192.169.0.0/16"), "installed");
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  EXPECT_EQ(state("ROUTE_TABLE", "192.168.0.0/16"), "withdrawn") << "the port explains it";
}

}  // namespace
}  // namespace rondo::switch_agent
