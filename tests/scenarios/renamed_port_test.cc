// A device is renamed while it is up. The kernel keeps its index and every object on it, so rondod deletes what the old name's rows asked
// for. The matrix: each kind of object x (renamed, renamed back, renamed and back between two turns, the name taken by another device), on
// a running switch and while the agent holds what an earlier run left. Periodic audits are off, and nothing requests one.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two ports with objects of each kind, in both families.
void set_rows(AgentTestbed& testbed) {
  for (const std::string port : {"A", "B"}) {
    const std::string n = port == "A" ? "1" : "2";
    testbed.set("PORT_TABLE", port, {{"admin_status", "up"}, {"mtu", "1500"}});
    testbed.set("INTF_TABLE", port, {});
    testbed.set("INTF_TABLE", port + ":10.0." + n + ".1/24", {});
    testbed.set("INTF_TABLE", port + ":fd00:" + n + "::1/64", {});
    testbed.set("NEIGH_TABLE", port + ":10.0." + n + ".2", {{"neigh", "02:00:00:00:00:02"}});
    testbed.set("NEIGH_TABLE", port + ":fd00:" + n + "::2", {{"neigh", "02:00:00:00:00:02"}});
  }
  testbed.set("NEXTHOP_GROUP_TABLE", "a4", {{"nexthop", "10.0.1.2"}, {"ifname", "A"}});
  testbed.set("NEXTHOP_GROUP_TABLE", "a6", {{"nexthop", "fd00:1::2"}, {"ifname", "A"}});
  testbed.set("NEXTHOP_GROUP_TABLE", "ab", {{"nexthop", "10.0.1.2,10.0.2.2"}, {"ifname", "A,B"}});
  testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop_group", "a4"}});
  testbed.set("ROUTE_TABLE", "fd20::/32", {{"nexthop_group", "a6"}});
  testbed.set("ROUTE_TABLE", "21.0.0.0/8", {{"nexthop_group", "ab"}});
  testbed.set("ROUTE_TABLE", "22.0.0.0/8", {{"nexthop", "10.0.1.2"}, {"ifname", "A"}});
  testbed.set("ROUTE_TABLE", "30.0.0.0/8", {{"blackhole", "true"}});
}

/// The lines that a device of this name, or a next hop on it, has.
Lines on(AgentTestbed& testbed, const std::string& port) {
  Lines lines = testbed.actual();
  std::erase_if(lines, [&](const std::string& line) {
    return line.find(" " + port + " ") == std::string::npos && line.find("{" + port + " ") == std::string::npos;
  });
  return lines;
}

struct Cell {
  std::string name;
  std::function<void(AgentTestbed&)> rename;
  bool is_back = false;  // The port has a device of its name again, and all objects come back.
};
void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.name; }

class RenamedPort : public ::testing::TestWithParam<Cell> {
 protected:
  void expect_right(AgentTestbed& testbed, const Lines& wanted) {
    if (GetParam().is_back) {
      EXPECT_EQ(testbed.actual(), wanted) << ::testing::PrintToString(difference(testbed.actual(), wanted));
      EXPECT_EQ(testbed.unsettled(), 0U);
      return;
    }
    EXPECT_TRUE(on(testbed, "other").empty()) << ::testing::PrintToString(on(testbed, "other"));
    EXPECT_THAT(testbed.actual(), Contains(HasSubstr("route 21.0.0.0/8 via {B 10.0.2.2*1}")));
    EXPECT_THAT(testbed.actual(), Contains(HasSubstr("route 30.0.0.0/8")));
    for (const char* const route : {"20.0.0.0/8", "fd20::/32", "22.0.0.0/8"}) {
      EXPECT_THAT(testbed.actual(), Not(Contains(HasSubstr(std::string{"route "} + route)))) << route;
    }
    for (const auto& [table, key, plane] :
         {std::tuple{"PORT_TABLE", "A", "waiting"}, std::tuple{"INTF_TABLE", "A", "withdrawn"},
          std::tuple{"INTF_TABLE", "A:10.0.1.1/24", "withdrawn"}, std::tuple{"INTF_TABLE", "A:fd00:1::1/64", "withdrawn"},
          std::tuple{"NEIGH_TABLE", "A:10.0.1.2", "waiting"}, std::tuple{"NEXTHOP_GROUP_TABLE", "a4", "withdrawn"},
          std::tuple{"NEXTHOP_GROUP_TABLE", "ab", "installed"}, std::tuple{"ROUTE_TABLE", "20.0.0.0/8", "withdrawn"},
          std::tuple{"ROUTE_TABLE", "21.0.0.0/8", "installed"}}) {
      EXPECT_EQ(to_string(testbed.runtime.row_state(table, key).plane), plane) << table << " " << key;
    }
    EXPECT_THAT(testbed.why("PORT_TABLE", "A"), HasSubstr("no device named 'A'"));
    EXPECT_THAT(testbed.why("ROUTE_TABLE", "20.0.0.0/8"), HasSubstr("no such device"));
  }
};

