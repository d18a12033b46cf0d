// LAGs on the simulated kernel: the rows of LAG_TABLE, LAG_MEMBER_TABLE and of what is above them in any order, what waits for what, what
// a port that fails or another program changes, and restarts. Where the real kernel has a bonding driver, it is tested by
// src/dataplane/bond_contract_test.cc and in tests/system.
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_testbed.h"

namespace rondo::switch_agent {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Ports A and B are members of PortChannel1, which has an address, a neighbour and a
/// route; C is a port beside it.
class LagTest : public SwitchTest {
 protected:
  LagTest() : SwitchTest({"A", "B", "C"}) {}
  void ports() {
    for (const char* const port : {"A", "B", "C"}) set("PORT_TABLE", port, {{"admin_status", "up"}, {"mtu", "1600"}});
  }
  void lag() { set("LAG_TABLE", "PortChannel1", {{"admin_status", "up"}, {"mtu", "9000"}, {"tpid", "0x8100"}}); }
  void members() {
    for (const char* const key : {"PortChannel1:A", "PortChannel1:B"}) set("LAG_MEMBER_TABLE", key, {{"status", "enabled"}});
  }
  void interface() {
    set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "PortChannel1"}});
    set("NEIGH_TABLE", "PortChannel1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    for (const char* const key : {"PortChannel1:10.0.0.1/24", "PortChannel1:2001:db8::1/64", "PortChannel1"}) set("INTF_TABLE", key);
  }
  void everything() {
    lag();
    ports();
    members();
    interface();
    run_for(2s);
  }
  void remove_interface() {
    remove("ROUTE_TABLE", "20.0.0.0/8");
    remove("NEIGH_TABLE", "PortChannel1:10.0.0.2");
    for (const char* const key : {"PortChannel1:10.0.0.1/24", "PortChannel1:2001:db8::1/64", "PortChannel1"}) remove("INTF_TABLE", key);
  }
  void remove_members() {
    for (const char* const key : {"PortChannel1:A", "PortChannel1:B"}) remove("LAG_MEMBER_TABLE", key);
  }
  void expect_free(const char* port) {
    EXPECT_FALSE(link(port).master) << port;
    EXPECT_TRUE(link(port).admin_up) << port;
    EXPECT_EQ(link(port).mtu, 1600U) << port;
  }
  void expect_whole() {
    EXPECT_THAT(rejects, IsEmpty());
    EXPECT_EQ(unsettled(), 0U);
    const LinkEvent bond = link("PortChannel1");
    EXPECT_TRUE(bond.bond == BondMode::Lacp && bond.ours && bond.admin_up && bond.carrier);
    EXPECT_EQ(bond.mtu, 9000U);
    for (const char* const port : {"A", "B"}) {
      EXPECT_TRUE(is_in(port, "PortChannel1")) << port;
      EXPECT_TRUE(link(port).admin_up) << port;
      EXPECT_EQ(link(port).mtu, 9000U) << port;
      EXPECT_EQ(link(port).mac, bond.mac) << port;
    }
    const Lines lines = actual();
    for (const char* const line : {"address PortChannel1 10.0.0.1/24", "address PortChannel1 2001:db8::1/64",
                                   "neighbor PortChannel1 10.0.0.2 02:00:00:00:00:02", "route 20.0.0.0/8 via {PortChannel1 10.0.0.2*1}"}) {
      EXPECT_THAT(lines, Contains(line));
    }
    for (const auto& [table, key] : {std::pair{"LAG_TABLE", "PortChannel1"}, std::pair{"LAG_MEMBER_TABLE", "PortChannel1:A"},
                                     std::pair{"LAG_MEMBER_TABLE", "PortChannel1:B"}, std::pair{"PORT_TABLE", "A"},
                                     std::pair{"INTF_TABLE", "PortChannel1"}, std::pair{"ROUTE_TABLE", "20.0.0.0/8"}}) {
      EXPECT_EQ(state(table, key), "installed") << table << " " << key << ": " << why(table, key);
    }
  }
};

TEST_F(LagTest, ALagIsABondWithItsMembersItsAddressesAndItsRoutes) {
  everything();
  expect_whole();
}

TEST_F(LagTest, RowsThatComeInTheOppositeOrderWaitAndNameWhatIsMissing) {
  interface();
  members();
  run_for(1s);
  for (const char* const fact : {"waits for lag:PortChannel1", "waits for port:A", "-> LAG_TABLE:PortChannel1"}) {
    EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:A"), HasSubstr(fact));
  }
  EXPECT_THAT(why("INTF_TABLE", "PortChannel1"), HasSubstr("waits for lag:PortChannel1 -> LAG_TABLE:PortChannel1"));
  ports();
  run_for(1s);
  EXPECT_FALSE(link("A").master);
  lag();
  run_for(2s);
  expect_whole();
}

