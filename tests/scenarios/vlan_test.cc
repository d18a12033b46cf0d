// VLANs on the simulated kernel: the rows of VLAN_TABLE, VLAN_MEMBER_TABLE and INTF_TABLE in any order, what waits for what, what another
// program changes, and restarts. The real kernel is tested in tests/system/vlan_linux_test.cc.
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "orch/parked.h"
#include "switch_agent/facts.h"
#include "vlan_testbed.h"

namespace rondo::switch_agent {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(VlanTest, AVlanIsABridgeWithItsMembersAndItsAddresses) {
  everything();
  expect_whole();
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:B"), HasSubstr("by the device B.10"));
}

TEST_F(VlanTest, RowsThatComeInTheOppositeOrderWaitAndNameWhatIsMissing) {
  interface();
  members();
  run_for(1s);
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:A"), HasSubstr("waits for vlan:Vlan10"));
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:A"), HasSubstr("waits for port:A"));
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:A"), HasSubstr("-> VLAN_TABLE:Vlan10"));
  EXPECT_THAT(why("INTF_TABLE", "Vlan10"), HasSubstr("waits for vlan:Vlan10 -> VLAN_TABLE:Vlan10"));
  ports();
  run_for(1s);
  EXPECT_FALSE(link("A").master);
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  run_for(2s);
  expect_whole();
}

TEST_F(VlanTest, AVlanInUseStaysUntilItsMembersAndInterfacesAreGone) {
  everything();
  remove("VLAN_TABLE", "Vlan10");
  run_for(1s);
  EXPECT_TRUE(is_in("A", "Vlan10"));
  EXPECT_THAT(why("VLAN_TABLE", "Vlan10"), HasSubstr("VLAN_MEMBER_TABLE Vlan10:A is still a member"));
  EXPECT_THAT(why("VLAN_TABLE", "Vlan10"), HasSubstr("INTF_TABLE still has rows for Vlan10"));
  remove_members();
  run_for(1s);
  EXPECT_FALSE(link("A").master);
  EXPECT_FALSE(link("B.10").port);
  EXPECT_TRUE(link("Vlan10").port);
  remove_interface();
  run_for(1s);
  EXPECT_FALSE(link("Vlan10").port);
  EXPECT_EQ(unsettled(), 0U);
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "");
  everything();
  expect_whole();
}

TEST_F(VlanTest, ARowThatComesBackBeforeItsVlanWentKeepsIt) {
  everything();
  const IfIndex device = link("Vlan10").port;
  remove("VLAN_TABLE", "Vlan10");
  run_for(1s);
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  run_for(1s);
  EXPECT_EQ(link("Vlan10").port, device);
  expect_whole();
}

TEST_F(VlanTest, AVlanFollowsItsRow) {
  set("VLAN_TABLE", "Vlan10");
  run_for(1s);
  EXPECT_TRUE(link("Vlan10").admin_up);
  set("VLAN_TABLE", "Vlan10", {{"admin_status", "down"}, {"mtu", "1400"}, {"mac", "02:00:00:00:00:77"}});
  run_for(1s);
  EXPECT_FALSE(link("Vlan10").admin_up);
  EXPECT_EQ(link("Vlan10").mtu, 1400U);
  EXPECT_EQ(link("Vlan10").mac.to_string(), "02:00:00:00:00:77");
  EXPECT_THAT(why("VLAN_TABLE", "Vlan10"), HasSubstr("the device is set down"));
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "installed");
}

TEST_F(VlanTest, APortIsAnUntaggedMemberOfOneVlanAndATaggedOneOfOthers) {
  everything();
  set("VLAN_TABLE", "Vlan20");
  set("VLAN_MEMBER_TABLE", "Vlan20:A", {{"tagging_mode", "priority_tagged"}});
  set("VLAN_TABLE", "Vlan30");
  set("VLAN_MEMBER_TABLE", "Vlan30:A", {{"tagging_mode", "tagged"}});
  run_for(1s);
  EXPECT_TRUE(is_in("A", "Vlan10"));
  EXPECT_TRUE(is_in("A.30", "Vlan30"));
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan20:A"), HasSubstr("A is an untagged member of Vlan10, and a port can be that of one VLAN"));
  remove("VLAN_MEMBER_TABLE", "Vlan10:A");
  run_for(1s);
  EXPECT_TRUE(is_in("A", "Vlan20"));
  EXPECT_EQ(state("VLAN_MEMBER_TABLE", "Vlan20:A"), "installed");
  EXPECT_TRUE(is_in("A.30", "Vlan30"));
}

