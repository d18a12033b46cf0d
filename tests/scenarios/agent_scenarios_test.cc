// The rules of the agent, one per test, on the simulated kernel: order of rows, references, ports that flap, lost groups, limits of the
// data plane, and the text of `why`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "agent_testbed.h"
#include "rondo/base/limits.h"
#include "switch_agent/limits.h"

namespace rondo::switch_agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two ports, a neighbour on each, and the common setup of most tests.
class AgentScenarios : public ::testing::Test {
 protected:
  explicit AgentScenarios(SimDataPlaneOptions options = {}) : testbed(1, std::move(options)) {
    for (const char* port : {"A", "B"}) testbed.plane.add_port(port);
    testbed.start();
  }
  void add_port_rows() {
    for (const char* port : {"A", "B"}) {
      testbed.set("PORT_TABLE", port, {{"admin_status", "up"}});
      testbed.set("INTF_TABLE", port, {});
    }
    testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
    testbed.set("INTF_TABLE", "B:10.1.0.1/24", {});
    testbed.set("INTF_TABLE", "A:2001:db8:a::1/64", {});
  }
  void add_neighbors() {
    testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    testbed.set("NEIGH_TABLE", "B:10.1.0.2", {{"neigh", "02:00:00:00:01:02"}});
  }
  void set_group(std::string_view name, std::string_view gateways, std::string_view ports) {
    testbed.set("NEXTHOP_GROUP_TABLE", name, {{"nexthop", gateways}, {"ifname", ports}});
  }
  void add_routes(int count, std::string_view group) {
    for (int i = 0; i < count; ++i) testbed.set("ROUTE_TABLE", prefix(i), {{"nexthop_group", group}});
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
    testbed.run_for(1s);
    ASSERT_EQ(testbed.plane.route_count(), static_cast<std::size_t>(routes));
  }
  Lines routes() {
    Lines lines = testbed.actual();
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("route "); });
    return lines;
  }
  AgentTestbed testbed;
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
      AgentTestbed testbed;
      testbed.plane.add_port("A");
      testbed.start();
      for (const std::size_t i : order) {
        ASSERT_TRUE(testbed.runtime.table(rows[i].table).set(rows[i].key, rows[i].fields).ok());
        if (one_by_one) testbed.run_for(2ms);
      }
      testbed.run_for(1s);
      ASSERT_EQ(testbed.actual(), expected) << ::testing::PrintToString(order);
      ASSERT_EQ(testbed.unsettled(), 0U);
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST(AgentOrder, DeletesWaitForTheirReferencesInEveryOrder) {
  const std::vector<SampleRow> rows = sample();
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  do {
    AgentTestbed testbed;
    testbed.plane.add_port("A");
    testbed.start();
    for (const SampleRow& row : rows) ASSERT_TRUE(testbed.runtime.table(row.table).set(row.key, row.fields).ok());
    testbed.run_for(1s);
    for (const std::size_t i : order) {
      testbed.remove(rows[i].table, rows[i].key);
      testbed.run_for(2ms);
      if (testbed.plane.route_count() == 0) continue;
      ASSERT_EQ(testbed.actual().size(), 5U) << "something went before the route that needs it";
    }
    testbed.run_for(1s);
    ASSERT_THAT(testbed.actual(), IsEmpty()) << ::testing::PrintToString(order);
    ASSERT_EQ(testbed.unsettled(), 0U);
  } while (std::ranges::next_permutation(order).found);
}

// --- Groups.

TEST_F(AgentScenarios, AChangeOfAllMembersMakesBeforeItBreaks) {
  set_up(200);
  set_group("1", "10.0.0.2", "A");
  testbed.run_for(1s);
  const std::uint64_t programmed = testbed.agent.routes().counts().programmed;
  set_group("1", "10.1.0.2", "B");
  const bool dropped = testbed.world.run_until(
      testbed.runtime.scheduler(), [&] { return testbed.plane.route_count() != 200; }, 1s);
  EXPECT_FALSE(dropped);
  EXPECT_EQ(routes().front(), "route 172.16.0.0/24 via {B 10.1.0.2*1}");
  EXPECT_EQ(testbed.agent.routes().counts().programmed, programmed);
  EXPECT_EQ(testbed.agent.routes().counts().put_back, 0U);
}

