// Two real rondods on one test Redis, each with a simulated data plane: one consumes, the other stands by, and takes over when the first
// one ends, is killed or is silent for too long. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rondod/configuration/config.h"
#include "rondod/tests/rondod_kit.h"
#include "store/redis/testing/server.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::string& text) {
  const auto config = parse_config(text, "rondod.toml");
  EXPECT_FALSE(config.has_value()) << text;
  return config ? std::string{} : std::string{config.error().message()};
}

TEST(RedisLeaseConfig, EachStoreHasALeaseOfItsOwn) {
  const auto config = parse_config(
      "[store]\nurl = \"unix:///a\"\nlease_ms = 3000\nstandby = \"refuse\"\n"
      "[[store.group]]\ntables = [\"T\"]\nurl = \"unix:///b\"\nlease_ms = 0\nnotify_each_key = true\n",
      "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->store, (StorePlace{.url = "unix:///a", .lease_ms = 3000, .standby = Standby::Refuse}));
  EXPECT_EQ(config->store_groups[0].place, (StorePlace{.url = "unix:///b", .lease_ms = 0, .notify_each_key = true}));
  const auto again = parse_config(to_toml(*config), "x");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->store, config->store);
  EXPECT_EQ(again->store_groups, config->store_groups);
}

TEST(RedisLeaseConfig, WhatCannotBeIsRefused) {
  EXPECT_THAT(message_of("[store]\nurl = \"unix:///a\"\nlease_ms = 1000\n"), AllOf(HasSubstr("rondod.toml:3"), HasSubstr("at least 3000")));
  EXPECT_THAT(message_of("[store]\nlease_ms = 5000\n"), HasSubstr("is for tables on a Redis"));
  EXPECT_THAT(message_of("[store]\nurl = \"file:///a\"\nstandby = \"refuse\"\n"), HasSubstr("is for tables on a Redis"));
  EXPECT_THAT(message_of("[store]\nnotify_each_key = true\n"), HasSubstr("is for tables on a Redis"));
  EXPECT_THAT(message_of("[store]\nurl = \"unix:///a\"\nstandby = \"fight\"\n"), HasSubstr("'wait', 'refuse'"));
}

/// One of the two rondods.
class OneRondod : public RondodProcess {
 public:
  OneRondod() { SetUp(); }
  ~OneRondod() override { TearDown(); }
  using RondodProcess::becomes;
  using RondodProcess::call;
  using RondodProcess::end;
  using RondodProcess::fail_to_start;
  using RondodProcess::has_route;
  using RondodProcess::log_text;
  using RondodProcess::pid;
  using RondodProcess::signal;
  using RondodProcess::start;
  using RondodProcess::stop;

  std::string lease() { return std::string{figures().at("lease").as_string()}; }
  std::string holder() { return std::string{figures().at("holder").as_string()}; }
  std::string health() { return json::serialize(call("health")); }
  /// The number of routes in the data plane.
  std::size_t routes() {
    const std::string all = json::serialize(call("sim-routes"));
    std::size_t count = 0;
    for (std::size_t at = all.find("/24\""); at != std::string::npos; at = all.find("/24\"", at + 1)) ++count;
    return count;
  }
  void set(const std::string& table, const std::string& key, std::initializer_list<std::pair<const char*, const char*>> fields) {
    json::array pairs;
    for (const auto& [name, value] : fields) pairs.push_back(json::array{name, value});
    call("set", {{"table", table}, {"key", key}, {"fields", std::move(pairs)}});
  }

 private:
  void TestBody() override {}
  json::object figures() { return call("stats").at("store").at("redis").at(0).as_object(); }
};