TEST_F(LagTest, ALagKeepsItsRoutesWhileAMemberIsUpAndLosesThemWithTheLastOne) {
  everything();
  plane.set_carrier("A", false);
  run_for(1s);
  EXPECT_TRUE(link("PortChannel1").carrier);
  EXPECT_THAT(actual(), Contains("route 20.0.0.0/8 via {PortChannel1 10.0.0.2*1}"));
  EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:A"), HasSubstr("A has no carrier"));
  plane.set_carrier("B", false);
  run_for(1s);
  EXPECT_FALSE(link("PortChannel1").carrier);
  EXPECT_THAT(actual(), Not(Contains(HasSubstr("route 20"))));
  EXPECT_EQ(state("ROUTE_TABLE", "20.0.0.0/8"), "withdrawn");
  EXPECT_THAT(why("ROUTE_TABLE", "20.0.0.0/8"), HasSubstr("port PortChannel1 has no carrier"));
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("it has no carrier: too few of its members are active"));
  plane.set_carrier("A", true);
  plane.set_carrier("B", true);
  run_for(1s);
  expect_whole();
}

TEST_F(LagTest, ALagHasCarrierWhileMinLinksMembersAreActive) {
  everything();
  set("LAG_TABLE", "PortChannel1", {{"min_links", "2"}});
  run_for(1s);
  EXPECT_EQ(link("PortChannel1").min_links, 2U);
  EXPECT_TRUE(link("PortChannel1").carrier);
  plane.set_carrier("A", false);
  run_for(1s);
  EXPECT_FALSE(link("PortChannel1").carrier);
  EXPECT_THAT(actual(), Not(Contains(HasSubstr("route 20"))));
  set("LAG_TABLE", "PortChannel1", {{"min_links", "1"}});
  run_for(1s);
  EXPECT_THAT(actual(), Contains(HasSubstr("route 20")));
}

TEST_F(LagTest, ALagThatIsSetDownLosesItsRoutes) {
  everything();
  set("LAG_TABLE", "PortChannel1", {{"admin_status", "down"}});
  run_for(1s);
  EXPECT_THAT(actual(), Not(Contains(HasSubstr("route 20"))));
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("the device is set down"));
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "installed");
  lag();
  run_for(1s);
  expect_whole();
}

TEST_F(LagTest, ALagInUseStaysUntilItsMembersAndInterfacesAreGone) {
  everything();
  remove("LAG_TABLE", "PortChannel1");
  run_for(1s);
  EXPECT_TRUE(is_in("A", "PortChannel1"));
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("LAG_MEMBER_TABLE PortChannel1:A is still a member"));
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("INTF_TABLE still has rows for PortChannel1"));
  remove_members();
  run_for(1s);
  for (const char* const port : {"A", "B"}) expect_free(port);
  EXPECT_TRUE(link("PortChannel1").port);
  remove_interface();
  run_for(1s);
  EXPECT_FALSE(link("PortChannel1").port);
  EXPECT_EQ(unsettled(), 0U);
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "");
  everything();
  expect_whole();
}

TEST_F(LagTest, AMemberHasNoInterfaceIsInNoVlanAndInNoOtherLagAndTheLaterRowWaits) {
  everything();
  set("INTF_TABLE", "A");
  set("VLAN_TABLE", "Vlan10");
  set("VLAN_MEMBER_TABLE", "Vlan10:A");
  set("LAG_TABLE", "PortChannel2");
  set("LAG_MEMBER_TABLE", "PortChannel2:A");
  run_for(1s);
  for (const auto& [table, key] :
       {std::pair{"INTF_TABLE", "A"}, std::pair{"VLAN_MEMBER_TABLE", "Vlan10:A"}, std::pair{"LAG_MEMBER_TABLE", "PortChannel2:A"}}) {
    EXPECT_THAT(why(table, key), HasSubstr("LAG_MEMBER_TABLE PortChannel1:A has the port"));
  }
  remove("PORT_TABLE", "A");
  run_for(1s);
  EXPECT_THAT(why("PORT_TABLE", "A"), HasSubstr("in-no-lag:A"));
  ports();
  remove("INTF_TABLE", "A");
  remove("VLAN_MEMBER_TABLE", "Vlan10:A");
  remove("LAG_MEMBER_TABLE", "PortChannel1:A");
  run_for(1s);
  EXPECT_TRUE(is_in("A", "PortChannel2"));
  set("INTF_TABLE", "C");
  run_for(1s);
  set("LAG_MEMBER_TABLE", "PortChannel1:C");
  run_for(1s);
  EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:C"), HasSubstr("INTF_TABLE still has rows for C"));
  remove("INTF_TABLE", "C");
  set("VLAN_MEMBER_TABLE", "Vlan10:C");
  run_for(1s);
  EXPECT_TRUE(is_in("C", "PortChannel1") != is_in("C", "Vlan10"));
}