TEST_F(VlanTest, AMemberChangesItsTaggingMode) {
  everything();
  set("VLAN_MEMBER_TABLE", "Vlan10:A", {{"tagging_mode", "tagged"}});
  set("VLAN_MEMBER_TABLE", "Vlan10:B", {{"tagging_mode", "untagged"}});
  run_for(1s);
  EXPECT_FALSE(link("A").master);
  EXPECT_TRUE(is_in("A.10", "Vlan10"));
  EXPECT_TRUE(is_in("B", "Vlan10"));
  EXPECT_FALSE(link("B.10").port);
  members();
  run_for(1s);
  expect_whole();
  EXPECT_FALSE(link("A.10").port);
}

TEST_F(VlanTest, APortIsEitherARouterInterfaceOrAMemberAndTheLaterRowWaits) {
  set("VLAN_TABLE", "Vlan10");
  ports();
  set("INTF_TABLE", "A");
  set("INTF_TABLE", "A:10.1.0.1/24");
  run_for(1s);
  members();
  run_for(1s);
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:A"), HasSubstr("INTF_TABLE still has rows for A"));
  remove("INTF_TABLE", "A:10.1.0.1/24");
  remove("INTF_TABLE", "A");
  run_for(1s);
  EXPECT_TRUE(is_in("A", "Vlan10"));
  set("INTF_TABLE", "B");
  run_for(1s);
  EXPECT_THAT(why("INTF_TABLE", "B"), HasSubstr("VLAN_MEMBER_TABLE Vlan10:B has the port"));
  remove("VLAN_MEMBER_TABLE", "Vlan10:B");
  run_for(1s);
  EXPECT_EQ(state("INTF_TABLE", "B"), "installed");
}

TEST_F(VlanTest, ARowOfAPortStaysUntilItIsNoMember) {
  everything();
  remove("PORT_TABLE", "B");
  run_for(1s);
  EXPECT_THAT(why("PORT_TABLE", "B"), HasSubstr("in-no-vlan:B"));
  remove("VLAN_MEMBER_TABLE", "Vlan10:B");
  run_for(1s);
  EXPECT_EQ(state("PORT_TABLE", "B"), "");
  EXPECT_EQ(unsettled(), 0U);
}

TEST_F(VlanTest, ATaggedMemberGoesUpWithItsPort) {
  set("VLAN_TABLE", "Vlan10");
  set("PORT_TABLE", "B", {{"admin_status", "down"}});
  set("VLAN_MEMBER_TABLE", "Vlan10:B", {{"tagging_mode", "tagged"}});
  run_for(1s);
  EXPECT_TRUE(is_in("B.10", "Vlan10"));
  EXPECT_FALSE(link("B.10").admin_up);
  EXPECT_EQ(state("VLAN_MEMBER_TABLE", "Vlan10:B"), "installed");
  set("PORT_TABLE", "B", {{"admin_status", "up"}});
  run_for(1s);
  EXPECT_TRUE(link("B.10").admin_up);
}

TEST_F(VlanTest, ABridgeThatAnotherProgramDeletesIsMadeAgainWithItsMembersAndAddresses) {
  everything();
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("Vlan10").port}).ok());
  run_for(3s);
  expect_whole();
}

TEST_F(VlanTest, ARenamedBridgeIsReplaced) {
  everything();
  plane.rename_port("Vlan10", "Other");
  run_for(3s);
  expect_whole();
  EXPECT_THAT(agent->renamed(), ElementsAre(HasSubstr("the device Other was Vlan10 of rondod until another program renamed it")));
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("Other").port}).ok());
  run_for(1s);
  EXPECT_THAT(agent->renamed(), IsEmpty());
}

