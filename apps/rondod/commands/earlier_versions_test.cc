// Rows that wait while the data plane keeps what they asked for before. Method: a switch agent on the simulated kernel.
#include "rondod/commands/earlier_versions.h"

#include <gtest/gtest.h>

#include <string>

#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {
namespace {

class EarlierVersionsTest : public testing::Test {
 protected:
  EarlierVersionsTest() {
    for (const char* const port : {"A", "B"}) plane_.add_port(port);
    EXPECT_TRUE(agent_.start().ok());
    set("PORT_TABLE", "A", {{"admin_status", "up"}});
    set("INTF_TABLE", "A");
    set("INTF_TABLE", "A:10.0.0.1/24");
    set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
    for (const char* const prefix : {"20.0.0.0/16", "20.1.0.0/16"}) set("ROUTE_TABLE", prefix, {{"nexthop_group", "1"}});
    run_for(10s);
  }
  static RuntimeOptions options(sim::World& world) {
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    return options;
  }
  void set(std::string_view table, std::string_view key, FieldList fields = {}) {
    ASSERT_TRUE(runtime_.table(table).set(key, fields).ok());
  }
  void run_for(Duration time) { world_.run_for(runtime_.scheduler(), time); }
  std::string outdated() const {
    std::string text;
    for (const auto& one : earlier_.outdated()) text += one.table + " " + std::to_string(one.rows) + " " + one.first + "\n";
    return text;
  }

  sim::World world_{1};
  SimDataPlane plane_{{.seed = 1, .spend = [this](Duration time) { world_.clock().advance(time); }}};
  Runtime runtime_{options(world_)};
  switch_agent::SwitchAgent agent_{runtime_, plane_, {.in_line = true}};
  EarlierVersions earlier_{runtime_, &agent_};
};

TEST_F(EarlierVersionsTest, ARouteThatWaitsWithItsEarlierNextHopsIsNamedAfterAMoment) {
  EXPECT_EQ(outdated(), "");
  set("NEXTHOP_GROUP_TABLE", "2", {{"nexthop", "10.9.0.2"}, {"ifname", "B"}});  // A port without rows: its neighbour never comes.
  set("ROUTE_TABLE", "20.1.0.0/16", {{"nexthop_group", "2"}});
  set("ROUTE_TABLE", "20.2.0.0/16", {{"nexthop_group", "2"}});  // Has no earlier version.
  run_for(3s);
  EXPECT_EQ(outdated(), "") << "it may come";
  run_for(7s);
  EXPECT_EQ(outdated(), "ROUTE_TABLE 1 20.1.0.0/16\n");
  set("ROUTE_TABLE", "20.1.0.0/16", {{"nexthop_group", "1"}});
  run_for(5s);
  EXPECT_EQ(outdated(), "");
}

TEST_F(EarlierVersionsTest, AGroupWhoseNewMembersNeverComeIsNamed) {
  set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.9.0.2"}, {"ifname", "B"}});
  run_for(10s);
  EXPECT_EQ(outdated(), "NEXTHOP_GROUP_TABLE 1 1\n");
  EXPECT_EQ(plane_.route_count(), 2U) << "make before break";
}

TEST_F(EarlierVersionsTest, ADeleteThatWaitsIsNot) {
  ASSERT_TRUE(runtime_.table("NEXTHOP_GROUP_TABLE").remove("1").ok());
  run_for(10s);
  EXPECT_EQ(outdated(), "");
}

}  // namespace
}  // namespace rondo::daemon
