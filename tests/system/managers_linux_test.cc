// rondod's managers on the real kernel: rows that redis-cli writes into CONFIG_DB, as SONiC's configuration tools do, become the kernel's
// ports, addresses and routes, and STATE_DB shows them. They go with their rows, survive a restart untouched, and are right after a kill at
// any moment. Skipped, with a message, without redis-tools or where a namespace is not permitted. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "dataplane/netlink/lab_frames.h"
#include "kernel_events.h"
#include "restart_stores.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ManagersOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    if (redis_kit::server_program().empty() || redis_kit::find_program("redis-cli").empty()) {
      GTEST_SKIP() << "SKIPPED: no redis-server; install Debian's package redis-tools";
    }
    SystemRondod::SetUp();
    if (IsSkipped()) return;
    if (!lab) GTEST_SKIP() << "SKIPPED: needs a network namespace";
    store = std::make_unique<restart::TestStore>(restart::StoreKind::Redis, directory);
    configure("rondod.toml", "socket",
              "[store]\nurl = \"" + store->url() + "\"\nlease_ms = 3000\n[managers]\nenabled = true\nconfig_db = \"" + store->url() +
                  "?db=4\"\nstate_db = \"" + store->url() + "?db=6\"\n");
    const std::string check = program_ + " --config " + file("rondod.toml") + " --check-config 2>&1 | grep -q 'was built without'";
    if (std::system(check.c_str()) == 0) GTEST_SKIP() << "SKIPPED: this rondod was built without Redis";
    plane = make_linux_dataplane({.network_namespace = lab->path()}).value();
  }
  /// Runs `redis-cli`, and returns what it prints, without the last end of line.
  std::string redis(int database, const std::string& words) const {
    const std::string command = "redis-cli -s " + file("redis") + " -n " + std::to_string(database) + " " + words;
    FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> part{};
    for (std::size_t size; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), size);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  void config(const std::string& words) const { EXPECT_THAT(redis(4, words), Not(HasSubstr("ERR"))) << words; }
  void config_all() const {
    config("HSET 'PORT|swp1' admin_status up mtu 9100 lanes 0,1,2,3 alias Eth1");
    config("HSET 'INTERFACE|swp1' NULL NULL");
    config("HSET 'INTERFACE|swp1|10.0.0.1/24' NULL NULL");
    config("HSET 'INTERFACE|swp1|fc00:1::1/64' NULL NULL");
    config("HSET 'LOOPBACK_INTERFACE|Loopback0' NULL NULL");
    config("HSET 'LOOPBACK_INTERFACE|Loopback0|10.1.0.1/32' NULL NULL");
    config("HSET 'STATIC_ROUTE|default|20.0.0.0/16' nexthop 10.0.0.2 ifname '' distance 0");
    config("HSET 'STATIC_ROUTE|20.1.0.0/16' blackhole true");
  }
  restart::Lines kernel() const { return restart::kernel_lines(*plane); }
  bool has(const std::string& beginning) const {
    const restart::Lines lines = kernel();
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(beginning); });
  }
  bool has_all() const {
    return has("link swp1 up mtu 9100") && has("address swp1 10.0.0.1/24") && has("address swp1 fc00:1::1/64") &&
           has("address Loopback0 10.1.0.1/32") && has("route 20.0.0.0/16 via ") && has("route 20.1.0.0/16 blackhole");
  }
  /// Starts, with all rows configured, and waits for the kernel.
  void start_with_all() {
    // The kernel of a test machine may have no dummy devices.
    ASSERT_TRUE(lab->ip("link add Loopback0 type veth peer name line0") && lab->ip("link set Loopback0 up"));
    config_all();
    start();
    set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    ASSERT_TRUE(becomes([this] { return has_all(); })) << log_text() << ::testing::PrintToString(kernel());
  }
  void kill9() {
    client.reset();
    ::kill(pid, SIGKILL);
    wait();
  }

  std::unique_ptr<restart::TestStore> store;
  std::unique_ptr<DataPlane> plane;
};

TEST_F(ManagersOnLinux, ConfigBecomesThePortsAddressesAndRoutesOfTheKernel) {
  start_with_all();
  EXPECT_TRUE(becomes([this] { return redis(6, "HGET 'INTERFACE_TABLE|swp1|fc00:1::1/64' state") == "ok"; }));
  EXPECT_TRUE(becomes([this] { return redis(6, "HGET 'PORT_TABLE|swp1' netdev_oper_status") == "up"; }));
  ASSERT_TRUE(lab->ip("addr add 192.0.2.1/24 dev swp1"));
  ASSERT_TRUE(lab->set_carrier(1, false));
  EXPECT_TRUE(becomes([this] { return redis(6, "HGET 'PORT_TABLE|swp1' netdev_oper_status") == "down"; }));
  ASSERT_TRUE(lab->set_carrier(1, true));
  config("DEL 'STATIC_ROUTE|default|20.0.0.0/16' 'INTERFACE|swp1|fc00:1::1/64' 'LOOPBACK_INTERFACE|Loopback0|10.1.0.1/32'");
  config("HSET 'PORT|swp1' mtu 1500");
  EXPECT_TRUE(becomes([this] {
    return has("link swp1 up mtu 1500") && !has("route 20.0.0.0/16") && !has("address swp1 fc00:1::1/64") &&
           !has("address Loopback0 10.1.0.1/32");
  })) << ::testing::PrintToString(kernel());
  EXPECT_TRUE(has("address swp1 10.0.0.1/24") && has("route 20.1.0.0/16 blackhole"));
  EXPECT_TRUE(has("address swp1 192.0.2.1/24")) << "of another program";
  EXPECT_TRUE(becomes([this] { return redis(6, "EXISTS 'INTERFACE_TABLE|swp1|fc00:1::1/64'") == "0"; }));
}