TEST_F(VlanTest, MembersThatAnotherProgramTakesOutOrDeletesArePutBack) {
  everything();
  ASSERT_TRUE(plane.meddle(LinkSet{a, {}, {}, IfIndex{}}).ok());
  run_for(1s);
  expect_whole();
  ASSERT_TRUE(plane.meddle(LinkSet{link("B.10").port, {}, {}, IfIndex{}}).ok());
  run_for(1s);
  expect_whole();
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("B.10").port}).ok());
  run_for(1s);
  expect_whole();
  const IfIndex other = plane.add_bridge("br0");
  ASSERT_TRUE(plane.meddle(LinkSet{a, {}, {}, other}).ok());
  run_for(1s);
  expect_whole();
}

TEST_F(VlanTest, ABridgeThatAnotherProgramSetsDownShowsAsLostAndStaysDown) {
  everything();
  ASSERT_TRUE(plane.meddle(LinkSet{link("Vlan10").port, false}).ok());
  run_for(1s);
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "lost");
  EXPECT_THAT(why("VLAN_TABLE", "Vlan10"), HasSubstr("'rondo set VLAN_TABLE Vlan10 admin_status=up' sets it up again"));
  EXPECT_EQ(differences(), Lines{"VLAN_TABLE Vlan10: down, not up"});
  set("VLAN_TABLE", "Vlan10", {{"admin_status", "up"}});
  run_for(2s);
  expect_whole();
}

TEST_F(VlanTest, TheFilteringOfABridgeThatAnotherProgramSwitchesOnIsSwitchedOff) {
  set("VLAN_TABLE", "Vlan10", {});
  run_for(1s);
  plane.alter("Vlan10");
  run_for(1s);
  EXPECT_FALSE(link("Vlan10").altered);
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "installed");
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(VlanTest, TheMacAndTheMtuOfABridgeThatAnotherProgramChangesAreDifferences) {
  everything();
  set("VLAN_TABLE", "Vlan10", {{"mac", "02:00:00:00:10:10"}, {"mtu", "1400"}});
  run_for(1s);
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "installed");
  EXPECT_THAT(differences(), IsEmpty());
  ASSERT_TRUE(plane.meddle(LinkSet{.port = link("Vlan10").port, .mtu = 1300, .mac = MacAddress{2, 0, 0, 0, 0x10, 0x99}}).ok());
  run_for(1s);
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "lost");
  EXPECT_THAT(why("VLAN_TABLE", "Vlan10"), HasSubstr("'rondo set VLAN_TABLE Vlan10 mac=02:00:00:00:10:10' sets it again"));
  EXPECT_EQ(differences(), Lines{"VLAN_TABLE Vlan10: MAC 02:00:00:00:10:99, mtu 1300, not MAC 02:00:00:00:10:10, mtu 1400"});
  set("VLAN_TABLE", "Vlan10", {{"mac", "02:00:00:00:10:10"}, {"mtu", "1400"}});
  run_for(1s);
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "installed");
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(VlanTest, APortThatWasReplacedEntersItsVlanAgain) {
  everything();
  plane.remove_port("A");
  plane.remove_port("B");
  run_for(1s);
  EXPECT_FALSE(link("B.10").port);
  EXPECT_EQ(state("VLAN_MEMBER_TABLE", "Vlan10:A"), "waiting");
  plane.add_port("B");
  plane.add_port("A");
  run_for(3s);
  expect_whole();
}

TEST_F(VlanTest, ARenamedPortLeavesItsVlan) {
  everything();
  plane.rename_port("A", "C");
  run_for(1s);
  EXPECT_FALSE(link("C").master);
  plane.rename_port("C", "A");
  run_for(2s);
  expect_whole();
}

TEST_F(VlanTest, ADeviceThatIsNoBridgeHoldsTheNameUntilItGoes) {
  plane.add_port("Vlan10");
  everything();
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "foreign");
  EXPECT_THAT(why("VLAN_TABLE", "Vlan10"), HasSubstr("the device Vlan10 exists, and it is no bridge"));
  plane.remove_port("Vlan10");
  run_for(3s);
  expect_whole();
}

