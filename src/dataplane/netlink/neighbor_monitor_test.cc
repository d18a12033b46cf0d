// Goal: the monitor reports what the real kernel learns by ARP and neighbour discovery, and only that, and is right again after its socket
// overflowed. Method: two namespaces joined by a cable, each with a monitor that makes its kernel resolve the other's address.
#include "dataplane/netlink/neighbor_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "dataplane/netlink/lab.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"

namespace rondo::netlink {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

/// The switch has swp1 with 10.0.0.1 and fc00::1, the host line1 with 10.0.0.2 and fc00::2.
class NeighborMonitorOnLinux : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Lab::make();
    auto other = Lab::make();
    if (!made || !other) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << (made ? other : made).error().to_string();
    lab = std::move(*made);
    host = std::move(*other);
    ASSERT_TRUE(lab->add_port(1) && lab->ip("link set line1 netns " + host->name()));
    ASSERT_TRUE(lab->ip("link set swp1 up") && host->ip("link set line1 up address 02:00:00:00:00:02"));
    ASSERT_TRUE(lab->ip("addr add 10.0.0.1/24 dev swp1") && host->ip("addr add 10.0.0.2/24 dev line1"));
    ASSERT_TRUE(lab->ip("addr add fc00::1/64 dev swp1 nodad") && host->ip("addr add fc00::2/64 dev line1 nodad"));
    reactor = make_epoll_reactor().value();
    scheduler = std::make_unique<Scheduler>(clock, *reactor, make_policy(StrictPriority{}).value());
    host_monitor = NeighborMonitor::open(
                       NetworkNamespace::open(host->path()).value(), *scheduler, Priority{40}, [](const NeighborEvent&) {}, 1 << 20)
                       .value();
    open(1 << 20);
  }
  void TearDown() override {
    monitor.reset();
    host_monitor.reset();
  }
  void open(int buffer) {
    monitor.reset();
    known.clear();
    monitor = NeighborMonitor::open(
                  NetworkNamespace::open(lab->path()).value(), *scheduler, Priority{50},
                  [this](const NeighborEvent& event) { note(event); }, buffer)
                  .value();
    scheduler->run_until_idle();
  }
  void note(const NeighborEvent& event) {
    ++events;
    if (event.removed) {
      EXPECT_EQ(known.erase(event.address.to_string()), 1U) << "it was reported before";
    } else {
      known[event.address.to_string()] = event.mac.to_string();
    }
  }
  static IfIndex index_of(const Lab& where, const std::string& device) {
    auto plane = make_linux_dataplane({.network_namespace = where.path()}).value();
    const std::vector<LinkEvent> links = plane->links().value();
    for (const LinkEvent& link : links) {
      if (link.name == device) return link.port;
    }
    ADD_FAILURE() << device;
    return {};
  }
  void resolve(const char* address) {
    const Status sent = monitor->resolve(index_of(*lab, "swp1"), *IpAddress::parse(address));
    EXPECT_TRUE(sent.ok()) << sent.to_string();
  }
  bool wait_until(const std::function<bool()>& holds) {
    const Instant deadline = clock.now() + 20s;
    scheduler->run_until_idle();
    while (!holds() && clock.now() < deadline) {
      scheduler->wait(deadline);
      scheduler->run_until_idle();
    }
    return holds();
  }
  bool wait_for(const std::string& address, const std::string& mac) {
    return wait_until([&] { return known.contains(address) == !mac.empty() && (mac.empty() || known[address] == mac); });
  }

  SystemClock clock;
  std::unique_ptr<Lab> lab;
  std::unique_ptr<Lab> host;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<NeighborMonitor> monitor;
  std::unique_ptr<NeighborMonitor> host_monitor;
  std::map<std::string, std::string> known;
  int events = 0;
};

TEST_F(NeighborMonitorOnLinux, ANeighbourIsResolvedAndItsNewLinkAddressIsReported) {
  resolve("10.0.0.2");
  resolve("fc00::2");
  EXPECT_TRUE(wait_for("10.0.0.2", "02:00:00:00:00:02"));
  EXPECT_TRUE(wait_for("fc00::2", "02:00:00:00:00:02"));
  // Another network card in the host: its kernel sends a request, from which ours learns.
  ASSERT_TRUE(host->ip("link set line1 address 02:00:00:00:00:99") && host->ip("neigh flush dev line1"));
  ASSERT_TRUE(host_monitor->resolve(index_of(*host, "line1"), *IpAddress::parse("10.0.0.1")).ok());
  EXPECT_TRUE(wait_for("10.0.0.2", "02:00:00:00:00:99"));
}