TEST_F(LagTest, ALagCanBeInAVlanAndInAVrf) {
  lag();
  ports();
  members();
  set("VLAN_TABLE", "Vlan10");
  set("VLAN_TABLE", "Vlan20");
  set("VLAN_MEMBER_TABLE", "Vlan10:PortChannel1");
  set("VLAN_MEMBER_TABLE", "Vlan20:PortChannel1", {{"tagging_mode", "tagged"}});
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa", {{"port", "PortChannel1"}});
  run_for(1s);
  EXPECT_TRUE(is_in("PortChannel1", "Vlan10"));
  EXPECT_TRUE(is_in("PortChannel1.20", "Vlan20"));
  EXPECT_TRUE(link("PortChannel1.20").carrier);
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:aa PortChannel1"));
  remove("LAG_TABLE", "PortChannel1");
  remove_members();
  run_for(1s);
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("in-no-vlan:PortChannel1"));
  for (const char* const vlan : {"Vlan10", "Vlan20"}) remove("VLAN_MEMBER_TABLE", std::string{vlan} + ":PortChannel1");
  remove("FDB_TABLE", "Vlan10:02:00:00:00:00:aa");
  run_for(1s);
  EXPECT_FALSE(link("PortChannel1").port);
  everything();
  set("VRF_TABLE", "Vrf1");
  set("INTF_TABLE", "PortChannel1", {{"vrf_name", "Vrf1"}});
  run_for(2s);
  EXPECT_TRUE(is_in("PortChannel1", "Vrf1"));
  set("INTF_TABLE", "PortChannel1", {{"vrf_name", ""}});
  run_for(2s);
  expect_whole();
}

TEST_F(LagTest, AMemberThatIsDisabledIsNotInTheBondAndItsPortStaysReserved) {
  everything();
  set("LAG_MEMBER_TABLE", "PortChannel1:A", {{"status", "disabled"}});
  set("INTF_TABLE", "A");
  run_for(1s);
  expect_free("A");
  EXPECT_EQ(state("LAG_MEMBER_TABLE", "PortChannel1:A"), "installed");
  EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:A"), HasSubstr("it is disabled"));
  EXPECT_THAT(why("INTF_TABLE", "A"), HasSubstr("waits for in-no-lag:A"));
  remove("INTF_TABLE", "A");
  members();
  run_for(1s);
  expect_whole();
}

TEST_F(LagTest, TheStatusOfPortTableHoldsForAMemberToo) {
  everything();
  set("PORT_TABLE", "A", {{"admin_status", "down"}});
  run_for(1s);
  EXPECT_TRUE(is_in("A", "PortChannel1"));
  EXPECT_FALSE(link("A").admin_up);
  remove("LAG_MEMBER_TABLE", "PortChannel1:A");
  run_for(1s);
  EXPECT_FALSE(link("A").admin_up);
  set("LAG_MEMBER_TABLE", "PortChannel1:A");
  run_for(1s);
  EXPECT_TRUE(is_in("A", "PortChannel1"));
  EXPECT_FALSE(link("A").admin_up);
  ports();
  run_for(1s);
  expect_whole();
}

TEST_F(LagTest, AChangeOfTheModeMakesAnotherBondWithTheSameMembersAndAddresses) {
  everything();
  const IfIndex before = link("PortChannel1").port;
  set("LAG_TABLE", "PortChannel1", {{"static", "true"}});
  run_for(3s);
  EXPECT_EQ(link("PortChannel1").bond, BondMode::Static);
  EXPECT_NE(link("PortChannel1").port, before);
  EXPECT_TRUE(is_in("A", "PortChannel1") && is_in("B", "PortChannel1"));
  EXPECT_THAT(actual(), Contains("route 20.0.0.0/8 via {PortChannel1 10.0.0.2*1}"));
  set("LAG_TABLE", "PortChannel1", {{"static", "false"}});
  run_for(3s);
  expect_whole();
}

TEST_F(LagTest, ABondThatAnotherProgramDeletesOrRenamesIsMadeAgainWithItsMembersAndAddresses) {
  everything();
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("PortChannel1").port}).ok());
  EXPECT_FALSE(link("A").admin_up) << "the kernel sets its ports down";
  run_for(3s);
  expect_whole();
  plane.rename_port("PortChannel1", "Other");
  run_for(3s);
  expect_whole();
}

TEST_F(LagTest, MembersThatAnotherProgramTakesOutArePutBack) {
  everything();
  ASSERT_TRUE(plane.meddle(LinkSet{link("A").port, {}, {}, IfIndex{}}).ok());
  run_for(1s);
  expect_whole();
  const IfIndex other = plane.add_bond("other", BondMode::Static);
  ASSERT_TRUE(plane.meddle(LinkSet{link("A").port, {}, {}, other}).ok());
  run_for(1s);
  expect_whole();
}

/// The port stayed in the other bond.
TEST_F(LagTest, AMemberWhoseRowGoesLeavesTheBondIntoWhichAnotherProgramHasPutIt) {
  everything();
  set("LAG_TABLE", "PortChannel2");
  run_for(1s);
  late.hold();
  ASSERT_TRUE(plane.meddle(LinkSet{link("A").port, {}, {}, link("PortChannel2").port}).ok());
  run_for(1s);
  remove("LAG_MEMBER_TABLE", "PortChannel1:A");
  late.release();
  run_for(1s);
  expect_free("A");
}

