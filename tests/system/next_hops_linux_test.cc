// What zebra says of next hops beside a gateway and a port, through FPM and the real rondod into the real kernel: both families in one set,
// weights of 16 bits, onlink in each encoding, and the preferred source, also over a restart, beside another program that changes it, and
// while the host does not have the address. The simulated counterpart is tests/scenarios/next_hops_test.cc. Skipped, with a message, where
// a namespace is not permitted.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "fpm/fpm_kit.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

namespace json = boost::json;
namespace kit = fpm::kit;
using testing::ElementsAre;
using testing::HasSubstr;

class NextHopsOnLinux : public SystemRondod {
 protected:
  NextHopsOnLinux() : SystemRondod(2) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!lab) {
      std::cerr << "SKIPPED: this is about the real kernel\n";
      GTEST_SKIP() << "this is about the real kernel";
    }
    port_ = reserve_port();
    configure("rondod.toml", "socket",
              "[store]\nurl = \"file://" + file("tables") +
                  "?durability=every-batch\"\n[fpm]\nenabled = true\nquiet_ms = 300\nport = " + std::to_string(port_) + "\n");
    std::ofstream(file("rondod.toml"), std::ios::app) << "audit_s = 1\n";
    plane_ = make_linux_dataplane({.network_namespace = lab->path()}).value();
    const std::vector<LinkEvent> links = plane_->links().value();
    for (const LinkEvent& link : links) {
      if (link.name == "swp1") swp1_ = link.port.value();
      if (link.name == "swp2") swp2_ = link.port.value();
    }
    start();
    for (const std::string n : {"1", "2"}) {
      set("PORT_TABLE", "swp" + n, {{"admin_status", "up"}});
      set("INTF_TABLE", "swp" + n, {});
      set("INTF_TABLE", "swp" + n + ":10." + n + ".0.1/24", {});
      set("NEIGH_TABLE", "swp" + n + ":10." + n + ".0.2", {{"neigh", "02:00:00:00:00:02"}});
      set("NEIGH_TABLE", "swp" + n + ":169.254.0.1", {{"neigh", "02:00:00:00:00:09"}});
      set("NEIGH_TABLE", "swp" + n + ":fe80::9", {{"neigh", "02:00:00:00:00:09"}});
    }
    connect();
  }
  /// Returns a port that no other program gets during the test: 'reserved_' stays bound to it, and rondod can bind it with SO_REUSEADDR.
  std::uint16_t reserve_port() const {
    const int on = 1;
    EXPECT_EQ(::setsockopt(reserved_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(reserved_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::getsockname(reserved_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    return ntohs(address.sin_port);
  }
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  void connect() {
    zebra_ = UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const sockaddr_in address = loopback(port_);
    ASSERT_EQ(::connect(zebra_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  void send(const std::string& message) const {
    const std::string bytes = kit::frame(message);
    ASSERT_EQ(::send(zebra_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  std::optional<RouteEntry> route(std::string_view prefix) {
    std::optional<RouteEntry> found;
    const Status read = plane_->routes([&](const RouteEntry& entry) {
      if (entry.prefix.to_string() == prefix) found = entry;
    });
    EXPECT_TRUE(read.ok()) << read.to_string();
    return found;
  }
  std::string source(std::string_view prefix) {
    const auto found = route(prefix);
    return found ? found->source.to_string() : "no route";
  }
  /// The next hops of a route in the kernel as texts.
  std::vector<std::string> hops_of(std::string_view prefix) {
    std::vector<std::string> hops;
    const auto found = route(prefix);
    const std::vector<NexthopEntry> nexthops = plane_->nexthops().value();
    const auto entry = [&](NexthopId id) {
      const auto known = std::ranges::find(nexthops, id, &NexthopEntry::id);
      return known == nexthops.end() ? NexthopEntry{} : *known;
    };
    if (!found) return hops;
    const NexthopEntry group = entry(found->nexthop);
    for (const GroupMember& member : group.members) {
      const NexthopEntry one = entry(member.nexthop);
      hops.push_back(one.gateway.to_string() + "*" + std::to_string(member.weight) + (one.onlink ? " onlink" : ""));
    }
    std::ranges::sort(hops);
    return hops;
  }
  void expect_hops(std::string_view prefix, const std::vector<std::string>& hops) {
    EXPECT_TRUE(becomes([&] { return hops_of(prefix) == hops; }))
        << prefix << ": " << testing::PrintToString(hops_of(prefix)) << log_text();
  }
  void expect_source(std::string_view prefix, std::string_view wanted) {
    EXPECT_TRUE(becomes([&] { return source(prefix) == wanted; })) << prefix << ": " << source(prefix) << log_text();
  }
  json::object row_state(std::string_view key) {
    const auto answer = client->call("why", {{"table", "ROUTE_TABLE"}, {"key", key}});
    return answer ? *answer : json::object{};
  }

  UniqueFd zebra_;
  const UniqueFd reserved_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::unique_ptr<DataPlane> plane_;
  std::uint32_t swp1_ = 0;
  std::uint32_t swp2_ = 0;
};

TEST_F(NextHopsOnLinux, OneNumberedAndOneUnnumberedPeer) {
  send(kit::nexthop(1, "10.1.0.2", swp1_) + kit::nexthop(2, "fe80::9", swp2_) + kit::nexthop(3, "fe80::9", swp1_) +
       kit::nexthop(4, "10.2.0.2", swp2_));
  send(kit::route("20.0.0.0/8", {.nexthop = 1}));
  expect_hops("20.0.0.0/8", {"10.1.0.2*1"});
  send(kit::group(10, {{1, 1}, {2, 1}}) + kit::group(11, {{3, 1}, {4, 1}}));
  send(kit::route("20.0.0.0/8", {.nexthop = 10}) + kit::route("21.0.0.0/8", {.nexthop = 11}));
  expect_hops("20.0.0.0/8", {"10.1.0.2*1", "fe80::9*1"});
  expect_hops("21.0.0.0/8", {"10.2.0.2*1", "fe80::9*1"});
}

TEST_F(NextHopsOnLinux, WeightsOfSixteenBitsKeepTheirProportion) {
  send(kit::nexthop(1, "10.1.0.2", swp1_) + kit::nexthop(2, "10.2.0.2", swp2_) + kit::group(10, {{1, 300}, {2, 900}}) +
       kit::group(11, {{1, 65535}, {2, 1}}));
  send(kit::route("20.0.0.0/8", {.nexthop = 10}) + kit::route("21.0.0.0/8", {.nexthop = 11}));
  send(kit::route("22.0.0.0/8", {.paths = {{"10.1.0.2", swp1_, std::uint8_t{255}}, {"10.2.0.2", swp2_, std::uint8_t{63}}}}));
  expect_hops("20.0.0.0/8", {"10.1.0.2*1", "10.2.0.2*3"});
  expect_hops("21.0.0.0/8", {"10.1.0.2*255", "10.2.0.2*1"});
  expect_hops("22.0.0.0/8", {"10.1.0.2*4", "10.2.0.2*1"});
}

/// 169.254.0.1 is what zebra uses for an IPv6 next hop of an IPv4 route where the kernel takes none (RFC 5549).
TEST_F(NextHopsOnLinux, OnlinkOfEachEncodingReachesTheKernelAndStays) {
  send(kit::nexthop(1, "169.254.0.1", swp1_, true) + kit::route("20.0.0.0/8", {.nexthop = 1}));
  send(kit::route("21.0.0.0/8", {.via = {"169.254.0.1", swp2_}, .onlink = true}));
  send(kit::route("22.0.0.0/8",
                  {.paths = {{"169.254.0.1", swp1_, std::uint8_t{0}}, {"169.254.0.1", swp2_, std::uint8_t{0}}}, .onlink = true}));
  expect_hops("20.0.0.0/8", {"169.254.0.1*1 onlink"});
  expect_hops("21.0.0.0/8", {"169.254.0.1*1 onlink"});
  expect_hops("22.0.0.0/8", {"169.254.0.1*1 onlink", "169.254.0.1*1 onlink"});
  // Another program replaces the next hop by one in a subnet.
  const NexthopId id = [&] {
    const auto nexthops = plane_->nexthops().value();
    return std::ranges::find_if(nexthops, [&](const NexthopEntry& one) { return one.port.value() == swp2_; })->id;
  }();
  Operation other{NexthopSet{.id = id, .gateway = kit::address("10.2.0.2"), .port = IfIndex{swp2_}}, {}};
  plane_->apply({&other, 1});
  ASSERT_TRUE(other.status.ok()) << other.status.to_string();
  expect_hops("21.0.0.0/8", {"169.254.0.1*1 onlink"});
}

TEST_F(NextHopsOnLinux, ThePreferredSourceIsProgrammedKeptOverARestartAndRestored) {
  set("INTF_TABLE", "swp2:fd00:2::1/64", {});
  set("INTF_TABLE", "swp1:fd00:1::1/64", {});
  set("NEIGH_TABLE", "swp1:fd00:1::2", {{"neigh", "02:00:00:00:06:02"}});
  const std::string next = kit::nexthop(1, "10.1.0.2", swp1_) + kit::nexthop(2, "fd00:1::2", swp1_);
  const std::string from4 = kit::route("20.0.0.0/8", {.nexthop = 1, .source = "10.2.0.1"});
  const std::string from6 = kit::route("2001:db8::/32", {.nexthop = 2, .source = "fd00:2::1"});
  send(next + from4 + from6 + kit::route("21.0.0.0/8", {.nexthop = 1}));
  expect_source("20.0.0.0/8", "10.2.0.1");
  expect_source("2001:db8::/32", "fd00:2::1");
  expect_source("21.0.0.0/8", "0.0.0.0");
  // Another program takes the source.
  Operation other{RouteSet{.prefix = kit::prefix("20.0.0.0/8"), .nexthop = route("20.0.0.0/8")->nexthop}, {}};
  plane_->apply({&other, 1});
  ASSERT_TRUE(other.status.ok()) << other.status.to_string();
  expect_source("20.0.0.0/8", "10.2.0.1");
  // A restart changes nothing.
  client.reset();
  ::kill(pid, SIGKILL);
  wait();
  start();
  connect();
  send(next + from4 + from6 + kit::route("21.0.0.0/8", {.nexthop = 1}));
  EXPECT_TRUE(becomes([&] {
    const json::value stats = client->call("stats", {}).value();
    return stats.at("fpm").at("resync").as_string() == "done" && stats.at("fpm").at("routes").to_number<int>() == 3;
  }));
  EXPECT_EQ(source("20.0.0.0/8"), "10.2.0.1");
  EXPECT_EQ(source("2001:db8::/32"), "fd00:2::1");
  EXPECT_TRUE(becomes([&] {  // verify answers when the restart is over.
    const auto verified = client->call("verify", {});
    return verified && verified->at("differences").to_number<int>() == 0;
  })) << log_text();
  send(kit::route("20.0.0.0/8", {.nexthop = 1}));
  expect_source("20.0.0.0/8", "0.0.0.0");
}

TEST_F(NextHopsOnLinux, ASourceThatTheHostDoesNotHaveIsNamedAndTriedAgain) {
  send(kit::nexthop(1, "10.1.0.2", swp1_) + kit::route("20.0.0.0/8", {.nexthop = 1, .source = "10.1.0.32"}));
  const auto is_named = [&] {
    return json::serialize(row_state("20.0.0.0/8")).find("the preferred source is not an address of this host") != std::string::npos;
  };
  EXPECT_TRUE(becomes(is_named)) << json::serialize(row_state("20.0.0.0/8"));
  Operation address{AddressSet{.port = IfIndex{swp2_}, .address = Prefix::parse_interface("10.1.0.32/32").value()}, {}};
  const auto another = make_linux_dataplane({.network_namespace = lab->path(), .protocol = 200}).value();
  another->apply({&address, 1});
  ASSERT_TRUE(address.status.ok()) << address.status.to_string();
  expect_source("20.0.0.0/8", "10.1.0.32");
  // The kernel drops the route with the address.
  Operation gone{AddressDelete{.port = IfIndex{swp2_}, .address = Prefix::parse_interface("10.1.0.32/32").value()}, {}};
  another->apply({&gone, 1});
  ASSERT_TRUE(gone.status.ok()) << gone.status.to_string();
  EXPECT_TRUE(becomes([&] { return !route("20.0.0.0/8") && is_named(); })) << json::serialize(row_state("20.0.0.0/8"));
  another->apply({&address, 1});
  expect_source("20.0.0.0/8", "10.1.0.32");
}

}  // namespace
}  // namespace rondo
