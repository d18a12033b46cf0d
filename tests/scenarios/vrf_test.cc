// VRFs on the simulated kernel: the rows of VRF_TABLE, INTF_TABLE and ROUTE_TABLE in any order, what waits for what, what another program
// changes, and restarts. The kernels of many test machines have no VRF devices, so the real kernel is tested only where it has them
// (dataplane_contract_test.cc).
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/drift_kind.h"
#include "switch_agent/facts.h"
#include "switch_agent/limits.h"
#include "switch_testbed.h"

namespace rondo::switch_agent {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Prefix prefix(std::string_view text) { return Prefix::parse_interface(text).value(); }
constexpr const char* kLastResort4 = "route 0.0.0.0/0 table 1001 metric 4278198272 unreachable";
constexpr const char* kLastResort6 = "route ::/0 table 1001 metric 4278198272 unreachable";

/// Port A is in Vrf1, port B in the default VRF; both have the same subnet.
class VrfTest : public SwitchTest {
 protected:
  VrfTest() : SwitchTest({"A", "B"}) {}
  void ports() {
    for (const std::string port : {"A", "B"}) {
      set("PORT_TABLE", port, {{"admin_status", "up"}});
      set("INTF_TABLE", port + ":10.0.0.1/24");
      set("INTF_TABLE", port + ":2001:db8::1/64");
      set("NEIGH_TABLE", port + ":10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    }
    set("INTF_TABLE", "A", {{"vrf_name", "Vrf1"}});
    set("INTF_TABLE", "B");
  }
  void routes() {
    set("ROUTE_TABLE", "Vrf1:20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
    set("ROUTE_TABLE", "Vrf1:30.0.0.0/8", {{"blackhole", "true"}});
    set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "B"}});
  }
  void everything() {
    set("VRF_TABLE", "Vrf1", {{"NULL", "NULL"}});
    ports();
    routes();
    run_for(2s);
  }
  void remove_routes() {
    for (const char* const key : {"Vrf1:20.0.0.0/8", "Vrf1:30.0.0.0/8"}) remove("ROUTE_TABLE", key);
  }
  void remove_a() {
    remove("NEIGH_TABLE", "A:10.0.0.2");
    remove("INTF_TABLE", "A:10.0.0.1/24");
    remove("INTF_TABLE", "A:2001:db8::1/64");
    remove("INTF_TABLE", "A");
  }
  bool is_in_vrf(std::string_view port) { return is_in(port, "Vrf1"); }
  void expect_whole() {
    EXPECT_THAT(rejects, IsEmpty());
    EXPECT_EQ(unsettled(), 0U);
    EXPECT_TRUE(is_in_vrf("A"));
    EXPECT_FALSE(link("B").master);
    const Lines lines = actual();
    for (const char* const line : {"address A 10.0.0.1/24", "address A 2001:db8::1/64", "neighbor A 10.0.0.2 02:00:00:00:00:02",
                                   kLastResort4, kLastResort6, "route 20.0.0.0/8 table 1001 via {A 10.0.0.2*1}",
                                   "route 30.0.0.0/8 table 1001 blackhole", "route 20.0.0.0/8 via {B 10.0.0.2*1}"}) {
      EXPECT_THAT(lines, Contains(line));
    }
    for (const auto& [table, key] : {std::pair{"VRF_TABLE", "Vrf1"}, std::pair{"INTF_TABLE", "A"}, std::pair{"ROUTE_TABLE", "20.0.0.0/8"},
                                     std::pair{"ROUTE_TABLE", "Vrf1:20.0.0.0/8"}, std::pair{"ROUTE_TABLE", "Vrf1:30.0.0.0/8"}}) {
      EXPECT_EQ(state(table, key), "installed") << table << " " << key;
    }
  }