TEST_F(AgentScenarios, AChangeOfMembersWaitsWhileTheNewOneIsRefusedForNow) {
  set_up(50);
  set_group("1", "10.0.0.2", "A");
  testbed.run_for(1s);
  testbed.remove("NEIGH_TABLE", "B:10.1.0.2");
  testbed.run_for(1s);
  add_neighbors();
  testbed.run_for(1s);
  testbed.plane.fail_by_chance(OrderKind::Nexthop, 1.0, ENOBUFS);
  set_group("1", "10.1.0.2", "B");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 50U);
  EXPECT_THAT(routes(), Contains("route 172.16.0.0/24 via {A 10.0.0.2*1}"));
  testbed.plane.fail_by_chance(OrderKind::Nexthop, 0.0, 0);
  testbed.run_for(2s);  // A refusal that repeats is retried after a growing delay.
  EXPECT_THAT(routes(), Contains("route 172.16.0.0/24 via {B 10.1.0.2*1}"));
  EXPECT_EQ(testbed.agent.routes().counts().put_back, 0U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST(AgentRaces, TheOldMemberIsLostWhileAGroupMovesToTheNewOne) {
  // The event of the loss may arrive after the answer to an order that was carried out later; the routes must be restored in any case.
  for (std::int64_t delay = 0; delay < 200; ++delay) {
    AgentTestbed testbed;
    testbed.world.set_turn_cost(3us);  // The world runs after each turn.
    for (const char* port : {"A", "B"}) testbed.plane.add_port(port);
    testbed.start();
    for (const SampleRow& row : sample()) ASSERT_TRUE(testbed.runtime.table(row.table).set(row.key, row.fields).ok());
    testbed.set("PORT_TABLE", "B", {{"admin_status", "up"}});
    testbed.set("INTF_TABLE", "B", {});
    testbed.set("INTF_TABLE", "B:10.1.0.1/24", {});
    testbed.set("NEIGH_TABLE", "B:10.1.0.2", {{"neigh", "02:00:00:00:01:02"}});
    testbed.set("NEXTHOP_GROUP_TABLE", "2", {{"nexthop", "10.1.0.2"}, {"ifname", "B"}});
    testbed.run_for(1s);
    testbed.set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.1.0.2"}, {"ifname", "B"}});
    testbed.world.after(std::chrono::microseconds{delay}, [&testbed] { testbed.plane.set_carrier("A", false); });
    testbed.run_for(2s);
    ASSERT_THAT(testbed.actual(), Contains("route 192.168.0.0/16 via {B 10.1.0.2*1}")) << delay << " us";
    ASSERT_EQ(testbed.unsettled(), 0U);
  }
}

TEST_F(AgentScenarios, AFlapOfOneMemberOrdersNoRoute) {
  set_up(300);
  const Routes::Counts before = testbed.agent.routes().counts();
  for (int i = 0; i < 20; ++i) {
    testbed.plane.set_carrier("B", i % 2 != 0);
    testbed.run_for(100ms);
    EXPECT_EQ(testbed.plane.route_count(), 300U);
    EXPECT_THAT(routes(), Contains(HasSubstr(i % 2 != 0 ? "{A 10.0.0.2*1, B 10.1.0.2*1}" : "{A 10.0.0.2*1}")));
  }
  const Routes::Counts after = testbed.agent.routes().counts();
  EXPECT_EQ(after.programmed, before.programmed);
  EXPECT_EQ(after.put_back, 0U);
  EXPECT_EQ(testbed.runtime.scheduler().stats().sweep_rescues, 0U);
}

TEST_F(AgentScenarios, OfManyChangesOfCarrierTheNewestAreRemembered) {
  set_up(1);
  const std::uint64_t before = testbed.agent.ports().event_wait_ns().count();
  constexpr std::uint64_t kChanges = limits::kCarrierChanges + 10;
  for (std::uint64_t i = 0; i < kChanges; ++i) {
    testbed.plane.set_carrier("A", i % 2 != 0);
    testbed.run_for(1ms);
  }
  EXPECT_EQ(testbed.agent.ports().event_wait_ns().count() - before, kChanges);
  const std::vector<Ports::Handled> kept = testbed.agent.ports().handled_since(0);
  ASSERT_EQ(kept.size(), limits::kCarrierChanges);
  EXPECT_EQ(kept.back().sequence - kept.front().sequence + 1, limits::kCarrierChanges) << "those in a row";
  EXPECT_GT(kept.front().sequence, kChanges - limits::kCarrierChanges) << "and the newest";
  EXPECT_EQ(kept.back().carrier, (kChanges - 1) % 2 != 0);
}

TEST_F(AgentScenarios, RoutesOfALostGroupArePutBackExactlyAndInSlices) {
  set_up(1000);
  const Lines before = testbed.actual();
  for (int i = 0; i < 3; ++i) {
    for (const char* port : {"A", "B"}) testbed.plane.set_carrier(port, false);
    testbed.run_for(200ms);
    EXPECT_EQ(testbed.plane.route_count(), 0U);
    for (const char* port : {"A", "B"}) testbed.plane.set_carrier(port, true);
    testbed.run_for(200ms);
    EXPECT_EQ(difference(testbed.actual(), before), Lines{});
  }
  EXPECT_EQ(testbed.agent.routes().counts().put_back, 3000U);
  testbed.runtime.scheduler().for_each_source([](const Source& source) {
    if (source.name() == "ROUTE_TABLE put back") {
      EXPECT_GE(source.stats().turns, 3 * 1000 / limits::kBatchItems);
    }
  });
}

TEST_F(AgentScenarios, AGroupThatIsDeletedWhileItsRoutesArePutBackIsGivenUp) {
  set_up(1000);
  for (const char* port : {"A", "B"}) testbed.plane.set_carrier(port, false);
  testbed.run_for(10ms);
  for (const char* port : {"A", "B"}) testbed.plane.set_carrier(port, true);
  for (int i = 0; i < 1000; ++i) testbed.remove("ROUTE_TABLE", prefix(i));
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.run_for(2s);
  EXPECT_THAT(routes(), IsEmpty());
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().groups, 0U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST(AgentRaces, PortsThatFlapInARouteStormLeaveNoRouteBehind) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AgentTestbed testbed{seed};
    for (const char* port : {"A", "B"}) testbed.plane.add_port(port);
    testbed.start();
    for (const SampleRow& row : sample()) ASSERT_TRUE(testbed.runtime.table(row.table).set(row.key, row.fields).ok());
    testbed.plane.fail_by_chance(OrderKind::Route, 0.05, ENOBUFS);
    Random& random = testbed.world.random();
    bool signal = true;
    for (int i = 0; i < 1500; ++i) {
      const std::string prefix = "172.16." + std::to_string(i % 250) + ".0/" + std::to_string(24 + i % 2);
      if (random.chance(0.2))
        testbed.remove("ROUTE_TABLE", prefix);
      else
        testbed.set("ROUTE_TABLE", prefix,
                    {{"nexthop_group", random.chance(0.9) ? "1" : ""}, {"blackhole", random.chance(0.9) ? "false" : "true"}});
      if (random.chance(0.1))
        testbed.world.after(std::chrono::microseconds{random.below(200)},
                            [&testbed, &signal] { testbed.plane.set_carrier("A", signal = !signal); });
      if (random.chance(0.3)) testbed.run_for(std::chrono::microseconds{random.below(300)});
    }
    testbed.run_for(5ms);
    testbed.plane.fail_by_chance(OrderKind::Route, 0.0, 0);
    testbed.plane.set_carrier("A", true);
    testbed.run_for(5s);
    ASSERT_EQ(testbed.unsettled(), 0U);
    ASSERT_EQ(testbed.agent.routes().counts().routes, testbed.plane.route_count());
    ASSERT_EQ(testbed.runtime.scheduler().stats().sweep_rescues, 0U);
  }
}

