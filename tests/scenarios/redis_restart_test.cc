// A process ends and restarts on the same Redis. Its Orchs, which do not know about Redis, receive every row that the earlier process had
// handled, and reach the same state. The Orchs are those of examples/01_two_orchs.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "rondo/orch/runtime.h"
#include "rondo/store/redis_store.h"
#include "store/redis/testing/server.h"

namespace rondo {
namespace {

constexpr FactKind kNexthopGroup{"nexthop-group"};

class NexthopGroups final : public Orch {
 public:
  explicit NexthopGroups(Runtime& runtime) : Orch(runtime, "nexthop-groups", Priority::p5) {
    consume("NEXTHOP_GROUP", this, &NexthopGroups::set, &NexthopGroups::remove);
    provide(kNexthopGroup, [this](std::string_view key) { return groups_.contains(key); });
  }

 private:
  Outcome set(std::string_view key, const Fields& fields) {
    groups_[std::string{key}] = fields.text("nexthops").value_or("");
    announce({kNexthopGroup, std::string{key}});
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    groups_.erase(std::string{key});
    withdraw({kNexthopGroup, std::string{key}});
    return Outcome::done();
  }
  std::map<std::string, std::string, std::less<>> groups_;
};

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) { consume("ROUTE", this, &Routes::set, &Routes::remove); }
  const std::map<std::string, std::string, std::less<>>& installed() const { return fib_; }
  int refused() const { return refused_; }

 private:
  Outcome set(std::string_view key, const Fields& fields) {
    const Result<std::string> group = fields.text("nexthop_group");
    if (!group) {
      ++refused_;
      return Outcome::reject(group.error());
    }
    const Fact needed{kNexthopGroup, *group};
    if (!holds(needed)) {
      fib_.erase(std::string{key});
      return Outcome::wait_for(needed);
    }
    fib_[std::string{key}] = *group;
    return Outcome::done_while(needed);
  }
  Outcome remove(std::string_view key) {
    fib_.erase(std::string{key});
    return Outcome::done();
  }
  std::map<std::string, std::string, std::less<>> fib_;
  int refused_ = 0;
};

/// One run of the program.
struct Life {
  explicit Life(const redis_kit::RedisServer& server)
      : runtime({.store = [&server](Scheduler& scheduler) -> Result<std::unique_ptr<Store>> {
          RedisStoreOptions options;
          options.address = server.address();
          return std::make_unique<RedisStore>(scheduler, options);
        }}) {}
  template <class Done>
  bool until(Done done) {
    const Instant deadline = runtime.clock().now() + 60s;
    while (!done()) {
      if (runtime.clock().now() > deadline) return false;
      if (runtime.run_until_idle() == 0) runtime.scheduler().wait(runtime.clock().now() + 10ms);
    }
    return true;
  }
  Runtime runtime;
  NexthopGroups& groups = runtime.add<NexthopGroups>();
  Routes& routes = runtime.add<Routes>();
};

TEST(RestartOnRedis, EveryRowIsGivenAgainAndAChangeOfOneFieldIsAWholeRow) {
  if (redis_kit::server_program().empty()) GTEST_SKIP() << "needs redis-server";
  redis_kit::RedisServer server;
  constexpr std::size_t kRoutes = 1000;
  std::map<std::string, std::string, std::less<>> before;
  {
    Life run(server);
    ASSERT_TRUE(run.runtime.table("NEXTHOP_GROUP").set("102", {{"nexthops", "192.168.1.1"}}).ok());
    for (std::size_t i = 0; i < kRoutes; ++i) {
      const std::string key = "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24";
      ASSERT_TRUE(run.runtime.table("ROUTE").set(key, {{"nexthop_group", "102"}}).ok());
    }
    ASSERT_TRUE(run.until([&] { return run.routes.installed().size() == kRoutes; }));
    ASSERT_TRUE(run.runtime.table("ROUTE").set("10.0.0.0/24", {{"metric", "5"}}).ok());
    ASSERT_TRUE(run.until([&] { return server.command({"HGET", "ROUTE:10.0.0.0/24", "metric"}) == "5"; }));
    run.runtime.run_until_idle();
    EXPECT_EQ(run.routes.refused(), 0);
    before = run.routes.installed();
  }
  Life run(server);
  ASSERT_TRUE(run.until([&] {
    const auto consumers = run.runtime.consumers();
    return std::ranges::all_of(consumers, [](const ConsumerStats& stats) { return stats.caught_up && stats.queued == 0; });
  }));
  EXPECT_EQ(run.routes.installed(), before);
  EXPECT_EQ(run.routes.refused(), 0);
  std::uint64_t taken = 0;
  for (const ConsumerStats& stats : run.runtime.consumers()) taken += stats.taken;
  EXPECT_EQ(taken, kRoutes + 1) << "each row once";
}

}  // namespace
}  // namespace rondo