TEST_F(VlanTest, ADeviceWithTheNameOfATaggedMemberHoldsItUntilItGoes) {
  plane.add_port("B.10");
  everything();
  EXPECT_EQ(state("VLAN_MEMBER_TABLE", "Vlan10:B"), "foreign");
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:B"), HasSubstr("the device B.10 exists, and it is not that of VLAN 10 on B"));
  plane.remove_port("B.10");
  run_for(3s);
  expect_whole();
}

/// rondod asked every 100 ms, and said that the kernel had not reported the device.
TEST_F(VlanTest, ADeviceWithTheVlanOfATaggedMemberAndAnotherNameIsNamed) {
  set("VLAN_TABLE", "Vlan10");
  const IfIndex other = plane.add_bridge("br0");
  ASSERT_TRUE(plane.meddle(TaggedPortSet{"vlan10", b, other, 10}).ok());
  everything();
  EXPECT_EQ(state("VLAN_MEMBER_TABLE", "Vlan10:B"), "foreign");
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:B"),
              HasSubstr("the device vlan10 is that of VLAN 10 on B already: delete it, or rename it to B.10"));
  const std::uint64_t orders = plane.executed();
  run_for(10s);
  EXPECT_EQ(plane.executed(), orders);
  plane.rename_port("vlan10", "B.10");
  run_for(3s);
  expect_whole();
  plane.rename_port("B.10", "mine");
  run_for(3s);
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:B"), HasSubstr("the device mine is that of VLAN 10 on B already"));
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("mine").port}).ok());
  run_for(3s);
  expect_whole();
}

/// The device stayed: the Delete did not know its number.
TEST_F(VlanTest, ADeleteThatOvertakesTheEventOfItsDeviceDeletesIt) {
  everything();
  set("VLAN_TABLE", "Vlan30");
  run_for(1s);
  late.hold();
  set("VLAN_TABLE", "Vlan20");
  set("VRF_TABLE", "Vrf1");
  set("VLAN_MEMBER_TABLE", "Vlan30:B", {{"tagging_mode", "tagged"}});
  set("VLAN_MEMBER_TABLE", "Vlan30:A", {{"tagging_mode", "tagged"}});
  run_for(1s);
  const std::vector<std::string> devices{"Vlan20", "Vrf1", "B.30", "A.30"};
  for (const std::string& device : devices) EXPECT_TRUE(link(device).port) << device;
  remove("VLAN_TABLE", "Vlan20");
  remove("VRF_TABLE", "Vrf1");
  remove("VLAN_MEMBER_TABLE", "Vlan30:B");
  run_for(1005ms);
  ASSERT_EQ(parked_rows(*runtime, "VLAN_TABLE", 2).size(), 1U);
  EXPECT_THAT(parked_rows(*runtime, "VLAN_TABLE", 2)[0].why, HasSubstr("the kernel has not reported the device Vlan20"));
  late.release();
  run_for(1s);
  for (const std::string& device : {devices[0], devices[1], devices[2]}) EXPECT_FALSE(link(device).port) << device;
  EXPECT_TRUE(is_in("A.30", "Vlan30"));
  remove("VLAN_MEMBER_TABLE", "Vlan30:A");
  remove("VLAN_TABLE", "Vlan30");
  run_for(1s);
  EXPECT_FALSE(link("Vlan30").port);
  expect_whole();
}

TEST_F(VlanTest, AModeThatChangesBeforeTheEventOfTheDeviceLeavesNone) {
  everything();
  set("VLAN_TABLE", "Vlan30");
  remove("VLAN_MEMBER_TABLE", "Vlan10:B");
  run_for(1s);
  late.hold();
  set("VLAN_MEMBER_TABLE", "Vlan30:B", {{"tagging_mode", "tagged"}});
  run_for(1s);
  set("VLAN_MEMBER_TABLE", "Vlan30:B", {{"tagging_mode", "untagged"}});
  run_for(1s);
  late.release();
  run_for(1s);
  EXPECT_FALSE(link("B.30").port);
  EXPECT_TRUE(is_in("B", "Vlan30"));
}

TEST_F(VlanTest, ADeleteWaitsForABoundedTimeForTheEventOfADeviceThatAnotherProgramDeleted) {
  run_for(1s);
  late.hold();
  set("VLAN_TABLE", "Vlan20");
  run_for(1s);
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("Vlan20").port}).ok());
  remove("VLAN_TABLE", "Vlan20");
  run_for(1ms);
  ASSERT_FALSE(link("Vlan20").port);
  run_for(6s);
  EXPECT_EQ(unsettled(), 0U);
}

