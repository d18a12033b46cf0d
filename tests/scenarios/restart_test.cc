// An agent that ends and restarts while the kernel keeps forwarding: existing objects stay, only differences are programmed, and objects
// that no row asks for are deleted at the end.
#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "../agent_lines.h"
#include "journal/reader.h"
#include "journal/walk.h"
#include "rondo/base/random.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"
#include "switch_agent/agent.h"

namespace rondo::switch_agent {
namespace {

using testing::IsEmpty;

using Row = std::map<std::string, std::string>;
using Rows = std::map<std::pair<std::string, std::string>, Row>;  // By table and key.

/// A kernel that stays while agents start and end on it.
class RestartTestbed {
 public:
  RestartTestbed() {
    for (const char* const port : {"A", "B", "C"}) plane.add_port(port);
  }
  ~RestartTestbed() { stop(); }

  void start(SwitchAgentOptions options = {}) {
    RuntimeOptions runtime_options;
    runtime_options.clock = &world.clock();
    runtime_options.reactor = &world.reactor();
    if (!journal_file.empty()) runtime_options.observer = std::move(Journal::open({.file = journal_file}, world.clock()).value());
    runtime = std::make_unique<Runtime>(std::move(runtime_options));
    options.in_line = true;
    agent = std::make_unique<SwitchAgent>(*runtime, plane, std::move(options));
    ASSERT_TRUE(agent->start().ok());
  }
  void stop() {
    agent.reset();
    runtime.reset();
  }
  void run_for(Duration time) { world.run_for(runtime->scheduler(), time); }

  void feed(const Rows& rows, std::uint64_t seed = 1) {
    std::vector<const Rows::value_type*> order;
    for (const auto& row : rows) order.push_back(&row);
    Random random{seed};
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (const auto* const row : order) {
      std::vector<Field> fields;
      for (const auto& [name, value] : row->second) fields.push_back({name, value});
      ASSERT_TRUE(runtime->store().write(row->first.first, Change::set(row->first.second, fields)).ok());
    }
  }
  /// Returns the content of a kernel that is programmed with these rows from an empty state.
  static Lines from_scratch(const Rows& rows) {
    RestartTestbed fresh_box;
    fresh_box.start();
    fresh_box.feed(rows);
    fresh_box.run_for(2s);
    return lines_of(fresh_box.plane);
  }
  /// Ports, neighbours, two groups and 201 routes.
  static Rows base() {
    Rows rows;
    for (const std::string port : {"A", "B", "C"}) {
      const std::string net = "10." + std::to_string(port[0] - 'A') + ".0.";
      rows[{"PORT_TABLE", port}] = {{"admin_status", "up"}, {"mtu", "9000"}};
      rows[{"INTF_TABLE", port}] = {};
      rows[{"INTF_TABLE", port + ":" + net + "1/24"}] = {};
      for (const std::string host : {"2", "3"}) {
        rows[{"NEIGH_TABLE", port + ":" + net + host}] = {{"neigh", "02:00:00:00:0" + std::to_string(port[0] - 'A') + ":0" + host}};
      }
    }
    rows[{"NEXTHOP_GROUP_TABLE", "ab"}] = {{"nexthop", "10.0.0.2,10.1.0.2"}, {"ifname", "A,B"}};
    rows[{"NEXTHOP_GROUP_TABLE", "c"}] = {{"nexthop", "10.2.0.2"}, {"ifname", "C"}};
    for (int i = 0; i < 200; ++i) {
      Row& route = rows[{"ROUTE_TABLE", "20.0." + std::to_string(i) + ".0/24"}];
      if (i % 3 == 0) {
        route = {{"nexthop", "10.0.0.3"}, {"ifname", "A"}};
      } else {
        route = {{"nexthop_group", i % 3 == 1 ? "ab" : "c"}};
      }
    }
    rows[{"ROUTE_TABLE", "30.0.0.0/8"}] = {{"blackhole", "true"}};
    return rows;
  }

