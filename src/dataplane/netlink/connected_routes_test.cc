// ConnectedRoutes on the real kernel, in a namespace whose rule prefers table 100: packets to directly connected hosts leave by their port,
// whatever covering routes the table has. Goal: that holds at a start, after changes of addresses and ports by any program, and against
// other programs; and nothing is left of a subnet that is gone. Skipped, with a message, where no namespace can be made.
#include "dataplane/netlink/connected_routes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "dataplane/netlink/lab.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"

namespace rondo::netlink {
namespace {

class ConnectedRoutesOnLinux : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Lab::make();
    if (!made) {
      std::cerr << "SKIPPED: " << made.error().to_string() << '\n';
      GTEST_SKIP() << made.error().to_string();
    }
    lab = std::move(*made);
    for (int port = 1; port <= 3; ++port) ASSERT_TRUE(lab->add_port(port) && lab->ip("link set swp" + std::to_string(port) + " up"));
    // The kernel makes the link-local subnet of a port when it has noticed the carrier.
    for (int port = 1; port <= 3; ++port) ASSERT_TRUE(has_link_local(port));
    ASSERT_TRUE(lab->ip("rule add pref 100 table 100") && lab->ip("-6 rule add pref 100 table 100"));
    // What covers every subnet of the test: the default routes of another router.
    ASSERT_TRUE(lab->ip("addr add 10.3.0.1/24 dev swp3") && lab->ip("addr add fd00:3::1/64 dev swp3 nodad"));
    ASSERT_TRUE(lab->ip("route add default via 10.3.0.2 table 100") && lab->ip("-6 route add default via fd00:3::2 table 100"));
    reactor = make_epoll_reactor().value();
    scheduler = std::make_unique<Scheduler>(clock, *reactor, make_policy(StrictPriority{}).value());
  }
  bool has_link_local(int port) const {
    const Instant deadline = clock.now() + 20s;
    const std::string shows = "-6 route show fe80::/64 dev swp" + std::to_string(port) + " | grep -q fe80";
    while (!lab->ip(shows)) {
      if (clock.now() > deadline) return false;
    }
    return true;
  }
  /// A data plane that keeps copies, as a program has one after its start.
  void start() {
    plane = make_linux_dataplane({.network_namespace = lab->path()}).value();
    plane->copy_subnets_to(100);
    monitor = plane->watch_objects(*scheduler, Priority{50}, [](const auto&) {}).value();
    read();
  }
  void stop() {
    monitor.reset();
    plane.reset();
  }
  void TearDown() override { stop(); }
  void read() {
    ASSERT_TRUE(
        plane->routes([](const RouteEntry& route) { ADD_FAILURE() << route.prefix.to_string() << ": a copy is no route of an order"; })
            .ok());
  }
  void apply(Order order) {
    Operation operation{std::move(order), {}};
    plane->apply({&operation, 1});
    EXPECT_TRUE(operation.status.ok()) << operation.status.to_string();
  }
  IfIndex port(const std::string& name) {
    const std::vector<LinkEvent> links = plane->links().value();
    for (const LinkEvent& link : links) {
      if (link.name == name) return link.port;
    }
    return {};
  }

  std::string ip(const std::string& arguments) const {
    std::string text;
    FILE* const pipe = ::popen(("ip -n " + lab->name() + " " + arguments + " 2>&1").c_str(), "r");
    std::array<char, 512> piece{};
    while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
    if (pipe != nullptr) ::pclose(pipe);
    return text;
  }
  /// Where the kernel sends a packet: "swp1", or "swp3 by a gateway".
  std::string way_to(const std::string& host) const {
    const std::string text = ip("route get " + host);
    const std::size_t at = text.find(" dev ");
    if (at == std::string::npos) return text;
    return text.substr(at + 5, text.find(' ', at + 5) - at - 5) + (text.find(" via ") == std::string::npos ? "" : " by a gateway");
  }
  /// The routes of both families in table 100 to a prefix.
  std::string routes_to(const std::string& prefix) const { return ip("route show table 100 exact " + prefix); }
  bool becomes(const std::function<bool()>& holds) {
    const Instant deadline = clock.now() + 20s;
    scheduler->run_until_idle();
    while (!holds() && clock.now() < deadline) {
      scheduler->wait(deadline);
      scheduler->run_until_idle();
    }
    return holds();
  }