/// SONiC's document has a peer that flaps with 50,000 routes: they freeze an orchagent without a limit of a turn for more than 10 s. Here
/// the event of a port that carries some of them is handled within one turn of the routes.
TEST_F(AgentScenarios, RoutesThatAreWithdrawnAndAnnouncedAgainDoNotDelayTheEventOfAPort) {
  constexpr int kRoutes = 50'000;  // With fewer the first turns end before the port's event.
  set_up(kRoutes);
  const Lines before = testbed.actual();
  const auto route_turns = [this] {
    std::uint64_t turns = 0;
    testbed.runtime.scheduler().for_each_source([&turns](const Source& source) {
      if (source.name() == "ROUTE_TABLE") turns = source.stats().turns;
    });
    return turns;
  };
  const std::uint64_t turns = route_turns();
  const Instant start = testbed.world.clock().now();
  for (int i = 0; i < kRoutes; ++i) testbed.remove("ROUTE_TABLE", prefix(i));
  add_routes(kRoutes, "1");
  testbed.world.after(200us, [this] { testbed.plane.set_carrier("A", false); });
  const auto is_handled = [this] {
    const auto handled = testbed.agent.ports().handled_since(0);
    return !handled.empty() && !handled.back().carrier;
  };
  while (!is_handled() && testbed.world.clock().now() < start + 1s) testbed.run_for(10us);
  EXPECT_LE(testbed.world.clock().now() - start, 200us + 1ms) << "the routes are far from done";
  EXPECT_GT(testbed.unsettled(), 0U);
  testbed.plane.set_carrier("A", true);
  testbed.run_for(30s);
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_EQ(difference(testbed.actual(), before), Lines{});
  EXPECT_GE(route_turns() - turns, static_cast<std::uint64_t>(kRoutes) / limits::kBatchItems) << "each turn is bounded";
  EXPECT_EQ(testbed.runtime.scheduler().stats().sweep_rescues, 0U);
}