  const IfIndex a = link("A").port;
  const IfIndex b = link("B").port;
};

TEST_F(VrfTest, RoutesOfAVrfAreInItsTableAndThoseOfTheDefaultVrfAreNot) {
  everything();
  expect_whole();
  EXPECT_EQ(link("Vrf1").vrf_table, 1001U);
  EXPECT_TRUE(link("Vrf1").ours);
  EXPECT_THAT(why("VRF_TABLE", "Vrf1"), HasSubstr("table 1001"));
}

TEST_F(VrfTest, RowsThatComeBeforeTheirVrfWaitForItAndNameIt) {
  routes();
  ports();
  run_for(2s);
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(why("ROUTE_TABLE", "Vrf1:30.0.0.0/8"), HasSubstr("waits for vrf:Vrf1 -> VRF_TABLE:Vrf1"));
  EXPECT_THAT(why("INTF_TABLE", "A"), HasSubstr("waits for vrf:Vrf1 -> VRF_TABLE:Vrf1"));
  EXPECT_THAT(actual(), Contains("route 20.0.0.0/8 via {B 10.0.0.2*1}"));
  set("VRF_TABLE", "Vrf1");
  run_for(2s);
  expect_whole();
}

TEST_F(VrfTest, AVrfInUseStaysUntilItsRoutesAndInterfacesAreGone) {
  everything();
  remove("VRF_TABLE", "Vrf1");
  run_for(1s);
  EXPECT_TRUE(is_in_vrf("A"));
  EXPECT_THAT(why("VRF_TABLE", "Vrf1"), HasSubstr("2 routes are still in Vrf1"));
  EXPECT_THAT(why("VRF_TABLE", "Vrf1"), HasSubstr("INTF_TABLE A still names Vrf1"));
  remove_routes();
  run_for(1s);
  EXPECT_TRUE(is_in_vrf("A"));
  remove_a();
  run_for(1s);
  EXPECT_FALSE(link("Vrf1").port);
  EXPECT_FALSE(link("A").master);
  EXPECT_EQ(unsettled(), 0U);
  EXPECT_THAT(actual(), testing::Each(testing::Not(HasSubstr("table 1001"))));
  EXPECT_EQ(state("VRF_TABLE", "Vrf1"), "");
  everything();
  expect_whole();
}

TEST_F(VrfTest, ARowThatComesBackBeforeItsVrfWentKeepsIt) {
  everything();
  const IfIndex device = link("Vrf1").port;
  remove("VRF_TABLE", "Vrf1");
  run_for(1s);
  set("VRF_TABLE", "Vrf1");
  run_for(1s);
  EXPECT_EQ(link("Vrf1").port, device);
  expect_whole();
}

TEST_F(VrfTest, AnInterfaceMovesBetweenVrfsWithItsAddresses) {
  everything();
  set("VRF_TABLE", "Vrf2");
  set("INTF_TABLE", "A", {{"vrf_name", "Vrf2"}});
  run_for(2s);
  EXPECT_EQ(link("A").master, link("Vrf2").port);
  EXPECT_THAT(actual(), Contains("address A 2001:db8::1/64"));
  EXPECT_THAT(actual(), Contains("neighbor A 10.0.0.2 02:00:00:00:00:02"));
  set("INTF_TABLE", "A", {{"vrf_name", ""}});
  run_for(2s);
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(actual(), Contains("address A 2001:db8::1/64"));
  set("INTF_TABLE", "A", {{"vrf_name", "Vrf1"}});
  run_for(2s);
  expect_whole();
}

// An earlier version of the row named a VRF that exists; the newer one waits, and nothing changes meanwhile.
TEST_F(VrfTest, AnInterfaceStaysInItsVrfWhileTheNextOneIsMissing) {
  everything();
  set("INTF_TABLE", "A", {{"vrf_name", "Vrf7"}});
  run_for(2s);
  EXPECT_TRUE(is_in_vrf("A"));
  EXPECT_THAT(why("INTF_TABLE", "A"), HasSubstr("VRF_TABLE:Vrf7"));
}

TEST_F(VrfTest, ADeviceThatAnotherProgramDeletesIsMadeAgainWithItsPortsAndRoutes) {
  everything();
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("Vrf1").port}).ok());
  run_for(3s);
  EXPECT_EQ(link("Vrf1").vrf_table, 1001U);
  expect_whole();
}