class TwoRondodsOnRedis : public testing::Test {
 protected:
  /// So long that only the end of its holder ends the lease, however busy the machine is.
  static constexpr const char* kLong = "lease_ms = 3600000\n";
  void SetUp() override {
    RONDO_NEEDS_REDIS();
    server = std::make_unique<redis_kit::RedisServer>();
    first = std::make_unique<OneRondod>();
    second = std::make_unique<OneRondod>();
  }
  std::string store(const std::string& more = kLong) const { return "url = \"unix://" + server->socket() + "\"\n" + more; }
  void start_both(const std::string& more = kLong) {
    first->start(store(more));
    ASSERT_TRUE(OneRondod::becomes([&] { return first->lease() == "held"; })) << first->log_text();
    second->start(store(more));
    ASSERT_TRUE(OneRondod::becomes([&] { return second->lease() == "standby"; })) << second->log_text();
  }
  static std::string route(int number) { return "10." + std::to_string(number / 256) + "." + std::to_string(number % 256) + ".0/24"; }
  static void make_ports(OneRondod& rondod) {
    rondod.set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    rondod.set("INTF_TABLE", "swp1", {{"mtu", "1500"}});
    rondod.set("INTF_TABLE", "swp1:10.0.0.1/24", {{"scope", "global"}});
    rondod.set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
  }
  static void make_routes(OneRondod& rondod, int from, int to) {
    for (int i = from; i < to; ++i) rondod.set("ROUTE_TABLE", route(i), {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  }

  std::unique_ptr<redis_kit::RedisServer> server;
  std::unique_ptr<OneRondod> first;
  std::unique_ptr<OneRondod> second;
};

TEST_F(TwoRondodsOnRedis, OneConsumesAndTheOtherStandsByAndNamesIt) {
  start_both();
  make_ports(*first);
  make_routes(*second, 0, 20);  // A standby accepts writes for the consumer.
  EXPECT_TRUE(OneRondod::becomes([&] { return first->routes() == 20; })) << first->log_text();
  EXPECT_EQ(second->routes(), 0U);
  const std::string name = "pid " + std::to_string(first->pid()) + " on host ";
  EXPECT_THAT(second->holder(), HasSubstr(name));
  EXPECT_THAT(second->log_text(), AllOf(HasSubstr("standby"), HasSubstr(name)));
  EXPECT_THAT(json::serialize(second->call("health").at("notes")), AllOf(HasSubstr("standby: " + name), HasSubstr(server->socket())));
  EXPECT_EQ(second->call("stats").at("store").at("health"), "ok");
}

TEST_F(TwoRondodsOnRedis, AStandbySaysOfNoRowThatItIsDone) {
  start_both();
  make_ports(*first);
  make_routes(*first, 0, 3);
  EXPECT_TRUE(OneRondod::becomes([&] { return first->routes() == 3; })) << first->log_text();
  const json::object row{{"table", "ROUTE_TABLE"}, {"key", route(1)}};
  EXPECT_TRUE(OneRondod::becomes([&] { return first->call("get", row).at("state") == "done"; }));
  for (const json::object& told : {second->call("get", row), second->call("why", row).at("chain").at(0).as_object()}) {
    EXPECT_EQ(told.at("state"), "queued") << json::serialize(told);
    EXPECT_THAT(std::string{told.at("note").as_string()},
                AllOf(HasSubstr("not read all rows of its table yet"), HasSubstr("stands by for pid " + std::to_string(first->pid())),
                      testing::Not(HasSubstr("or it is done"))));
  }
}

/// `why` said "it was never written, or it is done", and only `health` named the standby.
TEST_F(TwoRondodsOnRedis, WhyOnAStandbyNamesTheProcessForWhichItStandsBy) {
  start_both();
  make_ports(*first);
  make_routes(*first, 0, 1);
  EXPECT_TRUE(OneRondod::becomes([&] { return first->routes() == 1; })) << first->log_text();
  for (const std::string& key : {route(0), route(9)}) {
    const json::object link = second->call("why", {{"table", "ROUTE_TABLE"}, {"key", key}}).at("chain").at(0).as_object();
    EXPECT_NE(link.at("state"), "done") << key;
    EXPECT_THAT(
        std::string{link.at("note").as_string()},
        AllOf(HasSubstr("stands by for pid " + std::to_string(first->pid()) + " on host "), testing::Not(HasSubstr("or it is done"))));
  }
  EXPECT_THAT(json::serialize(first->call("why", {{"table", "ROUTE_TABLE"}, {"key", route(0)}})), testing::Not(HasSubstr("stands by")));
}

TEST_F(TwoRondodsOnRedis, AKilledOneIsFollowedAndNoRowIsLost) {
  start_both();  // The second process detects the end of the first, so it does not wait for the end of the lease.
  make_ports(*second);
  make_routes(*second, 0, 200);
  first->end(SIGKILL);  // At any point of the work.
  make_routes(*second, 200, 400);
  EXPECT_TRUE(OneRondod::becomes([&] { return second->routes() == 400; })) << second->log_text();
  EXPECT_EQ(second->lease(), "held");
}

TEST_F(TwoRondodsOnRedis, OneThatIsSilentForLongerThanItsLeaseIsFollowedAndEndsWhenItWakesUp) {
  start_both("lease_ms = 3000\n");
  make_ports(*first);
  make_routes(*first, 0, 100);
  EXPECT_TRUE(OneRondod::becomes([&] { return first->routes() == 100; })) << first->log_text();
  first->stop();
  make_routes(*second, 100, 200);
  EXPECT_TRUE(OneRondod::becomes([&] { return second->routes() == 200; })) << second->log_text();
  second->call("del", {{"table", "ROUTE_TABLE"}, {"key", route(7)}});
  make_routes(*second, 200, 300);
  first->signal(SIGCONT);
  EXPECT_EQ(first->end(0), 69) << first->log_text();
  EXPECT_THAT(first->log_text(), AllOf(HasSubstr("silent for longer than its lease"), HasSubstr("pid " + std::to_string(second->pid()))));
  make_routes(*second, 300, 310);
  EXPECT_TRUE(OneRondod::becomes([&] { return second->routes() == 309; })) << second->routes();
  EXPECT_FALSE(second->has_route(route(7)));
  first->start(store());
  EXPECT_TRUE(OneRondod::becomes([&] { return first->lease() == "standby"; })) << first->log_text();
}

TEST_F(TwoRondodsOnRedis, AnOrderlyEndHandsTheTablesOver) {
  start_both();
  make_ports(*first);
  make_routes(*first, 0, 50);
  EXPECT_EQ(first->end(SIGTERM), 0) << first->log_text();
  EXPECT_TRUE(OneRondod::becomes([&] { return second->routes() == 50; })) << second->log_text();
}

TEST_F(TwoRondodsOnRedis, OneThatIsToRefuseEndsAndNamesTheOther) {
  first->start(store());
  ASSERT_TRUE(OneRondod::becomes([&] { return first->lease() == "held"; })) << first->log_text();
  EXPECT_EQ(second->fail_to_start(store("lease_ms = 3000\nstandby = \"refuse\"\n")), 69);
  EXPECT_THAT(second->log_text(), AllOf(HasSubstr("pid " + std::to_string(first->pid()) + " on host "), HasSubstr("split their rows")));
}

TEST_F(TwoRondodsOnRedis, ARestartAfterAKillWaitsForNothing) {
  for (int run = 0; run < 3; ++run) {
    first->start(store("lease_ms = 3600000\n"));
    if (run == 0) {
      make_ports(*first);
      make_routes(*first, 0, 10);
    }
    EXPECT_TRUE(OneRondod::becomes([&] { return first->routes() == 10; })) << first->log_text();
    first->end(SIGKILL);
  }
}

TEST_F(TwoRondodsOnRedis, StoresOfOneProcessOnOneDatabaseDoNotWaitForEachOther) {
  first->start(store() + "[[store.group]]\ntables = [\"PORT_TABLE\"]\n" + store("lease_ms = 4000\n"));
  make_ports(*first);
  make_routes(*first, 0, 10);
  EXPECT_TRUE(OneRondod::becomes([&] { return first->routes() == 10; })) << first->log_text();
}

TEST_F(TwoRondodsOnRedis, OneHasTheLeasesOfAllDatabasesOrTheOther) {
  redis_kit::RedisServer other;
  const std::string both =
      "lease_ms = 3600000\n[[store.group]]\ntables = [\"ROUTE_TABLE\"]\nurl = \"unix://" + other.socket() + "\"\nlease_ms = 3600000\n";
  first->start(store(both));
  second->start(store(both));
  const auto leases = [](OneRondod& rondod) {
    const json::array stores = rondod.call("stats").at("store").at("redis").as_array();
    return std::string{stores.at(0).at("lease").as_string()} + " " + std::string{stores.at(1).at("lease").as_string()};
  };
  std::string seen;
  const auto one_has_all = [&] {
    seen = leases(*first) + ", " + leases(*second);
    const bool of_first = leases(*first) == "held held";
    return of_first != (leases(*second) == "held held") && (of_first ? leases(*second) : leases(*first)).find("held") == std::string::npos;
  };
  ASSERT_TRUE(OneRondod::becomes(one_has_all)) << seen;
  OneRondod& holder = leases(*first) == "held held" ? *first : *second;
  OneRondod& standby = &holder == first.get() ? *second : *first;
  EXPECT_TRUE(OneRondod::becomes([&] { return leases(standby) == "standby standby"; })) << leases(standby);
  make_ports(standby);
  make_routes(standby, 0, 20);
  EXPECT_TRUE(OneRondod::becomes([&] { return holder.routes() == 20; })) << holder.log_text();
  EXPECT_EQ(standby.routes(), 0U);
  holder.end(SIGKILL);
  EXPECT_TRUE(OneRondod::becomes([&] { return standby.routes() == 20; })) << leases(standby) << standby.log_text();
}

TEST_F(TwoRondodsOnRedis, WhatLiesDamagedOnTheRedisIsInLogStatsAndHealth) {
  server->command({"HSET", "RONDO_INFLIGHT@ROUTE_TABLE", "1", "no batch"});
  first->start(store());
  EXPECT_TRUE(OneRondod::becomes([&] { return first->log_text().find("could not be read and was dropped") != std::string::npos; }));
  EXPECT_THAT(json::serialize(first->call("stats").at("store").at("redis")),
              AllOf(HasSubstr("\"malformed\":1"), HasSubstr("RONDO_INFLIGHT")));
  EXPECT_THAT(first->health(), AllOf(HasSubstr("dropped: 1 since the start"), HasSubstr("RONDO_INFLIGHT@ROUTE_TABLE")));
}

}  // namespace
}  // namespace rondo::daemon