// --- Ports and devices.

TEST_F(AgentScenarios, AnAdministrativeDownLosesNothingForGood) {
  set_up(20);
  const Lines before = testbed.actual();
  testbed.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  testbed.run_for(100ms);
  EXPECT_THAT(testbed.actual(), ::testing::Not(Contains("address A 2001:db8:a::1/64")));
  EXPECT_THAT(testbed.actual(), ::testing::Not(Contains(HasSubstr("neighbor A"))));
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.run_for(100ms);
  EXPECT_EQ(difference(testbed.actual(), before), Lines{});
}

TEST_F(AgentScenarios, ADeviceThatIsMadeAgainGetsAllThatWasOnIt) {
  testbed.set("PORT_TABLE", "A", {{"mtu", "9000"}});
  set_up(20);
  const Lines before = testbed.actual();
  for (const char* port : {"A", "B"}) testbed.plane.remove_port(port);
  testbed.run_for(100ms);
  EXPECT_THAT(testbed.actual(), IsEmpty());
  for (const char* port : {"B", "A"}) testbed.plane.add_port(port);  // With other indexes.
  testbed.run_for(1s);
  EXPECT_EQ(difference(testbed.actual(), before), Lines{});
  for (const LinkEvent& link : testbed.links()) EXPECT_EQ(link.mtu, link.name == "A" ? 9000U : 1500U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(AgentScenarios, RestoringIsTriedAgainWhenTheKernelRefusesIt) {
  set_up(20);
  const Lines before = testbed.actual();
  testbed.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  testbed.run_for(100ms);
  testbed.plane.fail_by_chance(OrderKind::Address, 1.0, ENOBUFS);
  testbed.plane.fail_by_chance(OrderKind::Neighbor, 1.0, ENOBUFS);
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.run_for(1s);
  EXPECT_NE(testbed.actual(), before);
  testbed.plane.fail_by_chance(OrderKind::Address, 0.0, 0);
  testbed.plane.fail_by_chance(OrderKind::Neighbor, 0.0, 0);
  testbed.run_for(1s);
  EXPECT_EQ(difference(testbed.actual(), before), Lines{});
}

TEST_F(AgentScenarios, AnInterfaceCanBeRenumberedUnderItsNeighbors) {
  set_up(1);
  testbed.set("INTF_TABLE", "A:10.0.0.9/24", {});
  testbed.remove("INTF_TABLE", "A:10.0.0.1/24");
  testbed.run_for(1s);
  EXPECT_THAT(testbed.actual(), AllOf(Contains("address A 10.0.0.9/24"), ::testing::Not(Contains("address A 10.0.0.1/24")),
                                      Contains("neighbor A 10.0.0.2 02:00:00:00:00:02")));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(AgentScenarios, ANeighborMovesToAnotherMac) {
  set_up(1);
  testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:77"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.actual(), Contains("neighbor A 10.0.0.2 02:00:00:00:00:77"));
  EXPECT_EQ(testbed.plane.route_count(), 1U);
}

// A producer that rewrites a row deletes it first: both changes arrive in one turn.
TEST_F(AgentScenarios, AGroupThatIsWrittenAnewUnderItsRoutesGetsItsNewMembers) {
  set_up(2);
  ASSERT_THAT(routes(), Contains("route 172.16.0.0/24 via {A 10.0.0.2*1, B 10.1.0.2*1}"));
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  set_group("1", "10.1.0.2", "B");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 172.16.0.0/24 via {B 10.1.0.2*1}", "route 172.16.1.0/24 via {B 10.1.0.2*1}"));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

// The group was not wanted any more, the kernel refused its deletion, and then a row wants the same group again.
TEST_F(AgentScenarios, AGroupWhoseDeletionWasRefusedIsOfUseAgainWhenItIsWantedAsItIs) {
  set_up(1);
  testbed.plane.set_carrier("B", false);
  testbed.run_for(100ms);
  testbed.plane.fail_nth(OrderKind::Nexthop, 1, ENOBUFS);
  set_group("1", "10.1.0.2", "B");  // Its port has no carrier: a group without members.
  testbed.run_for(1ms);
  ASSERT_EQ(testbed.plane.injected(), 1U);
  set_group("1", "10.0.0.2", "A");
  testbed.set("ROUTE_TABLE", "10.9.0.0/24", {{"nexthop_group", "1"}});
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 10.9.0.0/24 via {A 10.0.0.2*1}", "route 172.16.0.0/24 via {A 10.0.0.2*1}"));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(AgentScenarios, ANeighborThatIsWrittenAnewUnderItsRoutesMovesToItsNewMac) {
  set_up(1);
  testbed.remove("NEIGH_TABLE", "A:10.0.0.2");
  testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:77"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.actual(), Contains("neighbor A 10.0.0.2 02:00:00:00:00:77"));
  EXPECT_EQ(testbed.plane.route_count(), 1U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(AgentScenarios, ARowTakesOverFromOneOfTheSamePrefixSpeltOtherwiseThatGoes) {
  add_port_rows();
  testbed.set("ROUTE_TABLE", "2001:DB8:5::/48", {{"blackhole", "true"}});
  testbed.run_for(1s);
  ASSERT_EQ(testbed.plane.route_count(), 1U);
  // In one batch: deletes the old spelling and sets the new one.
  testbed.remove("ROUTE_TABLE", "2001:DB8:5::/48");
  testbed.set("ROUTE_TABLE", "2001:db8:5::/48", {{"blackhole", "true"}});
  testbed.run_for(10ms);
  EXPECT_EQ(testbed.plane.route_count(), 1U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(AgentScenarios, AnAddressIsOneHoweverAKeySpellsIt) {
  add_port_rows();
  testbed.set("NEIGH_TABLE", "A:2001:DB8:A:0::2", {{"neigh", "02:00:00:00:00:02"}, {"family", "IPv6"}});
  set_group("6", "2001:db8:a::2", "A");
  testbed.set("ROUTE_TABLE", "2001:DB8:FF::/48", {{"nexthop_group", "6"}});
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 2001:db8:ff::/48 via {A 2001:db8:a::2*1}"));
  // No rows have these keys: the store has other spellings.
  testbed.remove("ROUTE_TABLE", "2001:db8:ff::/48");
  testbed.remove("NEIGH_TABLE", "A:2001:db8:a::2");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 2001:db8:ff::/48 via {A 2001:db8:a::2*1}"));
  EXPECT_EQ(testbed.unsettled(), 0U);
  testbed.remove("ROUTE_TABLE", "2001:DB8:FF::/48");
  testbed.remove("NEXTHOP_GROUP_TABLE", "6");
  testbed.remove("NEIGH_TABLE", "A:2001:DB8:A:0::2");
  testbed.run_for(1s);
  EXPECT_THAT(testbed.actual(), ::testing::Each(HasSubstr("address")));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

// --- Limits of the data plane.

class SmallSwitch : public AgentScenarios {
 protected:
  SmallSwitch() : AgentScenarios(limits()) {}
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
  testbed.run_for(1s);
  set_group("2", "10.1.0.2", "B");  // No room for its next hop and for the group.
  testbed.set("NEIGH_TABLE", "A:10.0.0.3", {{"neigh", "02:00:00:00:00:03"}});
  add_routes(15, "1");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 10U);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().usable_groups, 1U);
  EXPECT_GE(testbed.stats("ROUTE_TABLE").parked, 5U);
  EXPECT_EQ(testbed.stats("NEIGH_TABLE").parked, 1U);
  EXPECT_THAT(testbed.rejects, IsEmpty());
  for (int i = 0; i < 15; ++i) testbed.remove("ROUTE_TABLE", prefix(i));
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.remove("NEIGH_TABLE", "A:10.0.0.2");
  testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "2"}});
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 192.168.0.0/16 via {B 10.1.0.2*1}"));
  EXPECT_THAT(testbed.actual(), Contains("neighbor A 10.0.0.3 02:00:00:00:00:03"));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(SmallSwitch, AGroupThatWaitsForRoomCanBeChangedAndDeleted) {
  add_port_rows();
  add_neighbors();
  set_group("1", "10.0.0.2", "A");
  testbed.run_for(1s);
  set_group("2", "10.0.0.2", "A");
  testbed.run_for(300ms);
  EXPECT_EQ(testbed.stats("NEXTHOP_GROUP_TABLE").in_flight, 0U);
  EXPECT_EQ(testbed.stats("NEXTHOP_GROUP_TABLE").parked, 1U);
  testbed.remove("NEXTHOP_GROUP_TABLE", "2");
  testbed.run_for(300ms);
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().groups, 1U);
}

// --- Routes.

TEST_F(AgentScenarios, RoutesWithTheSameNextHopsShareOneGroup) {
  add_port_rows();
  add_neighbors();
  for (int i = 0; i < 100; ++i) {
    const bool turned = i % 2 != 0;
    testbed.set("ROUTE_TABLE", prefix(i),
                {{"nexthop", turned ? "10.1.0.2,10.0.0.2" : "10.0.0.2,10.1.0.2"}, {"ifname", turned ? "B,A" : "A,B"}});
  }
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.route_count(), 100U);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().groups, 1U);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().group_replaces, 1U);
  for (int i = 0; i < 100; ++i) testbed.remove("ROUTE_TABLE", prefix(i));
  testbed.run_for(1s);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().groups, 0U);
}