  sim::World world{1};
  SimDataPlane plane{{.seed = 1, .spend = [this](Duration time) { world.clock().advance(time); }}};
  std::string journal_file;  // Empty: none.
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<SwitchAgent> agent;
};

/// 'why' said that the kernel asks for the host, which it does not while it has a permanent neighbour.
TEST(Restart, WhyNamesANeighbourOfAnEarlierRunThatNoRowAsksForAnyMore) {
  RestartTestbed testbed;
  Rows rows = RestartTestbed::base();
  testbed.start();
  testbed.feed(rows);
  testbed.run_for(2s);
  testbed.stop();
  rows.erase({"NEIGH_TABLE", "A:10.0.0.3"});
  testbed.start({.hold = 60s});
  testbed.agent->explain_unresolved([](std::string_view) { return "the kernel is asked"; });
  testbed.feed(rows);
  testbed.run_for(20s);
  const auto note = [&testbed] {
    std::string text;
    for (const WhyLink& link : testbed.runtime->why("ROUTE_TABLE", "20.0.0.0/24").chain) text += link.note + "; ";
    return text;
  };
  EXPECT_THAT(note(), testing::HasSubstr("an earlier run made it permanent, and it has no row now"));
  testbed.run_for(100s);
  EXPECT_THAT(note(), testing::HasSubstr("the kernel is asked"));
}

/// An Orch whose rows have no outcome, as a run that waits for its executor.
class Runs final : public Orch {
 public:
  explicit Runs(Runtime& runtime) : Orch(runtime, "runs", Priority::p1) { consume("RUNS", this, &Runs::begin, &Runs::end); }

