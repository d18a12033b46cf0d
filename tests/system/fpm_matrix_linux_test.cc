// The restart and drift matrices with FPM as the source of routes, on the real kernel and the real rondod: each store x each end of zebra,
// of rondod, of both, and of a session within its resend; and what another program does to zebra's routes meanwhile. zebra is the test: it
// sends the messages that zebra sends, in its order (groups before their members), and numbers its next hops anew in each session, as a
// zebra that restarted does. Goal: afterwards the kernel has the routes of the newest resend, no correct object was touched meanwhile, and
// the journal can be replayed.
// The same with a real zebra, for one store: frr_linux_test.cc. Skipped, with a message, where a namespace is not permitted, on a Redis
// without redis-tools, and on a store that rondod was built without.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/unique_fd.h"
#include "fpm/fpm_kit.h"
#include "kernel_events.h"
#include "restart_stores.h"
#include "rondod_on_linux.h"

namespace rondo::restart {
namespace {

namespace json = boost::json;
namespace kit = fpm::kit;

/// What ends, and what happens until zebra has sent everything again.
enum class End {
  ZebraEnds,           // A new session, all routes again.
  ZebraLosesRoutes,    // A new session without some routes, and with new and changed ones.
  ResendBreaks,        // The session ends within a frame of the resend, and the next one is whole.
  RondodTerminated,    // SIGTERM, while zebra is connected.
  RondodKilled,        // SIGKILL.
  BothKilled,          // zebra has lost routes when it is back.
  KilledInResend,      // rondod is killed when half of a resend has arrived.
  DriftWhileItRuns,    // Another program deletes and changes routes, groups and next hops.
  DriftWhileItIsDown,  // The same while rondod is down.
  RedisEmptied,        // FLUSHALL while rondod and zebra are connected.
  RedisReplaced        // A Redis without the rows takes its place.
};
constexpr std::array kEnds{End::ZebraEnds,  End::ZebraLosesRoutes, End::ResendBreaks,     End::RondodTerminated,  End::RondodKilled,
                           End::BothKilled, End::KilledInResend,   End::DriftWhileItRuns, End::DriftWhileItIsDown};
constexpr std::array kStores{StoreKind::Embedded, StoreKind::File, StoreKind::Redis};

std::string name_of(StoreKind kind) { return kind == StoreKind::Embedded ? "Embedded" : kind == StoreKind::File ? "File" : "Redis"; }
std::string name_of(End end) {
  constexpr std::array kNames{"ZebraEnds",      "ZebraLosesRoutes", "ResendBreaks",       "RondodTerminated", "RondodKilled", "BothKilled",
                              "KilledInResend", "DriftWhileItRuns", "DriftWhileItIsDown", "RedisEmptied",     "RedisReplaced"};
  return kNames[static_cast<std::size_t>(end)];
}

constexpr int kSingle = 40;  // 20.N.0.0/16, and half of them as IPv6.

class FpmMatrixOnLinux : public SystemRondod, public ::testing::WithParamInterface<std::tuple<StoreKind, End>> {
 protected:
  FpmMatrixOnLinux() : SystemRondod(2) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const StoreKind kind = std::get<StoreKind>(GetParam());
    if (!lab) skip("this is about the real kernel");
    const bool has_redis = !redis_kit::server_program().empty() && !redis_kit::find_program("redis-cli").empty();
    if (kind == StoreKind::Redis && !has_redis) skip("no redis-server; install redis-tools");
    if (IsSkipped()) return;
    store_ = std::make_unique<TestStore>(kind, directory);
    configure("rondod.toml", "socket",
              "[journal]\nfile = \"" + file("day.journal") + "\"\n" +
                  (store_->url().empty() ? "" : "[store]\nurl = \"" + store_->url() + "\"\n") +
                  "[fpm]\nenabled = true\nquiet_ms = 300\nport = " + std::to_string(port_) + "\n");
    std::ofstream(file("rondod.toml"), std::ios::app) << "audit_s = 1\n";
    const std::string check = program_ + " --config " + file("rondod.toml") + " --check-config 2>&1 | grep -q 'was built without'";
    if (std::system(check.c_str()) == 0) skip("rondod was built without this store");
    plane_ = make_linux_dataplane({.network_namespace = lab->path(), .metric = 201}).value();
    const std::vector<LinkEvent> links = plane_->links().value();
    for (const LinkEvent& link : links) {
      if (link.name == "swp1") swp1_ = link.port.value();
      if (link.name == "swp2") swp2_ = link.port.value();
    }
  }
  static void skip(const char* why) {
    std::cerr << "SKIPPED: " << why << '\n';
    GTEST_SKIP() << why;
  }