TEST_F(LagTest, TheHashAndTheMiimonOfABondThatAnotherProgramChangesAreSetAgain) {
  everything();
  ASSERT_TRUE(plane.meddle(BondSet{.name = {}, .min_links = 2, .device = link("PortChannel1").port}).ok());
  plane.alter("PortChannel1");
  run_for(1s);
  EXPECT_FALSE(link("PortChannel1").altered);
  EXPECT_EQ(link("PortChannel1").min_links, 2U) << "that is reported";
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "lost");
  plane.alter("PortChannel1");
  lag();
  run_for(1s);
  EXPECT_FALSE(link("PortChannel1").altered);
  EXPECT_THAT(differences(), IsEmpty());
  expect_whole();
}

TEST_F(LagTest, WhatAnotherProgramChangesOfABondShowsAsLostWithTheCommandThatSetsIt) {
  everything();
  ASSERT_TRUE(plane.meddle(LinkSet{link("PortChannel1").port, false}).ok());
  run_for(1s);
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "lost");
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("'rondo set LAG_TABLE PortChannel1 admin_status=up' sets it to up again"));
  EXPECT_EQ(differences(), Lines{"LAG_TABLE PortChannel1: down, not up"});
  lag();
  run_for(1s);
  ASSERT_TRUE(plane.meddle(BondSet{.name = {}, .min_links = 2, .device = link("PortChannel1").port}).ok());
  run_for(1s);
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("'rondo set LAG_TABLE PortChannel1 min_links=1'"));
  EXPECT_EQ(differences(), Lines{"LAG_TABLE PortChannel1: min_links 2, not min_links 1"});
  lag();
  run_for(1s);
  ASSERT_TRUE(plane.meddle(LinkSet{link("PortChannel1").port, {}, 1300}).ok());
  run_for(1s);
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("'rondo set LAG_TABLE PortChannel1 mtu=9000' sets it again"));
  EXPECT_EQ(differences(), Lines{"LAG_TABLE PortChannel1: mtu 1300, not mtu 9000"});
  lag();
  run_for(1s);
  EXPECT_THAT(differences(), IsEmpty());
  expect_whole();
}

TEST_F(LagTest, APortThatWasReplacedEntersItsLagAgainAndARenamedOneLeavesIt) {
  everything();
  plane.remove_port("A");
  run_for(1s);
  EXPECT_EQ(state("LAG_MEMBER_TABLE", "PortChannel1:A"), "waiting");
  EXPECT_THAT(actual(), Contains("route 20.0.0.0/8 via {PortChannel1 10.0.0.2*1}"));
  plane.add_port("A");
  run_for(2s);
  expect_whole();
  plane.rename_port("B", "D");
  run_for(1s);
  EXPECT_FALSE(link("D").master);
  plane.rename_port("D", "B");
  run_for(2s);
  expect_whole();
}

TEST_F(LagTest, DeletesThatOvertakeTheEventsOfTheirDevicesLeaveNoBondAndNoMember) {
  everything();
  remove("LAG_MEMBER_TABLE", "PortChannel1:B");
  run_for(1s);
  late.hold();
  set("LAG_TABLE", "PortChannel2");
  set("LAG_MEMBER_TABLE", "PortChannel1:B");
  run_for(1s);
  EXPECT_TRUE(link("PortChannel2").port);
  EXPECT_TRUE(is_in("B", "PortChannel1"));
  remove("LAG_TABLE", "PortChannel2");
  remove("LAG_MEMBER_TABLE", "PortChannel1:B");
  run_for(1s);
  late.release();
  run_for(1s);
  EXPECT_FALSE(link("PortChannel2").port);
  expect_free("B");
  EXPECT_EQ(unsettled(), 0U);
}

TEST_F(LagTest, ADeviceThatIsNoBondHoldsTheNameUntilItGoes) {
  plane.add_port("PortChannel1");
  everything();
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "foreign");
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("the device PortChannel1 exists, and it is no bond"));
  plane.remove_port("PortChannel1");
  run_for(3s);
  expect_whole();
}

TEST_F(LagTest, ABondOfAnotherProgramIsUsedIfItsModeIsRightAndStays) {
  plane.add_bond("PortChannel1", BondMode::Lacp);
  plane.add_bond("PortChannel2", BondMode::Other);
  set("LAG_TABLE", "PortChannel2");
  everything();
  EXPECT_TRUE(is_in("A", "PortChannel1"));
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "installed");
  EXPECT_EQ(state("LAG_TABLE", "PortChannel2"), "foreign");
  EXPECT_THAT(why("LAG_TABLE", "PortChannel2"), HasSubstr("the bond PortChannel2 of another program has another mode"));
  plane.set_mtu_max("A", 9000);
  set("LAG_TABLE", "PortChannel1", {{"mtu", "9500"}});
  run_for(1s);
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "refused") << "its device is no obstacle";
  EXPECT_EQ(agent->row_states().counts("LAG_TABLE").refused, 1U);
  rejects.clear();
  remove("LAG_TABLE", "PortChannel2");
  remove_interface();
  remove_members();
  remove("LAG_TABLE", "PortChannel1");
  run_for(2s);
  EXPECT_TRUE(link("PortChannel1").port);
  expect_free("A");
  EXPECT_EQ(unsettled(), 0U);
}

