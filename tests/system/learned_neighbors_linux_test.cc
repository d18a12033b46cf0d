// rondod with learn_neighbors on the real kernel, beside a host in a namespace of its own that answers ARP and neighbour discovery: routes
// find their next hops without a row of an operator, the kernel's neighbours stay the kernel's, a host may change its link address, and
// rows of an operator stay. Skipped, with a message, where a namespace is not permitted. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "restart_stores.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The switch has swp1 with 10.0.0.1 and fc00::1, the host line1 with 10.0.0.2 and fc00::2.
class LearnedNeighborsOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped()) return;
    auto other = netlink::Lab::make();
    if (!lab || !other) GTEST_SKIP() << "SKIPPED: needs network namespaces";
    host = std::move(*other);
    ASSERT_TRUE(lab->ip("link set line1 netns " + host->name()) && host->ip("link set line1 up address 02:00:00:00:00:02"));
    ASSERT_TRUE(host->ip("addr add 10.0.0.2/24 dev line1") && host->ip("addr add fc00::2/64 dev line1 nodad"));
    open_config("");
  }
  void open_config(const std::string& more) {
    std::ofstream config(file("rondod.toml"));
    config << "[admin]\nsocket = \"" << socket() << "\"\n"
           << more << "[dataplane]\nlearn_neighbors = true\nnetwork_namespace = \"" << lab->path() << "\"\n";
  }
  void start_with_port() {
    start();
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    set("INTF_TABLE", "swp1", {{"NULL", "NULL"}});
    set("INTF_TABLE", "swp1:10.0.0.1/24", {{"NULL", "NULL"}});
    set("INTF_TABLE", "swp1:fc00::1/64", {{"NULL", "NULL"}});
  }
  static std::string output_of(const std::string& command) {
    FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 4096> part{};
    for (std::size_t size; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), size);
    ::pclose(pipe);
    return text;
  }
  std::string neighbor(const std::string& address) const {
    return output_of("ip -n " + lab->name() + " neigh show " + address + " dev swp1");
  }
  /// The field of a row of NEIGH_TABLE; empty without a row.
  std::string field(std::string_view key, std::string_view name) {
    const auto answer = client->call("get", {{"table", "NEIGH_TABLE"}, {"key", key}});
    if (!answer) return {};
    const std::string text = boost::json::serialize(*answer);
    const std::size_t at = text.find("\"" + std::string{name} + "\"");
    if (at == std::string::npos) return {};
    const std::size_t begin = text.find('"', at + name.size() + 2);
    return begin == std::string::npos ? std::string{} : text.substr(begin + 1, text.find('"', begin + 1) - begin - 1);
  }
  bool has_route(const std::string& prefix) const {
    return !output_of("ip -n " + lab->name() + (prefix.find(':') == std::string::npos ? "" : " -6") + " route show " + prefix).empty();
  }

  std::unique_ptr<netlink::Lab> host;
};

TEST_F(LearnedNeighborsOnLinux, RoutesFindTheirNextHopsAndFollowAHostToAnotherLinkAddress) {
  start_with_port();
  set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  set("ROUTE_TABLE", "2001:db8::/32", {{"nexthop", "fc00::2"}, {"ifname", "swp1"}});
  EXPECT_TRUE(becomes([this] { return has_route("20.0.0.0/8") && has_route("2001:db8::/32"); })) << log_text();
  EXPECT_EQ(field("swp1:10.0.0.2", "neigh"), "02:00:00:00:00:02");
  EXPECT_EQ(field("swp1:10.0.0.2", "learned"), "02:00:00:00:00:02");
  EXPECT_THAT(neighbor("10.0.0.2"), AllOf(HasSubstr("02:00:00:00:00:02"), Not(HasSubstr("PERMANENT"))));

  ASSERT_TRUE(host->ip("link set line1 address 02:00:00:00:00:99") && host->ip("neigh flush dev line1"));
  ASSERT_TRUE(host->ip("neigh add 10.0.0.1 dev line1 use"));
  EXPECT_TRUE(becomes([this] { return field("swp1:10.0.0.2", "neigh") == "02:00:00:00:00:99"; })) << neighbor("10.0.0.2");
  EXPECT_TRUE(has_route("20.0.0.0/8"));
  EXPECT_THAT(output_of("ip -n " + lab->name() + " route get 20.1.2.3"), HasSubstr("via 10.0.0.2 dev swp1"));
  EXPECT_THAT(neighbor("10.0.0.2"), Not(HasSubstr("PERMANENT")));
}