  // --- rondod

  void set_ports() {
    for (const std::string n : {"1", "2"}) {
      set("PORT_TABLE", "swp" + n, {{"admin_status", "up"}});
      set("INTF_TABLE", "swp" + n, {});
      set("INTF_TABLE", "swp" + n + ":10." + n + ".0.1/24", {});
      set("INTF_TABLE", "swp" + n + ":fd00:" + n + "::1/64", {});
      set("NEIGH_TABLE", "swp" + n + ":10." + n + ".0.2", {{"neigh", "02:00:00:00:00:02"}});
      set("NEIGH_TABLE", "swp" + n + ":fd00:" + n + "::2", {{"neigh", "02:00:00:00:06:02"}});
    }
  }
  void stop(int signal) {
    client.reset();
    ::kill(pid, signal);
    const int status = wait();
    EXPECT_TRUE(signal == SIGKILL || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << log_text();
  }
  void start_again() {
    start();
    if (!store_->keeps()) set_ports();
  }
  json::object fpm() { return client->call("stats", {}).value().at("fpm").as_object(); }
  int figure(const char* name) { return fpm().at(name).to_number<int>(); }

  // --- zebra

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
  void send(std::string_view bytes) const {
    ASSERT_EQ(::send(zebra_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// Everything that zebra has, with numbers of next hops that no session before had. 'lost': without every fourth route, one route with
  /// other next hops, and a new one.
  std::string resend(bool lost) {
    const std::uint32_t id = next_id_;
    next_id_ += 10;
    std::string stream = kit::frame(kit::group(id + 5, {{id, 1}, {id + 1, 3}}));
    const auto add = [&stream](const std::string& message) { stream += kit::frame(message); };
    for (int i = 0; i < kSingle; ++i) {
      if (lost && i % 4 == 3) continue;
      add(kit::route("20." + std::to_string(i) + ".0.0/16", {.nexthop = lost && i == 0 ? id + 1 : id}));
      if (i % 2 == 0) add(kit::route("2001:db8:" + std::to_string(i) + "::/48", {.nexthop = id + 2}));
    }
    for (const char* const prefix : {"21.0.0.0/16", "21.1.0.0/16"}) add(kit::route(prefix, {.nexthop = id + 5}));
    add(kit::route("22.0.0.0/16",
                   {.protocol = 188, .paths = {{"10.1.0.2", swp1_, std::uint8_t{0}}, {"10.2.0.2", swp2_, std::uint8_t{1}}}}));
    add(kit::route("23.0.0.0/16", {.type = RTN_BLACKHOLE}));
    if (lost) add(kit::route("24.0.0.0/16", {.nexthop = id + 5}));
    add(kit::nexthop(id, "10.1.0.2", swp1_));
    add(kit::nexthop(id + 1, "10.2.0.2", swp2_));
    add(kit::nexthop(id + 2, "fd00:1::2", swp1_));
    return stream;
  }
  static int routes_of(bool lost) { return kSingle + kSingle / 2 + 4 - (lost ? kSingle / 4 - 1 : 0); }
  /// Returns when rondod has taken the whole resend and removed what it does not have.
  void expect_resynced(bool lost) {
    EXPECT_TRUE(becomes([&] {
      const json::object now = fpm();
      return now.at("resync").as_string() == "done" && now.at("routes").to_number<int>() == routes_of(lost) &&
             now.at("stale").to_number<int>() == 0 && now.at("unwritten").to_number<int>() == 0;
    })) << json::serialize(fpm())
        << log_text();
  }
  void send_all(bool lost) {
    connect();
    send(resend(lost));
    expect_resynced(lost);
  }

  std::string redis(const std::string& words) const {
    FILE* const pipe = ::popen(("redis-cli -s " + file("redis") + " " + words).c_str(), "r");
    std::string text;
    std::array<char, 4096> part{};
    for (std::size_t size; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), size);
    ::pclose(pipe);
    return text;
  }
  int rows(const std::string& table) const {
    return std::atoi(redis("EVAL \"return #redis.call('KEYS', ARGV[1])\" 0 '" + table + ":*'").c_str());
  }

  // --- the kernel

  /// Without zebra's part in what the kernel does with devices and addresses.
  static bool is_of_routes(std::string line) {
    if (line.starts_with("gone: ")) line.erase(0, 6);
    return line.starts_with("route ") || line.starts_with("nexthop ") || line.starts_with("group ");
  }
  Lines lines() const {
    Lines all = kernel_lines(*plane_);
    std::erase_if(all, [](const std::string& line) { return !is_of_routes(line); });
    return all;
  }
  void meddle() const {
    NexthopId one, group;
    const std::vector<NexthopEntry> nexthops = plane_->nexthops().value();
    for (const NexthopEntry& entry : nexthops) (entry.members.empty() ? one : group) = entry.id;
    for (const std::string& command :
         {std::string{"route del 20.1.0.0/16 metric 201"}, std::string{"route replace blackhole 20.2.0.0/16 metric 201 proto 201"},
          "nexthop del id " + std::to_string(group.value()), "nexthop del id " + std::to_string(one.value()),
          std::string{"route add blackhole 40.0.0.0/16 metric 201 proto 201"}}) {
      EXPECT_TRUE(lab->ip(command)) << command;
    }
  }
  /// A group may have one member before the next hop of the other one is in the kernel.
  bool has_all(const std::vector<std::string>& wanted) {
    return becomes([&] {
      const Lines now = lines();
      return std::ranges::all_of(wanted, [&now](const std::string& line) { return std::ranges::count(now, line) == 1; });
    });
  }
  bool becomes_kernel(const Lines& wanted) {
    return becomes([&] { return lines() == wanted; });
  }

  void play(End end);

  std::unique_ptr<TestStore> store_;
  std::unique_ptr<DataPlane> plane_;
  std::unique_ptr<KernelEvents> events_;
  UniqueFd zebra_;
  const UniqueFd reserved_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const std::uint16_t port_ = reserve_port();
  std::uint32_t swp1_ = 0;
  std::uint32_t swp2_ = 0;
  std::uint32_t next_id_ = 60;
};

void FpmMatrixOnLinux::play(End end) {
  const std::string again = resend(false);
  switch (end) {
    case End::ZebraEnds:
    case End::ZebraLosesRoutes: zebra_.reset(); return send_all(end == End::ZebraLosesRoutes);
    case End::ResendBreaks: {
      const int sessions = figure("sessions");
      connect();
      send(again.substr(0, again.size() / 2 + 3));
      EXPECT_TRUE(becomes([&] { return figure("sessions") == sessions + 1; }));
      zebra_.reset();
      EXPECT_TRUE(becomes([this] { return fpm().at("peer").as_string().empty(); }));
      EXPECT_EQ(figure("routes"), routes_of(false)) << "a session without an end removes nothing";
      return send_all(false);
    }
    case End::RondodTerminated:
    case End::RondodKilled:
      stop(end == End::RondodKilled ? SIGKILL : SIGTERM);
      start_again();
      return send_all(false);
    case End::BothKilled:
      stop(SIGKILL);
      zebra_.reset();
      start_again();
      return send_all(true);
    case End::KilledInResend:
      stop(SIGKILL);
      start_again();
      connect();
      send(again.substr(0, again.size() / 2 + 3));
      EXPECT_TRUE(becomes([this] { return figure("routes_set") >= kSingle / 2; }));
      stop(SIGKILL);
      start_again();
      return send_all(false);
    case End::DriftWhileItRuns: {
      const Lines before = lines();
      meddle();
      EXPECT_TRUE(becomes_kernel(before)) << ::testing::PrintToString(switch_agent::difference(lines(), before)) << log_text();
      return send_all(false);
    }
    case End::RedisEmptied:
    case End::RedisReplaced:
      end == End::RedisEmptied ? static_cast<void>(redis("FLUSHALL")) : store_->lose_all();
      EXPECT_TRUE(becomes([this] { return rows("ROUTE_TABLE") == routes_of(false) && rows("NEXTHOP_GROUP_TABLE") == 4; })) << log_text();
      return send_all(false);
    case End::DriftWhileItIsDown:
      stop(SIGKILL);
      meddle();
      start_again();
      return send_all(false);
  }
}

TEST_P(FpmMatrixOnLinux, TheKernelHasTheNewestResendAndNothingElseWasTouched) {
  const End end = std::get<End>(GetParam());
  const bool loses = end == End::ZebraLosesRoutes || end == End::BothKilled;
  const bool drifts = end == End::DriftWhileItRuns || end == End::DriftWhileItIsDown;
  start();
  set_ports();
  send_all(false);
  EXPECT_TRUE(becomes([this] { return kernel_routes() == static_cast<std::size_t>(routes_of(false)); })) << log_text();
  EXPECT_TRUE(
      has_all({"route 21.0.0.0/16 via {swp1 10.1.0.2*1, swp2 10.2.0.2*3}", "route 22.0.0.0/16 via {swp1 10.1.0.2*1, swp2 10.2.0.2*2}"}))
      << ::testing::PrintToString(lines());
  const Lines before = lines();
  events_ = std::make_unique<KernelEvents>(lab->path(), *plane_);

  play(end);
  if (HasFatalFailure()) return;
  // The restart of rondod is over when what no row asks for is gone.
  EXPECT_TRUE(becomes([&] { return kernel_routes() == static_cast<std::size_t>(routes_of(loses)); })) << kernel_routes() << log_text();
  if (!loses) {
    EXPECT_TRUE(becomes_kernel(before)) << ::testing::PrintToString(switch_agent::difference(lines(), before)) << log_text();
  }
  if (loses) {
    EXPECT_TRUE(has_all({"route 24.0.0.0/16 via {swp1 10.1.0.2*1, swp2 10.2.0.2*3}", "route 20.0.0.0/16 via {swp2 10.2.0.2*1}"}))
        << ::testing::PrintToString(lines());
  }
  std::string answer;
  EXPECT_TRUE(becomes([&] {
    const auto verified = client->call("verify", {});  // Refused while an audit is under way.
    answer = verified ? json::serialize(*verified) : verified.error().to_string();
    return verified && verified->at("differences").to_number<int>() == 0;
  })) << answer
      << log_text();
  const Lines after = lines();
  Lines events = events_->take();
  std::erase_if(events, [](const std::string& line) { return !is_of_routes(line); });
  if (!drifts) {
    EXPECT_EQ(needless(events, before, after), Lines{});
  }
  if (loses) {
    EXPECT_THAT(after, ::testing::Not(::testing::Contains(::testing::StartsWith("route 20.3.0.0/16"))));
  }

  // Another session of the same routes is no change.
  send_all(loses);
  EXPECT_EQ(lines(), after);
  events = events_->take();
  std::erase_if(events, [](const std::string& line) { return !is_of_routes(line); });
  EXPECT_EQ(events, Lines{});

  stop(SIGTERM);
  const std::string rondo = (std::filesystem::path(program_).parent_path().parent_path() / "rondo" / "rondo").string();
  const std::string command = rondo + " replay " + file("day.journal") + " > " + file("replay") + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << std::ifstream(file("replay")).rdbuf();
}

INSTANTIATE_TEST_SUITE_P(All, FpmMatrixOnLinux, ::testing::Combine(::testing::ValuesIn(kStores), ::testing::ValuesIn(kEnds)),
                         [](const auto& cell) { return name_of(std::get<0>(cell.param)) + name_of(std::get<1>(cell.param)); });
INSTANTIATE_TEST_SUITE_P(OfRedis, FpmMatrixOnLinux,
                         ::testing::Combine(::testing::Values(StoreKind::Redis), ::testing::Values(End::RedisEmptied, End::RedisReplaced)),
                         [](const auto& cell) { return name_of(std::get<1>(cell.param)); });

}  // namespace
}  // namespace rondo::restart