TEST_F(ManagersOnLinux, AVlanOfConfigDbIsABridgeAndItsStationsAreInStateDbUntilTheyAreFlushed) {
  config("HSET 'PORT|swp1' admin_status up mtu 9100");
  config("HSET 'VLAN|Vlan10' vlanid 10");
  config("HSET 'VLAN_MEMBER|Vlan10|swp1' tagging_mode untagged");
  config("HSET 'VLAN_INTERFACE|Vlan10' NULL NULL");
  config("HSET 'VLAN_INTERFACE|Vlan10|10.0.0.1/24' NULL NULL");
  start();
  ASSERT_TRUE(becomes([this] { return has("port swp1 in Vlan10") && has("address Vlan10 10.0.0.1/24"); })) << log_text();
  EXPECT_TRUE(becomes([this] { return redis(6, "HGET 'VLAN_TABLE|Vlan10' state") == "ok"; }));
  EXPECT_TRUE(becomes([this] { return redis(6, "HGET 'VLAN_MEMBER_TABLE|Vlan10|swp1' state") == "ok"; }));
  const MacAddress station{{2, 0, 0, 0, 0, 0xaa}};
  const std::string row = "'FDB_TABLE|Vlan10:" + station.to_string() + "'";
  // The bridge learns nothing before it has noticed the carrier of its port.
  EXPECT_TRUE(becomes([&] {
    EXPECT_TRUE(netlink::send_frame(*lab, 1, station).ok());
    return redis(6, "HGET " + row + " port") == "swp1";
  })) << log_text();
  EXPECT_EQ(redis(6, "HGET " + row + " type"), "dynamic");
  redis(0, "PUBLISH FLUSHFDBREQUEST '[\"PORTVLAN\",\"swp1|Vlan10\"]'");
  EXPECT_TRUE(becomes([&] { return redis(6, "EXISTS " + row) == "0"; })) << log_text();
}

TEST_F(ManagersOnLinux, AVlanThatAnotherProgramSetsDownIsATroubleUntilItsRowIsWrittenAgain) {
  config("HSET 'VLAN|Vlan10' vlanid 10");
  start();
  const auto health = [this] { return boost::json::serialize(client->call("health", {}).value()); };
  ASSERT_TRUE(becomes([this] { return redis(6, "HGET 'VLAN_TABLE|Vlan10' state") == "ok"; })) << log_text();
  EXPECT_THAT(health(), Not(HasSubstr("VLAN differs")));
  ASSERT_TRUE(lab->ip("link set Vlan10 down"));
  EXPECT_TRUE(becomes([&] { return health().find("1 VLAN differs from its row") != std::string::npos; })) << health();
  set("VLAN_TABLE", "Vlan10", {{"admin_status", "up"}});
  EXPECT_TRUE(becomes([&] { return health().find("VLAN differs") == std::string::npos; })) << health();
}

TEST_F(ManagersOnLinux, ARestartTouchesWhatDiffersAndNothingElse) {
  std::ofstream(file("rondod.toml"), std::ios::app) << "detect_duplicates = false\n";  // Its end would be an event of the port.
  start_with_all();
  set("ROUTE_TABLE", "20.9.0.0/16", {{"blackhole", "true"}});
  ASSERT_TRUE(becomes([this] { return has("route 20.9.0.0/16"); }));
  // The kernel reports up to a second later that a line is up.
  ASSERT_TRUE(becomes([this] { return lab->ip("-o link show swp1 | grep -q 'state UP'"); }));
  const restart::Lines before = kernel();
  restart::KernelEvents events(lab->path(), *plane);
  kill9();
  config("DEL 'STATIC_ROUTE|20.1.0.0/16'");
  config("HSET 'STATIC_ROUTE|20.2.0.0/16' blackhole true");
  redis(6, "DEL 'NEIGH_RESTORE_TABLE|Flags'");
  start();
  EXPECT_TRUE(becomes([this] { return has("route 20.2.0.0/16") && !has("route 20.1.0.0/16"); })) << log_text();
  EXPECT_TRUE(becomes([this] { return redis(6, "HGET 'NEIGH_RESTORE_TABLE|Flags' restored") == "true"; })) << "the end of the start";
  EXPECT_TRUE(has("route 20.9.0.0/16")) << "another producer's";
  EXPECT_THAT(restart::needless(events.take(), before, kernel()), IsEmpty());
}

