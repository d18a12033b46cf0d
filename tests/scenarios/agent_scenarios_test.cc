// The rules of the agent, one per test, on the simulated kernel: order of rows, references, ports that flap, lost groups, limits of the
// data plane, and the text of `why`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "agent_box.h"

namespace rondo::switch_agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two ports, a neighbour on each, and the common setup of most tests.
class SwitchAgent : public ::testing::Test {
 protected:
  explicit SwitchAgent(SimDataPlaneOptions options = {}) : box(1, std::move(options)) {
    for (const char* port : {"A", "B"}) box.plane.add_port(port);
    box.start();
  }
  void add_port_rows() {
    for (const char* port : {"A", "B"}) {
      box.set("PORT_TABLE", port, {{"admin_status", "up"}});
      box.set("INTF_TABLE", port, {});
    }
    box.set("INTF_TABLE", "A:10.0.0.1/24", {});
    box.set("INTF_TABLE", "B:10.1.0.1/24", {});
    box.set("INTF_TABLE", "A:2001:db8:a::1/64", {});
  }
  void add_neighbors() {
    box.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    box.set("NEIGH_TABLE", "B:10.1.0.2", {{"neigh", "02:00:00:00:01:02"}});
  }
  void set_group(std::string_view name, std::string_view gateways, std::string_view ports) {
    box.set("NEXTHOP_GROUP_TABLE", name, {{"nexthop", gateways}, {"ifname", ports}});
  }
  void add_routes(int count, std::string_view group) {
    for (int i = 0; i < count; ++i) box.set("ROUTE_TABLE", prefix(i), {{"nexthop_group", group}});
  }
  static std::string prefix(int number) {
    return "172." + std::to_string(16 + number / 256) + "." + std::to_string(number % 256) + ".0/24";
  }
  /// Sets ports, neighbours, group "1" over A and B, and routes on it.
  void set_up(int routes) {
    add_port_rows();
    add_neighbors();
    set_group("1", "10.0.0.2,10.1.0.2", "A,B");
    add_routes(routes, "1");
    box.run_for(1s);
    ASSERT_EQ(box.plane.route_count(), static_cast<std::size_t>(routes));
  }
  Lines routes() {
    Lines lines = box.actual();
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("route "); });
    return lines;
  }
  AgentBox box;
};

// --- Order of rows.