  SystemClock clock;
  std::unique_ptr<Lab> lab;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<DataPlane> plane;
  std::unique_ptr<Source> monitor;
};

TEST_F(ConnectedRoutesOnLinux, ASubnetThatIsThereAtTheStartWinsAgainstACoveringRoute) {
  ASSERT_TRUE(lab->ip("addr add 10.1.0.1/24 dev swp1") && lab->ip("addr add fd00:1::1/64 dev swp1 nodad"));
  EXPECT_EQ(way_to("10.1.0.9"), "swp3 by a gateway") << "the rule prefers the table";
  start();
  EXPECT_EQ(way_to("10.1.0.9"), "swp1");
  EXPECT_NE(ip("route get 10.1.0.9").find(" src 10.1.0.1"), std::string::npos) << ip("route get 10.1.0.9");
  EXPECT_EQ(way_to("fd00:1::9"), "swp1");
  EXPECT_EQ(way_to("fe80::9 oif swp1"), "swp1");
  EXPECT_EQ(way_to("fe80::9 oif swp3"), "swp3") << "not through the gateway of its default route";
  EXPECT_EQ(way_to("10.9.0.1"), "swp3 by a gateway") << "a subnet that is not connected";
  EXPECT_EQ(way_to("fd00:9::1"), "swp3 by a gateway");
  EXPECT_TRUE(plane->missing_subnets().empty());
}

TEST_F(ConnectedRoutesOnLinux, TheCopyFollowsAddressesAndPorts) {
  start();
  apply(AddressSet{port("swp1"), Prefix::parse_interface("10.1.0.1/24").value()});
  apply(AddressSet{port("swp1"), Prefix::parse_interface("fd00:1::1/64").value()});
  EXPECT_TRUE(becomes([&] { return way_to("10.1.0.9") == "swp1" && way_to("fd00:1::9") == "swp1"; })) << ip("route show table 100");
  ASSERT_TRUE(lab->ip("addr add 10.2.0.1/31 dev swp2"));
  EXPECT_TRUE(becomes([&] { return way_to("10.2.0.0") == "swp2"; })) << "an address of another program";

  ASSERT_TRUE(lab->ip("link set swp1 down"));
  EXPECT_EQ(routes_to("10.1.0.0/24"), "") << "the kernel drops it with the port";
  EXPECT_TRUE(becomes([&] { return ip("-6 route show table 100 exact fd00:1::/64").empty(); }));
  ASSERT_TRUE(lab->ip("link set swp1 up"));
  EXPECT_TRUE(becomes([&] { return way_to("10.1.0.9") == "swp1"; })) << ip("route show table 100");
  apply(AddressSet{port("swp1"), Prefix::parse_interface("fd00:1::1/64").value()});
  EXPECT_TRUE(becomes([&] { return way_to("fd00:1::9") == "swp1"; }));

  apply(AddressDelete{port("swp1"), Prefix::parse_interface("10.1.0.1/24").value()});
  apply(AddressDelete{port("swp1"), Prefix::parse_interface("fd00:1::1/64").value()});
  EXPECT_TRUE(becomes([&] { return routes_to("10.1.0.0/24").empty() && ip("-6 route show table 100 exact fd00:1::/64").empty(); }))
      << ip("route show table 100");
  EXPECT_EQ(way_to("10.1.0.9"), "swp3 by a gateway");
  EXPECT_TRUE(plane->missing_subnets().empty());
}