TEST_F(LagTest, WrongRowsAreRejectedWithTheReason) {
  for (const char* const name : {"PortChannel", "PortChannel12345", "portchannel1", "PortChannel1a"}) set("LAG_TABLE", name);
  set("LAG_TABLE", "PortChannel2", {{"admin_status", "on"}});
  set("LAG_TABLE", "PortChannel3", {{"min_links", "1025"}});
  set("LAG_TABLE", "PortChannel4", {{"static", "1"}});
  set("LAG_TABLE", "PortChannel5", {{"mtu", "1"}, {"min_link", "2"}});
  set("PORT_TABLE", "PortChannel6", {{"admin_status", "up"}});
  set("LAG_MEMBER_TABLE", "PortChannel1");
  set("LAG_MEMBER_TABLE", "PortChannel1:PortChannel2");
  set("LAG_MEMBER_TABLE", "PortChannel1:Vlan10");
  set("LAG_MEMBER_TABLE", "PortChannel1:A", {{"status", "up"}});
  run_for(1s);
  EXPECT_EQ(rejects.size(), 13U);
  for (const char* const words :
       {"'PortChannel12345' is not the name of a LAG: PortChannel and one to four digits", "must be 'up' or 'down'", "1025",
        "must be 'true' or 'false'", "LAG_TABLE has no field 'min_link'; did you mean 'min_links'?", "its row is in LAG_TABLE",
        "must have the form <lag>:<port>", "its row is in VLAN_TABLE", "must be 'enabled' or 'disabled'"}) {
    EXPECT_THAT(rejects, Contains(HasSubstr(words)));
  }
}

/// The number of times that the port has gone down.
class Downs {
 public:
  Downs(Runtime& runtime, SimDataPlane& plane, std::string port) {
    auto source = plane.monitor(runtime.scheduler(), kKernelEvents, [this, port = std::move(port)](const LinkEvent& event) {
      if (event.name == port && std::exchange(was_up_, event.admin_up) && !event.admin_up) ++count_;
    });
    source_ = std::move(*source);
  }
  unsigned count() const { return count_; }

 private:
  bool was_up_ = false;
  unsigned count_ = 0;
  std::unique_ptr<Source> source_;
};

TEST_F(LagTest, APortWhoseDriverRefusesTheMtuOfTheLagKeepsItsLinkAndWhyNamesTheMtu) {
  plane.set_mtu_max("A", 8000);
  Downs downs{*runtime, plane, "A"};
  everything();
  run_for(60s);
  EXPECT_FALSE(link("A").master);
  EXPECT_TRUE(link("A").admin_up);
  EXPECT_LE(downs.count(), 2U);
  EXPECT_EQ(state("LAG_MEMBER_TABLE", "PortChannel1:A"), "refused");
  EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:A"), HasSubstr("A may not support the MTU 9000 of PortChannel1"));
  set("LAG_TABLE", "PortChannel1", {{"mtu", "8000"}});
  run_for(10s);
  EXPECT_TRUE(is_in("A", "PortChannel1"));
  EXPECT_EQ(state("LAG_MEMBER_TABLE", "PortChannel1:A"), "installed");
  EXPECT_LE(downs.count(), 3U);
}

TEST_F(LagTest, APortThatAnotherProgramUsesKeepsItsLinkAndEntersTheLagWhenItIsFree) {
  plane.set_in_use("A", true);
  Downs downs{*runtime, plane, "A"};
  everything();
  run_for(60s);
  EXPECT_FALSE(link("A").master);
  EXPECT_TRUE(link("A").admin_up);
  EXPECT_LE(downs.count(), 1U);
  EXPECT_EQ(state("LAG_MEMBER_TABLE", "PortChannel1:A"), "refused");
  EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:A"), HasSubstr("Device is in use"));
  plane.set_in_use("A", false);
  run_for(10s);
  expect_whole();
}

/// The order was carried out, and its event is late.
TEST_F(LagTest, APortThatIsInItsBondIsNotSetDownBecauseTheEventIsLate) {
  lag();
  ports();
  run_for(1s);
  Downs downs{*runtime, plane, "A"};
  late.hold();
  members();
  run_for(2s);
  late.release();
  run_for(1s);
  EXPECT_EQ(downs.count(), 1U);
  EXPECT_TRUE(is_in("A", "PortChannel1"));
}

