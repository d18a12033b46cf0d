// The addresses of rondod's ports on the real kernel: their subnets in a table of rondod's own, and a host that has one of the IPv6
// addresses, which is found and reported, and not repaired. Skipped, with a message, where a namespace is not permitted. RONDOD names the
// program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "rondod_on_linux.h"

namespace rondo {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ConnectedOnLinux : public SystemRondod {
 protected:
  ConnectedOnLinux() : SystemRondod(2) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped()) return;
    if (!lab) GTEST_SKIP() << "SKIPPED: needs network namespaces";
    configure("rondod.toml", "socket", "[store]\nurl = \"file://" + file("tables") + "?durability=every-batch\"\n");
  }
  void add_setting(const std::string& line) const { std::ofstream(file("rondod.toml"), std::ios::app) << line << '\n'; }
  void start_with_ports() {
    start();
    for (const char* port : {"swp1", "swp2"}) {
      set("PORT_TABLE", port, {{"admin_status", "up"}});
      set("INTF_TABLE", port, {{"NULL", "NULL"}});
    }
  }
  void kill_and_start() {
    client.reset();
    ::kill(pid, SIGKILL);
    wait();
    start();
  }
  std::string ip(const std::string& arguments) const {
    std::string text;
    std::array<char, 512> piece{};
    FILE* const pipe = ::popen(("ip -n " + lab->name() + " " + arguments + " 2>&1").c_str(), "r");
    while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
    if (pipe != nullptr) ::pclose(pipe);
    return text;
  }
  std::string why(const std::string& key) {
    const auto answer = client->call("why", {{"table", "INTF_TABLE"}, {"key", key}});
    return answer ? json::serialize(*answer) : answer.error().to_string();
  }
  /// The daemon has read its own answer, and the kernel has ended its detection.
  bool is_in_use(const std::string& key) {
    const std::string told = why(key);
    return told.find("\"installed\"") != std::string::npos && told.find("tentative") == std::string::npos;
  }
  std::string health() { return json::serialize(client->call("health", {}).value()); }
  /// Audits everything; -1 while an audit is under way.
  std::int64_t differences() {
    const auto told = client->call("verify", {});
    return told ? told->at("differences").to_number<std::int64_t>() : -1;
  }
};

TEST_F(ConnectedOnLinux, ADefaultRouteLeavesTheConnectedSubnetsAlone) {
  add_setting("table = 100");
  ASSERT_TRUE(lab->ip("rule add pref 100 table 100"));
  start_with_ports();
  set("INTF_TABLE", "swp1:10.0.1.1/24", {{"NULL", "NULL"}});
  set("INTF_TABLE", "swp2:10.0.2.1/24", {{"NULL", "NULL"}});
  set("NEIGH_TABLE", "swp1:10.0.1.2", {{"neigh", "02:00:00:00:00:02"}});
  set("ROUTE_TABLE", "0.0.0.0/0", {{"nexthop", "10.0.1.2"}, {"ifname", "swp1"}});
  const auto goes = [this](const std::string& to, const char* port) {
    return becomes([&] { return ip("route get " + to).find(std::string{"dev "} + port) != std::string::npos; });
  };
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(goes("192.0.2.1", "swp1")) << ip("route show table 100");
    EXPECT_TRUE(goes("10.0.2.77", "swp2")) << ip("route show table 100") << log_text();
    EXPECT_TRUE(becomes([&] { return differences() == 0; })) << health();
    if (run == 0) kill_and_start();
  }
}

/// The other end of swp1 is in a host that has fd00:1::1, too.
class DuplicateAddressOnLinux : public ConnectedOnLinux {
 protected:
  void SetUp() override {
    ConnectedOnLinux::SetUp();
    if (IsSkipped()) return;
    auto other = netlink::Lab::make();
    if (!other) GTEST_SKIP() << "SKIPPED: needs network namespaces";
    host = std::move(*other);
    ASSERT_TRUE(lab->ip("link set line1 netns " + host->name()) && host->ip("link set line1 up"));
    ASSERT_TRUE(host->ip("addr add fd00:1::1/64 dev line1 nodad"));
  }
  std::unique_ptr<netlink::Lab> host;
};

TEST_F(DuplicateAddressOnLinux, IsFoundAndReportedAndStaysUntilTheRowIsWrittenAgain) {
  start_with_ports();
  set("INTF_TABLE", "swp1:fd00:1::1/64", {{"NULL", "NULL"}});
  set("INTF_TABLE", "swp1:fd00:1::5/64", {{"NULL", "NULL"}});
  EXPECT_TRUE(becomes([&] { return ip("addr show dev swp1").find("fd00:1::1/64 scope global dadfailed") != std::string::npos; }))
      << ip("addr show dev swp1");
  EXPECT_TRUE(becomes([&] { return why("swp1:fd00:1::1/64").find("duplicate address") != std::string::npos; })) << why("swp1:fd00:1::1/64");
  EXPECT_TRUE(becomes([&] { return is_in_use("swp1:fd00:1::5/64"); })) << why("swp1:fd00:1::5/64");
  EXPECT_THAT(health(), HasSubstr("INTF_TABLE:swp1:fd00:1::1/64 is a duplicate address"));

  // It is as it was set: neither an audit nor a restart sets it again.
  EXPECT_TRUE(becomes([&] { return differences() == 0; })) << health();
  kill_and_start();
  EXPECT_TRUE(becomes([&] { return why("swp1:fd00:1::1/64").find("duplicate address") != std::string::npos; })) << why("swp1:fd00:1::1/64");
  EXPECT_THAT(health(), HasSubstr("INTF_TABLE:swp1:fd00:1::1/64 is a duplicate address"));

  ASSERT_TRUE(host->ip("addr del fd00:1::1/64 dev line1"));
  ASSERT_TRUE(client->call("del", {{"table", "INTF_TABLE"}, {"key", "swp1:fd00:1::1/64"}}).has_value());
  EXPECT_TRUE(becomes([&] { return ip("addr show dev swp1").find("fd00:1::1/64") == std::string::npos; }));
  set("INTF_TABLE", "swp1:fd00:1::1/64", {{"NULL", "NULL"}});
  EXPECT_TRUE(becomes([&] {
    const std::string text = ip("addr show dev swp1 -tentative");
    return text.find("fd00:1::1/64") != std::string::npos && is_in_use("swp1:fd00:1::1/64");
  })) << ip("addr show dev swp1")
      << why("swp1:fd00:1::1/64");
  EXPECT_THAT(health(), Not(HasSubstr("duplicate")));
}

TEST_F(DuplicateAddressOnLinux, IsUsedWhereNoneIsLookedFor) {
  add_setting("detect_duplicates = false");
  start_with_ports();
  set("INTF_TABLE", "swp1:fd00:1::1/64", {{"NULL", "NULL"}});
  EXPECT_TRUE(becomes([&] { return ip("addr show dev swp1").find("fd00:1::1/64 scope global nodad") != std::string::npos; }))
      << ip("addr show dev swp1");
  EXPECT_TRUE(becomes([&] { return why("swp1:fd00:1::1/64").find("\"installed\"") != std::string::npos; })) << why("swp1:fd00:1::1/64");
  EXPECT_THAT(health(), Not(HasSubstr("duplicate")));
}

}  // namespace
}  // namespace rondo