TEST_F(VrfTest, ADeviceThatAnotherProgramSetsDownIsSetUp) {
  everything();
  ASSERT_TRUE(plane.meddle(LinkSet{link("Vrf1").port, false}).ok());
  run_for(3s);
  EXPECT_TRUE(link("Vrf1").admin_up);
  expect_whole();
}

TEST_F(VrfTest, ARenamedDeviceIsReplaced) {
  everything();
  plane.rename_port("Vrf1", "Other");
  run_for(3s);
  expect_whole();
}

TEST_F(VrfTest, APortThatAnotherProgramTakesOutIsPutBack) {
  everything();
  ASSERT_TRUE(plane.meddle(LinkSet{a, {}, {}, IfIndex{}}).ok());
  run_for(3s);
  expect_whole();
}

TEST_F(VrfTest, APortThatWasReplacedEntersItsVrfAgain) {
  everything();
  plane.remove_port("A");
  run_for(1s);
  EXPECT_EQ(state("INTF_TABLE", "A"), "waiting");
  plane.add_port("A");
  run_for(3s);
  expect_whole();
}

TEST_F(VrfTest, RoutesThatOthersDeleteAreRepairedWithTheRoutesOfLastResort) {
  everything();
  const Lines wanted = actual();
  for (const char* const route : {"20.0.0.0/8", "30.0.0.0/8"}) ASSERT_TRUE(plane.meddle(RouteDelete{prefix(route), 1001}).ok());
  run_for(3s);
  EXPECT_EQ(actual(), wanted);
  for (const char* const route : {"0.0.0.0/0", "::/0"}) {
    ASSERT_TRUE(plane.meddle(RouteDelete{prefix(route), 1001, kLastResortMetric}).ok());
  }
  run_for(62s);
  EXPECT_EQ(actual(), wanted);
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Route).missing, 4U);
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Route).unwanted, 0U);
  const std::uint64_t orders = plane.executed();
  run_for(150s);
  EXPECT_EQ(plane.executed(), orders) << "an audit finds nothing to do";
}

TEST_F(VrfTest, ADefaultRouteOfTheVrfIsBesideTheOneOfLastResort) {
  everything();
  set("ROUTE_TABLE", "Vrf1:0.0.0.0/0", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  run_for(1s);
  EXPECT_THAT(actual(), Contains("route 0.0.0.0/0 table 1001 via {A 10.0.0.2*1}"));
  remove("ROUTE_TABLE", "Vrf1:0.0.0.0/0");
  run_for(1s);
  expect_whole();
}

TEST_F(VrfTest, TwoSpellingsOfARouteCompeteWithinTheirVrfOnly) {
  set("VRF_TABLE", "Vrf1");
  for (const char* const key : {"Vrf1:2001:DB8::/32", "Vrf1:2001:db8::/32", "2001:DB8::/32"}) {
    set("ROUTE_TABLE", key, {{"blackhole", "true"}});
    run_for(1s);
  }
  EXPECT_THAT(why("ROUTE_TABLE", "Vrf1:2001:db8::/32"), HasSubstr("route-spelling:Vrf1:2001:db8::/32"));
  EXPECT_EQ(state("ROUTE_TABLE", "2001:DB8::/32"), "installed");
  remove("ROUTE_TABLE", "Vrf1:2001:DB8::/32");
  run_for(1s);
  EXPECT_EQ(state("ROUTE_TABLE", "Vrf1:2001:db8::/32"), "installed");
  EXPECT_EQ(plane.route_count(), 2U);
}

TEST_F(VrfTest, ADeviceOfAnotherProgramIsUsedWithItsTableAndStays) {
  plane.add_vrf("Vrf1", 77);
  for (int round = 0; round < 2; ++round) {
    everything();
    EXPECT_TRUE(is_in_vrf("A"));
    EXPECT_THAT(actual(), Contains("route 30.0.0.0/8 table 77 blackhole"));
    EXPECT_THAT(actual(), Contains("route ::/0 table 77 metric 4278198272 unreachable"));
    stop();
    start();
  }
  everything();
  remove_routes();
  remove_a();
  remove("VRF_TABLE", "Vrf1");
  run_for(2s);
  EXPECT_EQ(link("Vrf1").vrf_table, 77U);
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(actual(), testing::Each(testing::Not(HasSubstr("table 77"))));
}

TEST_F(VrfTest, ADeviceOfAnotherProgramThatTakesTheNameMeanwhileHasToGo) {
  everything();
  plane.fail_nth(OrderKind::Link, 1, ENOBUFS);
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("Vrf1").port}).ok());
  plane.add_vrf("Vrf1", 77);
  run_for(3s);
  EXPECT_THAT(why("VRF_TABLE", "Vrf1"), HasSubstr("the routes of its rows are in table 1001: delete the device"));
  plane.remove_port("Vrf1");
  run_for(3s);
  expect_whole();
}

