// Which rows of NEIGH_TABLE the kernel's neighbours become, whose the rows are, and which addresses the kernel is made to resolve.
// Simulated time; kernel and switch agent are parts of the test.
#include "managers/learned_neighbors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "orch/runtime_fixture.h"
#include "switch_agent/facts.h"

namespace rondo::managers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kMac = "02:00:00:00:00:02";
constexpr const char* kOther = "02:00:00:00:00:99";

class LearnedNeighborsTest : public testing::Test {
 protected:
  LearnedNeighborsTest() {
    auto& agent = fixture.runtime.add<OpenOrch>("agent");
    agent.consume(
        "INTF_TABLE", [](std::string_view, const Fields&) { return Outcome::done(); },
        [this, &agent](std::string_view) {
          const Fact free{kGroup, "free"};
          return agent.holds(free) || !holds_addresses ? Outcome::done() : Outcome::wait_for(free);
        },
        {.set_replaces_delete = true});
    agent.consume(
        "NEIGH_TABLE",
        [this](std::string_view key, const Fields& fields) {
          std::string text;
          for (const Field field : fields) text.append(text.empty() ? "" : " ").append(field.name).append("=").append(field.value);
          table[std::string{key}] = text;
          return Outcome::done();
        },
        [this, &agent](std::string_view key) {
          const Fact unused{kGroup, "unused"};
          if (used.contains(key) && !agent.holds(unused)) return Outcome::wait_for(unused);
          table.erase(std::string{key});
          return Outcome::done();
        },
        {.set_replaces_delete = true});
    agent.consume(
        "ROUTE_TABLE",
        [&agent](std::string_view, const Fields& fields) {
          const Fact neighbor{switch_agent::kNeighbor, std::string{fields.find("via").value_or("")}};
          return agent.holds(neighbor) ? Outcome::done() : Outcome::wait_for(neighbor);
        },
        [](std::string_view) { return Outcome::done(); });
    agent.provide(switch_agent::kNeighbor, [this](std::string_view key) { return table.contains(key); });
    fixture.add_groups();
  }
  void open() {
    auto opened =
        LearnedNeighbors::open(fixture.runtime, {.resolve =
                                                     [this](IfIndex port, const IpAddress& address) {
                                                       resolved.push_back(std::to_string(port.value()) + " " + address.to_string());
                                                       return Status{};
                                                     },
                                                 .for_each_left_out =
                                                     [this](const std::function<void(std::string_view)>& visit) {
                                                       for (const std::string& one : left_out) visit(one);
                                                     },
                                                 .is_settled = [this] { return settled; },
                                                 .may_write = [this] { return may_write; }});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    neighbors = std::move(*opened);
    run();
  }
  /// A port with an address, and its device, as number 7.
  void open_with_port() {
    open();
    link("swp1", 7);
    fixture.set("INTF_TABLE", "swp1");
    fixture.set("INTF_TABLE", "swp1:10.0.0.1/24");
    run();
  }
  void run(Duration time = 1s) { fixture.run_for(time); }
  void link(const std::string& name, std::uint32_t index, bool removed = false, bool carrier = true) {
    LinkEvent event;
    event.port = IfIndex{index};
    event.name = name;
    event.admin_up = true;
    event.carrier = carrier;
    event.removed = removed;
    neighbors->link_event(event);
  }
  void learn(const char* address, const char* mac = kMac, std::uint32_t index = 7) {
    neighbors->neighbor_event({IfIndex{index}, *IpAddress::parse(address), *MacAddress::parse(mac), false});
    run();
  }
  void forget(const char* address) {
    neighbors->neighbor_event({IfIndex{7}, *IpAddress::parse(address), {}, true});
    run();
  }
  static std::string row(const std::string& mac, const std::string& family = "IPv4") {
    return "neigh=" + mac + " family=" + family + " learned=" + mac;
  }

  RuntimeFixture fixture;
  std::map<std::string, std::string, std::less<>> table;  // NEIGH_TABLE as the agent has applied it.
  std::set<std::string, std::less<>> used;                // Neighbours of next hops.
  std::vector<std::string> left_out;
  std::vector<std::string> resolved;
  bool holds_addresses = false;
  bool settled = true;
  bool may_write = true;
  std::unique_ptr<LearnedNeighbors> neighbors;
};

TEST_F(LearnedNeighborsTest, ARowFollowsTheKernel) {
  open_with_port();
  learn("10.0.0.2");
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", row(kMac))));
  learn("10.0.0.2", kOther);
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", row(kOther))));
  EXPECT_EQ(neighbors->counts().rows, 1U);
  forget("10.0.0.2");
  EXPECT_THAT(table, IsEmpty());
  EXPECT_EQ(neighbors->counts().rows, 0U);
}