/// The daemon is stopped while CONFIG_DB changes, and killed before it has read the change.
TEST_F(ManagersOnLinux, AKillBetweenConfigDbAndApplDbLosesNothing) {
  start_with_all();
  ::kill(pid, SIGSTOP);
  config("DEL 'STATIC_ROUTE|20.1.0.0/16'");
  config("HSET 'STATIC_ROUTE|20.2.0.0/16' blackhole true");
  config("HSET 'PORT|swp1' mtu 1400");
  kill9();
  EXPECT_EQ(redis(0, "EXISTS ROUTE_TABLE:20.2.0.0/16 _ROUTE_TABLE:20.2.0.0/16"), "0");
  start();
  EXPECT_TRUE(becomes([this] { return has("route 20.2.0.0/16") && !has("route 20.1.0.0/16") && has("link swp1 up mtu 1400"); }))
      << log_text();
}

/// Kills at random moments while routes come and go. At the end the kernel has what CONFIG_DB has, and no row is without its owner.
TEST_F(ManagersOnLinux, KillsAtAnyMomentLeaveNoRowBehind) {
  start_with_all();
  std::mt19937 random{20261125};
  std::vector<bool> wanted(40);
  for (int round = 0; round < plain_or_sanitized(8, 3); ++round) {
    std::string script;
    for (int changes = 0; changes < 60; ++changes) {
      const std::size_t i = random() % wanted.size();
      wanted[i] = !wanted[i];
      const std::string key = "'STATIC_ROUTE|21." + std::to_string(i) + ".0.0/16'";
      script += wanted[i] ? "HSET " + key + " blackhole true\n" : "DEL " + key + "\n";
    }
    std::ofstream(file("script")) << script;
    redis(4, "< " + file("script") + " > /dev/null");
    static_cast<void>(::poll(nullptr, 0, static_cast<int>(random() % 4)));  // Chooses the moment of the kill.
    kill9();
    start();
  }
  const auto is_equal = [&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (has("route 21." + std::to_string(i) + ".0.0/16") != wanted[i]) return false;
    }
    return true;
  };
  EXPECT_TRUE(becomes(is_equal)) << log_text() << ::testing::PrintToString(kernel());
  const auto wanted_rows = std::ranges::count(wanted, true);
  const auto rows = [this](const std::string& pattern) {
    return redis(0, "EVAL \"return #redis.call('KEYS', ARGV[1])\" 0 '" + pattern + "'");
  };
  EXPECT_TRUE(becomes([&] { return rows("MANAGED_ROWS:ROUTE_TABLE:21.*") == std::to_string(wanted_rows); }));
  EXPECT_TRUE(becomes([&] { return rows("ROUTE_TABLE:21.*") == std::to_string(wanted_rows); })) << rows("ROUTE_TABLE:21.*");
}

/// Two runs: one that reads CONFIG_DB for the first time and writes a row again that another program deletes, and one that finds the rows
/// of the first, some of which have no source any more.
TEST_F(ManagersOnLinux, ADayOfTheManagersCanBeReplayed) {
  std::ofstream(file("rondod.toml"), std::ios::app) << "[journal]\nfile = \"" << file("day.journal") << "\"\n";
  start_with_all();
  config("HSET 'PORT|swp1' mtu 1500");
  config("DEL 'STATIC_ROUTE|default|20.0.0.0/16'");
  redis(0, "DEL ROUTE_TABLE:20.1.0.0/16");
  EXPECT_TRUE(becomes([this] {
    return has("link swp1 up mtu 1500") && !has("route 20.0.0.0/16") && redis(0, "EXISTS ROUTE_TABLE:20.1.0.0/16") == "1";
  })) << log_text();
  client.reset();
  ::kill(pid, SIGTERM);
  EXPECT_EQ(wait(), 0) << log_text();
  config("DEL 'STATIC_ROUTE|20.1.0.0/16'");
  config("HSET 'STATIC_ROUTE|20.2.0.0/16' blackhole true");
  start();
  EXPECT_TRUE(becomes([this] { return has("route 20.2.0.0/16") && !has("route 20.1.0.0/16"); })) << log_text();
  client.reset();
  ::kill(pid, SIGTERM);
  EXPECT_EQ(wait(), 0) << log_text();
  const std::string rondo = (std::filesystem::path(program_).parent_path().parent_path() / "rondo" / "rondo").string();
  for (const std::string run : {"1", "2"}) {
    const std::string command = rondo + " replay --run " + run + " " + file("day.journal") + " > " + file("replay") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << "run " << run << ": " << std::ifstream(file("replay")).rdbuf();
  }
}

}  // namespace
}  // namespace rondo