TEST_F(VlanTest, ADeleteDoesNotWaitForADeviceThatWasReportedAndIsGone) {
  everything();
  plane.remove_port("B");
  run_for(1s);
  ASSERT_FALSE(link("B.10").port);
  remove("VLAN_MEMBER_TABLE", "Vlan10:B");
  run_for(100ms);
  EXPECT_THAT(parked_rows(*runtime, "VLAN_MEMBER_TABLE", 2), IsEmpty());
  EXPECT_EQ(state("VLAN_MEMBER_TABLE", "Vlan10:B"), "");
}

TEST_F(VlanTest, ARefusedMtuOfATaggedMemberIsSetAgain) {
  everything();
  set("PORT_TABLE", "B", {{"mtu", "1400"}});
  run_for(1s);
  plane.fail_nth(OrderKind::Link, 2, ENOBUFS);
  set("PORT_TABLE", "B", {{"mtu", "4000"}});
  run_for(50ms);
  ASSERT_EQ(link("B").mtu, 4000U);
  ASSERT_EQ(link("B.10").mtu, 1400U) << "refused";
  run_for(1s);
  EXPECT_EQ(link("B.10").mtu, 4000U);
}

TEST_F(VlanTest, ATaggedMemberFollowsTheMtuOfItsPort) {
  everything();
  for (const char* const mtu : {"9000", "1400", "4000"}) {
    set("PORT_TABLE", "B", {{"mtu", mtu}});
    run_for(1s);
    EXPECT_EQ(link("B.10").mtu, static_cast<std::uint32_t>(std::stoi(mtu)));
  }
  stop();
  ASSERT_TRUE(plane.meddle(LinkSet{b, {}, 8000}).ok());
  start();
  set("PORT_TABLE", "B", {{"mtu", "8000"}});
  everything();
  EXPECT_EQ(link("B.10").mtu, 8000U);
  expect_whole();
}

TEST_F(VlanTest, ABridgeOfAnotherProgramIsUsedAndStays) {
  plane.add_bridge("Vlan10");
  everything();
  EXPECT_TRUE(is_in("A", "Vlan10"));
  EXPECT_EQ(state("VLAN_TABLE", "Vlan10"), "installed");
  remove_interface();
  remove_members();
  remove("VLAN_TABLE", "Vlan10");
  run_for(2s);
  EXPECT_TRUE(link("Vlan10").port);
  EXPECT_FALSE(link("A").master);
  EXPECT_EQ(unsettled(), 0U);
}

TEST_F(VlanTest, WrongRowsAreRejectedWithTheReason) {
  for (const char* const name : {"Vlan0", "Vlan4095", "Vlan010", "vlan10", "Vlan", "Vlan10a"}) set("VLAN_TABLE", name);
  set("VLAN_TABLE", "Vlan11", {{"admin_status", "on"}});
  set("VLAN_TABLE", "Vlan12", {{"mac", "01:00:5e:00:00:01"}});
  set("VLAN_TABLE", "Vlan13", {{"mtu", "1"}});
  set("PORT_TABLE", "Vlan14", {{"admin_status", "up"}});
  set("VLAN_MEMBER_TABLE", "Vlan10");
  set("VLAN_MEMBER_TABLE", "Vlan10:A", {{"tagging_mode", "both"}});
  set("VLAN_MEMBER_TABLE", "Vlan4094:LongPortName0", {{"tagging_mode", "tagged"}});
  set("VLAN_TABLE", "Vlan15", {{"admin_stat", "up"}});
  run_for(1s);
  std::ranges::sort(rejects);
  EXPECT_EQ(rejects.size(), 13U) << "an unknown field is ignored in a row that is right";
  for (const char* const words : {"'Vlan4095' is not the name of a VLAN: Vlan1 to Vlan4094", "must be 'up' or 'down'",
                                  "'01:00:5e:00:00:01'", "its row is in VLAN_TABLE", "must have the form <vlan>:<port>",
                                  "must be 'tagged', 'untagged'", "LongPortName0.4094, is longer than 15 characters"}) {
    EXPECT_THAT(rejects, Contains(HasSubstr(words)));
  }
}