TEST_F(LearnedNeighborsTest, OnlyInterfacesOfTheFamilyCount) {
  open();
  link("swp1", 7);
  link("eth0", 8);
  learn("10.0.0.2");
  learn("fe80::2");
  learn("192.168.0.2", kMac, 8);
  EXPECT_THAT(table, IsEmpty());
  fixture.set("INTF_TABLE", "swp1");
  run();
  EXPECT_THAT(table, ElementsAre(Pair("swp1:fe80::2", row(kMac, "IPv6")))) << "every IPv6 device has link-local addresses";
  fixture.set("INTF_TABLE", "swp1:fc00::1/64");
  run();
  EXPECT_EQ(table.size(), 1U);
  fixture.set("INTF_TABLE", "swp1:10.0.0.1/24");
  run();
  EXPECT_EQ(table.size(), 2U);
}

/// The agent deletes an address only after its neighbours.
TEST_F(LearnedNeighborsTest, TheRowsGoWhenTheDeleteOfTheAddressIsTakenAndNotWhenItIsDone) {
  open_with_port();
  learn("10.0.0.2");
  holds_addresses = true;
  fixture.remove("INTF_TABLE", "swp1:10.0.0.1/24");
  run();
  EXPECT_EQ(fixture.stats("INTF_TABLE").parked, 1U);
  EXPECT_THAT(table, IsEmpty());
  fixture.set("INTF_TABLE", "swp1:10.0.0.1/24");
  run();
  EXPECT_EQ(table.size(), 1U);
}

TEST_F(LearnedNeighborsTest, RowsOfOthersAreNotTouched) {
  open_with_port();
  fixture.set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", kOther}});
  run();
  learn("10.0.0.2");
  forget("10.0.0.2");
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", std::string{"neigh="} + kOther)));
  learn("10.0.0.2");
  fixture.remove("NEIGH_TABLE", "swp1:10.0.0.2");  // The kernel still knows it.
  run();
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", row(kMac))));
}

TEST_F(LearnedNeighborsTest, AnOperatorWhoOverwritesTheAddressTakesTheRowOver) {
  open_with_port();
  learn("10.0.0.2");
  fixture.set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", kOther}});
  run();
  const std::string taken_over = std::string{"family=IPv4 learned="} + kMac + " neigh=" + kOther;
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", taken_over)));
  forget("10.0.0.2");  // As the kernel reports when it gets a permanent neighbour.
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", taken_over)));
  EXPECT_EQ(neighbors->counts().rows, 0U);
}

TEST_F(LearnedNeighborsTest, ARowThatSpellsTheAddressOtherwiseTakesItOver) {
  open_with_port();
  fixture.set("INTF_TABLE", "swp1:fc00::1/64");
  learn("fc00::2");
  EXPECT_TRUE(table.contains("swp1:fc00::2"));
  fixture.set("NEIGH_TABLE", "swp1:FC00::2", {{"neigh", kOther}});
  run();
  EXPECT_THAT(table, ElementsAre(Pair("swp1:FC00::2", std::string{"neigh="} + kOther)));
  fixture.remove("NEIGH_TABLE", "swp1:FC00::2");
  run();
  EXPECT_THAT(table, ElementsAre(Pair("swp1:fc00::2", row(kMac, "IPv6"))));
}

TEST_F(LearnedNeighborsTest, RowsOfAnEarlierProcessAreComparedWhenTheStartIsOver) {
  settled = false;
  open();
  fixture.set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", kMac}, {"family", "IPv4"}, {"learned", kMac}});
  fixture.set("NEIGH_TABLE", "swp1:10.0.0.3", {{"neigh", kMac}, {"family", "IPv4"}, {"learned", kMac}});
  fixture.set("NEIGH_TABLE", "swp1:10.0.0.4", {{"neigh", kMac}});
  run();
  EXPECT_EQ(table.size(), 3U);
  link("swp1", 7);
  learn("10.0.0.2", kOther);
  fixture.set("INTF_TABLE", "swp1");
  fixture.set("INTF_TABLE", "swp1:10.0.0.1/24");
  run();
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table["swp1:10.0.0.2"], row(kOther));
  settled = true;
  run();
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", row(kOther)), Pair("swp1:10.0.0.4", std::string{"neigh="} + kMac)));
}

TEST_F(LearnedNeighborsTest, AStandbyWritesNothing) {
  may_write = false;
  open_with_port();
  learn("10.0.0.2");
  EXPECT_THAT(table, IsEmpty());
  may_write = true;
  run();
  EXPECT_EQ(table.size(), 1U);
}