/// A Delete of a neighbour in use waits, and its routes stay: the kernel asks for the host with each packet. Without routes the row goes.
TEST_F(LearnedNeighborsOnLinux, AHostThatGoesKeepsItsRoutesAndLosesItsRowWhenThereAreNone) {
  start_with_port();
  set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  EXPECT_TRUE(becomes([this] { return has_route("20.0.0.0/8"); })) << log_text();
  ASSERT_TRUE(host->ip("addr flush dev line1") && lab->ip("neigh del 10.0.0.2 dev swp1"));
  EXPECT_TRUE(becomes([this] { return field("swp1:10.0.0.2", "neigh").empty(); }));
  EXPECT_TRUE(has_route("20.0.0.0/8"));
  ASSERT_TRUE(host->ip("addr add 10.0.0.2/24 dev line1"));
  EXPECT_TRUE(becomes([this] { return field("swp1:10.0.0.2", "neigh") == "02:00:00:00:00:02"; })) << "resolved again";

  ASSERT_TRUE(client->call("del", {{"table", "ROUTE_TABLE"}, {"key", "20.0.0.0/8"}}).has_value());
  EXPECT_TRUE(becomes([this] { return !has_route("20.0.0.0/8"); }));
  ASSERT_TRUE(lab->ip("neigh flush dev swp1"));
  EXPECT_TRUE(becomes([this] { return field("swp1:10.0.0.2", "neigh").empty(); }));
  // Nothing keeps the address of the port, either.
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev swp1 nud stale"));
  EXPECT_TRUE(becomes([this] { return !field("swp1:10.0.0.2", "neigh").empty(); }));
  ASSERT_TRUE(client->call("del", {{"table", "INTF_TABLE"}, {"key", "swp1:10.0.0.1/24"}}).has_value());
  EXPECT_TRUE(becomes([this] { return output_of("ip -n " + lab->name() + " -4 addr show dev swp1").empty(); }));
}

TEST_F(LearnedNeighborsOnLinux, ARouteGoesOnWithoutASilentHostAndIsWidenedWhenItAnswers) {
  start_with_port();
  set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2,10.0.0.77"}, {"ifname", "swp1,swp1"}});
  EXPECT_TRUE(becomes([this] { return has_route("20.0.0.0/8"); })) << log_text();
  const auto members = [this] {
    const std::string nexthops = output_of("ip -n " + lab->name() + " nexthop show");
    return std::ranges::count(nexthops, '\n');  // A next hop each, and the group.
  };
  EXPECT_EQ(members(), 2) << "without the silent host";
  ASSERT_TRUE(host->ip("addr add 10.0.0.77/24 dev line1"));
  EXPECT_TRUE(becomes([&] { return members() == 3; })) << neighbor("10.0.0.77");
  EXPECT_EQ(field("swp1:10.0.0.77", "learned"), "02:00:00:00:00:02");
}

TEST_F(LearnedNeighborsOnLinux, ARowOfAnOperatorIsPermanentAndStays) {
  start_with_port();
  EXPECT_TRUE(becomes([this] { return lab->ip("neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev swp1 nud reachable"); }));
  EXPECT_TRUE(becomes([this] { return field("swp1:10.0.0.2", "learned") == "02:00:00:00:00:02"; }));
  set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:55"}});
  EXPECT_TRUE(becomes([this] { return neighbor("10.0.0.2").find("02:00:00:00:00:55 PERMANENT") != std::string::npos; }));
  // As an audit does: the row asks for it again.
  ASSERT_TRUE(lab->ip("neigh del 10.0.0.2 dev swp1"));
  EXPECT_TRUE(becomes([this] { return neighbor("10.0.0.2").find("02:00:00:00:00:55 PERMANENT") != std::string::npos; }));
  EXPECT_EQ(field("swp1:10.0.0.2", "neigh"), "02:00:00:00:00:55");
  ASSERT_TRUE(client->call("del", {{"table", "NEIGH_TABLE"}, {"key", "swp1:10.0.0.2"}}).has_value());
  EXPECT_TRUE(becomes([this] { return neighbor("10.0.0.2").find("PERMANENT") == std::string::npos; }));
  EXPECT_TRUE(becomes([this] { return field("swp1:10.0.0.2", "neigh").empty(); }));
}

/// With a file, the rows of an earlier process stand at the start. The routes stay in the kernel, and the rows are right soon after.
TEST_F(LearnedNeighborsOnLinux, AfterAKillTheRowsAreComparedAndTheRoutesStay) {
  open_config("[store]\nurl = \"file://" + file("tables") + "?durability=every-batch\"\n");
  const std::string check = program_ + " --config " + file("rondod.toml") + " --check-config 2>&1 | grep -q 'was built without'";
  if (std::system(check.c_str()) == 0) GTEST_SKIP() << "SKIPPED: this rondod was built without files";
  start_with_port();
  set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  EXPECT_TRUE(becomes([this] { return has_route("20.0.0.0/8"); })) << log_text();
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.3 lladdr 02:00:00:00:00:03 dev swp1 nud stale"));
  EXPECT_TRUE(becomes([this] { return !field("swp1:10.0.0.3", "neigh").empty(); }));
  const std::string before = output_of("ip -n " + lab->name() + " -d route show 20.0.0.0/8");
  ::kill(pid, SIGKILL);
  wait();
  ASSERT_TRUE(lab->ip("neigh del 10.0.0.3 dev swp1"));
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.4 lladdr 02:00:00:00:00:04 dev swp1 nud stale"));
  start();
  EXPECT_TRUE(becomes([this] { return !field("swp1:10.0.0.4", "neigh").empty() && field("swp1:10.0.0.3", "neigh").empty(); }))
      << log_text();
  EXPECT_EQ(field("swp1:10.0.0.2", "neigh"), "02:00:00:00:00:02");
  EXPECT_EQ(output_of("ip -n " + lab->name() + " -d route show 20.0.0.0/8"), before);
}