TEST_F(VlanTest, AKernelWithoutBridgesOr8021qRejectsTheRowsWithTheReason) {
  plane.fail_nth(OrderKind::Link, 1, EOPNOTSUPP);
  set("VLAN_TABLE", "Vlan10");
  run_for(1s);
  ASSERT_EQ(rejects.size(), 1U);
  EXPECT_THAT(rejects[0], HasSubstr("this kernel has no bridges"));
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  ports();
  run_for(1s);
  plane.fail_nth(OrderKind::Link, 1, EOPNOTSUPP);
  set("VLAN_MEMBER_TABLE", "Vlan10:B", {{"tagging_mode", "tagged"}});
  run_for(1s);
  ASSERT_EQ(rejects.size(), 2U);
  EXPECT_THAT(rejects[1], HasSubstr("this kernel has no 802.1Q devices"));
  rejects.clear();
  set("INTF_TABLE", "B");  // It is no member.
  run_for(1s);
  EXPECT_EQ(state("INTF_TABLE", "B"), "installed");
  remove("INTF_TABLE", "B");
  run_for(1s);
  everything();
  expect_whole();
}

// Each order fails once, at each place.
TEST_F(VlanTest, ARefusalAtAnyPlaceIsOvercome) {
  for (std::uint64_t nth = 1; nth <= 12; ++nth) {
    plane.fail_nth(OrderKind::Link, nth, ENOBUFS);
    everything();
    run_for(10s);
    expect_whole();
    remove_interface();
    remove_members();
    remove("VLAN_TABLE", "Vlan10");
    run_for(10s);
    EXPECT_FALSE(link("Vlan10").port) << nth;
    EXPECT_FALSE(link("A").master) << nth;
    EXPECT_FALSE(link("B.10").port) << nth;
    EXPECT_EQ(unsettled(), 0U);
    ASSERT_FALSE(HasFailure()) << nth;
  }
}

TEST_F(VlanTest, ARestartWithTheSameRowsChangesNothingWhateverTheirOrder) {
  everything();
  const Lines before = actual();
  const std::uint64_t orders = plane.executed();
  for (const bool vlan_first : {false, true}) {
    stop();
    start();
    if (vlan_first) set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
    members();
    ports();
    interface();
    if (!vlan_first) set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
    run_for(3s);
    EXPECT_TRUE(agent->has_restarted());
    EXPECT_EQ(plane.executed(), orders) << "needless orders";
    EXPECT_EQ(actual(), before);
    expect_whole();
  }
}

/// Two rows ask for one port: the order of the rows at the start must not decide.
TEST_F(VlanTest, ARestartLeavesAPortToTheRowThatHadIt) {
  const auto interfaces = [this] {
    for (const char* const key : {"A", "A:10.1.0.1/24", "B", "B:10.2.0.1/24"}) set("INTF_TABLE", key);
  };
  for (const bool interfaces_had_them : {true, false}) {
    SCOPED_TRACE(interfaces_had_them ? "interfaces" : "members");
    const auto rows = [&](bool interfaces_first) {
      set("VLAN_TABLE", "Vlan10");
      ports();
      interfaces_first ? interfaces() : members();
      run_for(100ms);
      interfaces_first ? members() : interfaces();
      run_for(5s);
    };
    const auto expect_kept = [&] {
      EXPECT_EQ(is_in("A", "Vlan10"), !interfaces_had_them);
      EXPECT_EQ(is_in("B.10", "Vlan10"), !interfaces_had_them);
      for (const char* const line : {"address A 10.1.0.1/24", "address B 10.2.0.1/24"})
        EXPECT_EQ(testing::Value(actual(), Contains(line)), interfaces_had_them) << line;
    };
    rows(interfaces_had_them);
    expect_kept();
    const std::uint64_t orders = plane.executed();
    for (const bool interfaces_first : {true, false}) {
      stop();
      start();
      rows(interfaces_first);
      EXPECT_TRUE(agent->has_restarted());
      expect_kept();
      EXPECT_EQ(plane.executed(), orders) << "needless orders";
    }
    // Without the row that had the ports, the others have them.
    stop();
    start();
    set("VLAN_TABLE", "Vlan10");
    ports();
    interfaces_had_them ? members() : interfaces();
    run_for(5s);
    EXPECT_EQ(is_in("A", "Vlan10"), interfaces_had_them);
    EXPECT_EQ(unsettled(), 0U);
    for (const char* const key : {"Vlan10:A", "Vlan10:B"}) remove("VLAN_MEMBER_TABLE", key);
    for (const char* const key : {"A:10.1.0.1/24", "B:10.2.0.1/24", "A", "B"}) remove("INTF_TABLE", key);
    run_for(2s);
    EXPECT_EQ(unsettled(), 0U);
  }
}

