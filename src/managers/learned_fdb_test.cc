// What bridges have learned, by the events of devices and of stations in any order, and which orders forget it.
#include "managers/learned_fdb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "managers/flush_channel.h"
#include "orch/runtime_fixture.h"

namespace rondo::managers {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr IfIndex kVlan10{10};
constexpr IfIndex kVlan20{20};
constexpr IfIndex kPort{1};
constexpr IfIndex kTagged{2};  // Of kPort, in Vlan20.
constexpr MacAddress kOne{{2, 0, 0, 0, 0, 1}};
constexpr MacAddress kTwo{{2, 0, 0, 0, 0, 2}};

class LearnedFdbTest : public testing::Test {
 protected:
  void device(IfIndex number, const char* name, std::uint16_t vlan = 0, IfIndex lower = {}, bool removed = false) {
    LinkEvent event;
    event.port = number;
    event.name = name;
    event.vlan = vlan;
    event.lower = lower;
    event.removed = removed;
    fdb.link_event(event);
  }
  void devices() {
    for (const char* const vlan : {"Vlan10", "Vlan20"}) fdb.set_row(vlan, true);
    device(kPort, "Ethernet0");
    device(kTagged, "Ethernet0.20", 20, kPort);
    device(kVlan10, "Vlan10");
    device(kVlan20, "Vlan20");
  }
  void stations() {
    fdb.fdb_event({.bridge = kVlan10, .port = kPort, .mac = kOne});
    fdb.fdb_event({.bridge = kVlan20, .port = kTagged, .mac = kOne});
    fdb.fdb_event({.bridge = kVlan20, .port = kTagged, .mac = kTwo});
  }
  std::vector<std::string> flushed(const std::string& port, const std::string& vlan) const {
    std::vector<std::string> texts;
    FlushWalk walk{.port = port, .vlan = vlan};
    while (!walk.at_end) {
      const std::vector<Operation> orders = fdb.to_flush(walk, 2);
      EXPECT_LE(orders.size(), 2U);
      for (const Operation& order : orders) texts.push_back(to_string(order.order));
    }
    return texts;
  }
  std::set<std::string> changed;
  LearnedFdb fdb{[this](const std::string& key) { changed.insert(key); }};
};

TEST_F(LearnedFdbTest, ATaggedMemberIsShownAsItsPortWhateverComesFirst) {
  stations();
  EXPECT_THAT(changed, IsEmpty()) << "the names are not known yet";
  EXPECT_FALSE(fdb.port_of("Vlan20:02:00:00:00:00:01"));
  devices();
  EXPECT_THAT(changed, UnorderedElementsAre("Vlan10:02:00:00:00:00:01", "Vlan20:02:00:00:00:00:01", "Vlan20:02:00:00:00:00:02"));
  EXPECT_EQ(fdb.port_of("Vlan10:02:00:00:00:00:01"), "Ethernet0");
  EXPECT_EQ(fdb.port_of("Vlan20:02:00:00:00:00:01"), "Ethernet0");
  EXPECT_EQ(fdb.stations(), 3U);
  changed.clear();
  devices();
  EXPECT_THAT(changed, IsEmpty()) << "nothing is new";
}

TEST_F(LearnedFdbTest, ABridgeThatNoRowNamesIsNeitherShownNorFlushed) {
  devices();
  stations();
  changed.clear();
  fdb.set_row("Vlan20", false);
  EXPECT_THAT(changed, UnorderedElementsAre("Vlan20:02:00:00:00:00:01", "Vlan20:02:00:00:00:00:02")) << "their rows end";
  EXPECT_FALSE(fdb.port_of("Vlan20:02:00:00:00:00:01"));
  EXPECT_THAT(flushed("", ""), ElementsAre("delete entry 02:00:00:00:00:01 on port 1"));
  EXPECT_THAT(flushed("", "Vlan20"), IsEmpty());
  EXPECT_THAT(flushed("Ethernet0", "Vlan20"), IsEmpty());
  changed.clear();
  fdb.set_row("Vlan20", true);
  EXPECT_EQ(changed.size(), 2U);
  EXPECT_EQ(fdb.port_of("Vlan20:02:00:00:00:00:01"), "Ethernet0");
}

TEST_F(LearnedFdbTest, AStationMovesAndIsForgotten) {
  devices();
  device(IfIndex{3}, "Ethernet4");
  stations();
  changed.clear();
  fdb.fdb_event({.bridge = kVlan10, .port = IfIndex{3}, .mac = kOne});
  EXPECT_THAT(changed, ElementsAre("Vlan10:02:00:00:00:00:01"));
  EXPECT_EQ(fdb.port_of("Vlan10:02:00:00:00:00:01"), "Ethernet4");
  fdb.fdb_event({.bridge = kVlan10, .port = IfIndex{3}, .mac = kOne, .removed = true});
  EXPECT_FALSE(fdb.port_of("Vlan10:02:00:00:00:00:01"));
  EXPECT_EQ(fdb.stations(), 2U);
}

TEST_F(LearnedFdbTest, ADeviceThatIsRenamedOrGoesTakesItsNameAlong) {
  devices();
  fdb.set_row("Vlan30", true);
  stations();
  changed.clear();
  device(kVlan10, "Vlan30");
  EXPECT_THAT(changed, UnorderedElementsAre("Vlan10:02:00:00:00:00:01", "Vlan30:02:00:00:00:00:01"));
  EXPECT_FALSE(fdb.port_of("Vlan10:02:00:00:00:00:01"));
  EXPECT_EQ(fdb.port_of("Vlan30:02:00:00:00:00:01"), "Ethernet0");
  device(kPort, "Ethernet9");
  EXPECT_EQ(fdb.port_of("Vlan30:02:00:00:00:00:01"), "Ethernet9");
  EXPECT_THAT(changed, Contains("Vlan20:02:00:00:00:00:02")) << "the port of its 802.1Q device";
  device(kVlan10, "br0");
  EXPECT_THAT(flushed("", ""), UnorderedElementsAre("delete entry 02:00:00:00:00:01 on port 2", "delete entry 02:00:00:00:00:02 on port 2"))
      << "a bridge that is no VLAN is not ours";
  device(kVlan20, "Vlan20", 0, {}, true);
  EXPECT_FALSE(fdb.port_of("Vlan20:02:00:00:00:00:01"));
}

TEST_F(LearnedFdbTest, AFlushIsOfAllOrOfAPortOrOfAVlanOrOfBoth) {
  devices();
  device(IfIndex{3}, "Ethernet4");
  stations();
  fdb.fdb_event({.bridge = kVlan10, .port = IfIndex{3}, .mac = kTwo});
  EXPECT_EQ(flushed("", "").size(), 4U);
  EXPECT_EQ(flushed("Ethernet0", "").size(), 3U);
  EXPECT_THAT(flushed("Ethernet4", ""), ElementsAre("delete entry 02:00:00:00:00:02 on port 3"));
  EXPECT_EQ(flushed("", "Vlan10").size(), 2U);
  EXPECT_THAT(flushed("Ethernet0", "Vlan10"), ElementsAre("delete entry 02:00:00:00:00:01 on port 1"));
  EXPECT_THAT(flushed("Ethernet8", ""), IsEmpty());
}

/// Each event of a device walked over all stations.
TEST_F(LearnedFdbTest, AnEventOfADeviceConcernsItsStationsOnly) {
  devices();
  std::size_t notes = 0;
  LearnedFdb counted{[&notes](const std::string&) { ++notes; }};
  for (unsigned bridge = 0; bridge < 100; ++bridge) {
    LinkEvent event;
    event.port = IfIndex{1000 + bridge};
    event.name = "Vlan" + std::to_string(1 + bridge);
    counted.set_row(event.name, true);
    counted.link_event(event);
    for (unsigned station = 0; station < 100; ++station) {
      const MacAddress mac{{2, 0, 0, 0, static_cast<std::uint8_t>(bridge), static_cast<std::uint8_t>(station)}};
      counted.fdb_event({.bridge = event.port, .port = IfIndex{1 + station}, .mac = mac});
    }
  }
  for (unsigned station = 0; station < 100; station += 2) {
    const MacAddress mac{{2, 0, 0, 0, 7, static_cast<std::uint8_t>(station)}};
    counted.fdb_event({.bridge = IfIndex{1007}, .port = IfIndex{1}, .mac = mac, .removed = station % 4 == 0});
  }
  notes = 0;
  LinkEvent port;
  port.port = IfIndex{1};
  port.name = "Ethernet0";
  counted.link_event(port);
  EXPECT_EQ(notes, 99U + 25U) << "one of each other VLAN, and those that moved to it";
  EXPECT_EQ(counted.port_of("Vlan8:02:00:00:00:07:02"), "Ethernet0");
  EXPECT_FALSE(counted.port_of("Vlan8:02:00:00:00:07:04"));
}

TEST(FlushChannelTest, AWalkHasOnePieceUnderWay) {
  RuntimeFixture fixture;
  std::vector<std::function<void()>> waiting;
  std::size_t pieces = 0;
  auto opened = FlushChannel::open(
      fixture.runtime.scheduler(), fixture.runtime.store(), [] { return true; },
      [&](FlushWalk& walk, std::function<void()> answered) {
        ++pieces;
        walk.at_end = pieces % 3 == 0;
        if (pieces % 3 == 2) return false;  // None of its stations is asked for.
        waiting.push_back(std::move(answered));
        return true;
      });
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(fixture.runtime.store().write(kFlushRequest, Change::event("ALL", "ALL", {})).ok());
  fixture.run_for(100ms);
  for (const std::size_t expected : {1U, 3U, 4U, 6U, 6U}) {
    EXPECT_EQ(pieces, expected);
    if (waiting.empty()) break;
    std::exchange(waiting, {}).front()();
    fixture.run_for(100ms);
  }
  EXPECT_EQ(pieces, 6U);
  ASSERT_TRUE(fixture.runtime.store().write(kFlushRequest, Change::event("ALL", "ALL", {})).ok());
  fixture.run_for(100ms);
  ASSERT_EQ(waiting.size(), 1U);
  opened->reset();
  waiting.front()();  // The answer comes later than the end of the channel.
}

TEST(FlushChannelTest, TakesTheFourRequestsOfSonicAndCountsOthers) {
  RuntimeFixture fixture;
  std::vector<std::string> flushed;
  bool may_flush = true;
  auto opened = FlushChannel::open(
      fixture.runtime.scheduler(), fixture.runtime.store(), [&] { return may_flush; },
      [&](FlushWalk& walk, const std::function<void()>&) {
        flushed.push_back(walk.port + "/" + walk.vlan);
        walk.at_end = true;
        return false;
      });
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  const auto request = [&](std::string_view what, std::string_view data) {
    ASSERT_TRUE(fixture.runtime.store().write(kFlushRequest, Change::event(what, data, {})).ok());
    fixture.run_for(100ms);
  };
  request("ALL", "ALL");
  request("PORT", "Ethernet0");
  request("VLAN", "Vlan10");
  request("PORTVLAN", "Ethernet0|Vlan10");
  EXPECT_THAT(flushed, ElementsAre("/", "Ethernet0/", "/Vlan10", "Ethernet0/Vlan10"));
  for (const auto& [what, data] : {std::pair{"PORTVLAN", "Ethernet0"}, std::pair{"PORT", ""}, std::pair{"SOME", "x"}}) request(what, data);
  EXPECT_EQ((*opened)->malformed(), 3U);
  may_flush = false;
  request("ALL", "ALL");
  EXPECT_EQ(flushed.size(), 4U) << "another process has the tables";
}

}  // namespace
}  // namespace rondo::managers
