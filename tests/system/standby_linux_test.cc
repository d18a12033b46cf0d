// Two rondods on one machine: the same Redis, network namespace and protocol number. The second one stands by for the lease and for the
// lock of the namespace, touches nothing, and takes the routes over without a gap when the first one ends. On the real kernel only; RONDOD
// names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "kernel_events.h"
#include "restart_stores.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kHandedOver = 11;

class StandbyOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    if (redis_kit::server_program().empty()) GTEST_SKIP() << "SKIPPED: no redis-server; install Debian's package redis-tools";
    SystemRondod::SetUp();
    if (IsSkipped()) return;
    if (!lab) GTEST_SKIP() << "needs a network namespace";
    store = std::make_unique<restart::TestStore>(restart::StoreKind::Redis, directory);
    // So long that only the end of its holder ends the lease, however busy the machine is.
    const std::string on_redis = "[store]\nurl = \"" + store->url() + "\"\nlease_ms = 3600000\n";
    configure("rondod.toml", "socket", on_redis);
    configure("second.toml", "second", on_redis);
    const std::string check = program_ + " --config " + file("rondod.toml") + " --check-config 2>&1 | grep -q 'was built without'";
    if (std::system(check.c_str()) == 0) GTEST_SKIP() << "SKIPPED: this rondod was built without Redis";
  }
  void TearDown() override {
    if (second > 0) {
      ::kill(second, SIGKILL);
      ::waitpid(second, nullptr, 0);
    }
    SystemRondod::TearDown();
  }
  void start_second() {
    const std::string config = file("second.toml");
    const std::string log = file("second.log");
    second = ::fork();
    if (second == 0) {
      ::unsetenv("NOTIFY_SOCKET");
      ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
      ::execl(program_.c_str(), program_.c_str(), "--config", config.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
  }
  std::string second_log() const {
    std::ifstream in(file("second.log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The second one's answer; empty while it does not answer.
  std::string second_says(std::string_view command, const boost::json::object& arguments = {}) const {
    const auto connected = AdminClient::connect(file("second"));
    if (!connected) return {};
    const auto answer = (*connected)->call(command, arguments);
    return answer ? boost::json::serialize(*answer) : std::string{answer.error().message()};
  }
  /// Programs an interface and the routes by the first one, which runs.
  void program() {
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    set("INTF_TABLE", "swp1", {});
    set("INTF_TABLE", "swp1:10.0.0.1/24", {});
    set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    for (int i = 0; i < kHandedOver; ++i) {
      set("ROUTE_TABLE", "20." + std::to_string(i) + ".0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
    }
    EXPECT_TRUE(becomes([this] { return kernel_routes() == kHandedOver; })) << log_text();
  }
  bool second_has(const std::string& key) const {
    return second_says("why", {{"table", "ROUTE_TABLE"}, {"key", key}}).find("\"plane\":\"installed\"") != std::string::npos;
  }

  std::unique_ptr<restart::TestStore> store;
  pid_t second = -1;
};

/// With a protocol number of its own, as the guide had it, the second one found the routes of the first one to be foreign and replaced
/// none.
TEST_F(StandbyOnLinux, TheSecondWaitsForLeaseAndLockAndTakesTheRoutesOverWithoutAGap) {
  start();
  program();
  start_second();
  const std::string holder = "pid " + std::to_string(pid) + " ";
  ASSERT_TRUE(becomes([&] { return second_says("health").find("standby: " + holder) != std::string::npos; })) << second_log();
  EXPECT_THAT(second_log(), HasSubstr("standby: another process programs the namespace"));
  EXPECT_THAT(second_says("stats"), HasSubstr(R"("lease":"standby","holder":")" + holder)) << "it asks for no lease before it has the lock";
  for (const char* const key : {"20.3.0.0/16", "99.0.0.0/8"}) {
    EXPECT_THAT(second_says("why", {{"table", "ROUTE_TABLE"}, {"key", key}}),
                AllOf(HasSubstr("stands by for " + holder), Not(HasSubstr("or it is done")), Not(HasSubstr("\"state\":\"done\""))));
  }
  EXPECT_THAT(second_says("verify"), HasSubstr("stands by for " + holder));
  // While the second one waits, the first one goes on: routes come and go.
  set("ROUTE_TABLE", "30.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  const auto gone = client->call("del", {{"table", "ROUTE_TABLE"}, {"key", "20.0.0.0/16"}});
  EXPECT_TRUE(gone.has_value());
  auto plane = make_linux_dataplane({.network_namespace = lab->path()}).value();
  const auto has = [&](const std::string& prefix) {
    const auto lines = restart::kernel_lines(*plane);
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with("route " + prefix); });
  };
  ASSERT_TRUE(becomes([&] { return has("30.0.0.0/8") && !has("20.0.0.0/16"); })) << log_text();

  restart::KernelEvents events(lab->path(), *plane);
  const auto before = restart::kernel_lines(*plane);
  ::kill(pid, SIGKILL);
  wait();
  ASSERT_TRUE(becomes([&] { return second_has("30.0.0.0/8") && second_has("20.10.0.0/16"); })) << second_log();
  ASSERT_TRUE(becomes([&] { return second_says("verify").find("\"differences\":0") != std::string::npos; })) << second_says("verify");
  EXPECT_EQ(restart::kernel_lines(*plane), before);
  const auto seen = events.take();
  EXPECT_THAT(seen, Not(::testing::Contains(::testing::StartsWith("gone: ")))) << "no packet found a route missing";
  EXPECT_THAT(second_says("health"), Not(HasSubstr("standby")));
  // The second one programs on.
  const auto connected = AdminClient::connect(file("second"));
  ASSERT_TRUE(connected.has_value());
  EXPECT_TRUE((*connected)->call("del", {{"table", "ROUTE_TABLE"}, {"key", "30.0.0.0/8"}}).has_value());
  EXPECT_TRUE(becomes([&] { return !has("30.0.0.0/8"); })) << second_log();
}

TEST_F(StandbyOnLinux, AnOrderlyEndHandsTheNamespaceOver) {
  start();
  program();
  start_second();
  ASSERT_TRUE(becomes([&] { return second_says("health").find("standby: ") != std::string::npos; })) << second_log();
  ::kill(pid, SIGTERM);
  EXPECT_EQ(wait(), 0) << log_text();
  ASSERT_TRUE(becomes([&] { return second_has("20.10.0.0/16"); })) << second_log();
  EXPECT_EQ(kernel_routes(), static_cast<std::size_t>(kHandedOver));
}

TEST_F(StandbyOnLinux, AStandbyEndsWhenItIsAsked) {
  start();
  start_second();
  ASSERT_TRUE(becomes([&] { return second_says("health").find("standby: ") != std::string::npos; })) << second_log();
  ::kill(second, SIGTERM);
  int status = 0;
  ::waitpid(second, &status, 0);
  second = -1;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << second_log();
}

/// Only a rondod whose tables are all on Redis can wait: it would consume rows of its own tables.
TEST_F(StandbyOnLinux, OneWithTablesOfItsOwnIsRefusedAsBefore) {
  start();
  configure("second.toml", "second", "");
  start_second();
  int status = 0;
  ::waitpid(second, &status, 0);
  second = -1;
  EXPECT_EQ(WEXITSTATUS(status), 69) << second_log();
  EXPECT_THAT(second_log(), HasSubstr("programs network namespace"));
}

}  // namespace
}  // namespace rondo