/// The kernel shows nothing by which to decide. The row that was handled first won, and that was mostly the member's.
TEST_F(VlanTest, APortThatComesAfterItsRowsIsThatOfItsInterfaceAtEachStart) {
  set("VLAN_TABLE", "Vlan10");
  run_for(1s);
  for (const bool has_found : {true, false}) {
    for (const bool interface_first : {true, false}) {
      SCOPED_TRACE(std::string{has_found ? "restart" : "start"} + (interface_first ? " interface" : " member"));
      stop();
      if (!has_found) {
        ASSERT_TRUE(plane.meddle(DeviceDelete{link("Vlan10").port}).ok());
      }
      start();
      const auto interfaces = [this] {
        for (const char* const key : {"C:10.3.0.1/24", "C", "D"}) set("INTF_TABLE", key);
      };
      if (interface_first) interfaces();
      set("VLAN_MEMBER_TABLE", "Vlan10:C");
      set("VLAN_MEMBER_TABLE", "Vlan10:D", {{"tagging_mode", "tagged"}});
      if (!interface_first) interfaces();
      for (const char* const port : {"C", "D"}) set("PORT_TABLE", port, {{"admin_status", "up"}});
      set("VLAN_TABLE", "Vlan10");
      run_for(5s);
      EXPECT_TRUE(agent->has_restarted());
      for (const char* const port : {"C", "D"}) plane.add_port(port);
      run_for(2s);
      EXPECT_THAT(actual(), Contains("address C 10.3.0.1/24"));
      EXPECT_EQ(state("INTF_TABLE", "D"), "installed");
      EXPECT_FALSE(link("C").master);
      EXPECT_FALSE(link("D.10").port);
      EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:C"), HasSubstr("INTF_TABLE still has rows for C"));
      for (const char* const port : {"C", "D"}) plane.remove_port(port);
      run_for(100ms);
    }
  }
}

/// The row that has the port keeps it. A row of INTF_TABLE that waits for something else, or goes, does not keep the member waiting.
TEST_F(VlanTest, AMemberWaitsForAnInterfaceOnlyAsLongAsThatCanHaveThePort) {
  set("VLAN_TABLE", "Vlan10");
  set("PORT_TABLE", "C", {{"admin_status", "up"}});
  set("INTF_TABLE", "C");
  run_for(1s);
  set("VLAN_MEMBER_TABLE", "Vlan10:C");
  run_for(1s);
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:C"), HasSubstr("INTF_TABLE C waits for the port too"));
  set("INTF_TABLE", "C", {{"vrf_name", "Vrf7"}});
  plane.add_port("C");
  run_for(1s);
  EXPECT_TRUE(is_in("C", "Vlan10"));
  set("VRF_TABLE", "Vrf7");
  run_for(1s);
  plane.remove_port("C");
  run_for(1s);
  plane.add_port("C");
  run_for(1s);
  EXPECT_TRUE(is_in("C", "Vlan10"));
  remove("VLAN_MEMBER_TABLE", "Vlan10:C");
  plane.remove_port("C");
  run_for(1s);
  remove("INTF_TABLE", "C");
  run_for(1s);
  set("INTF_TABLE", "C", {{"mtu", "many"}});
  set("VLAN_MEMBER_TABLE", "Vlan10:C");
  run_for(1s);
  plane.add_port("C");
  run_for(1s);
  EXPECT_TRUE(is_in("C", "Vlan10"));
  EXPECT_EQ(unsettled(), 0U);
}