TEST_F(LagTest, NeighboursThatTheKernelDropsWithTheMacAddressComeBack) {
  lag();
  ports();
  interface();
  set("VLAN_TABLE", "Vlan10");
  set("INTF_TABLE", "Vlan10");
  set("INTF_TABLE", "Vlan10:10.5.0.1/24");
  set("NEIGH_TABLE", "Vlan10:10.5.0.2", {{"neigh", "02:00:00:00:00:03"}});
  set("VLAN_MEMBER_TABLE", "Vlan10:C");
  run_for(2s);
  const auto expect_neighbors = [this](const char* when) {
    for (const char* const line : {"neighbor PortChannel1 10.0.0.2 02:00:00:00:00:02", "neighbor Vlan10 10.5.0.2 02:00:00:00:00:03"}) {
      EXPECT_THAT(actual(), Contains(line)) << when;
    }
  };
  expect_neighbors("at first");
  const MacAddress empty = link("PortChannel1").mac;
  members();
  set("VLAN_MEMBER_TABLE", "Vlan10:PortChannel1", {{"tagging_mode", "tagged"}});
  run_for(1s);
  EXPECT_NE(link("PortChannel1").mac, empty);
  expect_neighbors("with members");
  const MacAddress bridge = link("Vlan10").mac;
  plane.remove_port("C");
  remove_members();
  run_for(1s);
  EXPECT_NE(link("PortChannel1").mac, empty);
  EXPECT_NE(link("Vlan10").mac, bridge);
  expect_neighbors("without members");
  // The first order for it is refused.
  plane.fail_nth(OrderKind::Neighbor, 1, ENOBUFS);
  members();
  run_for(3s);
  expect_neighbors("after a refusal");
}

TEST_F(LagTest, ARejectedChangeOfALagChangesNothingAndARestartKeepsTheLag) {
  everything();
  plane.set_mtu_max("A", 9000);
  const auto change = [this] {
    const std::uint16_t links = link("PortChannel1").min_links;
    set("LAG_TABLE", "PortChannel1", {{"admin_status", "down"}, {"mtu", "9500"}, {"min_links", links == 1 ? "2" : "1"}});
    run_for(1s);
    ASSERT_EQ(rejects.size(), 1U);
    EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "refused");
    EXPECT_EQ(link("PortChannel1").min_links, links);
    EXPECT_TRUE(link("PortChannel1").admin_up);
    rejects.clear();
  };
  change();
  EXPECT_EQ(agent->row_states().counts("LAG_TABLE").refused, 1U);
  lag();
  run_for(1s);
  expect_whole();
  const IfIndex before = link("PortChannel1").port;
  stop();
  start();
  change();
  ports();
  members();
  interface();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_EQ(link("PortChannel1").port, before);
  EXPECT_TRUE(is_in("A", "PortChannel1") && is_in("B", "PortChannel1"));
  EXPECT_THAT(actual(), Contains("route 20.0.0.0/8 via {PortChannel1 10.0.0.2*1}"));
  // Its device goes: so does the fact.
  ASSERT_TRUE(plane.meddle(DeviceDelete{before}).ok());
  run_for(1s);
  EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:A"), HasSubstr("waits for lag:PortChannel1"));
  lag();
  run_for(3s);
  expect_whole();
  change();
  remove_interface();
  remove_members();
  remove("LAG_TABLE", "PortChannel1");
  run_for(1s);
  EXPECT_FALSE(link("PortChannel1").port);
}

TEST_F(LagTest, APortThatAnotherProgramPutIntoTheBondIsUpAgainWhenTheBondGoes) {
  everything();
  for (const bool removed : {false, true}) {
    ASSERT_TRUE(plane.meddle(LinkSet{link("C").port, false}).ok());
    ASSERT_TRUE(plane.meddle(LinkSet{link("C").port, {}, {}, link("PortChannel1").port}).ok());
    run_for(1s);
    ports();
    run_for(1s);
    EXPECT_TRUE(is_in("C", "PortChannel1"));
    if (removed) {
      remove_interface();
      remove_members();
      remove("LAG_TABLE", "PortChannel1");
    } else {
      set("LAG_TABLE", "PortChannel1", {{"static", "true"}});
    }
    run_for(3s);
    expect_free("C");
  }
}

TEST_F(LagTest, APortWhoseMtuIsRefusedWhenItLeavesIsUpAndItsRowGoes) {
  everything();
  plane.set_mtu_max("A", 9000);
  set("PORT_TABLE", "A", {{"admin_status", "up"}, {"mtu", "9100"}});
  remove("LAG_MEMBER_TABLE", "PortChannel1:A");
  run_for(1s);
  EXPECT_FALSE(link("A").master);
  EXPECT_TRUE(link("A").admin_up);
  EXPECT_EQ(unsettled(), 0U);
}

TEST_F(LagTest, ARestartTakesOutPortsAlthoughOrdersAreRefused) {
  for (std::uint64_t nth = 1; nth <= 6; ++nth) {
    everything();
    stop();
    start();
    lag();
    ports();
    interface();
    plane.fail_nth(OrderKind::Link, nth, ENOBUFS);
    run_for(8s);
    EXPECT_TRUE(agent->has_restarted());
    for (const char* const port : {"A", "B"}) expect_free(port);
    ASSERT_FALSE(HasFailure()) << nth;
  }
}

