// Rows whose orders the data plane refuses again and again: each kind of row says `refused` with the kernel's reason, is counted, is
// retried ever more rarely, and is programmed when the kernel accepts it.
#include <gmock/gmock.h>

#include <cerrno>
#include <string>
#include <vector>

#include "agent_box.h"

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
  AgentBox box;
  box.plane.add_port("A");
  box.start();
  box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  box.set("INTF_TABLE", "A", {});
  box.set("INTF_TABLE", "A:10.0.0.1/24", {});
  box.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
  box.run_for(1s);
  box.plane.fail_by_chance(cell.order, 1.0, ENOBUFS);
  ASSERT_TRUE(box.runtime.table(cell.table).set(cell.key, cell.fields).ok());
  box.run_for(1s);
  const WhyLink link = box.runtime.row_state(cell.table, cell.key);
  EXPECT_EQ(to_string(link.plane), "refused") << link.note;
  EXPECT_THAT(link.note, HasSubstr("injected failure"));
  EXPECT_EQ(box.stats(cell.table).plane->refused, 1U);
  EXPECT_EQ(box.stats(cell.table).plane->withdrawn, 0U);
  EXPECT_TRUE(box.rejects.empty()) << "the kernel may accept it later";
  box.run_for(10s);
  const std::uint64_t before = box.plane.executed();
  box.run_for(20s);
  EXPECT_LE(box.plane.executed() - before, 10U);
  EXPECT_GE(box.plane.executed() - before, 2U);
  box.plane.fail_by_chance(cell.order, 0, ENOBUFS);
  box.run_for(6s);
  EXPECT_EQ(to_string(box.runtime.row_state(cell.table, cell.key).plane), "installed");
  EXPECT_EQ(box.stats(cell.table).plane->refused, 0U);
  EXPECT_EQ(box.owed(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, RefusedRow,
    ::testing::Values(Cell{"Port", OrderKind::Link, "PORT_TABLE", "A", {{"admin_status", "up"}, {"mtu", "1400"}}},
                      Cell{"Interface", OrderKind::Link, "INTF_TABLE", "A", {{"mtu", "1400"}}},
                      Cell{"Address4", OrderKind::Address, "INTF_TABLE", "A:10.0.9.1/24", {}},
                      Cell{"Address6", OrderKind::Address, "INTF_TABLE", "A:fd00::1/64", {}},
                      Cell{"Neighbor", OrderKind::Neighbor, "NEIGH_TABLE", "A:10.0.0.3", {{"neigh", "02:00:00:00:00:03"}}},
                      Cell{"Nexthop", OrderKind::Nexthop, "NEXTHOP_GROUP_TABLE", "g", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}},
                      Cell{"Group", OrderKind::Group, "NEXTHOP_GROUP_TABLE", "g", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}}),
    [](const auto& info) { return info.param.name; });

/// The kernel has no subnet around the gateway. The address that brings it comes later.
TEST(RefusedGroup, ComesInWhenItsGatewayIsReachable) {
  AgentBox box;
  box.plane.add_port("A");
  box.start();
  box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  box.set("INTF_TABLE", "A", {});
  box.set("INTF_TABLE", "A:10.0.0.1/24", {});
  box.set("NEIGH_TABLE", "A:9.9.9.9", {{"neigh", "02:00:00:00:00:09"}});
  box.set("NEXTHOP_GROUP_TABLE", "bad", {{"nexthop", "9.9.9.9"}, {"ifname", "A"}});
  box.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop_group", "bad"}});
  box.set("ROUTE_TABLE", "21.0.0.0/8", {{"nexthop", "9.9.9.9"}, {"ifname", "A"}});
  box.run_for(1s);
  EXPECT_EQ(to_string(box.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "refused");
  EXPECT_THAT(box.why("ROUTE_TABLE", "20.0.0.0/8"), HasSubstr("Nexthop has invalid gateway"));
  EXPECT_THAT(box.why("ROUTE_TABLE", "21.0.0.0/8"), HasSubstr("Nexthop has invalid gateway"));
  EXPECT_EQ(box.stats("NEXTHOP_GROUP_TABLE").plane->refused, 1U);
  EXPECT_EQ(box.stats("NEXTHOP_SET").plane->refused, 1U);
  box.plane.set_carrier("A", false);
  box.run_for(1s);
  EXPECT_EQ(to_string(box.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "withdrawn") << "the port explains it";
  EXPECT_EQ(box.stats("NEXTHOP_GROUP_TABLE").plane->refused, 0U);
  box.plane.set_carrier("A", true);
  box.run_for(1s);
  EXPECT_EQ(to_string(box.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "refused");
  box.set("INTF_TABLE", "A:9.9.9.1/24", {});
  box.run_for(6s);
  EXPECT_EQ(to_string(box.runtime.row_state("NEXTHOP_GROUP_TABLE", "bad").plane), "installed");
  EXPECT_EQ(box.plane.route_count(), 2U);
  EXPECT_EQ(box.owed(), 0U);
  EXPECT_EQ(box.stats("NEXTHOP_GROUP_TABLE").plane->refused, 0U);
}

}  // namespace
}  // namespace rondo::switch_agent