/// Its address of the earlier run stays until the end of the restart, and decided then, too.
TEST_F(VlanTest, APortWhoseInterfaceWentDuringARestartIsFreeForAVlan) {
  ports();
  for (const char* const key : {"A", "A:10.1.0.1/24"}) set("INTF_TABLE", key);
  run_for(1s);
  stop();
  start(1h);
  ports();
  set("VLAN_TABLE", "Vlan10");
  set("INTF_TABLE", "A");
  run_for(1s);
  remove("INTF_TABLE", "A");
  set("VLAN_MEMBER_TABLE", "Vlan10:A");
  run_for(1s);
  EXPECT_FALSE(agent->has_restarted());
  EXPECT_TRUE(is_in("A", "Vlan10"));
}

TEST_F(VlanTest, ARowWaitsAMinuteForTheRowsOfAnEarlierRunAndNoHold) {
  ports();
  for (const char* const key : {"A", "A:10.1.0.1/24"}) set("INTF_TABLE", key);
  run_for(1s);
  stop();
  start(1h);
  ports();
  set("VLAN_TABLE", "Vlan10");
  set("VLAN_MEMBER_TABLE", "Vlan10:A");
  run_for(59s);
  EXPECT_THAT(why("VLAN_MEMBER_TABLE", "Vlan10:A"), HasSubstr("rows-come"));
  run_for(2s);
  EXPECT_FALSE(agent->has_restarted());
  EXPECT_TRUE(is_in("A", "Vlan10"));
}

/// The restart's reading must not count any more.
TEST_F(VlanTest, ADeviceThatAnotherProgramMovesDuringARestartIsPutBack) {
  everything();
  const IfIndex other = plane.add_bridge("br0");
  // One at a time: a VLAN without a port loses its carrier, and then no reading is believed.
  for (const IfIndex device : {a, link("B.10").port}) {
    stop();
    start();
    run_for(1ms);
    ASSERT_TRUE(plane.meddle(LinkSet{device, {}, {}, other}).ok());
    run_for(1ms);
    everything();
    expect_whole();
  }
}

TEST_F(VlanTest, ARestartDeletesTheVlansThatNoRowAsksFor) {
  everything();
  stop();
  start();
  ports();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_FALSE(link("Vlan10").port);
  EXPECT_FALSE(link("B.10").port);
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(actual(), IsEmpty());
}

TEST_F(VlanTest, ARestartTakesOutThePortsThatNoRowPutsIntoAVlan) {
  everything();
  stop();
  start();
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  ports();
  interface();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_TRUE(link("Vlan10").port);
  EXPECT_FALSE(link("A").master);
  EXPECT_FALSE(link("B.10").port);
}

/// A refusal left such a port in the bridge.
TEST_F(VlanTest, ARestartTakesOutPortsAlthoughTheOrderIsRefused) {
  everything();
  stop();
  start();
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  ports();
  plane.fail_nth(OrderKind::Link, 1, ENOBUFS);
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_FALSE(link("A").master);
}

/// A restart took the devices of virtual machines out of their VLAN.
TEST_F(VlanTest, ARestartLeavesDevicesWithoutARowOfPortTableInTheirVlan) {
  everything();
  const IfIndex tap = plane.add_port("tap");
  ASSERT_TRUE(plane.meddle(LinkSet{tap, {}, {}, link("Vlan10").port}).ok());
  stop();
  start();
  everything();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_TRUE(is_in("tap", "Vlan10"));
  expect_whole();
}

TEST_F(VlanTest, AVlanCanBeInAVrf) {
  everything();
  set("VRF_TABLE", "Vrf1");
  set("INTF_TABLE", "Vlan10", {{"vrf_name", "Vrf1"}});
  run_for(2s);
  EXPECT_TRUE(is_in("Vlan10", "Vrf1"));
  EXPECT_TRUE(is_in("A", "Vlan10"));
  EXPECT_THAT(actual(), Contains("address Vlan10 2001:db8::1/64"));
  set("INTF_TABLE", "Vlan10", {{"vrf_name", ""}});
  run_for(2s);
  expect_whole();
}

}  // namespace
}  // namespace rondo::switch_agent