TEST_F(AgentScenarios, NextHopsThatAreWantedAndNotThereAreCountedApart) {
  add_port_rows();
  add_neighbors();
  testbed.set("NEXTHOP_GROUP_TABLE", "g", {{"nexthop", "10.0.0.2,10.1.0.2"}, {"ifname", "A,B"}});
  testbed.run_for(1s);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().present_nexthops, 2U);
  testbed.plane.set_carrier("A", false);
  testbed.run_for(1s);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().nexthops, 2U);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().present_nexthops, 1U);
}

TEST_F(AgentScenarios, ASetThatNobodyCameToUseIsSwept) {
  add_port_rows();
  testbed.set("ROUTE_TABLE", prefix(0), {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});  // Its neighbour is missing.
  testbed.run_for(1s);
  testbed.remove("ROUTE_TABLE", prefix(0));
  testbed.run_for(30s);
  add_neighbors();
  testbed.run_for(1s);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().group_replaces, 0U);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

/// The second use comes before the set's group is deleted, while the order for it is under way, and after it.
TEST_F(AgentScenarios, ASetThatIsLeftAndUsedAgainAtAnyMomentHasItsRoute) {
  add_port_rows();
  add_neighbors();
  const auto set_route = [&] { testbed.set("ROUTE_TABLE", prefix(0), {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}); };
  set_route();
  testbed.run_for(1s);
  std::set<std::uint64_t> orders;
  for (auto moment = 0us; moment <= 400us; moment += 5us) {
    const std::uint64_t before = testbed.agent.nexthop_groups().counts().group_replaces;
    testbed.remove("ROUTE_TABLE", prefix(0));
    testbed.run_for(moment);
    set_route();
    testbed.run_for(1s);
    EXPECT_THAT(routes(), ElementsAre("route 172.16.0.0/24 via {A 10.0.0.2*1}")) << moment / 1us;
    EXPECT_EQ(testbed.unsettled(), 0U) << moment / 1us;
    orders.insert(testbed.agent.nexthop_groups().counts().group_replaces - before);
  }
  EXPECT_THAT(orders, ElementsAre(0U, 1U)) << "some moments were before the deletion, and some after it";
}

