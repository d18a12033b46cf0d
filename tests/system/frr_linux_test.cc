// Real FRR beside the real rondod, on the real kernel: two routers in network namespaces, BGP between them, and rondod as the way of
// FRR's routes into the kernel (docs/guide/frr.md). Goal: each route of BGP is in the kernel through rondod, also after withdrawals and
// after restarts of zebra, of rondod and of both; and a restart changes nothing in the kernel (counted by a listener to its events).
// One test, because FRR needs 3 s for each new FPM session. Skipped, aloud, without FRR and where no namespace can be made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "frr/network.h"
#include "kernel_events.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

namespace json = boost::json;
using restart::KernelEvents;
using restart::Lines;

constexpr int kV4 = 3000;  // 20.0.0.0/24 and on.
constexpr int kV6 = 200;
constexpr int kWithdrawn = 2048;  // Those within 20.0.0.0/13.

class FrrOnLinux : public SystemRondod {
 protected:
  FrrOnLinux() : SystemRondod(0) {}

  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped()) return;
    const Status installed = frr::check_installed();
    if (!installed.ok() || !lab || ::geteuid() != 0) {
      const std::string why = installed.ok() ? "needs root and network namespaces" : std::string{installed.message()};
      std::cerr << "SKIPPED: " << why << '\n';
      GTEST_SKIP() << why;
    }
    configure("rondod.toml", "socket",
              "[store]\nurl = \"file://" + file("tables") + "\"\n[fpm]\nenabled = true\nquiet_ms = 300\noffload_answers = true\n");
    // The safety stop keeps routes if zebra pauses for longer than quiet_ms on a loaded machine.
    std::ofstream(file("rondod.toml"), std::ios::app) << "table = 100\nsafety_share = 0\nsafety_least = 1\n";
    starts_in = lab->path();
    auto made = frr::Network::make(*lab);
    ASSERT_TRUE(made.has_value()) << made.error().to_string();
    network = std::move(*made);
    ASSERT_TRUE(lab->ip("rule add pref 100 table 100"));
    plane = make_linux_dataplane({.network_namespace = lab->path()}).value();
  }

  static std::vector<std::string> prefixes() {
    std::vector<std::string> all;
    for (int i = 0; i < kV4; ++i) all.push_back("20." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24");
    for (int i = 1; i <= kV6; ++i) all.push_back("2001:db8:" + std::to_string(i) + "::/48");
    return all;
  }
  void begin() {
    ASSERT_TRUE(network->start_peer(prefixes()).ok());
    start();
    for (const frr::Row& row : frr::Network::rows()) {
      json::array fields;
      for (const auto& [name, value] : row.fields) fields.push_back(json::array{name, value});
      const auto answer = client->call("set", {{"table", row.table}, {"key", row.key}, {"fields", std::move(fields)}});
      ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    }
    const Status box = network->start_box();
    ASSERT_TRUE(box.ok()) << box.to_string();
    EXPECT_TRUE(becomes([this] { return kernel_routes() == kV4 + kV6; })) << state();
    // On a busy machine bgpd handles the updates of its two sessions apart: a route comes with one path, and then gets the other.
    EXPECT_TRUE(becomes([this] {
      return std::ranges::all_of(restart::kernel_lines(*plane), [](const std::string& line) {
        return !line.starts_with("route ") || line.find(" via {") == std::string::npos || line.find(", ") != std::string::npos;
      });
    })) << state();
  }
  json::object fpm() { return client->call("stats", {}).value().at("fpm").as_object(); }
  std::string state() {
    const auto why = client->call("why", {{"table", "ROUTE_TABLE"}, {"key", "2001:db8:1::/48"}});
    return "routes " + std::to_string(kernel_routes()) + ", fpm " + json::serialize(fpm()) +
           "\nan IPv6 route: " + (why ? json::serialize(*why) : why.error().to_string()) + "\n" + log_text() + network->box_router().log();
  }
  std::set<std::string> kernel_prefixes() {
    std::set<std::string> found;
    EXPECT_TRUE(plane
                    ->routes([&](const RouteEntry& route) {
                      if (route.nexthop) found.insert(route.prefix.to_string());
                    })
                    .ok());
    return found;
  }
  /// Polls, and keeps the listener's buffer empty: zebra changes its own table meanwhile.
  bool becomes_while_listening(const std::function<bool()>& done) {
    return becomes([&] {
      for (std::string& line : kernel_events->take()) events.push_back(std::move(line));
      return done();
    });
  }
  Lines take_events() {
    becomes_while_listening([] { return true; });
    return std::exchange(events, {});
  }
  void kill_rondod() {
    client.reset();
    ::kill(pid, SIGKILL);
    wait();
  }
  /// Waits until zebra has sent its routes to this run of rondod in session 'sessions', and expects an unchanged kernel.
  void expect_unchanged(int sessions, const Lines& before) {
    EXPECT_TRUE(becomes_while_listening([&] {
      const json::object now = fpm();
      return now.at("sessions").to_number<int>() == sessions && now.at("resync").as_string() == "done" &&
             now.at("routes").to_number<int>() == kV4 + kV6 && now.at("stale").to_number<int>() == 0;
    })) << state();
    EXPECT_EQ(fpm().at("deleted").to_number<int>(), 0) << state();
    EXPECT_TRUE(becomes_while_listening([&] { return fpm().at("unanswered").to_number<int>() == 0; })) << state();
    EXPECT_GE(fpm().at("answers").to_number<int>(), kV4 + kV6) << "zebra 8.4.4 reads answers and ignores them";
    Lines changes = take_events();
    std::erase_if(changes, [this](const std::string& line) { return line.starts_with("gone: ") && kept.contains(line.substr(6)); });
    EXPECT_THAT(changes, testing::IsEmpty()) << "no object of rondod changes";
    Lines differences = switch_agent::difference(restart::kernel_lines(*plane), before);
    std::erase_if(differences, [this](const std::string& line) { return line.starts_with("+ ") && kept.contains(line.substr(2)); });
    EXPECT_EQ(differences, Lines{});
  }

  std::unique_ptr<frr::Network> network;
  std::unique_ptr<DataPlane> plane;
  std::unique_ptr<KernelEvents> kernel_events;
  Lines events;
  std::set<std::string> kept;  // Groups that no route uses, until zebra removes them or is started again.
};