 private:
  Outcome begin(std::string_view, const Fields&) { return Outcome::staged(); }
  Outcome end(std::string_view) { return Outcome::staged(); }
};

TEST(Restart, WaitsForNoRowThatIsNoObject) {
  for (const bool are_objects : {true, false}) {
    RestartTestbed testbed;
    Rows rows = RestartTestbed::base();
    testbed.start();
    testbed.feed(rows);
    testbed.run_for(2s);
    testbed.stop();
    rows.erase({"ROUTE_TABLE", "30.0.0.0/8"});
    rows[{"RUNS", "1"}] = {};
    testbed.start({.is_foreign_table = [are_objects](std::string_view table) { return table == "RUNS" && !are_objects; }});
    {
      const Runs runs(*testbed.runtime);
      testbed.feed(rows);
      testbed.run_for(60s);
      EXPECT_EQ(testbed.agent->has_restarted(), !are_objects);
    }
    testbed.stop();
  }
}

TEST(Restart, OnUnchangedTablesChangesNothing) {
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(RestartTestbed::base());
  testbed.run_for(2s);
  ASSERT_TRUE(testbed.agent->has_restarted());
  const Lines before = lines_of(testbed.plane);
  ASSERT_GT(before.size(), 200U);
  const std::uint64_t orders = testbed.plane.executed();
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    testbed.stop();
    testbed.start();
    testbed.feed(RestartTestbed::base(), seed);
    testbed.run_for(2s);
    EXPECT_TRUE(testbed.agent->has_restarted());
    EXPECT_EQ(testbed.plane.executed(), orders) << "needless orders";
    EXPECT_EQ(testbed.agent->reconciled().changed, 0U);
    EXPECT_GT(testbed.agent->reconciled().kept, 200U);
    EXPECT_THAT(difference(lines_of(testbed.plane), before), IsEmpty());
  }
  // The agent knows the existing objects: a later change is programmed.
  ASSERT_TRUE(testbed.runtime->table("ROUTE_TABLE").remove("20.0.1.0/24").ok());
  ASSERT_TRUE(testbed.runtime->table("ROUTE_TABLE").set("20.0.2.0/24", {{"nexthop_group", "ab"}}).ok());
  testbed.run_for(1s);
  EXPECT_EQ(testbed.plane.executed(), orders + 2);
}

// In the kernel only the numbers distinguish groups with the same members; the name of a group determines its number.
TEST(Restart, GroupsWithTheSameMembersKeepTheirOwnNumbers) {
  Rows rows = RestartTestbed::base();
  for (int group = 0; group < 5; ++group) {
    const std::string name = "ab-" + std::to_string(group);
    rows[{"NEXTHOP_GROUP_TABLE", name}] = rows.at({"NEXTHOP_GROUP_TABLE", "ab"});
    for (int i = 0; i < 20; ++i)
      rows[{"ROUTE_TABLE", "21." + std::to_string(group) + "." + std::to_string(i) + ".0/24"}] = {{"nexthop_group", name}};
  }
  // One of them got the members of the others later.
  Rows first = rows;
  first[{"NEXTHOP_GROUP_TABLE", "ab-3"}] = rows.at({"NEXTHOP_GROUP_TABLE", "c"});
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(first);
  testbed.run_for(2s);
  testbed.feed(rows);
  testbed.run_for(2s);
  const std::uint64_t orders = testbed.plane.executed();
  for (std::uint64_t seed = 2; seed < 8; ++seed) {
    testbed.stop();
    testbed.start();
    testbed.feed(rows, seed);
    testbed.run_for(2s);
    EXPECT_TRUE(testbed.agent->has_restarted());
    EXPECT_EQ(testbed.plane.executed(), orders) << "needless orders";
    EXPECT_EQ(testbed.agent->reconciled().changed, 0U);
  }
}

// A difference in one group is one order for it: its routes refer to a number that follows from its name, not from its members.
TEST(Restart, AGroupThatChangedMeanwhileKeepsItsNumberAndItsRoutesStay) {
  Rows rows = RestartTestbed::base();
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(rows);
  testbed.run_for(2s);
  std::uint64_t orders = testbed.plane.executed();
  for (const std::string hops : {"10.0.0.2,10.1.0.3", "10.1.0.2,10.0.0.3", "10.0.0.2,10.1.0.2"}) {
    rows[{"NEXTHOP_GROUP_TABLE", "ab"}] = {{"nexthop", hops}, {"ifname", hops.starts_with("10.0") ? "A,B" : "B,A"}};
    testbed.stop();
    testbed.start();
    testbed.feed(rows, orders);
    testbed.run_for(5s);
    EXPECT_LE(testbed.plane.executed() - orders, 6U) << "the group, and members that come or go";
    orders = testbed.plane.executed();
    EXPECT_THAT(difference(lines_of(testbed.plane), RestartTestbed::from_scratch(rows)), IsEmpty());
  }
}

// A group that the earlier run did not program has the members of another group. It must not take the number of that group.
TEST(Restart, ANewGroupTakesNoNumberOfOthersWithTheSameMembers) {
  for (int newcomer = 0; newcomer < 20; ++newcomer) {
    Rows rows = RestartTestbed::base();
    RestartTestbed testbed;
    testbed.start();
    testbed.feed(rows);
    testbed.run_for(2s);
    const std::uint64_t orders = testbed.plane.executed();
    rows[{"NEXTHOP_GROUP_TABLE", "new-" + std::to_string(newcomer)}] = rows.at({"NEXTHOP_GROUP_TABLE", "ab"});
    testbed.stop();
    testbed.start();
    testbed.feed(rows, 7);
    testbed.run_for(2s);
    EXPECT_EQ(testbed.plane.executed(), orders + 1) << newcomer << ": the new group";
  }
}

TEST(Restart, WhatNobodyAsksForStaysForTheHoldAndThenGoes) {
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(RestartTestbed::base());
  testbed.run_for(2s);
  const Lines before = lines_of(testbed.plane);
  testbed.stop();
  bool come = false;
  testbed.start({.hold = 5s, .rows_have_come = [&come] { return come; }});
  testbed.run_for(4s);
  EXPECT_THAT(difference(lines_of(testbed.plane), before), IsEmpty()) << "the hold is not over";
  testbed.run_for(4s);
  EXPECT_THAT(difference(lines_of(testbed.plane), before), IsEmpty()) << "rows are still to come";
  come = true;
  testbed.run_for(1s);
  EXPECT_TRUE(testbed.agent->has_restarted());
  EXPECT_EQ(testbed.plane.route_count(), 0U);
  EXPECT_THAT(testbed.plane.nexthops().value(), IsEmpty());
  EXPECT_THAT(testbed.plane.neighbors().value(), IsEmpty());
  EXPECT_THAT(testbed.plane.addresses().value(), IsEmpty());
}

/// Its neighbour's row comes late, as that of a feeder that starts after us. The audit of what has come deleted the next hop, and the
/// kernel deleted the routes over it.
TEST(Restart, ANextHopThatAGroupOfARowNamesStaysForTheHold) {
  Rows rows = RestartTestbed::base();
  rows[{"NEXTHOP_GROUP_TABLE", "bc"}] = {{"nexthop", "10.1.0.2,10.2.0.2"}, {"ifname", "B,C"}};
  rows[{"ROUTE_TABLE", "30.0.0.0/8"}] = {{"nexthop_group", "bc"}};
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(rows);
  testbed.run_for(2s);
  const std::size_t routes = testbed.plane.route_count();
  const std::size_t neighbors = testbed.plane.neighbors().value().size();
  testbed.stop();
  bool come = false;
  testbed.start({.hold = 20s, .rows_have_come = [&come] { return come; }});
  const Rows::value_type late{{"NEIGH_TABLE", "C:10.2.0.2"}, rows.at({"NEIGH_TABLE", "C:10.2.0.2"})};
  Rows first = rows;
  first.erase(late.first);
  testbed.feed(first);
  testbed.run_for(15s);
  EXPECT_EQ(testbed.plane.route_count(), routes) << "those over the group of the next hop";
  EXPECT_EQ(testbed.plane.neighbors().value().size(), neighbors);
  testbed.feed(Rows{late});
  testbed.run_for(5s);
  come = true;
  testbed.run_for(2s);
  EXPECT_TRUE(testbed.agent->has_restarted());
  EXPECT_THAT(difference(lines_of(testbed.plane), RestartTestbed::from_scratch(rows)), IsEmpty());
}

TEST(Restart, ARowThatComesAtTheEndOfTheHoldIsNotDeletedWithTheRest) {
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(RestartTestbed::base());
  testbed.run_for(2s);
  testbed.stop();
  testbed.start();
  Rows rows = RestartTestbed::base();
  const Row late = rows.extract({"ROUTE_TABLE", "20.0.1.0/24"}).mapped();
  testbed.feed(rows);
  while (!testbed.agent->has_restarted()) testbed.runtime->scheduler().run_until_idle(1), testbed.world.clock().advance(1ms);
  ASSERT_TRUE(testbed.runtime->table("ROUTE_TABLE").set("20.0.1.0/24", {{"nexthop_group", "ab"}}).ok());
  testbed.run_for(2s);
  EXPECT_THAT(difference(lines_of(testbed.plane), RestartTestbed::from_scratch(RestartTestbed::base())), IsEmpty());
}

TEST(Restart, APortThatLostItsCarrierMeanwhileMakesNothingBelieved) {
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(RestartTestbed::base());
  testbed.run_for(2s);
  const Lines before = lines_of(testbed.plane);
  testbed.stop();
  testbed.start();
  // The kernel drops the objects on A without an event after they were read.
  testbed.plane.set_carrier("A", false);
  testbed.plane.set_carrier("A", true);
  testbed.feed(RestartTestbed::base());
  testbed.run_for(3s);
  EXPECT_THAT(difference(lines_of(testbed.plane), before), IsEmpty());

  testbed.stop();
  testbed.plane.set_carrier("B", false);  // While no agent runs.
  testbed.start();
  testbed.feed(RestartTestbed::base());
  testbed.run_for(1s);
  testbed.plane.set_carrier("B", true);
  testbed.run_for(3s);
  EXPECT_THAT(difference(lines_of(testbed.plane), before), IsEmpty());
}

TEST(Restart, ADeleteOfAnAddressThatAnEarlierRunHadSetIsCarriedOut) {
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(RestartTestbed::base());
  testbed.run_for(2s);
  const std::size_t addresses = testbed.plane.addresses().value().size();
  testbed.stop();
  testbed.start();
  testbed.feed(RestartTestbed::base());
  // The row was deleted when the earlier run ended, and its Delete is delivered again.
  ASSERT_TRUE(testbed.runtime->store().write("INTF_TABLE", Change::set("C:2001:db8::1/64", {})).ok());
  testbed.run_for(2s);
  ASSERT_EQ(testbed.plane.addresses().value().size(), addresses + 1);
  testbed.stop();
  testbed.start();
  testbed.feed(RestartTestbed::base());
  ASSERT_TRUE(testbed.runtime->table("INTF_TABLE").remove("C:2001:db8::1/64").ok());
  testbed.run_for(2s);
  EXPECT_EQ(testbed.plane.addresses().value().size(), addresses);
}

// The port's neighbours wait for it. Groups that have other members, and their routes, do not wait.
TEST(Restart, APortThatIsDownTakesNoGroupAwayThatHasOtherMembers) {
  Rows rows = RestartTestbed::base();
  rows[{"PORT_TABLE", "A"}]["admin_status"] = "down";
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(RestartTestbed::base());
  testbed.run_for(2s);
  const Lines all_up = lines_of(testbed.plane);
  testbed.feed(rows);
  testbed.run_for(2s);
  const Lines before = lines_of(testbed.plane);
  EXPECT_THAT(before, testing::Contains("route 20.0.1.0/24 via {B 10.1.0.2*1}"));
  testbed.stop();
  testbed.start();
  testbed.feed(rows);
  testbed.run_for(3s);
  ASSERT_TRUE(testbed.agent->has_restarted());
  EXPECT_THAT(difference(lines_of(testbed.plane), before), IsEmpty());
  EXPECT_EQ(testbed.agent->reconciled().changed, 0U);
  testbed.feed(RestartTestbed::base());
  testbed.run_for(3s);
  EXPECT_THAT(difference(lines_of(testbed.plane), all_up), IsEmpty());
}

// The group's row waits for a moment for a neighbour on a port that is up. The port goes down before the neighbour appears.
TEST(Restart, AGroupDoesNotWaitForANeighborWhosePortWentDown) {
  Rows rows = RestartTestbed::base();
  rows.erase({"NEIGH_TABLE", "A:10.0.0.2"});
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(rows);
  testbed.run_for(100ms);
  EXPECT_THAT(lines_of(testbed.plane), testing::Not(testing::Contains(testing::StartsWith("route 20.0.1.0/24"))));
  rows[{"PORT_TABLE", "A"}]["admin_status"] = "down";
  testbed.feed(rows);
  testbed.run_for(100ms);
  EXPECT_THAT(lines_of(testbed.plane), testing::Contains("route 20.0.1.0/24 via {B 10.1.0.2*1}"));
}

// All members are absent at the restart: the first that returns carries the routes, whichever it is.
TEST(Restart, AGroupWhosePortsAreAllDownNeedsOneOfThem) {
  for (const auto& [port, member] : {std::pair{"A", "A 10.0.0.2"}, std::pair{"B", "B 10.1.0.2"}}) {
    Rows rows = RestartTestbed::base();
    for (const char* const down : {"A", "B"}) rows[{"PORT_TABLE", down}]["admin_status"] = "down";
    RestartTestbed testbed;
    testbed.start();
    testbed.feed(rows);
    testbed.run_for(2s);
    EXPECT_THAT(lines_of(testbed.plane), testing::Not(testing::Contains(testing::StartsWith("route 20.0.1.0/24"))));
    rows[{"PORT_TABLE", port}]["admin_status"] = "up";
    testbed.feed(rows);
    testbed.run_for(2s);
    EXPECT_THAT(lines_of(testbed.plane), testing::Contains("route 20.0.1.0/24 via {" + std::string{member} + "*1}"));
  }
}

// The kernel drops the neighbours with the last address of a family: the row of the new address is handled first, whatever the order of
// arrival.
TEST(Restart, AnAddressThatGivesWayToAnotherLeavesItsNeighborsAlone) {
  Rows rows = RestartTestbed::base();
  RestartTestbed testbed;
  testbed.start();
  testbed.feed(rows);
  testbed.run_for(2s);
  const Lines before = lines_of(testbed.plane);
  const std::size_t neighbors = testbed.plane.neighbors().value().size();
  testbed.stop();
  testbed.start();
  ASSERT_TRUE(testbed.runtime->table("INTF_TABLE").remove("C:10.2.0.1/24").ok());
  testbed.run_for(100ms);
  EXPECT_EQ(testbed.plane.neighbors().value().size(), neighbors);
  rows.erase({"INTF_TABLE", "C:10.2.0.1/24"});
  rows[{"INTF_TABLE", "C:10.2.0.9/24"}] = {};
  testbed.feed(rows);
  testbed.run_for(2s);
  EXPECT_THAT(difference(lines_of(testbed.plane), before),
              testing::UnorderedElementsAre("+ address C 10.2.0.9/24", "- address C 10.2.0.1/24"));
}

// Each kind of object is a leftover once, because the journal has a form for the Delete of each.
TEST(Restart, LeftoversOfEveryKindAreDeletedAndRecorded) {
  const std::string file = testing::TempDir() + "rondo-leftovers-" + std::to_string(::getpid()) + ".journal";
  RestartTestbed testbed;
  testbed.start();
  Rows rows = RestartTestbed::base();
  rows[{"VRF_TABLE", "Vrf1"}] = {};
  testbed.feed(rows);
  testbed.run_for(2s);
  testbed.stop();
  ASSERT_TRUE(testbed.plane.meddle(BridgeSet{"Vlan10"}).ok());
  const std::vector<LinkEvent> links = testbed.plane.links().value();
  const auto device = [&links](std::string_view name) { return std::ranges::find(links, name, &LinkEvent::name)->port; };
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{.port = device("C"), .master = device("Vlan10")}).ok());
  ASSERT_TRUE(testbed.plane.meddle(FdbSet{device("C"), MacAddress::parse("02:00:00:00:00:aa").value()}).ok());
  testbed.journal_file = file;
  testbed.start();
  testbed.run_for(3s);
  EXPECT_TRUE(testbed.agent->has_restarted());
  EXPECT_THAT(testbed.plane.addresses().value(), IsEmpty());
  EXPECT_EQ(testbed.plane.links().value().size(), 3U);
  EXPECT_EQ(Journal::of(*testbed.runtime)->stats().dropped, 0U);
  testbed.stop();
  std::set<std::size_t> kinds;
  const auto reader = std::move(journal::JournalReader::open(file).value());
  for (journal::JournalWalk walk(*reader); walk.next();) {
    for (const DeleteOrder& one : walk.record().orders) kinds.insert(one.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<DeleteOrder>);
  std::filesystem::remove(file);
}