TEST_F(AgentScenarios, ASetStaysWhileOthersWaitForIt) {
  add_port_rows();
  add_neighbors();
  const auto set_route = [&](int i) { testbed.set("ROUTE_TABLE", prefix(i), {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}); };
  set_route(0);
  testbed.run_for(1s);
  testbed.plane.set_carrier("A", false);
  testbed.run_for(100ms);
  set_route(1);
  testbed.run_for(100ms);
  testbed.remove("ROUTE_TABLE", prefix(0));  // The last route that used the set.
  testbed.run_for(100ms);
  testbed.plane.set_carrier("A", true);
  testbed.run_for(1s);
  EXPECT_THAT(routes(), ElementsAre("route 172.16.1.0/24 via {A 10.0.0.2*1}"));
}

TEST_F(AgentScenarios, ARouteMovesBetweenGroupSetAndBlackhole) {
  set_up(1);
  const auto expect = [&](const std::string& way) {
    testbed.run_for(1s);
    EXPECT_THAT(routes(), ElementsAre("route 172.16.0.0/24 " + way));
  };
  testbed.set("ROUTE_TABLE", prefix(0), {{"nexthop_group", ""}, {"nexthop", "10.1.0.2"}, {"ifname", "B"}});
  expect("via {B 10.1.0.2*1}");
  testbed.set("ROUTE_TABLE", prefix(0), {{"blackhole", "true"}, {"nexthop", ""}, {"ifname", ""}});
  expect("blackhole");
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.agent.nexthop_groups().counts().groups, 0U) << "nobody uses the group and the set any more";
  set_group("1", "10.0.0.2", "A");
  testbed.set("ROUTE_TABLE", prefix(0), {{"blackhole", "false"}, {"nexthop_group", "1"}});
  expect("via {A 10.0.0.2*1}");
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(AgentScenarios, ADeletedRouteDoesNotWaitAnyMore) {
  add_port_rows();
  add_routes(100, "7");
  testbed.run_for(100ms);
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").parked, 100U);
  for (int i = 0; i < 100; ++i) testbed.remove("ROUTE_TABLE", prefix(i));
  testbed.run_for(100ms);
  EXPECT_EQ(testbed.unsettled(), 0U);
  add_neighbors();
  set_group("7", "10.0.0.2", "A");
  testbed.run_for(1s);
  EXPECT_THAT(routes(), IsEmpty());
}