// Each order fails once, at each place.
TEST_F(LagTest, ARefusalAtAnyPlaceIsOvercome) {
  for (std::uint64_t nth = 1; nth <= 14; ++nth) {
    plane.fail_nth(OrderKind::Link, nth, ENOBUFS);
    everything();
    run_for(10s);
    expect_whole();
    remove_interface();
    remove_members();
    remove("LAG_TABLE", "PortChannel1");
    run_for(10s);
    EXPECT_FALSE(link("PortChannel1").port) << nth;
    for (const char* const port : {"A", "B"}) EXPECT_FALSE(link(port).master) << nth;
    EXPECT_EQ(unsettled(), 0U);
    ASSERT_FALSE(HasFailure()) << nth;
  }
}

TEST_F(LagTest, ARestartWithTheSameRowsChangesNothingWhateverTheirOrder) {
  everything();
  const Lines before = actual();
  const std::uint64_t orders = plane.executed();
  for (const bool lag_first : {false, true}) {
    stop();
    start();
    if (lag_first) lag();
    members();
    ports();
    interface();
    if (!lag_first) lag();
    run_for(3s);
    EXPECT_TRUE(agent->has_restarted());
    EXPECT_EQ(plane.executed(), orders) << "needless orders";
    EXPECT_EQ(actual(), before);
    expect_whole();
  }
}

TEST_F(LagTest, ARestartDeletesTheLagsThatNoRowAsksForAndTheirPortsAreUpAgain) {
  everything();
  stop();
  start();
  ports();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_FALSE(link("PortChannel1").port);
  for (const char* const port : {"A", "B"}) expect_free(port);
  EXPECT_THAT(actual(), IsEmpty());
}

TEST_F(LagTest, ARestartTakesOutThePortsThatNoRowPutsIntoALag) {
  everything();
  stop();
  start();
  lag();
  ports();
  interface();
  set("LAG_MEMBER_TABLE", "PortChannel1:B");
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_TRUE(is_in("B", "PortChannel1"));
  expect_free("A");
}

/// Two rows ask for one port: the order of the rows at the start must not decide.
TEST_F(LagTest, ARestartLeavesAPortToTheRowThatHadIt) {
  everything();
  set("INTF_TABLE", "A");
  set("INTF_TABLE", "A:10.9.0.1/24");
  set("LAG_TABLE", "PortChannel2");
  set("LAG_MEMBER_TABLE", "PortChannel2:B");
  run_for(2s);
  const std::uint64_t orders = plane.executed();
  stop();
  start();
  ports();
  set("LAG_TABLE", "PortChannel2");
  set("LAG_MEMBER_TABLE", "PortChannel2:B");
  set("INTF_TABLE", "A");
  set("INTF_TABLE", "A:10.9.0.1/24");
  run_for(100ms);
  everything();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_TRUE(is_in("A", "PortChannel1"));
  EXPECT_TRUE(is_in("B", "PortChannel1"));
  EXPECT_EQ(plane.executed(), orders) << "needless orders";
}

/// The kernel shows nothing by which to decide.
TEST_F(LagTest, APortThatComesAfterItsRowsIsThatOfItsInterfaceThenOfItsLag) {
  const auto rows = [this](std::vector<std::pair<const char*, const char*>> all, bool backwards) {
    if (backwards) std::ranges::reverse(all);
    for (const auto& [table, key] : all) set(table, key);
    run_for(1s);
  };
  for (const bool backwards : {true, false}) {
    SCOPED_TRACE(backwards);
    stop();
    start();
    for (const char* const port : {"D", "E"}) set("PORT_TABLE", port, {{"admin_status", "up"}});
    rows({{"LAG_TABLE", "PortChannel1"}, {"VLAN_TABLE", "Vlan10"}}, false);
    rows({{"INTF_TABLE", "D"},
          {"LAG_MEMBER_TABLE", "PortChannel1:D"},
          {"VLAN_MEMBER_TABLE", "Vlan10:D"},
          {"LAG_MEMBER_TABLE", "PortChannel1:E"},
          {"VLAN_MEMBER_TABLE", "Vlan10:E"}},
         backwards);
    for (const char* const port : {"D", "E"}) plane.add_port(port);
    run_for(2s);
    EXPECT_EQ(state("INTF_TABLE", "D"), "installed");
    EXPECT_FALSE(link("D").master);
    EXPECT_TRUE(is_in("E", "PortChannel1"));
    EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:D"), HasSubstr("INTF_TABLE still has rows for D"));
    EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:E"), HasSubstr("LAG_MEMBER_TABLE PortChannel1:E has the port"));
    remove("LAG_MEMBER_TABLE", "PortChannel1:D");  // It waits, and no other row waits for it.
    remove("LAG_MEMBER_TABLE", "PortChannel1:E");
    remove("INTF_TABLE", "D");
    run_for(1s);
    for (const char* const port : {"D", "E"}) EXPECT_TRUE(is_in(port, "Vlan10")) << port;
    for (const char* const port : {"D", "E"}) plane.remove_port(port);
    run_for(100ms);
  }
}

