// Static entries of FDB_TABLE on the simulated kernel: their rows in any order, what other programs change, and restarts. The real kernel
// is tested in tests/system/vlan_linux_test.cc.
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "switch_agent/facts.h"
#include "vlan_testbed.h"

namespace rondo::switch_agent {
namespace {

using testing::Contains;
using testing::HasSubstr;

class FdbTest : public VlanTest {
 protected:
  void entries() {
    set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa", {{"port", "A"}, {"type", "static"}});
    set("FDB_TABLE", "Vlan10:02-00-00-00-00-BB", {{"port", "B"}});
  }
  void everything_with_entries() {
    entries();
    everything();
  }
  void expect_entries() {
    EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:aa A"));
    EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:bb B.10"));
    EXPECT_EQ(state("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), "installed");
    EXPECT_EQ(state("FDB_TABLE", "Vlan10:02-00-00-00-00-BB"), "installed");
    expect_whole();
  }
  PlaneCounts counts() {
    for (const ConsumerStats& stats : runtime->consumers()) {
      if (stats.table == "FDB_TABLE") return stats.plane.value_or(PlaneCounts{});
    }
    return {};
  }
  std::size_t entry_count() { return plane.fdb().value().size(); }
  static constexpr MacAddress kA{{2, 0, 0, 0, 0, 0xaa}};
};

TEST_F(FdbTest, AnEntryWaitsForTheMembershipAndIsOnTheDeviceOfTheMember) {
  entries();
  run_for(1s);
  EXPECT_THAT(why("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), HasSubstr("waits for vlan-member:Vlan10:A -> VLAN_MEMBER_TABLE:Vlan10:A"));
  everything();
  expect_entries();
}

TEST_F(FdbTest, AnEntryMovesChangesItsTypeAndGoes) {
  everything_with_entries();
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa", {{"port", "B"}});
  run_for(1s);
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:aa B.10"));
  EXPECT_EQ(entry_count(), 2U);
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa", {{"type", "dynamic"}});
  run_for(1s);
  EXPECT_EQ(entry_count(), 1U) << "the bridge learns it itself";
  EXPECT_EQ(state("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), "installed");
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa", {{"type", "static"}, {"port", "A"}});
  run_for(1s);
  expect_entries();
  remove("FDB_TABLE", "Vlan10:02:00:00:00:00:aa");
  remove("FDB_TABLE", "Vlan10:02-00-00-00-00-BB");
  run_for(1s);
  EXPECT_EQ(entry_count(), 0U);
  EXPECT_EQ(unsettled(), 0U);
}

TEST_F(FdbTest, AnEntryGoesWithTheMembershipAndComesBackWithIt) {
  everything_with_entries();
  remove("VLAN_MEMBER_TABLE", "Vlan10:A");
  run_for(1s);
  EXPECT_EQ(entry_count(), 1U);
  EXPECT_EQ(state("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), "waiting");
  members();
  run_for(1s);
  expect_entries();
  ASSERT_TRUE(plane.meddle(LinkSet{a, {}, {}, IfIndex{}}).ok());
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("B.10").port}).ok());
  run_for(2s);
  expect_entries();
  ASSERT_TRUE(plane.meddle(DeviceDelete{link("Vlan10").port}).ok());
  run_for(3s);
  expect_entries();
}

TEST_F(FdbTest, EntriesThatAnotherProgramDeletesOrMovesAreRepairedAndItsOwnAreDeleted) {
  everything_with_entries();
  ASSERT_TRUE(plane.meddle(FdbDelete{a, kA}).ok());
  run_for(3s);
  expect_entries();
  ASSERT_TRUE(plane.meddle(FdbSet{link("B.10").port, kA}).ok());
  run_for(3s);
  expect_entries();
  ASSERT_TRUE(plane.meddle(FdbSet{a, MacAddress{{2, 0, 0, 0, 0, 0xcc}}}).ok());
  run_for(62s);
  expect_entries();
  EXPECT_EQ(entry_count(), 2U);
  const AuditFigures& figures = agent->audit()->figures(ObjectKind::Fdb);
  EXPECT_EQ(figures.missing, 1U);
  EXPECT_EQ(figures.changed, 1U);
  EXPECT_EQ(figures.unwanted, 1U);
  const std::uint64_t orders = plane.executed();
  run_for(150s);
  EXPECT_EQ(plane.executed(), orders) << "an audit finds nothing to do";
}

TEST_F(FdbTest, ARepairedEntryOfARowWithAnotherSpellingIsNoStandingDifference) {
  everything_with_entries();
  ASSERT_TRUE(plane.meddle(FdbDelete{link("B.10").port, MacAddress{{2, 0, 0, 0, 0, 0xbb}}}).ok());
  run_for(600ms);
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Fdb).repaired, 1U);
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Fdb).standing, 0U);
  expect_entries();
}

TEST_F(FdbTest, OurOwnOrdersCauseNoAudit) {
  everything_with_entries();
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa", {{"port", "B"}});
  run_for(3s);
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa", {{"type", "dynamic"}});
  run_for(3s);
  remove("FDB_TABLE", "Vlan10:02-00-00-00-00-BB");
  run_for(3s);
  EXPECT_EQ(entry_count(), 0U);
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Fdb).audits, 0U);
}

TEST_F(FdbTest, AnEntryOfAnotherControlPlaneStaysAndItsRowWaitsForItsEnd) {
  everything();
  plane.add_external_entry("A", kA);
  entries();
  run_for(3s);
  EXPECT_EQ(entry_count(), 1U);
  EXPECT_EQ(state("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), "foreign");
  EXPECT_THAT(why("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), HasSubstr("the bridge has an entry of another control plane"));
  EXPECT_EQ(agent->fdb().held_by_others().rows, 1U);
  EXPECT_THAT(agent->fdb().held_by_others().first, HasSubstr("Vlan10:02:00:00:00:00:aa: "));
  ASSERT_TRUE(plane.remove_external_entry("Vlan10", kA));
  run_for(2s);
  expect_entries();
  EXPECT_EQ(agent->fdb().held_by_others().rows, 0U);
}

TEST_F(FdbTest, ARowThatGoesLeavesTheEntryOfAnotherControlPlane) {
  everything();
  plane.add_external_entry("A", kA);
  entries();
  run_for(3s);
  remove("FDB_TABLE", "Vlan10:02:00:00:00:00:aa");
  run_for(3s);
  EXPECT_EQ(unsettled(), 0U);
  EXPECT_TRUE(plane.remove_external_entry("Vlan10", kA));
}

TEST_F(FdbTest, AnEntryThatAnotherControlPlaneTakesOverIsItsOwnUntilItGoes) {
  everything_with_entries();
  plane.add_external_entry("A", kA);
  run_for(3s);
  EXPECT_EQ(entry_count(), 1U);
  EXPECT_EQ(state("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), "foreign");
  EXPECT_EQ(state("FDB_TABLE", "Vlan10:02-00-00-00-00-BB"), "installed");
  EXPECT_EQ(counts().lost, 0U);
  EXPECT_EQ(counts().installed, 1U);
  const AuditFigures& figures = agent->audit()->figures(ObjectKind::Fdb);
  EXPECT_EQ(figures.standing, 0U) << "the row waits by itself";
  const std::uint64_t audits = figures.audits;
  for (int i = 0; i < 5; ++i) {
    plane.add_external_entry("A", kA);
    run_for(10s);
  }
  EXPECT_LE(figures.audits, audits + 1) << "that of the period";
  ASSERT_TRUE(plane.remove_external_entry("Vlan10", kA));
  run_for(1100ms);
  expect_entries();
}

TEST_F(FdbTest, ARowThatWaitsForAnotherControlPlaneIsRetriedLessAndLessOften) {
  everything();
  plane.add_external_entry("A", kA);
  entries();
  run_for(3s);
  const std::uint64_t orders = plane.executed();
  run_for(120s);
  EXPECT_LE(plane.executed(), orders + 7);
  EXPECT_GE(plane.executed(), orders + 4) << "an event of the removal may be lost";
  ASSERT_TRUE(plane.remove_external_entry("Vlan10", kA));
  run_for(100ms);
  expect_entries();
}

TEST_F(FdbTest, ARowThatWaitsForAnotherControlPlaneWaitsForItsMembershipWhenThatEnds) {
  everything();
  plane.add_external_entry("A", kA);
  entries();
  run_for(20s);
  EXPECT_EQ(state("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), "foreign");
  remove("VLAN_MEMBER_TABLE", "Vlan10:A");
  run_for(100ms);
  EXPECT_THAT(why("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), HasSubstr("waits for vlan-member:Vlan10:A"));
  members();
  run_for(100ms);
  expect_entries();
}

TEST_F(FdbTest, ARefusedRepairIsOverWhenTheMembershipEnds) {
  everything_with_entries();
  plane.fail_nth(OrderKind::Fdb, 1, ENOBUFS);
  ASSERT_TRUE(plane.meddle(FdbDelete{a, kA}).ok());
  run_for(600ms);
  ASSERT_EQ(counts().lost, 1U);
  ASSERT_EQ(counts().installed, 1U);
  remove("VLAN_MEMBER_TABLE", "Vlan10:A");
  run_for(50ms);
  EXPECT_EQ(counts().lost, 0U);
  EXPECT_EQ(counts().withdrawn, 1U);
  members();
  run_for(3s);
  expect_entries();
}

TEST_F(FdbTest, AnEntryThatAFrameMayMoveIsSetAgain) {
  everything_with_entries();
  plane.add_movable_entry("A", kA);
  run_for(3s);
  expect_entries();
  plane.hear("B.10", kA);
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:aa A"));
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Fdb).changed, 1U);
}

/// The next periodic audit found it, a minute later.
TEST_F(FdbTest, AnEntryThatAnotherProgramMakesDynamicIsSetAgain) {
  everything_with_entries();
  plane.add_dynamic_entry("A", kA);
  run_for(3s);
  expect_entries();
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Fdb).repaired, 1U);
}

/// Such as a device of a virtual machine, with an entry that the program which manages it has made.
TEST_F(FdbTest, AnEntryOfAnotherProgramOnADeviceWithoutARowStays) {
  everything_with_entries();
  const IfIndex guest = plane.add_port("vnet0");
  ASSERT_TRUE(plane.meddle(LinkSet{.port = guest, .up = true, .master = link("Vlan10").port}).ok());
  constexpr MacAddress kGuest{{2, 0, 0, 0, 0, 0xee}};
  plane.add_movable_entry("vnet0", kGuest);
  const auto stays = [&] {
    const auto entries = plane.fdb().value();
    return std::ranges::count(entries, kGuest, &FdbEntry::mac) == 1;
  };
  run_for(130s);
  EXPECT_TRUE(stays());
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Fdb).unwanted, 0U);
  stop();
  start();
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  everything_with_entries();
  run_for(70s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_TRUE(stays());
  expect_entries();
}

TEST_F(FdbTest, AnEntryWithTheAddressOfADeviceOfTheBridgeWaits) {
  everything();
  const std::string own = "Vlan10:" + link("A").mac.to_string();
  set("FDB_TABLE", own, {{"port", "B"}});
  run_for(3s);
  EXPECT_EQ(entry_count(), 0U);
  EXPECT_EQ(state("FDB_TABLE", own), "foreign");
  EXPECT_THAT(why("FDB_TABLE", own), HasSubstr("it is the address of a device of this bridge"));
}

TEST_F(FdbTest, WhatABridgeLearnsIsNotOursAndAStaticEntryIsInItsPlace) {
  everything();
  plane.hear("A", kA);
  plane.hear("A", MacAddress{{2, 0, 0, 0, 0, 0xdd}});
  run_for(62s);
  EXPECT_EQ(entry_count(), 0U);
  entries();
  run_for(1s);
  expect_entries();
  plane.hear("B.10", kA);
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:aa A"));
}

TEST_F(FdbTest, TheFirstOfTwoSpellingsHasTheEntry) {
  everything_with_entries();
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:BB", {{"port", "A"}});
  run_for(1s);
  EXPECT_THAT(why("FDB_TABLE", "Vlan10:02:00:00:00:00:BB"), HasSubstr("the same entry as FDB_TABLE Vlan10:02-00-00-00-00-BB"));
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:bb B.10"));
  remove("FDB_TABLE", "Vlan10:02-00-00-00-00-BB");
  run_for(1s);
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:bb A"));
}

TEST_F(FdbTest, ARefusalIsOvercome) {
  everything();
  plane.fail_nth(OrderKind::Fdb, 1, ENOBUFS);
  plane.fail_nth(OrderKind::Fdb, 2, ENOMEM);
  entries();
  run_for(10s);
  expect_entries();
}

/// A station that the row has just made static was still known as a learned one.
TEST_F(FdbTest, AFlushSparesTheEntriesOfRows) {
  everything_with_entries();
  const std::uint64_t orders = plane.executed();
  EXPECT_FALSE(agent->flush({{FdbDelete{a, kA}, {}}}, [] { FAIL() << "nothing is ordered"; }));
  run_for(1s);
  EXPECT_EQ(plane.executed(), orders);
  expect_entries();
}

TEST_F(FdbTest, ARestartAdoptsEntriesAndDeletesThoseThatNoRowAsksFor) {
  everything_with_entries();
  const std::uint64_t orders = plane.executed();
  stop();
  start();
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  everything_with_entries();
  run_for(3s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_EQ(plane.executed(), orders) << "needless orders";
  expect_entries();
  stop();
  start();
  set("FDB_TABLE", "Vlan10:02-00-00-00-00-BB", {{"port", "B"}});
  everything();
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_EQ(plane.executed(), orders + 1);
  EXPECT_EQ(entry_count(), 1U);
}

/// The reading of the entry did not name its bridge.
TEST_F(FdbTest, AnEntryIsSetInTheVlanToWhichARestartMovesItsPort) {
  everything_with_entries();
  stop();
  start();
  set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
  ports();
  set("VLAN_MEMBER_TABLE", "Vlan10:B", {{"tagging_mode", "tagged"}});
  interface();
  set("VLAN_TABLE", "Vlan20");
  set("VLAN_MEMBER_TABLE", "Vlan20:A", {{"tagging_mode", "untagged"}});
  set("FDB_TABLE", "Vlan20:02:00:00:00:00:aa", {{"port", "A"}});
  run_for(5s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_TRUE(is_in("A", "Vlan20"));
  EXPECT_THAT(actual(), Contains("entry Vlan20 02:00:00:00:00:aa A"));
  EXPECT_EQ(agent->audit()->figures(ObjectKind::Fdb).missing, 0U) << "the restart itself sets it";
}

/// Entries were set on the port, and went when it left the bridge at the end of the restart.
TEST_F(FdbTest, AnEntryIsOnTheTaggedDeviceWhenAnEarlierRunLeftThePortInTheBridge) {
  everything_with_entries();
  ASSERT_TRUE(is_in("A", "Vlan10"));
  stop();
  start();
  set("VLAN_TABLE", "Vlan10");
  ports();
  set("VLAN_MEMBER_TABLE", "Vlan10:A", {{"tagging_mode", "tagged"}});
  entries();
  run_for(10s);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_FALSE(link("A").master);
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:aa A.10"));
  EXPECT_EQ(state("FDB_TABLE", "Vlan10:02:00:00:00:00:aa"), "installed");
}

TEST_F(FdbTest, AnEntryIsOnTheTaggedDeviceWhenAnotherProgramPutThePortIntoTheBridge) {
  everything();
  ASSERT_TRUE(plane.meddle(LinkSet{b, {}, {}, link("Vlan10").port}).ok());
  run_for(1s);
  entries();
  run_for(1s);
  EXPECT_TRUE(is_in("B", "Vlan10"));
  EXPECT_THAT(actual(), Contains("entry Vlan10 02:00:00:00:00:bb B.10"));
}

TEST_F(FdbTest, WrongRowsAreRejectedWithTheReason) {
  set("FDB_TABLE", "Vlan10:01:00:5e:00:00:01", {{"port", "A"}});
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:aa");
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:ab", {{"port", "A"}, {"type", "sticky"}});
  run_for(1s);
  ASSERT_EQ(rejects.size(), 3U);
  EXPECT_THAT(rejects, Contains(HasSubstr("is not the MAC address of one station")));
  EXPECT_THAT(rejects, Contains(HasSubstr("field 'port' is missing")));
  EXPECT_THAT(rejects, Contains(HasSubstr("must be 'static' or 'dynamic'")));
}

}  // namespace
}  // namespace rondo::switch_agent
