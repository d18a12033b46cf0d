// Rows whose orders the data plane refuses again and again: each kind of row says `refused` with the kernel's reason, is counted, is
// retried ever more rarely, and is programmed when the kernel accepts it.
#include <gmock/gmock.h>

#include <cerrno>
#include <string>
#include <vector>

#include "agent_testbed.h"
#include "switch_agent/facts.h"

namespace rondo::switch_agent {
namespace {

using ::testing::HasSubstr;

struct Cell {
  const char* name;
  OrderKind order;
  const char* table;
  const char* key;
  std::vector<Field> fields;
};
void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.name; }

class RefusedRow : public ::testing::TestWithParam<Cell> {};

TEST_P(RefusedRow, IsRefusedCountedAndTriedAgainEverMoreRarely) {
  const Cell& cell = GetParam();
  AgentTestbed testbed;
  testbed.plane.add_port("A");
  testbed.start();
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.set("INTF_TABLE", "A", {});
  testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
  testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
  testbed.run_for(1s);
  testbed.plane.fail_by_chance(cell.order, 1.0, ENOBUFS);
  ASSERT_TRUE(testbed.runtime.table(cell.table).set(cell.key, cell.fields).ok());
  testbed.run_for(1s);
  const WhyLink link = testbed.runtime.row_state(cell.table, cell.key);
  EXPECT_EQ(to_string(link.plane), "refused") << link.note;
  EXPECT_THAT(link.note, HasSubstr("injected failure"));
  EXPECT_EQ(testbed.stats(cell.table).plane->refused, 1U);
  EXPECT_EQ(testbed.stats(cell.table).plane->withdrawn, 0U);
  EXPECT_TRUE(testbed.rejects.empty()) << "the kernel may accept it later";
  testbed.run_for(10s);
  const std::uint64_t before = testbed.plane.executed();
  testbed.run_for(20s);
  EXPECT_LE(testbed.plane.executed() - before, 10U);
  EXPECT_GE(testbed.plane.executed() - before, 2U);
  testbed.plane.fail_by_chance(cell.order, 0, ENOBUFS);
  testbed.run_for(6s);
  EXPECT_EQ(to_string(testbed.runtime.row_state(cell.table, cell.key).plane), "installed");
  EXPECT_EQ(testbed.stats(cell.table).plane->refused, 0U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, RefusedRow,
    ::testing::Values(Cell{"Port", OrderKind::Link, "PORT_TABLE", "A", {{"admin_status", "up"}, {"mtu", "1400"}}},
                      Cell{"Interface", OrderKind::Link, "INTF_TABLE", "A", {{"mtu", "1400"}}},
                      Cell{"Address4", OrderKind::Address, "INTF_TABLE", "A:10.0.9.1/24", {}},
                      Cell{"Address6", OrderKind::Address, "INTF_TABLE", "A:fd00::1/64", {}},
                      Cell{"Neighbor", OrderKind::Neighbor, "NEIGH_TABLE", "A:10.0.0.3", {{"neigh", "02:00:00:00:00:03"}}},
                      Cell{"Nexthop", OrderKind::Nexthop, "NEXTHOP_GROUP_TABLE", "g", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}},
                      Cell{"Route", OrderKind::Route, "ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}},
                      Cell{"RouteToNowhere", OrderKind::Route, "ROUTE_TABLE", "20.0.0.0/8", {{"blackhole", "true"}}},
                      Cell{"Group", OrderKind::Group, "NEXTHOP_GROUP_TABLE", "g", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}}),
    [](const auto& cell) { return cell.param.name; });

/// The kernel has lost the routes of a group and has no room for them any more.
TEST(RefusedRoute, OfALostGroupIsPutBackEverMoreRarely) {
  AgentTestbed testbed;
  testbed.plane.add_port("A");
  testbed.start();
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.set("INTF_TABLE", "A", {});
  testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
  testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  testbed.set("ROUTE_TABLE", "21.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  testbed.run_for(1s);
  ASSERT_EQ(testbed.plane.route_count(), 2U);
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  testbed.plane.fail_by_chance(OrderKind::Route, 1.0, ENOBUFS);
  testbed.plane.set_carrier("A", true);
  testbed.run_for(10s);
  EXPECT_EQ(to_string(testbed.runtime.row_state("ROUTE_TABLE", "20.0.0.0/8").plane), "refused");
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").plane->refused, 2U);
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").plane->pending, 0U);
  const std::uint64_t before = testbed.plane.executed();
  testbed.run_for(20s);
  EXPECT_LE(testbed.plane.executed() - before, 20U);
  EXPECT_GE(testbed.plane.executed() - before, 4U);

  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  EXPECT_EQ(to_string(testbed.runtime.row_state("ROUTE_TABLE", "20.0.0.0/8").plane), "withdrawn") << "the port explains it";
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").plane->refused, 0U);
  testbed.plane.fail_by_chance(OrderKind::Route, 0, ENOBUFS);
  testbed.plane.set_carrier("A", true);
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 2U) << "the port came back, and no retry is waited for";
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").plane->refused, 0U);
}

/// The route stays in the kernel, and its deletion is refused.
TEST(RefusedRoute, WhoseDeletionIsRefusedIsDeletedEverMoreRarely) {
  AgentTestbed testbed;
  testbed.start();
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"blackhole", "true"}});
  testbed.run_for(1s);
  testbed.plane.fail_by_chance(OrderKind::Route, 1.0, ENOBUFS);
  testbed.remove("ROUTE_TABLE", "20.0.0.0/8");
  testbed.run_for(10s);
  const std::uint64_t before = testbed.plane.executed();
  testbed.run_for(20s);
  EXPECT_LE(testbed.plane.executed() - before, 12U);
  testbed.plane.fail_by_chance(OrderKind::Route, 0, ENOBUFS);
  testbed.run_for(11s);
  EXPECT_EQ(testbed.plane.route_count(), 0U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

/// The kernel has no subnet around the gateway. The address that brings it comes later.
TEST(RefusedGroup, ComesInWhenItsGatewayIsReachable) {
  AgentTestbed testbed;
  testbed.plane.add_port("A");
  testbed.start();
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.set("INTF_TABLE", "A", {});
  testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
  testbed.set("NEIGH_TABLE", "A:9.9.9.9", {{"neigh", "02:00:00:00:00:09"}});
  testbed.set("NEXTHOP_GROUP_TABLE", "bad", {{"nexthop", "9.9.9.9"}, {"ifname", "A"}});
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop_group", "bad"}});
  testbed.set("ROUTE_TABLE", "21.0.0.0/8", {{"nexthop", "9.9.9.9"}, {"ifname", "A"}});
  testbed.run_for(1s);
  EXPECT_EQ(to_string(testbed.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "refused");
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "20.0.0.0/8"), HasSubstr("Nexthop has invalid gateway"));
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "21.0.0.0/8"), HasSubstr("Nexthop has invalid gateway"));
  EXPECT_EQ(testbed.stats("NEXTHOP_GROUP_TABLE").plane->refused, 1U);
  EXPECT_EQ(testbed.agent.nexthop_groups().state_counts(kNextHops).refused, 1U);
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  EXPECT_EQ(to_string(testbed.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "withdrawn") << "the port explains it";
  EXPECT_EQ(testbed.stats("NEXTHOP_GROUP_TABLE").plane->refused, 0U);
  testbed.plane.set_carrier("A", true);
  testbed.run_for(1s);
  EXPECT_EQ(to_string(testbed.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "refused");
  testbed.set("INTF_TABLE", "A:9.9.9.1/24", {});
  testbed.run_for(6s);
  EXPECT_EQ(to_string(testbed.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "installed");
  EXPECT_EQ(testbed.plane.route_count(), 2U);
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_EQ(testbed.stats("NEXTHOP_GROUP_TABLE").plane->refused, 0U);
}

}  // namespace
}  // namespace rondo::switch_agent