TEST_F(FrrOnLinux, RoutesOfBgpAreInTheKernelAndRestartsChangeNothing) {
  begin();
  if (HasFailure()) return;
  const std::vector<std::string> all = prefixes();
  EXPECT_EQ(kernel_prefixes(), std::set<std::string>(all.begin(), all.end()));
  Lines before = restart::kernel_lines(*plane);
  std::erase_if(before, [this](const std::string& line) {  // A group with one path, which zebra keeps for three minutes.
    const bool is_left = line.starts_with("group {") && line.find(", ") == std::string::npos;
    if (is_left) kept.insert(line);
    return is_left;
  });
  EXPECT_THAT(before, testing::Contains("route 20.0.0.0/24 table 100 via {swp1 10.254.1.2*1, swp2 10.254.2.2*1}"));
  EXPECT_THAT(before, testing::Contains("route 2001:db8:1::/48 table 100 via {swp1 fd00:10:254:1::2*1, swp2 fd00:10:254:2::2*1}"));

  kernel_events = std::make_unique<KernelEvents>(lab->path(), *plane);
  ASSERT_TRUE(network->withdraw("20.0.0.0/13").ok()) << network->peer_router().log();
  EXPECT_TRUE(becomes_while_listening([this] { return kernel_routes() == kV4 + kV6 - kWithdrawn; })) << state();
  EXPECT_FALSE(kernel_prefixes().contains("20.7.255.0/24"));
  EXPECT_TRUE(kernel_prefixes().contains("20.8.0.0/24"));
  ASSERT_TRUE(network->announce_all().ok()) << network->peer_router().log();
  EXPECT_TRUE(becomes_while_listening([this] { return kernel_routes() == kV4 + kV6; })) << state();
  // The same as at the start: zebra keeps a group with one path for three minutes.
  EXPECT_TRUE(becomes_while_listening([&] {
    const Lines differences = switch_agent::difference(restart::kernel_lines(*plane), before);
    return std::ranges::all_of(differences, [](const std::string& line) { return line.starts_with("+ group {"); });
  })) << testing::PrintToString(switch_agent::difference(restart::kernel_lines(*plane), before));
  for (const std::string& line : switch_agent::difference(restart::kernel_lines(*plane), before)) kept.insert(line.substr(2));
  const Lines changes = take_events();
  EXPECT_EQ(std::ranges::count_if(changes, [](const std::string& line) { return line.starts_with("gone: route "); }), kWithdrawn)
      << "each withdrawn route goes once";
  EXPECT_THAT(changes, testing::Each(testing::AnyOf(testing::ContainsRegex("route 20\\.[0-7]\\."), testing::HasSubstr("group {"))))
      << "no other route changes";

  {
    SCOPED_TRACE("rondod is killed");
    kill_rondod();
    start();
    expect_unchanged(1, before);
  }
  {
    SCOPED_TRACE("zebra ends and starts again");
    network->box_router().end(SIGTERM);
    ASSERT_TRUE(network->box_router().begin().ok()) << network->box_router().log();
    expect_unchanged(2, before);
  }
  {
    SCOPED_TRACE("both are killed");
    kill_rondod();
    network->box_router().end(SIGKILL);
    ASSERT_TRUE(network->box_router().begin().ok()) << network->box_router().log();
    start();
    expect_unchanged(1, before);
  }
}

}  // namespace
}  // namespace rondo