TEST_P(RenamedPort, LeavesNothingBehindWithoutAnAudit) {
  AgentTestbed testbed;
  for (const char* const port : {"A", "B"}) testbed.plane.add_port(port);
  testbed.start();
  set_rows(testbed);
  testbed.run_for(2s);
  const Lines wanted = testbed.actual();
  ASSERT_FALSE(on(testbed, "A").empty());
  GetParam().rename(testbed);
  testbed.run_for(1s);
  expect_right(testbed, wanted);
  testbed.run_for(30s);
  expect_right(testbed, wanted);
  EXPECT_EQ(testbed.agent.audit()->figures(ObjectKind::Route).audits, 0U) << "a full table is not read for this";
  for (std::size_t i = 0; i < kObjectKinds; ++i) {
    const AuditFigures& figures = testbed.agent.audit()->figures(static_cast<ObjectKind>(i));
    EXPECT_EQ(figures.missing + figures.changed + figures.unwanted, 0U) << to_string(static_cast<ObjectKind>(i));
  }
}

/// The rows of the earlier run have come and are programmed; the safety stop holds other objects, so no unwanted object is deleted.
TEST_P(RenamedPort, LeavesNothingBehindWhileTheAgentHolds) {
  AgentTestbed testbed{1, {}, {}, {}, {.share = 0.2, .least = 2}};
  for (const char* const port : {"A", "B"}) testbed.plane.add_port(port);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(
        testbed.plane.meddle(RouteSet{.prefix = Prefix::parse("50." + std::to_string(i) + ".0.0/16").value(), .type = RouteType::Blackhole})
            .ok());
  }
  testbed.start();
  set_rows(testbed);
  testbed.run_for(5s);
  ASSERT_FALSE(testbed.agent.has_restarted()) << "the safety stop holds";
  const Lines wanted = testbed.actual();
  GetParam().rename(testbed);
  testbed.run_for(10s);
  ASSERT_FALSE(testbed.agent.has_restarted());
  expect_right(testbed, wanted);
}

INSTANTIATE_TEST_SUITE_P(Matrix, RenamedPort,
                         ::testing::Values(Cell{"Away", [](AgentTestbed& testbed) { testbed.plane.rename_port("A", "other"); }},
                                           Cell{"AwayAndBack",
                                                [](AgentTestbed& testbed) {
                                                  testbed.plane.rename_port("A", "other");
                                                  testbed.run_for(5s);
                                                  testbed.plane.rename_port("other", "A");
                                                },
                                                true},
                                           Cell{"AwayAndBackBetweenTwoTurns",
                                                [](AgentTestbed& testbed) {
                                                  testbed.plane.rename_port("A", "other");
                                                  testbed.plane.rename_port("other", "A");
                                                },
                                                true},
                                           Cell{"AnotherDeviceTakesTheName",
                                                [](AgentTestbed& testbed) {
                                                  testbed.plane.rename_port("A", "other");
                                                  testbed.plane.add_port("A");
                                                },
                                                true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rondo::switch_agent