TEST_F(VrfTest, ADeviceThatIsNoVrfHoldsTheNameUntilItGoes) {
  plane.add_port("Vrf1");
  run_for(100ms);
  set("VRF_TABLE", "Vrf1");
  run_for(2500ms);
  EXPECT_EQ(state("VRF_TABLE", "Vrf1"), "foreign");
  EXPECT_THAT(why("VRF_TABLE", "Vrf1"), HasSubstr("the device Vrf1 exists, and it is no VRF"));
  plane.remove_port("Vrf1");
  run_for(3s);
  EXPECT_EQ(state("VRF_TABLE", "Vrf1"), "installed");
}

TEST_F(VrfTest, ANameThatIsNotThatOfAVrfIsRejected) {
  set("VRF_TABLE", "Blue");
  run_for(1s);
  set("PORT_TABLE", "A", {{"admin_status", "up"}});
  set("INTF_TABLE", "A", {{"vrf_name", "Blue"}});
  run_for(1s);
  ASSERT_EQ(rejects.size(), 2U);
  EXPECT_THAT(rejects[0], HasSubstr("begins with Vrf"));
  EXPECT_THAT(rejects[1], HasSubstr("vrf_name"));
}

TEST_F(VrfTest, AKernelWithoutVrfsRejectsTheRowWithTheReason) {
  plane.fail_by_chance(OrderKind::Link, 1, EOPNOTSUPP);
  set("VRF_TABLE", "Vrf1");
  run_for(1s);
  ASSERT_EQ(rejects.size(), 1U);
  EXPECT_THAT(rejects[0], HasSubstr("this kernel has no VRFs"));
  plane.fail_by_chance(OrderKind::Link, 0, 0);
  remove("VRF_TABLE", "Vrf1");
  run_for(1s);
  everything();
  rejects.clear();
  expect_whole();
}

// Each order of each kind fails once, at each place.
TEST_F(VrfTest, ARefusalAtAnyPlaceIsOvercome) {
  for (const OrderKind kind : {OrderKind::Link, OrderKind::Route}) {
    for (std::uint64_t nth = 1; nth <= 6; ++nth) {
      plane.fail_nth(kind, nth, ENOBUFS);
      everything();
      run_for(10s);
      expect_whole();
      remove_routes();
      remove_a();
      remove("VRF_TABLE", "Vrf1");
      run_for(10s);
      EXPECT_FALSE(link("Vrf1").port) << nth;
      EXPECT_FALSE(link("A").master) << nth;
      EXPECT_EQ(unsettled(), 0U);
      EXPECT_THAT(actual(), testing::Each(testing::Not(HasSubstr("table 1001")))) << nth;
      ASSERT_FALSE(HasFailure()) << to_string(kind == OrderKind::Link ? DriftKind::Missing : DriftKind::Changed) << nth;
    }
  }
}