TEST_F(NeighborMonitorOnLinux, WhatIsNotResolvedOrDeletedOrPermanentIsNotLearned) {
  resolve("10.0.0.77");
  resolve("10.0.0.2");
  EXPECT_TRUE(wait_for("10.0.0.2", "02:00:00:00:00:02"));
  ASSERT_TRUE(lab->ip("neigh del 10.0.0.2 dev swp1"));
  EXPECT_TRUE(wait_for("10.0.0.2", ""));
  resolve("10.0.0.2");
  EXPECT_TRUE(wait_for("10.0.0.2", "02:00:00:00:00:02"));
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.2 lladdr 02:00:00:00:00:55 dev swp1 nud permanent"));
  EXPECT_TRUE(wait_for("10.0.0.2", ""));
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.3 lladdr 02:00:00:00:00:03 dev swp1 nud noarp"));
  ASSERT_TRUE(lab->ip("neigh add proxy 10.0.0.4 dev swp1"));
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.5 lladdr 02:00:00:00:00:05 dev swp1 nud stale"));
  EXPECT_TRUE(wait_for("10.0.0.5", "02:00:00:00:00:05"));
  EXPECT_EQ(known.size(), 1U);
  ASSERT_TRUE(lab->ip("link set swp1 down"));
  EXPECT_TRUE(wait_for("10.0.0.5", ""));
}

/// Such a request makes the kernel forget the link address of the entry.
TEST_F(NeighborMonitorOnLinux, APermanentNeighbourIsNotResolved) {
  const auto are_there = [this](const char* state) {
    return lab->ip(std::string{"-4 neigh show 10.0.0.77 dev swp1 nud "} + state + " | grep -q 02:00:00:00:00:55");
  };
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.77 lladdr 02:00:00:00:00:55 dev swp1 nud permanent"));
  resolve("10.0.0.2");
  EXPECT_TRUE(wait_for("10.0.0.2", "02:00:00:00:00:02"));  // The event of the other has come before.
  resolve("10.0.0.77");
  EXPECT_TRUE(are_there("permanent"));
  open(1 << 20);  // Now it is among those that are read at the start.
  resolve("10.0.0.77");
  EXPECT_TRUE(are_there("permanent"));
  ASSERT_TRUE(lab->ip("neigh del 10.0.0.77 dev swp1") && lab->ip("neigh replace 10.0.0.2 lladdr 02:00:00:00:00:55 dev swp1 nud permanent"));
  EXPECT_TRUE(wait_for("10.0.0.2", ""));
  ASSERT_TRUE(lab->ip("neigh del 10.0.0.2 dev swp1") && lab->ip("neigh replace 10.0.0.6 lladdr 02:00:00:00:00:06 dev swp1 nud stale"));
  EXPECT_TRUE(wait_for("10.0.0.6", "02:00:00:00:00:06"));  // The end of the permanent entry has been read before.
  resolve("10.0.0.2");
  EXPECT_TRUE(wait_for("10.0.0.2", "02:00:00:00:00:02"));
}

TEST_F(NeighborMonitorOnLinux, TheHostThatDoesNotAnswerAnyMoreGoes) {
  resolve("10.0.0.2");
  EXPECT_TRUE(wait_for("10.0.0.2", "02:00:00:00:00:02"));
  ASSERT_TRUE(host->ip("addr flush dev line1"));
  ASSERT_TRUE(lab->ip("neigh change 10.0.0.2 dev swp1 nud probe"));  // Its age does the same after half a minute.
  EXPECT_TRUE(wait_for("10.0.0.2", ""));
}

TEST_F(NeighborMonitorOnLinux, TheKernelsNeighboursAtTheStartAreReportedOnce) {
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.5 lladdr 02:00:00:00:00:05 dev swp1 nud stale"));
  events = 0;
  open(1 << 20);
  EXPECT_THAT(known, Contains(Pair("10.0.0.5", "02:00:00:00:00:05")));
  EXPECT_EQ(events, static_cast<int>(known.size()));
}

TEST_F(NeighborMonitorOnLinux, AfterAnOverrunTheEndStateIsReported) {
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.200 lladdr 02:00:00:00:00:05 dev swp1 nud stale"));
  open(1);  // The kernel makes a few notifications of it.
  EXPECT_THAT(known, Contains(Key("10.0.0.200")));
  const std::string batch = ::testing::TempDir() + "rondo-neighbors-" + std::to_string(::getpid());
  {
    std::ofstream file(batch);
    for (int i = 10; i < 190; ++i) {
      file << "neigh replace 10.0.0." << i << " lladdr 02:00:00:00:00:" << (i % 90 + 10) << " dev swp1 nud stale\n";
    }
    file << "neigh del 10.0.0.200 dev swp1\n";
    for (int i = 10; i < 100; ++i) file << "neigh del 10.0.0." << i << " dev swp1\n";
  }
  ASSERT_TRUE(lab->ip("-batch " + batch));
  std::remove(batch.c_str());
  EXPECT_TRUE(wait_until([this] { return monitor->gaps() > 0 && known.size() == 90 && !known.contains("10.0.0.200"); })) << known.size();
  EXPECT_THAT(known, Contains(Pair("10.0.0.189", "02:00:00:00:00:19")));
  EXPECT_THAT(known, Not(Contains(Key("10.0.0.99"))));
}

}  // namespace
}  // namespace rondo::netlink
