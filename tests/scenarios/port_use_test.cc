// Goal: at a start, rows of several tables for one port leave it to the same row each time: to the row whose use the data plane shows,
// otherwise to that of INTF_TABLE, before LAG_MEMBER_TABLE, before VLAN_MEMBER_TABLE. Method: the rows that must not have the port get
// their turns first. Either they are written first, or many other rows of its table come before the row that must have it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rondo/journal/journal.h"
#include "rondo/replay/replay.h"
#include "switch_testbed.h"

namespace rondo::switch_agent {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// So many rows of a table come before the row of the port that the other tables have had many turns by then.
constexpr int kManyRows = 5'000;
constexpr int kManyVrfs = 200;

class PortUseTest : public SwitchTest {
 protected:
  PortUseTest() : SwitchTest({"A", "B"}) {}

  void devices() {
    for (const char* const port : {"A", "B"}) set("PORT_TABLE", port, {{"admin_status", "up"}});
    set("VLAN_TABLE", "Vlan10");
    set("LAG_TABLE", "PortChannel1");
  }
  /// As BGP unnumbered has it: the port has no address by a row, and its next hop is link-local.
  void unnumbered() {
    set("INTF_TABLE", "A");
    set("NEIGH_TABLE", "A:fe80::1", {{"neigh", "02:00:00:00:00:bb"}});
    set("ROUTE_TABLE", "2001:db8::/32", {{"nexthop", "fe80::1"}, {"ifname", "A"}});
  }
  /// A start whose tables have rows already, as a store with a file gives them: devices(), and those that 'rows' writes.
  void start_with_rows(const std::function<void()>& rows, const std::string& journal = {}) {
    stop();
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    if (!journal.empty()) options.observer = std::move(Journal::open({.file = journal}, world.clock()).value());
    runtime = std::make_unique<Runtime>(std::move(options));
    devices();
    rows();
    agent = std::make_unique<SwitchAgent>(*runtime, late, SwitchAgentOptions{.in_line = true});
    ASSERT_TRUE(agent->start().ok());
    run_for(5s);
    EXPECT_TRUE(agent->has_restarted());
  }
  /// After a boot nothing of an earlier run is left.
  void boot() {
    stop();
    for (const char* const device : {"Vlan10", "PortChannel1"}) {
      if (!link(device).port) continue;
      ASSERT_TRUE(plane.meddle(DeviceDelete{link(device).port}).ok());
    }
  }
  void many_rows(const char* table, const std::string& name, int count) {
    for (int i = 0; i < count; ++i) set(table, name + std::to_string(i));
  }
};

constexpr std::array kMembers{std::pair{"VLAN_MEMBER_TABLE", "Vlan10:A"}, std::pair{"LAG_MEMBER_TABLE", "PortChannel1:A"}};

/// The member's row had the port when it was handled first: the route was lost.
TEST_F(PortUseTest, AnInterfaceWithoutAddressesKeepsItsPortWhenItsRowComesLast) {
  devices();
  unnumbered();
  run_for(2s);
  ASSERT_THAT(actual(), Contains(HasSubstr("route 2001:db8::/32")));
  const std::uint64_t orders = plane.executed();
  for (const auto& [table, key] : kMembers) {
    SCOPED_TRACE(table);
    stop();
    start();
    devices();
    set(table, key);
    run_for(100ms);
    EXPECT_THAT(why(table, key), HasSubstr("rows-come"));
    unnumbered();
    run_for(5s);
    EXPECT_TRUE(agent->has_restarted());
    EXPECT_FALSE(link("A").master);
    EXPECT_THAT(actual(), Contains(HasSubstr("route 2001:db8::/32")));
    EXPECT_EQ(state("INTF_TABLE", "A"), "installed");
    EXPECT_THAT(why(table, key), HasSubstr("INTF_TABLE still has rows for A"));
    EXPECT_EQ(plane.executed(), orders) << "needless orders";
  }
}

/// The data plane shows no use of the port: the row of INTF_TABLE alone puts nothing into it.
TEST_F(PortUseTest, AStandingRowOfAnInterfaceGoesBeforeThoseOfMembers) {
  for (const auto& [table, key] : kMembers) {
    SCOPED_TRACE(table);
    start_with_rows([&] {
      many_rows("INTF_TABLE", "Absent", kManyRows);
      set("INTF_TABLE", "A");
      set(table, key);
    });
    EXPECT_FALSE(link("A").master);
    EXPECT_EQ(state("INTF_TABLE", "A"), "installed");
    EXPECT_THAT(why(table, key), HasSubstr("INTF_TABLE still has rows for A"));
  }
}

/// A device that is just made is reported late, so the row that needs it waits for a moment.
TEST_F(PortUseTest, AStandingRowOfAnInterfaceInAVrfGoesBeforeThoseOfMembers) {
  for (const int vrfs : {1, kManyVrfs}) {
    for (const auto& [table, key] : kMembers) {
      SCOPED_TRACE(std::string{table} + " " + std::to_string(vrfs));
      start_with_rows([] {});  // The VLAN and the LAG exist, so only the VRF comes late.
      const std::string vrf = "Vrf" + std::to_string(vrfs - 1);
      start_with_rows([&] {
        many_rows("VRF_TABLE", "Vrf", vrfs);
        set("INTF_TABLE", "A", {{"vrf_name", vrf}});
        set(table, key);
      });
      EXPECT_TRUE(is_in("A", vrf));
    }
  }
}

TEST_F(PortUseTest, AStandingRowOfALagMemberGoesBeforeThatOfAVlanMember) {
  for (const int members : {0, kManyRows}) {
    SCOPED_TRACE(members);
    boot();
    start_with_rows([&] {
      many_rows("LAG_MEMBER_TABLE", "PortChannel1:Absent", members);
      set("LAG_MEMBER_TABLE", "PortChannel1:B");
      set("VLAN_MEMBER_TABLE", "Vlan10:B");
    });
    EXPECT_TRUE(is_in("B", "PortChannel1"));
    EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:B"), HasSubstr("LAG_MEMBER_TABLE PortChannel1:B has the port"));
  }
}

TEST_F(PortUseTest, StandingRowsThatWaitOrAreRejectedHoldUpNoMembers) {
  start_with_rows([&] {
    set("INTF_TABLE", "Absent:10.0.0.1/24");
    set("INTF_TABLE", "Absent", {{"mtu", "many"}});
    set("INTF_TABLE", "Vlan10", {{"vrf_name", "VrfAbsent"}});
    set("LAG_MEMBER_TABLE", "PortChannel2:Absent");
    set("LAG_MEMBER_TABLE", "PortChannel1:B");
    set("VLAN_MEMBER_TABLE", "Vlan10:A");
  });
  EXPECT_TRUE(is_in("A", "Vlan10"));
  EXPECT_TRUE(is_in("B", "PortChannel1"));
}

TEST_F(PortUseTest, ARecordedStartWithStandingRowsCanBeReplayed) {
  const std::string file = testing::TempDir() + "port_use_" + std::to_string(::getpid()) + ".journal";
  start_with_rows(
      [&] {
        many_rows("INTF_TABLE", "Absent", kManyRows);
        unnumbered();
        set("VLAN_MEMBER_TABLE", "Vlan10:A");
        set("LAG_MEMBER_TABLE", "PortChannel1:B");
      },
      file);
  ASSERT_TRUE(Journal::of(*runtime)->flush().ok());
  stop();
  const Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file});
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  {
    Runtime again((*opened)->runtime_options());
    SwitchAgent lived_again(again, (*opened)->plane(),
                            {.in_line = true, .answers = &(*opened)->answers(), .restart = &(*opened)->restart()});
    ASSERT_TRUE(lived_again.start().ok());
    const replay::ReplayReport report = (*opened)->run(again);
    EXPECT_TRUE(report.same) << report.expected << " but " << report.came;
    EXPECT_TRUE(lived_again.has_restarted());
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace rondo::switch_agent
