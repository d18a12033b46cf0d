// Goal: the monitor reports what the bridges of the real kernel learn, and only that, is right again after its socket overflowed, and is
// bounded. Method: frames from many stations arrive at the ports of a bridge.
#include "dataplane/netlink/fdb_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "dataplane/netlink/lab.h"
#include "dataplane/netlink/lab_frames.h"
#include "rondo/base/clock.h"

namespace rondo::netlink {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

MacAddress station(unsigned number) { return {{2, 0, 0, 1, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)}}; }

/// The ports swp1 and swp2 are in the bridge Vlan10.
class FdbMonitorOnLinux : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Lab::make();
    if (!made) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << made.error().to_string();
    lab = std::move(*made);
    plane = make_linux_dataplane({.network_namespace = lab->path()}).value();
    // Without its own frames (router discovery), which would be learned, too.
    ASSERT_TRUE(lab->ip("link add Vlan10 up type bridge"));
    for (const std::string n : {"1", "2"}) {
      ASSERT_TRUE(lab->add_port(std::stoi(n)) && lab->ip("link set line" + n + " addrgenmode none"));
      ASSERT_TRUE(lab->ip("link set swp" + n + " up master Vlan10"));
    }
    reactor = make_epoll_reactor().value();
    scheduler = std::make_unique<Scheduler>(clock, *reactor, make_policy(StrictPriority{}).value());
    open(1 << 20, limits::kLearnedStations);
  }
  void TearDown() override { monitor.reset(); }
  void open(int buffer, std::size_t max) {
    monitor.reset();
    known.clear();
    monitor = FdbMonitor::open(
                  NetworkNamespace::open(lab->path()).value(), *scheduler, Priority{50}, [this](const FdbEvent& event) { note(event); },
                  buffer, max)
                  .value();
    scheduler->run_until_idle();
  }
  void note(const FdbEvent& event) {
    EXPECT_EQ(event.bridge, index_of("Vlan10"));
    if (event.mac.bytes[3] != 1) return;  // An entry of the kernel itself.
    if (event.removed) {
      EXPECT_EQ(known.erase(event.mac), 1U) << "it was reported before";
    } else {
      known[event.mac] = event.port == index_of("swp1") ? 1 : 2;
    }
  }
  IfIndex index_of(const std::string& device) {
    if (const auto found = numbers.find(device); found != numbers.end()) return found->second;
    const auto links = plane->links().value();
    for (const LinkEvent& link : links) numbers[link.name] = link.port;
    return numbers[device];
  }
  void hear(int port, unsigned number) {
    const Status sent = send_frame(*lab, port, station(number));
    EXPECT_TRUE(sent.ok()) << sent.to_string();
  }
  Status apply(Order order) {
    Operation operation{std::move(order), {}};
    plane->apply({&operation, 1});
    return operation.status;
  }
  bool wait_until(const std::function<bool()>& holds) {
    const Instant deadline = clock.now() + 20s;
    scheduler->run_until_idle();
    while (!holds() && clock.now() < deadline) {
      scheduler->wait(clock.now() + 50ms);
      scheduler->run_until_idle();
    }
    return holds();
  }
  /// Until the bridge has noticed the carrier of its ports it learns nothing.
  bool hear_until_known(int port, unsigned number) {
    return wait_until([&] {
      hear(port, number);
      return known.contains(station(number)) && known[station(number)] == port;
    });
  }

  SystemClock clock;
  std::unique_ptr<Lab> lab;
  std::unique_ptr<DataPlane> plane;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<FdbMonitor> monitor;
  std::map<std::string, IfIndex> numbers;
  std::map<MacAddress, int> known;  // The port of each station.
};

TEST_F(FdbMonitorOnLinux, AStationIsLearnedMovesAndIsForgotten) {
  ASSERT_TRUE(hear_until_known(1, 7));
  ASSERT_TRUE(hear_until_known(2, 7));
  EXPECT_THAT(known, ElementsAre(Pair(station(7), 2)));
  ASSERT_TRUE(apply(FdbDelete{index_of("swp2"), station(7)}).ok());
  EXPECT_TRUE(wait_until([&] { return known.empty(); }));
  ASSERT_TRUE(hear_until_known(1, 8));
  ASSERT_TRUE(lab->set_carrier(1, false));
  EXPECT_TRUE(wait_until([&] { return known.empty(); })) << "a port without a carrier forgets its stations";
}

TEST_F(FdbMonitorOnLinux, StaticEntriesAreNotLearnedAndWhatIsKnownIsReportedAtTheBegin) {
  ASSERT_TRUE(hear_until_known(1, 7));
  ASSERT_TRUE(hear_until_known(1, 8));
  ASSERT_TRUE(apply(FdbSet{index_of("swp2"), station(8)}).ok());
  EXPECT_TRUE(wait_until([&] { return known.size() == 1; })) << "it is not learned any more";
  ASSERT_TRUE(apply(FdbSet{index_of("swp2"), station(9)}).ok());
  open(1 << 20, limits::kLearnedStations);
  EXPECT_TRUE(wait_until([&] { return known.contains(station(7)); }));
  EXPECT_THAT(known, SizeIs(1));
}

TEST_F(FdbMonitorOnLinux, AGapIsRepaired) {
  ASSERT_TRUE(hear_until_known(1, 0));
  open(2048, limits::kLearnedStations);
  for (unsigned i = 1; i <= 200; ++i) hear(1, i);
  ASSERT_TRUE(apply(FdbDelete{index_of("swp1"), station(0)}).ok());
  EXPECT_TRUE(wait_until([&] { return known.size() == 200 && !known.contains(station(0)); })) << known.size();
  EXPECT_GT(monitor->turned_away(), 0U);
}

TEST_F(FdbMonitorOnLinux, StationsBeyondTheLimitAreLeftOutUntilThereIsRoom) {
  ASSERT_TRUE(hear_until_known(1, 0));
  open(1 << 20, 8);
  for (unsigned i = 1; i <= 12; ++i) hear(1, i);
  EXPECT_TRUE(wait_until([&] { return known.size() >= 7 && monitor->left_out() >= 5; })) << known.size();
  const std::size_t most = known.size();
  EXPECT_LE(most, 8U);
  EXPECT_TRUE(monitor->leaves_out());
  std::vector<MacAddress> all;
  for (const auto& [mac, port] : known) all.push_back(mac);
  for (const MacAddress& mac : all) ASSERT_TRUE(apply(FdbDelete{index_of("swp1"), mac}).ok());
  EXPECT_TRUE(wait_until([&] { return known.size() == 13 - most; })) << known.size();
  EXPECT_FALSE(monitor->leaves_out()) << "all are known again";
}

}  // namespace
}  // namespace rondo::netlink