struct SampleRow {
  const char* table;
  const char* key;
  std::vector<Field> fields;
};
std::vector<SampleRow> sample() {
  return {{"PORT_TABLE", "A", {{"admin_status", "up"}}},
          {"INTF_TABLE", "A", {}},
          {"INTF_TABLE", "A:10.0.0.1/24", {}},
          {"NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}}},
          {"NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}},
          {"ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}}}};
}

TEST(AgentOrder, EveryOrderOfTheRowsGivesTheSameKernel) {
  const std::vector<SampleRow> rows = sample();
  const Lines expected{"address A 10.0.0.1/24", "group {A 10.0.0.2*1}", "neighbor A 10.0.0.2 02:00:00:00:00:02", "nexthop A 10.0.0.2",
                       "route 192.168.0.0/16 via {A 10.0.0.2*1}"};
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  do {
    for (const bool one_by_one : {false, true}) {
      AgentBox box;
      box.plane.add_port("A");
      box.start();
      for (const std::size_t i : order) {
        ASSERT_TRUE(box.runtime.table(rows[i].table).set(rows[i].key, rows[i].fields).ok());
        if (one_by_one) box.run_for(2ms);
      }
      box.run_for(1s);
      ASSERT_EQ(box.actual(), expected) << ::testing::PrintToString(order);
      ASSERT_EQ(box.owed(), 0U);
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST(AgentOrder, DeletesWaitForTheirReferencesInEveryOrder) {
  const std::vector<SampleRow> rows = sample();
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  do {
    AgentBox box;
    box.plane.add_port("A");
    box.start();
    for (const SampleRow& row : rows) ASSERT_TRUE(box.runtime.table(row.table).set(row.key, row.fields).ok());
    box.run_for(1s);
    for (const std::size_t i : order) {
      box.remove(rows[i].table, rows[i].key);
      box.run_for(2ms);
      if (box.plane.route_count() == 0) continue;
      ASSERT_EQ(box.actual().size(), 5U) << "something went before the route that needs it";
    }
    box.run_for(1s);
    ASSERT_THAT(box.actual(), IsEmpty()) << ::testing::PrintToString(order);
    ASSERT_EQ(box.owed(), 0U);
  } while (std::ranges::next_permutation(order).found);
}

// --- Groups.

TEST_F(SwitchAgent, AChangeOfAllMembersMakesBeforeItBreaks) {
  set_up(200);
  set_group("1", "10.0.0.2", "A");
  box.run_for(1s);
  const std::uint64_t programmed = box.agent.routes().counts().programmed;
  set_group("1", "10.1.0.2", "B");
  const bool dropped = box.world.run_until(
      box.runtime.scheduler(), [&] { return box.plane.route_count() != 200; }, 1s);
  EXPECT_FALSE(dropped);
  EXPECT_EQ(routes().front(), "route 172.16.0.0/24 via {B 10.1.0.2*1}");
  EXPECT_EQ(box.agent.routes().counts().programmed, programmed);
  EXPECT_EQ(box.agent.routes().counts().put_back, 0U);
}

TEST_F(SwitchAgent, AChangeOfMembersWaitsWhileTheNewOneIsRefusedForNow) {
  set_up(50);
  set_group("1", "10.0.0.2", "A");
  box.run_for(1s);
  box.remove("NEIGH_TABLE", "B:10.1.0.2");
  box.run_for(1s);
  add_neighbors();
  box.run_for(1s);
  box.plane.fail_by_chance(OrderKind::Nexthop, 1.0, ENOBUFS);
  set_group("1", "10.1.0.2", "B");
  box.run_for(1s);
  EXPECT_EQ(box.plane.route_count(), 50U);
  EXPECT_THAT(routes(), Contains("route 172.16.0.0/24 via {A 10.0.0.2*1}"));
  box.plane.fail_by_chance(OrderKind::Nexthop, 0.0, 0);
  box.run_for(2s);  // A refusal that repeats is retried after a growing delay.
  EXPECT_THAT(routes(), Contains("route 172.16.0.0/24 via {B 10.1.0.2*1}"));
  EXPECT_EQ(box.agent.routes().counts().put_back, 0U);
  EXPECT_EQ(box.owed(), 0U);
}

TEST(AgentRaces, TheOldMemberIsLostWhileAGroupMovesToTheNewOne) {
  // The event of the loss may arrive after the answer to an order that was carried out later; the routes must be restored in any case.
  for (std::int64_t delay = 0; delay < 200; ++delay) {
    AgentBox box;
    box.world.set_turn_cost(3us);  // The world runs after each turn.
    for (const char* port : {"A", "B"}) box.plane.add_port(port);
    box.start();
    for (const SampleRow& row : sample()) ASSERT_TRUE(box.runtime.table(row.table).set(row.key, row.fields).ok());
    box.set("PORT_TABLE", "B", {{"admin_status", "up"}});
    box.set("INTF_TABLE", "B", {});
    box.set("INTF_TABLE", "B:10.1.0.1/24", {});
    box.set("NEIGH_TABLE", "B:10.1.0.2", {{"neigh", "02:00:00:00:01:02"}});
    box.set("NEXTHOP_GROUP_TABLE", "2", {{"nexthop", "10.1.0.2"}, {"ifname", "B"}});
    box.run_for(1s);
    box.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.1.0.2"}, {"ifname", "B"}});
    box.world.after(std::chrono::microseconds{delay}, [&box] { box.plane.set_carrier("A", false); });
    box.run_for(2s);
    ASSERT_THAT(box.actual(), Contains("route 192.168.0.0/16 via {B 10.1.0.2*1}")) << delay << " us";
    ASSERT_EQ(box.owed(), 0U);
  }
}

TEST_F(SwitchAgent, AFlapOfOneMemberOrdersNoRoute) {
  set_up(300);
  const Routes::Counts before = box.agent.routes().counts();
  for (int i = 0; i < 20; ++i) {
    box.plane.set_carrier("B", i % 2 != 0);
    box.run_for(100ms);
    EXPECT_EQ(box.plane.route_count(), 300U);
    EXPECT_THAT(routes(), Contains(HasSubstr(i % 2 != 0 ? "{A 10.0.0.2*1, B 10.1.0.2*1}" : "{A 10.0.0.2*1}")));
  }
  const Routes::Counts after = box.agent.routes().counts();
  EXPECT_EQ(after.programmed, before.programmed);
  EXPECT_EQ(after.put_back, 0U);
  EXPECT_EQ(box.runtime.scheduler().stats().sweep_rescues, 0U);
}

TEST_F(SwitchAgent, OfManyChangesOfCarrierTheNewestAreRemembered) {
  set_up(1);
  const std::uint64_t before = box.agent.ports().event_wait_ns().count();
  constexpr std::uint64_t kChanges = limits::kCarrierChanges + 10;
  for (std::uint64_t i = 0; i < kChanges; ++i) {
    box.plane.set_carrier("A", i % 2 != 0);
    box.run_for(1ms);
  }
  EXPECT_EQ(box.agent.ports().event_wait_ns().count() - before, kChanges);
  const std::vector<Ports::Handled> kept = box.agent.ports().handled_since(0);
  ASSERT_EQ(kept.size(), limits::kCarrierChanges);
  EXPECT_EQ(kept.back().sequence - kept.front().sequence + 1, limits::kCarrierChanges) << "those in a row";
  EXPECT_GT(kept.front().sequence, kChanges - limits::kCarrierChanges) << "and the newest";
  EXPECT_EQ(kept.back().carrier, (kChanges - 1) % 2 != 0);
}

TEST_F(SwitchAgent, RoutesOfALostGroupArePutBackExactlyAndInSlices) {
  set_up(1000);
  const Lines before = box.actual();
  for (int i = 0; i < 3; ++i) {
    for (const char* port : {"A", "B"}) box.plane.set_carrier(port, false);
    box.run_for(200ms);
    EXPECT_EQ(box.plane.route_count(), 0U);
    for (const char* port : {"A", "B"}) box.plane.set_carrier(port, true);
    box.run_for(200ms);
    EXPECT_EQ(difference(box.actual(), before), Lines{});
  }
  EXPECT_EQ(box.agent.routes().counts().put_back, 3000U);
  box.runtime.scheduler().for_each_source([](const Source& source) {
    if (source.name() == "ROUTE_TABLE put back") {
      EXPECT_GE(source.stats().turns, 3 * 1000 / limits::kBatchItems);
    }
  });
}

TEST_F(SwitchAgent, AGroupThatIsDeletedWhileItsRoutesArePutBackIsGivenUp) {
  set_up(1000);
  for (const char* port : {"A", "B"}) box.plane.set_carrier(port, false);
  box.run_for(10ms);
  for (const char* port : {"A", "B"}) box.plane.set_carrier(port, true);
  for (int i = 0; i < 1000; ++i) box.remove("ROUTE_TABLE", prefix(i));
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  box.run_for(2s);
  EXPECT_THAT(routes(), IsEmpty());
  EXPECT_EQ(box.agent.nexthop_groups().counts().groups, 0U);
  EXPECT_EQ(box.owed(), 0U);
}

TEST(AgentRaces, PortsThatFlapInARouteStormLeaveNoRouteBehind) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AgentBox box{seed};
    for (const char* port : {"A", "B"}) box.plane.add_port(port);
    box.start();
    for (const SampleRow& row : sample()) ASSERT_TRUE(box.runtime.table(row.table).set(row.key, row.fields).ok());
    box.plane.fail_by_chance(OrderKind::Route, 0.05, ENOBUFS);
    Random& random = box.world.random();
    bool signal = true;
    for (int i = 0; i < 1500; ++i) {
      const std::string prefix = "172.16." + std::to_string(i % 250) + ".0/" + std::to_string(24 + i % 2);
      if (random.chance(0.2))
        box.remove("ROUTE_TABLE", prefix);
      else
        box.set("ROUTE_TABLE", prefix,
                {{"nexthop_group", random.chance(0.9) ? "1" : ""}, {"blackhole", random.chance(0.9) ? "false" : "true"}});
      if (random.chance(0.1))
        box.world.after(std::chrono::microseconds{random.below(200)}, [&box, &signal] { box.plane.set_carrier("A", signal = !signal); });
      if (random.chance(0.3)) box.run_for(std::chrono::microseconds{random.below(300)});
    }
    box.run_for(5ms);
    box.plane.fail_by_chance(OrderKind::Route, 0.0, 0);
    box.plane.set_carrier("A", true);
    box.run_for(5s);
    ASSERT_EQ(box.owed(), 0U);
    ASSERT_EQ(box.agent.routes().counts().routes, box.plane.route_count());
    ASSERT_EQ(box.runtime.scheduler().stats().sweep_rescues, 0U);
  }
}

// --- Ports and devices.

TEST_F(SwitchAgent, AnAdministrativeDownLosesNothingForGood) {
  set_up(20);
  const Lines before = box.actual();
  box.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  box.run_for(100ms);
  EXPECT_THAT(box.actual(), ::testing::Not(Contains("address A 2001:db8:a::1/64")));
  EXPECT_THAT(box.actual(), ::testing::Not(Contains(HasSubstr("neighbor A"))));
  box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  box.run_for(100ms);
  EXPECT_EQ(difference(box.actual(), before), Lines{});
}

TEST_F(SwitchAgent, ADeviceThatIsMadeAgainGetsAllThatWasOnIt) {
  box.set("PORT_TABLE", "A", {{"mtu", "9000"}});
  set_up(20);
  const Lines before = box.actual();
  for (const char* port : {"A", "B"}) box.plane.remove_port(port);
  box.run_for(100ms);
  EXPECT_THAT(box.actual(), IsEmpty());
  for (const char* port : {"B", "A"}) box.plane.add_port(port);  // With other indexes.
  box.run_for(1s);
  EXPECT_EQ(difference(box.actual(), before), Lines{});
  for (const LinkEvent& link : box.links()) EXPECT_EQ(link.mtu, link.name == "A" ? 9000U : 1500U);
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, RestoringIsTriedAgainWhenTheKernelRefusesIt) {
  set_up(20);
  const Lines before = box.actual();
  box.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  box.run_for(100ms);
  box.plane.fail_by_chance(OrderKind::Address, 1.0, ENOBUFS);
  box.plane.fail_by_chance(OrderKind::Neighbor, 1.0, ENOBUFS);
  box.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  box.run_for(1s);
  EXPECT_NE(box.actual(), before);
  box.plane.fail_by_chance(OrderKind::Address, 0.0, 0);
  box.plane.fail_by_chance(OrderKind::Neighbor, 0.0, 0);
  box.run_for(1s);
  EXPECT_EQ(difference(box.actual(), before), Lines{});
}

TEST_F(SwitchAgent, AnInterfaceCanBeRenumberedUnderItsNeighbors) {
  set_up(1);
  box.set("INTF_TABLE", "A:10.0.0.9/24", {});
  box.remove("INTF_TABLE", "A:10.0.0.1/24");
  box.run_for(1s);
  EXPECT_THAT(box.actual(), AllOf(Contains("address A 10.0.0.9/24"), ::testing::Not(Contains("address A 10.0.0.1/24")),
                                  Contains("neighbor A 10.0.0.2 02:00:00:00:00:02")));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, ANeighborMovesToAnotherMac) {
  set_up(1);
  box.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:77"}});
  box.run_for(1s);
  EXPECT_THAT(box.actual(), Contains("neighbor A 10.0.0.2 02:00:00:00:00:77"));
  EXPECT_EQ(box.plane.route_count(), 1U);
}

// A producer that rewrites a row deletes it first: both changes arrive in one turn.
TEST_F(SwitchAgent, AGroupThatIsWrittenAnewUnderItsRoutesGetsItsNewMembers) {
  set_up(2);
  ASSERT_THAT(routes(), Contains("route 172.16.0.0/24 via {A 10.0.0.2*1, B 10.1.0.2*1}"));
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  set_group("1", "10.1.0.2", "B");
  box.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 172.16.0.0/24 via {B 10.1.0.2*1}", "route 172.16.1.0/24 via {B 10.1.0.2*1}"));
  EXPECT_EQ(box.owed(), 0U);
}

// The group was given up, the kernel refused its deletion, and then a row wants the same group again.
TEST_F(SwitchAgent, AGroupWhoseDeletionWasRefusedIsOfUseAgainWhenItIsWantedAsItIs) {
  set_up(1);
  box.plane.set_carrier("B", false);
  box.run_for(100ms);
  box.plane.fail_nth(OrderKind::Nexthop, 1, ENOBUFS);
  set_group("1", "10.1.0.2", "B");  // Its port has no carrier: a group without members.
  box.run_for(1ms);
  ASSERT_EQ(box.plane.injected(), 1U);
  set_group("1", "10.0.0.2", "A");
  box.set("ROUTE_TABLE", "10.9.0.0/24", {{"nexthop_group", "1"}});
  box.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 10.9.0.0/24 via {A 10.0.0.2*1}", "route 172.16.0.0/24 via {A 10.0.0.2*1}"));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, ANeighborThatIsWrittenAnewUnderItsRoutesMovesToItsNewMac) {
  set_up(1);
  box.remove("NEIGH_TABLE", "A:10.0.0.2");
  box.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:77"}});
  box.run_for(1s);
  EXPECT_THAT(box.actual(), Contains("neighbor A 10.0.0.2 02:00:00:00:00:77"));
  EXPECT_EQ(box.plane.route_count(), 1U);
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, ARowTakesOverFromOneOfTheSamePrefixSpeltOtherwiseThatGoes) {
  add_port_rows();
  box.set("ROUTE_TABLE", "2001:DB8:5::/48", {{"blackhole", "true"}});
  box.run_for(1s);
  ASSERT_EQ(box.plane.route_count(), 1U);
  // In one batch: deletes the old spelling and sets the new one.
  box.remove("ROUTE_TABLE", "2001:DB8:5::/48");
  box.set("ROUTE_TABLE", "2001:db8:5::/48", {{"blackhole", "true"}});
  box.run_for(10ms);
  EXPECT_EQ(box.plane.route_count(), 1U);
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, AnAddressIsOneHoweverAKeySpellsIt) {
  add_port_rows();
  box.set("NEIGH_TABLE", "A:2001:DB8:A:0::2", {{"neigh", "02:00:00:00:00:02"}, {"family", "IPv6"}});
  set_group("6", "2001:db8:a::2", "A");
  box.set("ROUTE_TABLE", "2001:DB8:FF::/48", {{"nexthop_group", "6"}});
  box.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 2001:db8:ff::/48 via {A 2001:db8:a::2*1}"));
  // No rows have these keys: the store has other spellings.
  box.remove("ROUTE_TABLE", "2001:db8:ff::/48");
  box.remove("NEIGH_TABLE", "A:2001:db8:a::2");
  box.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 2001:db8:ff::/48 via {A 2001:db8:a::2*1}"));
  EXPECT_EQ(box.owed(), 0U);
  box.remove("ROUTE_TABLE", "2001:DB8:FF::/48");
  box.remove("NEXTHOP_GROUP_TABLE", "6");
  box.remove("NEIGH_TABLE", "A:2001:DB8:A:0::2");
  box.run_for(1s);
  EXPECT_THAT(box.actual(), ::testing::Each(HasSubstr("address")));
  EXPECT_EQ(box.owed(), 0U);
}

// --- Limits of the data plane.

class SmallSwitch : public SwitchAgent {
 protected:
  SmallSwitch() : SwitchAgent(limits()) {}
  static SimDataPlaneOptions limits() {
    SimDataPlaneOptions options;
    options.routes_max = 10;
    options.nexthops_max = 1;
    options.groups_max = 1;
    options.neighbors_max = 2;
    return options;
  }
};

TEST_F(SmallSwitch, WhatFindsNoRoomWaitsAndComesInWhenThereIsSome) {
  add_port_rows();
  add_neighbors();
  set_group("1", "10.0.0.2", "A");
  box.run_for(1s);
  set_group("2", "10.1.0.2", "B");  // No room for its next hop and for the group.
  box.set("NEIGH_TABLE", "A:10.0.0.3", {{"neigh", "02:00:00:00:00:03"}});
  add_routes(15, "1");
  box.run_for(1s);
  EXPECT_EQ(box.plane.route_count(), 10U);
  EXPECT_EQ(box.agent.nexthop_groups().counts().usable_groups, 1U);
  EXPECT_GE(box.stats("ROUTE_TABLE").parked, 5U);
  EXPECT_EQ(box.stats("NEIGH_TABLE").parked, 1U);
  EXPECT_THAT(box.rejects, IsEmpty());
  for (int i = 0; i < 15; ++i) box.remove("ROUTE_TABLE", prefix(i));
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  box.remove("NEIGH_TABLE", "A:10.0.0.2");
  box.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "2"}});
  box.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 192.168.0.0/16 via {B 10.1.0.2*1}"));
  EXPECT_THAT(box.actual(), Contains("neighbor A 10.0.0.3 02:00:00:00:00:03"));
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SmallSwitch, AGroupThatWaitsForRoomCanBeChangedAndDeleted) {
  add_port_rows();
  add_neighbors();
  set_group("1", "10.0.0.2", "A");
  box.run_for(1s);
  set_group("2", "10.0.0.2", "A");
  box.run_for(300ms);
  EXPECT_EQ(box.stats("NEXTHOP_GROUP_TABLE").in_flight, 0U);
  EXPECT_EQ(box.stats("NEXTHOP_GROUP_TABLE").parked, 1U);
  box.remove("NEXTHOP_GROUP_TABLE", "2");
  box.run_for(300ms);
  EXPECT_EQ(box.owed(), 0U);
  EXPECT_EQ(box.agent.nexthop_groups().counts().groups, 1U);
}

// --- Routes.

TEST_F(SwitchAgent, RoutesWithTheSameNextHopsShareOneGroup) {
  add_port_rows();
  add_neighbors();
  for (int i = 0; i < 100; ++i) {
    const bool turned = i % 2 != 0;
    box.set("ROUTE_TABLE", prefix(i),
            {{"nexthop", turned ? "10.1.0.2,10.0.0.2" : "10.0.0.2,10.1.0.2"}, {"ifname", turned ? "B,A" : "A,B"}});
  }
  box.run_for(1s);
  EXPECT_EQ(box.plane.route_count(), 100U);
  EXPECT_EQ(box.agent.nexthop_groups().counts().groups, 1U);
  EXPECT_EQ(box.agent.nexthop_groups().counts().group_replaces, 1U);
  for (int i = 0; i < 100; ++i) box.remove("ROUTE_TABLE", prefix(i));
  box.run_for(1s);
  EXPECT_EQ(box.agent.nexthop_groups().counts().groups, 0U);
  EXPECT_EQ(box.runtime.store().size("NEXTHOP_SET")->rows, 0U);
}

TEST_F(SwitchAgent, ASetThatNobodyCameToUseIsSwept) {
  add_port_rows();
  box.set("ROUTE_TABLE", prefix(0), {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});  // Its neighbour is missing.
  box.run_for(1s);
  EXPECT_EQ(box.runtime.store().size("NEXTHOP_SET")->rows, 1U);
  box.remove("ROUTE_TABLE", prefix(0));
  box.run_for(30s);
  EXPECT_EQ(box.runtime.store().size("NEXTHOP_SET")->rows, 0U);
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, ASetStaysWhileOthersWaitForIt) {
  add_port_rows();
  add_neighbors();
  const auto set_route = [&](int i) { box.set("ROUTE_TABLE", prefix(i), {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}); };
  set_route(0);
  box.run_for(1s);
  box.plane.set_carrier("A", false);
  box.run_for(100ms);
  set_route(1);
  box.run_for(100ms);
  box.remove("ROUTE_TABLE", prefix(0));  // The last route that used the set.
  box.run_for(100ms);
  box.plane.set_carrier("A", true);
  box.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 172.16.1.0/24 via {A 10.0.0.2*1}"));
}

TEST_F(SwitchAgent, ARouteMovesBetweenGroupSetAndBlackhole) {
  set_up(1);
  const auto expect = [&](const std::string& way) {
    box.run_for(1s);
    EXPECT_THAT(routes(), ElementsAre("route 172.16.0.0/24 " + way));
  };
  box.set("ROUTE_TABLE", prefix(0), {{"nexthop_group", ""}, {"nexthop", "10.1.0.2"}, {"ifname", "B"}});
  expect("via {B 10.1.0.2*1}");
  box.set("ROUTE_TABLE", prefix(0), {{"blackhole", "true"}, {"nexthop", ""}, {"ifname", ""}});
  expect("blackhole");
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  box.run_for(1s);
  EXPECT_EQ(box.agent.nexthop_groups().counts().groups, 0U) << "nobody uses the group and the set any more";
  set_group("1", "10.0.0.2", "A");
  box.set("ROUTE_TABLE", prefix(0), {{"blackhole", "false"}, {"nexthop_group", "1"}});
  expect("via {A 10.0.0.2*1}");
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, ADeletedRouteDoesNotWaitAnyMore) {
  add_port_rows();
  add_routes(100, "7");
  box.run_for(100ms);
  EXPECT_EQ(box.stats("ROUTE_TABLE").parked, 100U);
  for (int i = 0; i < 100; ++i) box.remove("ROUTE_TABLE", prefix(i));
  box.run_for(100ms);
  EXPECT_EQ(box.owed(), 0U);
  add_neighbors();
  set_group("7", "10.0.0.2", "A");
  box.run_for(1s);
  EXPECT_THAT(routes(), IsEmpty());
}

/// Resolves 1,000 waiting routes while 20,000 new ones are handled. Returns how many of the next 512 routes in the kernel had waited.
std::size_t resolved_among_the_next_512(std::uint32_t retry_quota) {
  AgentBox box{1, {}, {}, {}, {}, retry_quota};
  box.plane.add_port("swp1");
  box.start();
  box.set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  box.set("INTF_TABLE", "swp1", {});
  box.set("INTF_TABLE", "swp1:10.0.0.1/24", {});
  const auto key = [](int first, int i) {
    return std::to_string(first + i / 65536) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) + ".0/24";
  };
  for (int i = 0; i < 1000; ++i) box.set("ROUTE_TABLE", key(20, i), {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  box.run_for(1s);
  EXPECT_EQ(box.stats("ROUTE_TABLE").parked, 1000U);
  box.set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}, {"family", "IPv4"}});
  for (int i = 0; i < 20'000; ++i) box.set("ROUTE_TABLE", key(30, i), {{"blackhole", "true"}});
  const auto count = [&box] {
    std::pair<std::size_t, std::size_t> found{0, 0};  // All, and those that had waited.
    EXPECT_TRUE(box.plane
                    .routes([&found](const RouteEntry& route) {
                      ++found.first;
                      if (route.type == RouteType::Unicast) ++found.second;
                    })
                    .ok());
    return found;
  };
  std::size_t at_the_first = 0;
  for (int looks = 0; looks < 2000; ++looks) {
    const auto [all, resolved] = count();
    if (resolved > 0 && at_the_first == 0) at_the_first = all;
    if (at_the_first != 0 && all >= at_the_first + 512) return resolved;
    box.run_for(100us);
  }
  ADD_FAILURE() << "the routes never came";
  return 0;
}

TEST(AgentRetryQuota, BoundsTheRoutesThatATurnRetriesWhileNewOnesWait) {
  const std::size_t of_half = resolved_among_the_next_512(0);
  EXPECT_GT(of_half, 150U);
  EXPECT_LT(resolved_among_the_next_512(1), of_half / 8);
}

TEST_F(SwitchAgent, SetDeleteSetWhileInFlightEndsSet) {
  set_up(1);
  for (int delay = 0; delay < 60; ++delay) {
    box.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
    box.run_for(std::chrono::microseconds{delay % 8});
    box.remove("ROUTE_TABLE", "192.168.0.0/16");
    box.run_for(std::chrono::microseconds{delay / 8});
    box.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
    box.run_for(10ms);
    ASSERT_THAT(routes(), Contains("route 192.168.0.0/16 blackhole"));
    ASSERT_EQ(box.owed(), 0U);
    box.remove("ROUTE_TABLE", "192.168.0.0/16");
    box.run_for(10ms);
    ASSERT_EQ(box.plane.route_count(), 1U);
  }
}

TEST_F(SwitchAgent, WhatIsThereAlreadyIsNotOrderedAgain) {
  set_up(100);
  const std::uint64_t programmed = box.agent.routes().counts().programmed;
  add_routes(100, "1");
  box.run_for(1s);
  EXPECT_EQ(box.agent.routes().counts().programmed, programmed);
  EXPECT_EQ(box.agent.routes().counts().unchanged, 100U);
}

TEST_F(SwitchAgent, ARouteThatBecomesOtherSoftwaresIsLetGo) {
  set_up(1);
  box.set("ROUTE_TABLE", prefix(0), {{"nexthop_group", ""}, {"nexthop", "10.9.9.9"}, {"ifname", "eth0"}});
  box.run_for(1s);
  EXPECT_THAT(routes(), IsEmpty());
  EXPECT_EQ(box.owed(), 0U);
}

TEST_F(SwitchAgent, BadRowsAreRejectedWithTableKeyAndField) {
  const struct {
    const char* table;
    const char* key;
    Field field;
    const char* why;
  } cases[] = {{"PORT_TABLE", "A", {"mtu", "big"}, "mtu"},
               {"PORT_TABLE", "no/port", {"mtu", "1500"}, "no/port"},
               {"INTF_TABLE", "A", {"mtu", "12"}, "mtu"},
               {"INTF_TABLE", "A:10.0.0.1", {"scope", "global"}, "10.0.0.1"},
               {"NEIGH_TABLE", "A:10.0.0.2", {"neigh", "zz"}, "neigh"},
               {"NEIGH_TABLE", "A", {"neigh", "02:00:00:00:00:02"}, "<port>:<address>"},
               {"NEXTHOP_GROUP_TABLE", "1", {"nexthop", "10.0.0.2"}, "ifname"},
               {"NEXTHOP_GROUP_TABLE", "1", {"nexthop_group", "2,3"}, "nexthop_group"},
               {"ROUTE_TABLE", "10.0.0.1/8", {"nexthop_group", "1"}, "10.0.0.1/8"},
               {"ROUTE_TABLE", "10.0.0.0/8", {"blackhole", "maybe"}, "blackhole"}};
  for (const auto& c : cases) {
    box.rejects.clear();
    box.set(c.table, c.key, {c.field});
    box.run_for(100ms);
    EXPECT_THAT(box.rejects, ElementsAre(AllOf(HasSubstr(c.table), HasSubstr(c.key), HasSubstr(c.why)))) << c.table << " " << c.key;
  }
  EXPECT_EQ(box.owed(), 0U);
  EXPECT_THAT(box.actual(), IsEmpty());
}

// --- why

TEST(AgentWhy, FollowsTheChainDownToTheDevice) {
  AgentBox box;
  box.start();
  for (const SampleRow& row : sample()) ASSERT_TRUE(box.runtime.table(row.table).set(row.key, row.fields).ok());
  box.run_for(100ms);
  const std::string why = box.why("ROUTE_TABLE", "192.168.0.0/16");
  EXPECT_THAT(why,
              HasSubstr("ROUTE_TABLE:192.168.0.0/16 waits for nexthop-group:1 -> NEXTHOP_GROUP_TABLE:1 waits for neighbor:A:10.0.0.2 -> "
                        "NEIGH_TABLE:A:10.0.0.2 waits for interface:A (no address of that family on A"))
      << "the neighbor waits for two facts, and of the address, too, it is told where it would come from";
  EXPECT_THAT(why, HasSubstr("-> INTF_TABLE:A waits for port:A -> PORT_TABLE:A waits for device:A"));
  EXPECT_THAT(why, HasSubstr("the kernel has no device named 'A'"));
}

TEST(AgentWhy, SaysThatAGroupHasNoUsableMember) {
  AgentBox box;
  box.plane.add_port("A");
  box.plane.set_carrier("A", false);
  box.start();
  for (const SampleRow& row : sample()) ASSERT_TRUE(box.runtime.table(row.table).set(row.key, row.fields).ok());
  box.run_for(100ms);
  EXPECT_THAT(box.why("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr("no usable member: 10.0.0.2 on A: the port has no carrier"));
  box.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  box.run_for(1s);
  EXPECT_THAT(box.why("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr("no usable member: 10.0.0.2 on A: the port is administratively down"));
  box.plane.remove_port("A");
  box.run_for(1s);
  EXPECT_THAT(box.why("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr("no usable member: 10.0.0.2 on A: there is no such device"));
}

TEST_F(SwitchAgent, WhySaysWhatADeleteWaitsFor) {
  set_up(3);
  box.remove("NEXTHOP_GROUP_TABLE", "1");
  box.run_for(100ms);
  EXPECT_THAT(box.why("NEXTHOP_GROUP_TABLE", "1"), AllOf(HasSubstr("group-unused:1"), HasSubstr("3 routes still use it, 172.16.")));
  box.remove("NEIGH_TABLE", "A:10.0.0.2");
  box.remove("INTF_TABLE", "A");
  box.run_for(100ms);
  EXPECT_THAT(box.why("NEIGH_TABLE", "A:10.0.0.2"), HasSubstr("(nexthop-group:1 still has A:10.0.0.2 as a member)"));
  EXPECT_THAT(box.why("INTF_TABLE", "A"), HasSubstr("(A still has addresses, 10.0.0.1/24 among them;"));
}

// --- After a restart.

}  // namespace
}  // namespace rondo::switch_agent