TEST_F(VrfTest, ARestartWithTheSameRowsChangesNothingWhateverTheirOrder) {
  everything();
  set("VRF_TABLE", "Vrf2");
  run_for(1s);
  const Lines before = actual();
  const std::uint64_t orders = plane.executed();
  for (const bool ports_first : {false, true}) {
    stop();
    start();
    set("VRF_TABLE", "Vrf2");  // The lowest free table would be that of Vrf1.
    if (ports_first) ports();
    set("VRF_TABLE", "Vrf1");
    if (!ports_first) ports();
    routes();
    run_for(3s);
    EXPECT_TRUE(agent->has_restarted());
    EXPECT_EQ(plane.executed(), orders) << "needless orders";
    EXPECT_EQ(actual(), before);
    EXPECT_EQ(link("Vrf2").vrf_table, 1002U);
    expect_whole();
  }
}

TEST_F(VrfTest, ARestartDeletesTheVrfsThatNoRowAsksForWithTheirRoutes) {
  everything();
  stop();
  start();
  set("PORT_TABLE", "A", {{"admin_status", "up"}});
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_FALSE(link("Vrf1").port);
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(actual(), IsEmpty());
}

TEST_F(VrfTest, ARestartTakesPortsOutThatNoRowPutsIntoAVrf) {
  everything();
  stop();
  start();
  set("VRF_TABLE", "Vrf1");
  ports();
  set("INTF_TABLE", "A", {{"vrf_name", ""}});
  routes();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_TRUE(link("Vrf1").port);
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(actual(), Contains("address A 2001:db8::1/64"));
}

TEST_F(VrfTest, ADeletedRowOfAnInterfaceTakesItsPortOutAtTheNextStart) {
  everything();
  stop();
  start();
  set("VRF_TABLE", "Vrf1");
  set("PORT_TABLE", "A", {{"admin_status", "up"}});
  run_for(5s);
  EXPECT_TRUE(link("Vrf1").port);
  EXPECT_FALSE(link("A").master);
}

/// The device is of another program, and no row names the VRF any more.
TEST_F(VrfTest, ARestartTakesPortsOutOfVrfsOfOthersIfTheirRowsSaySo) {
  plane.add_vrf("Vrf1", 77);
  const IfIndex mgmt = plane.add_vrf("mgmt", 78);
  everything();
  EXPECT_TRUE(is_in_vrf("A"));
  ASSERT_TRUE(plane.meddle(LinkSet{.port = b, .master = mgmt}).ok());
  stop();
  start();
  ports();
  set("INTF_TABLE", "A", {{"vrf_name", ""}});
  set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_FALSE(link("A").master);
  EXPECT_EQ(link("B").master, mgmt) << "no row can have put it there";
  EXPECT_EQ(link("Vrf1").vrf_table, 77U);
  EXPECT_EQ(state("INTF_TABLE", "A"), "installed");
  EXPECT_THAT(actual(), Contains("route 20.0.0.0/8 via {A 10.0.0.2*1}"));
  EXPECT_THAT(actual(), Contains("address A 2001:db8::1/64"));
  // A row that goes takes no port out that it has not put there.
  ASSERT_TRUE(plane.meddle(LinkSet{.port = a, .master = link("Vrf1").port}).ok());
  remove("ROUTE_TABLE", "20.0.0.0/8");
  remove_a();
  run_for(2s);
  EXPECT_TRUE(is_in_vrf("A"));
}

using VrfLimit = VrfTest;
TEST_F(VrfLimit, TheRowBeyondTheLastTableWaitsForAFreeOne) {
  for (std::uint32_t i = 0; i < limits::kVrfs; ++i) set("VRF_TABLE", "Vrf" + std::to_string(i));
  run_for(1s);
  set("VRF_TABLE", "VrfMore");
  run_for(1s);
  EXPECT_THAT(why("VRF_TABLE", "VrfMore"), HasSubstr("all 1000 tables of VRFs are in use"));
  remove("VRF_TABLE", "Vrf5");
  run_for(6s);
  EXPECT_EQ(state("VRF_TABLE", "VrfMore"), "installed");
  EXPECT_EQ(link("VrfMore").vrf_table, 1006U);
}

}  // namespace
}  // namespace rondo::switch_agent