/// Port A has to leave a bridge, which is refused at first. When that was tried again, a row had just put it into a LAG.
TEST_F(LagTest, APortThatHasToLeaveABridgeStaysInTheLagThatItEntersMeanwhile) {
  const auto rows = [this] {
    lag();
    ports();
    set("VLAN_TABLE", "Vlan10");
  };
  rows();
  set("VLAN_MEMBER_TABLE", "Vlan10:A");
  run_for(1s);
  stop();
  start();
  rows();
  run_for(300ms);
  plane.fail_nth(OrderKind::Link, 1, ENOBUFS);
  while (!agent->has_restarted()) run_for(10ms);
  run_for(900ms);
  ASSERT_TRUE(is_in("A", "Vlan10"));
  late.hold();
  set("LAG_MEMBER_TABLE", "PortChannel1:A");
  run_for(5ms);
  ASSERT_TRUE(is_in("A", "PortChannel1"));
  for (int milliseconds = 0; milliseconds < 200; ++milliseconds) {
    run_for(1ms);
    ASSERT_TRUE(is_in("A", "PortChannel1")) << "after " << milliseconds << " ms";
  }
  late.release();
  run_for(2s);
  EXPECT_TRUE(is_in("A", "PortChannel1"));
}

/// Its rows have changed while no rondod ran: a member has become an interface, and the mode is another one.
TEST_F(LagTest, ARestartFollowsRowsThatChangedMeanwhile) {
  everything();
  stop();
  start();
  set("LAG_TABLE", "PortChannel1", {{"mtu", "9000"}, {"static", "true"}});
  ports();
  set("LAG_MEMBER_TABLE", "PortChannel1:A");
  set("INTF_TABLE", "B");
  set("INTF_TABLE", "B:10.9.0.1/24");
  interface();
  run_for(8s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_THAT(rejects, IsEmpty());
  EXPECT_EQ(link("PortChannel1").bond, BondMode::Static);
  EXPECT_TRUE(is_in("A", "PortChannel1"));
  EXPECT_TRUE(link("A").admin_up);
  expect_free("B");
  EXPECT_THAT(actual(), Contains("address B 10.9.0.1/24"));
  EXPECT_THAT(actual(), Contains("route 20.0.0.0/8 via {PortChannel1 10.0.0.2*1}"));
}

/// The LAG has another mode, and a member is disabled. The kernel sets down the ports of the bond that goes, in each order of the rows.
TEST_F(LagTest, ADisabledMemberIsUpAlthoughARestartReplacesItsBond) {
  std::array<int, 4> order{0, 1, 2, 3};
  do {
    everything();
    stop();
    start();
    for (const int part : order) {
      switch (part) {
        case 0: ports(); break;
        case 1: set("LAG_TABLE", "PortChannel1", {{"mtu", "9000"}, {"static", "true"}}); break;
        case 2: set("LAG_MEMBER_TABLE", "PortChannel1:A"); break;
        default: set("LAG_MEMBER_TABLE", "PortChannel1:B", {{"status", "disabled"}});
      }
    }
    run_for(8s);
    EXPECT_TRUE(agent->has_restarted());
    EXPECT_TRUE(is_in("A", "PortChannel1"));
    expect_free("B");
    stop();
    start();
  } while (std::ranges::next_permutation(order).found);
}

class KernelWithoutBonding : public LagTest {
 protected:
  KernelWithoutBonding() {
    stop();
    for (const char* const port : {"A", "B", "C"}) without.add_port(port);
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    runtime = std::make_unique<Runtime>(std::move(options));
    runtime->on_reject([this](std::string_view, const Change&, const Status& why) { rejects.push_back(why.to_string()); });
    agent = std::make_unique<SwitchAgent>(*runtime, without, SwitchAgentOptions{.in_line = true});
    EXPECT_TRUE(agent->start().ok());
  }
  ~KernelWithoutBonding() override { stop(); }
  SimDataPlane without{{.spend = {}, .bonding = false}};
};

TEST_F(KernelWithoutBonding, RejectsTheLagWithTheReasonAndNothingElseSuffers) {
  everything();
  set("INTF_TABLE", "C");
  set("INTF_TABLE", "C:10.1.0.1/24");
  set("INTF_TABLE", "A");
  run_for(1s);
  ASSERT_EQ(rejects.size(), 1U);
  EXPECT_THAT(rejects[0], HasSubstr("this kernel has no bonding driver"));
  EXPECT_EQ(state("LAG_TABLE", "PortChannel1"), "refused");
  EXPECT_THAT(why("LAG_TABLE", "PortChannel1"), HasSubstr("Unknown device type"));
  EXPECT_THAT(why("LAG_MEMBER_TABLE", "PortChannel1:A"), HasSubstr("waits for lag:PortChannel1"));
  EXPECT_EQ(state("INTF_TABLE", "C:10.1.0.1/24"), "installed");
  EXPECT_EQ(state("INTF_TABLE", "A"), "installed") << "its LAG does not exist, so it is no member";
}

}  // namespace
}  // namespace rondo::switch_agent