/// Resolves 1,000 waiting routes while 20,000 new ones are handled. Returns how many of the next 512 routes in the kernel had waited.
std::size_t resolved_among_the_next_512(std::uint32_t retry_quota) {
  AgentTestbed testbed{1, {}, {}, {}, {}, retry_quota};
  testbed.plane.add_port("swp1");
  testbed.start();
  testbed.set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  testbed.set("INTF_TABLE", "swp1", {});
  testbed.set("INTF_TABLE", "swp1:10.0.0.1/24", {});
  const auto key = [](int first, int i) {
    return std::to_string(first + i / 65536) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) + ".0/24";
  };
  for (int i = 0; i < 1000; ++i) testbed.set("ROUTE_TABLE", key(20, i), {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  testbed.run_for(1s);
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").parked, 1000U);
  testbed.set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}, {"family", "IPv4"}});
  for (int i = 0; i < 20'000; ++i) testbed.set("ROUTE_TABLE", key(30, i), {{"blackhole", "true"}});
  const auto count = [&testbed] {
    std::pair<std::size_t, std::size_t> found{0, 0};  // All, and those that had waited.
    EXPECT_TRUE(testbed.plane
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
    testbed.run_for(100us);
  }
  ADD_FAILURE() << "the routes never came";
  return 0;
}

TEST(AgentRetryQuota, BoundsTheRoutesThatATurnRetriesWhileNewOnesWait) {
  const std::size_t of_half = resolved_among_the_next_512(0);
  EXPECT_GT(of_half, 150U);
  EXPECT_LT(resolved_among_the_next_512(1), of_half / 8);
}

TEST_F(AgentScenarios, SetDeleteSetWhileInFlightEndsSet) {
  set_up(1);
  for (int delay = 0; delay < 60; ++delay) {
    testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
    testbed.run_for(std::chrono::microseconds{delay % 8});
    testbed.remove("ROUTE_TABLE", "192.168.0.0/16");
    testbed.run_for(std::chrono::microseconds{delay / 8});
    testbed.set("ROUTE_TABLE", "192.168.0.0/16", {{"blackhole", "true"}});
    testbed.run_for(10ms);
    ASSERT_THAT(routes(), Contains("route 192.168.0.0/16 blackhole"));
    ASSERT_EQ(testbed.unsettled(), 0U);
    testbed.remove("ROUTE_TABLE", "192.168.0.0/16");
    testbed.run_for(10ms);
    ASSERT_EQ(testbed.plane.route_count(), 1U);
  }
}

TEST_F(AgentScenarios, WhatIsThereAlreadyIsNotOrderedAgain) {
  set_up(100);
  const std::uint64_t programmed = testbed.agent.routes().counts().programmed;
  add_routes(100, "1");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.agent.routes().counts().programmed, programmed);
  EXPECT_EQ(testbed.agent.routes().counts().unchanged, 100U);
}