TEST(Restart, PropertyAnyDifferenceIsProgrammedAndNothingElse) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RestartTestbed testbed;
    Random random{seed};
    Rows rows = RestartTestbed::base();
    testbed.start();
    testbed.feed(rows, seed);
    testbed.run_for(2s);
    for (int restarts = 0; restarts < 3; ++restarts) {
      testbed.stop();
      const std::uint64_t differences = random.below(8);
      for (std::uint64_t i = 0; i < differences; ++i) {
        const std::string prefix = "20.0." + std::to_string(random.below(220)) + ".0/24";
        switch (random.below(7)) {
          case 0: rows.erase({"ROUTE_TABLE", prefix}); break;
          case 1: rows[{"ROUTE_TABLE", prefix}] = {{"nexthop_group", "c"}}; break;
          case 2: rows[{"ROUTE_TABLE", prefix}] = {{"nexthop", "10.1.0.3"}, {"ifname", "B"}}; break;
          case 3: rows[{"ROUTE_TABLE", prefix}] = {{"blackhole", "true"}}; break;
          case 4: {
            const std::pair<std::string, std::string> address{"INTF_TABLE", "B:10.1.0." + std::to_string(7 + random.below(3)) + "/24"};
            if (rows.erase(address) == 0) rows[address] = {};
            break;
          }
          case 5: rows[{"NEXTHOP_GROUP_TABLE", "ab"}] = {{"nexthop", "10.0.0.2,10.2.0.3"}, {"ifname", "A,C"}}; break;
          default: rows[{"NEIGH_TABLE", "A:10.0.0.3"}] = {{"neigh", "02:00:00:00:00:" + std::to_string(10 + random.below(80))}}; break;
        }
      }
      const std::uint64_t orders = testbed.plane.executed();
      testbed.start();
      testbed.feed(rows, seed + 1000);
      testbed.run_for(3s);
      EXPECT_TRUE(testbed.agent->has_restarted());
      // A route, a neighbour, or a group and the members added and removed with it; never the routes of a group.
      EXPECT_LE(testbed.plane.executed() - orders, differences * 6);
    }
    EXPECT_THAT(difference(lines_of(testbed.plane), RestartTestbed::from_scratch(rows)), IsEmpty());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace rondo::switch_agent