class LearnedNeighborsOnRedisOnLinux : public LearnedNeighborsOnLinux {
 protected:
  void SetUp() override {
    if (redis_kit::server_program().empty() || redis_kit::find_program("redis-cli").empty()) {
      GTEST_SKIP() << "SKIPPED: no redis-server; install Debian's package redis-tools";
    }
    LearnedNeighborsOnLinux::SetUp();
    if (IsSkipped()) return;
    store = std::make_unique<restart::TestStore>(restart::StoreKind::Redis, directory);
    open_config("[store]\nurl = \"" + store->url() + "\"\n");
    const std::string check = program_ + " --config " + file("rondod.toml") + " --check-config 2>&1 | grep -q 'was built without'";
    if (std::system(check.c_str()) == 0) GTEST_SKIP() << "SKIPPED: this rondod was built without Redis";
    start_with_port();
    set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
    set("NEIGH_TABLE", "swp1:10.0.0.9", {{"neigh", "02:00:00:00:00:09"}});
    ASSERT_TRUE(lab->ip("neigh replace 10.0.0.3 lladdr 02:00:00:00:00:03 dev swp1 nud stale"));
    ASSERT_TRUE(becomes([this] { return has_route("20.0.0.0/8") && !redis("HGET NEIGH_TABLE:swp1:10.0.0.3 neigh").empty(); }));
    ASSERT_TRUE(becomes([this] { return neighbor("10.0.0.9").find("PERMANENT") != std::string::npos; })) << log_text();
    before = output_of("ip -n " + lab->name() + " -d route show 20.0.0.0/8");
  }
  std::string redis(const std::string& words) const {
    std::string text = output_of("redis-cli -s " + file("redis") + " " + words);
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  /// The learned rows are in the Redis again, the operator's, which nothing writes again, is not, and the kernel has what it had.
  void expect_rows_again() {
    EXPECT_TRUE(becomes([this] {
      return redis("HGET NEIGH_TABLE:swp1:10.0.0.2 learned") == "02:00:00:00:00:02" &&
             redis("HGET NEIGH_TABLE:swp1:10.0.0.3 learned") == "02:00:00:00:00:03";
    })) << redis("KEYS '*'")
        << log_text();
    EXPECT_EQ(redis("EXISTS NEIGH_TABLE:swp1:10.0.0.9"), "0");
    EXPECT_THAT(neighbor("10.0.0.9"), HasSubstr("PERMANENT"));
    EXPECT_EQ(output_of("ip -n " + lab->name() + " -d route show 20.0.0.0/8"), before);
  }

  std::unique_ptr<restart::TestStore> store;
  std::string before;
};

TEST_F(LearnedNeighborsOnRedisOnLinux, RowsThatWereFlushedAreWrittenAgain) {
  redis("FLUSHALL");
  expect_rows_again();
  // They are followed as before.
  ASSERT_TRUE(lab->ip("neigh replace 10.0.0.3 lladdr 02:00:00:00:00:33 dev swp1 nud stale"));
  EXPECT_TRUE(becomes([this] { return redis("HGET NEIGH_TABLE:swp1:10.0.0.3 neigh") == "02:00:00:00:00:33"; }));
  ASSERT_TRUE(lab->ip("neigh del 10.0.0.3 dev swp1"));
  EXPECT_TRUE(becomes([this] { return redis("EXISTS NEIGH_TABLE:swp1:10.0.0.3") == "0"; }));
}

TEST_F(LearnedNeighborsOnRedisOnLinux, RowsThatARestartOfTheRedisLostAreWrittenAgain) {
  store->lose_all();
  expect_rows_again();
}

TEST_F(LearnedNeighborsOnRedisOnLinux, ARowThatWasOverwrittenWithoutATurnOfOursIsNotWrittenOver) {
  redis("HSET NEIGH_TABLE:swp1:10.0.0.3 neigh 02:00:00:00:00:77");
  redis("DEL NEIGH_TABLE:swp1:10.0.0.2");
  EXPECT_TRUE(becomes([this] { return redis("HGET NEIGH_TABLE:swp1:10.0.0.2 learned") == "02:00:00:00:00:02"; })) << "rows are compared";
  EXPECT_EQ(redis("HGET NEIGH_TABLE:swp1:10.0.0.3 neigh"), "02:00:00:00:00:77");
}

}  // namespace
}  // namespace rondo