TEST_F(AgentScenarios, ARouteThatBecomesOtherSoftwaresIsLetGo) {
  set_up(1);
  testbed.set("ROUTE_TABLE", prefix(0), {{"nexthop_group", ""}, {"nexthop", "10.9.9.9"}, {"ifname", "eth0"}});
  testbed.run_for(1s);
  EXPECT_THAT(routes(), IsEmpty());
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(AgentScenarios, BadRowsAreRejectedWithTableKeyAndField) {
  const struct {
    const char* table;
    const char* key;
    Field field;
    const char* why;
  } cases[] = {{"PORT_TABLE", "A", {"mtu", "big"}, "mtu"},
               {"PORT_TABLE", "no/port", {"mtu", "1500"}, "no/port"},
               {"INTF_TABLE", "A", {"mtu", "12"}, "mtu"},
               {"INTF_TABLE", "A:10.0.0.1/33", {"scope", "global"}, "10.0.0.1/33"},
               {"NEIGH_TABLE", "A:10.0.0.2", {"neigh", "zz"}, "neigh"},
               {"NEIGH_TABLE", "A", {"neigh", "02:00:00:00:00:02"}, "<port>:<address>"},
               {"NEXTHOP_GROUP_TABLE", "1", {"nexthop", "10.0.0.2"}, "ifname"},
               {"NEXTHOP_GROUP_TABLE", "1", {"nexthop_group", "2,3"}, "nexthop_group"},
               {"ROUTE_TABLE", "10.0.0.1/8", {"nexthop_group", "1"}, "10.0.0.1/8"},
               {"ROUTE_TABLE", "10.0.0.0/8", {"blackhole", "maybe"}, "blackhole"}};
  for (const auto& c : cases) {
    testbed.rejects.clear();
    testbed.set(c.table, c.key, {c.field});
    testbed.run_for(100ms);
    EXPECT_THAT(testbed.rejects, ElementsAre(AllOf(HasSubstr(c.table), HasSubstr(c.key), HasSubstr(c.why)))) << c.table << " " << c.key;
  }
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_THAT(testbed.actual(), IsEmpty());
}

// --- why

TEST(AgentWhy, FollowsTheChainDownToTheDevice) {
  AgentTestbed testbed;
  testbed.start();
  for (const SampleRow& row : sample()) ASSERT_TRUE(testbed.runtime.table(row.table).set(row.key, row.fields).ok());
  testbed.run_for(100ms);
  const std::string why = testbed.why("ROUTE_TABLE", "192.168.0.0/16");
  EXPECT_THAT(why,
              HasSubstr("ROUTE_TABLE:192.168.0.0/16 waits for nexthop-group:1 -> NEXTHOP_GROUP_TABLE:1 waits for neighbor:A:10.0.0.2 -> "
                        "NEIGH_TABLE:A:10.0.0.2 waits for interface:A (no address of that family on A"))
      << "the neighbor waits for two facts, and of the address, too, it is told where it would come from";
  EXPECT_THAT(why, HasSubstr("-> INTF_TABLE:A waits for port:A -> PORT_TABLE:A waits for device:A"));
  EXPECT_THAT(why, HasSubstr("the kernel has no device named 'A'"));
}

TEST(AgentWhy, SaysThatAGroupHasNoUsableMember) {
  AgentTestbed testbed;
  testbed.plane.add_port("A");
  testbed.plane.set_carrier("A", false);
  testbed.start();
  for (const SampleRow& row : sample()) ASSERT_TRUE(testbed.runtime.table(row.table).set(row.key, row.fields).ok());
  testbed.run_for(100ms);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr("no usable member: 10.0.0.2 on A: the port has no carrier"));
  testbed.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "192.168.0.0/16"),
              HasSubstr("no usable member: 10.0.0.2 on A: the port is administratively down"));
  testbed.plane.remove_port("A");
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr("no usable member: 10.0.0.2 on A: there is no such device"));
}

TEST_F(AgentScenarios, WhySaysWhatADeleteWaitsFor) {
  set_up(3);
  testbed.remove("NEXTHOP_GROUP_TABLE", "1");
  testbed.run_for(100ms);
  EXPECT_THAT(testbed.why("NEXTHOP_GROUP_TABLE", "1"), AllOf(HasSubstr("group-unused:1"), HasSubstr("3 routes still use it, 172.16.")));
  testbed.remove("NEIGH_TABLE", "A:10.0.0.2");
  testbed.remove("INTF_TABLE", "A");
  testbed.run_for(100ms);
  EXPECT_THAT(testbed.why("NEIGH_TABLE", "A:10.0.0.2"), HasSubstr("(nexthop-group:1 still has A:10.0.0.2 as a member)"));
  EXPECT_THAT(testbed.why("INTF_TABLE", "A"), HasSubstr("(A still has addresses, 10.0.0.1/24 among them;"));
}

// --- After a restart.

}  // namespace
}  // namespace rondo::switch_agent