TEST_F(LearnedNeighborsTest, RowsFollowTheNameOfTheirDevice) {
  open_with_port();
  learn("10.0.0.2");
  fixture.set("INTF_TABLE", "swp2");
  fixture.set("INTF_TABLE", "swp2:10.0.0.1/24");
  run();
  link("swp2", 7);
  run();
  EXPECT_THAT(table, ElementsAre(Pair("swp2:10.0.0.2", row(kMac))));
  link("swp2", 7, true);
  run();
  EXPECT_THAT(table, IsEmpty());
  link("swp2", 9);  // Another device of the name.
  learn("10.0.0.5", kMac, 9);
  EXPECT_THAT(table, ElementsAre(Pair("swp2:10.0.0.5", row(kMac))));
}

TEST_F(LearnedNeighborsTest, WhatRowsWaitForIsResolvedAgainAfterAPauseThatGrows) {
  open_with_port();
  fixture.set("ROUTE_TABLE", "20.0.0.0/8", {{"via", "swp1:10.0.0.2"}});
  fixture.set("ROUTE_TABLE", "30.0.0.0/8", {{"via", "eth0:10.0.0.3"}});  // Not an interface of ours.
  run();
  EXPECT_THAT(resolved, ElementsAre("7 10.0.0.2"));
  run(10s);
  EXPECT_EQ(resolved.size(), 2U);
  EXPECT_THAT(neighbors->words_about("swp1:10.0.0.2"), HasSubstr("no host has answered"));
  EXPECT_EQ(neighbors->words_about("eth0:10.0.0.3"), "");
  run(10min);
  EXPECT_GE(resolved.size(), 15U);
  EXPECT_LE(resolved.size(), 30U);
  EXPECT_EQ(neighbors->counts().resolving, 1U);
  learn("10.0.0.2");
  resolved.clear();
  run(2min);
  EXPECT_THAT(resolved, IsEmpty());
  EXPECT_EQ(neighbors->counts().resolving, 0U);
}

TEST_F(LearnedNeighborsTest, NothingIsResolvedOnAPortWithoutASignalOrBesideARowOfAnother) {
  open_with_port();
  link("swp1", 7, false, false);
  fixture.set("ROUTE_TABLE", "20.0.0.0/8", {{"via", "swp1:10.0.0.2"}});
  fixture.set("NEIGH_TABLE", "swp1:FC00::2", {{"neigh", kOther}});
  fixture.set("ROUTE_TABLE", "30.0.0.0/8", {{"via", "swp1:fc00::2"}});
  run(20s);
  EXPECT_THAT(resolved, IsEmpty());
  link("swp1", 7);
  run();
  EXPECT_THAT(resolved, ElementsAre("7 10.0.0.2"));
}

TEST_F(LearnedNeighborsTest, WhatNextHopsAreLeftOutForIsResolved) {
  left_out = {"swp1:10.0.0.9"};
  open_with_port();
  EXPECT_THAT(resolved, ElementsAre("7 10.0.0.9"));
  left_out.clear();
  run(1min);
  EXPECT_EQ(resolved.size(), 1U);
}

/// The Delete of its row waits, so that the routes stay.
TEST_F(LearnedNeighborsTest, ANeighbourInUseThatTheKernelForgetsIsResolvedAgain) {
  open_with_port();
  used.insert("swp1:10.0.0.2");
  learn("10.0.0.2");
  forget("10.0.0.2");
  EXPECT_EQ(table.size(), 1U);
  run(5s);
  EXPECT_THAT(resolved, testing::Not(IsEmpty()));
  EXPECT_THAT(std::set<std::string>(resolved.begin(), resolved.end()), UnorderedElementsAre("7 10.0.0.2"));
  learn("10.0.0.2", kOther);
  EXPECT_THAT(table, ElementsAre(Pair("swp1:10.0.0.2", row(kOther))));
  resolved.clear();
  run(1min);
  EXPECT_THAT(resolved, IsEmpty());
}

TEST_F(LearnedNeighborsTest, WhatARowSaysIsNotWrittenTwice) {
  open_with_port();
  learn("10.0.0.2");
  const std::uint64_t taken = fixture.stats("NEIGH_TABLE").taken;
  learn("10.0.0.2");
  link("swp1", 7);
  fixture.set("INTF_TABLE", "swp1");
  run(1min);
  EXPECT_EQ(fixture.stats("NEIGH_TABLE").taken, taken);
}

}  // namespace
}  // namespace rondo::managers