TEST_F(ConnectedRoutesOnLinux, TheCopyWinsAgainstAnotherRoutersRouteToTheSamePrefix) {
  start();
  apply(NexthopSet{NexthopId{90001}, IpAddress::parse("10.3.0.2").value(), port("swp3")});
  apply(NexthopSet{NexthopId{90002}, IpAddress::parse("fd00:3::2").value(), port("swp3")});
  for (const auto& [subnet, hop] : {std::pair{"10.1.0.0/24", 90001U}, std::pair{"fd00:1::/64", 90002U}}) {
    apply(RouteSet{.prefix = Prefix::parse(subnet).value(), .nexthop = NexthopId{hop}, .table = 100, .create = true});
  }
  EXPECT_EQ(way_to("10.1.0.9"), "swp3 by a gateway");
  ASSERT_TRUE(lab->ip("addr add 10.1.0.1/24 dev swp1") && lab->ip("addr add fd00:1::1/64 dev swp1"));
  EXPECT_TRUE(becomes([&] { return way_to("10.1.0.9") == "swp1" && way_to("fd00:1::9") == "swp1"; })) << ip("-6 route show table 100");
  // In the other order, and the route goes without the copy.
  for (const auto& [subnet, hop] : {std::pair{"10.1.0.0/24", 90001U}, std::pair{"fd00:1::/64", 90002U}}) {
    const Prefix prefix = Prefix::parse(subnet).value();
    apply(RouteDelete{.prefix = prefix, .table = 100});
    EXPECT_EQ(way_to(prefix.address.is_v6() ? "fd00:1::9" : "10.1.0.9"), "swp1");
    apply(RouteSet{.prefix = prefix, .nexthop = NexthopId{hop}, .table = 100, .create = true});
    EXPECT_EQ(way_to(prefix.address.is_v6() ? "fd00:1::9" : "10.1.0.9"), "swp1");
    apply(RouteDelete{.prefix = prefix, .table = 100});
  }
  read();
}

TEST_F(ConnectedRoutesOnLinux, TwoPortsInOneSubnetKeepTheKernelsOrder) {
  ASSERT_TRUE(lab->ip("addr add 10.1.0.2/24 dev swp2") && lab->ip("addr add 10.1.0.1/24 dev swp1"));
  ASSERT_EQ(way_to("10.1.0.9 oif swp1"), "swp1");
  start();
  EXPECT_EQ(way_to("10.1.0.9"), "swp2");
  ASSERT_TRUE(lab->ip("addr del 10.1.0.2/24 dev swp2"));
  EXPECT_TRUE(becomes([&] { return way_to("10.1.0.9") == "swp1"; })) << ip("route show table 100");
}

TEST_F(ConnectedRoutesOnLinux, ACopyThatAnotherProgramDeletesIsPutBack) {
  ASSERT_TRUE(lab->ip("addr add 10.1.0.1/24 dev swp1"));
  start();
  ASSERT_TRUE(lab->ip("route del 10.1.0.0/24 table 100 dev swp1"));
  EXPECT_TRUE(becomes([&] { return way_to("10.1.0.9") == "swp1"; })) << ip("route show table 100");
}

TEST_F(ConnectedRoutesOnLinux, ANewStartDeletesWhatIsLeftOfSubnetsThatAreGone) {
  ASSERT_TRUE(lab->ip("addr add 10.1.0.1/24 dev swp1") && lab->ip("addr add fd00:1::1/64 dev swp1 nodad"));
  start();
  stop();
  ASSERT_TRUE(lab->ip("addr del 10.1.0.1/24 dev swp1") && lab->ip("addr del fd00:1::1/64 dev swp1"));
  ASSERT_TRUE(lab->ip("addr add 10.2.0.1/24 dev swp2"));
  EXPECT_NE(ip("-6 route show table 100 exact fd00:1::/64"), "") << "the kernel leaves it, and older kernels also that of IPv4";
  start();
  EXPECT_EQ(routes_to("10.1.0.0/24"), "");
  EXPECT_EQ(ip("-6 route show table 100 exact fd00:1::/64"), "");
  EXPECT_EQ(way_to("10.2.0.9"), "swp2");
}

TEST_F(ConnectedRoutesOnLinux, AMetricOfAnOperatorStaysBehindThatOfTheOthers) {
  ASSERT_TRUE(lab->ip("addr add 10.1.0.1/24 dev swp1 metric 600") && lab->ip("addr add 10.1.0.2/24 dev swp2 metric 100"));
  start();
  EXPECT_EQ(way_to("10.1.0.9"), "swp2");
  ASSERT_TRUE(lab->ip("link set swp2 down"));
  EXPECT_EQ(way_to("10.1.0.9"), "swp1");
}

}  // namespace
}  // namespace rondo::netlink
