// The Redis store behind Sentinels: it finds the master, and finds the new one after a fail-over, without losing anything that the replica
// had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "store/redis/connection.h"
#include "store/redis/lease_holder.h"
#include "store/redis/testing/sentinel.h"
#include "store/redis/testing/worlds.h"

namespace rondo::redis {
namespace {

TEST(RedisSentinelLinux, AFailOverIsSurvivedAndEveryWriteThatAReplicaHadArrives) {
  RONDO_NEEDS_REDIS();
  redis_kit::SentinelGroup group;
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = group.address();
  options.replicas = 1;
  options.replicas_timeout = 100ms;
  options.answer_timeout = 2s;
  std::vector<std::uint64_t> epochs;
  options.on_failover = [&epochs](std::uint64_t epoch) { epochs.push_back(epoch); };
  StoreDriver driver{options};
  RedisStore& store = driver.store();
  ASSERT_TRUE(store.declare({.name = "T", .kind = TableKind::Staged}).ok());
  ASSERT_TRUE(driver.run_until([&] { return store.health().ok(); })) << store.health().to_string();

  std::set<std::string> done;
  int written = 0;
  const auto write = [&] {
    const std::string key = std::to_string(written++);
    ASSERT_TRUE(store
                    .write("T", Change::set(key, {{"n", key}}),
                           [&done, key](const Status& status) {
                             if (status.ok()) done.insert(key);
                           })
                    .ok());
  };
  for (int i = 0; i < 1000; ++i) write();
  ASSERT_TRUE(driver.run_until([&] { return done.size() == 1000; }));
  EXPECT_EQ(store.stats().epoch, 1U) << "and a replica has it, since it has what was written after it";
  EXPECT_THAT(epochs, testing::IsEmpty());
  group.first().kill9();
  for (int i = 0; i < 1000; ++i) write();
  ASSERT_TRUE(driver.run_until([&] { return store.unanswered() == 0; }, 60s)) << store.health().to_string();

  EXPECT_THAT(epochs, testing::ElementsAre(2U));
  EXPECT_EQ(store.stats().failovers, 1U);
  group.wait_for_master(group.second());
  EXPECT_EQ(group.second().hash("RONDO_EPOCH")["run_id"], group.second().info("server")["run_id"]);
  StoreDriver other{options};
  ASSERT_TRUE(other.run_until([&other] { return other.store().stats().epoch != 0; }));
  EXPECT_EQ(other.store().stats().epoch, 2U) << "all stores agree";

  auto subscription = store.subscribe("T");
  ASSERT_TRUE(subscription.has_value());
  std::set<std::string> seen;
  std::vector<Change> changes;
  driver.run_until(
      [&] {
        changes.clear();
        (*subscription)->take(128, changes);
        for (const Change& change : changes) seen.emplace(change.key());
        return seen.size() == 2000;
      },
      30s);
  EXPECT_EQ(seen.size(), 2000U) << "those under way when the master died are sent again to the new one";
}

// Until the Sentinels agree that the master is dead, they name it immediately in every answer.
TEST(RedisSentinelLinux, ADeadMasterDoesNotSpin) {
  RONDO_NEEDS_REDIS();
  redis_kit::SentinelGroup group;
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = group.address();
  StoreDriver driver{options};
  ASSERT_TRUE(driver.run_until([&] { return driver.store().health().ok(); })) << driver.store().health().to_string();
  group.first().kill9();
  ASSERT_TRUE(driver.run_until([&] { return !driver.store().health().ok(); }));
  const std::uint64_t before = driver.scheduler().stats().turns;
  const Instant killed = driver.clock().now();
  ASSERT_TRUE(driver.run_until([&] { return driver.store().health().ok(); }, 60s)) << driver.store().health().to_string();
  const auto seconds = static_cast<std::uint64_t>((driver.clock().now() - killed) / 1s) + 1;
  EXPECT_LT(driver.scheduler().stats().turns - before, 200U * seconds) << "in " << seconds << " seconds";
}

/// Counts the events of a connection.
struct Told final : Connection::User {
  void connected(Connection&) override { ++times_connected; }
  void lost(Connection&, const Status& why, bool) override { trouble = why; }
  int times_connected = 0;
  Status trouble;
};

TEST(RedisSentinel, AServerThatWasNamedAndIsAReplicaIsGivenUpUntilItIsTheMaster) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  StoreDriver driver({.address = server.address()});
  for (const bool subscriber : {false, true}) {
    ASSERT_EQ(server.command({"REPLICAOF", "127.0.0.1", std::to_string(redis_kit::free_port())}), "OK");
    Told told;
    Connection connection(driver.scheduler(), server.address(), {.name = "asks", .subscriber = subscriber, .master_only = true}, told);
    connection.start();
    ASSERT_TRUE(driver.run_until([&] { return !told.trouble.ok() || told.times_connected > 0; }));
    EXPECT_THAT(told.trouble.to_string(), testing::HasSubstr("is a replica"));
    EXPECT_EQ(told.times_connected, 0);
    server.command({"REPLICAOF", "NO", "ONE"});
    EXPECT_TRUE(driver.run_until([&] { return told.times_connected == 1; })) << told.trouble.to_string();
  }
}

// A single Sentinel cannot promote another server. It continues to name the first one, which by now is a replica of another server.
TEST(RedisSentinelLinux, NeitherConnectionOfAStoreStaysOnAReplicaThatIsNamed) {
  RONDO_NEEDS_REDIS();
  redis_kit::SentinelGroup group;
  group.kill_sentinel(1);
  group.kill_sentinel(2);
  group.second().command({"REPLICAOF", "NO", "ONE"});
  ASSERT_EQ(group.first().command({"REPLICAOF", "127.0.0.1", std::to_string(group.second().port())}), "OK");
  group.first().command({"CONFIG", "RESETSTAT"});
  const auto calls = [&group](const std::string& command) {
    const std::string figures = group.first().info("commandstats")["cmdstat_" + command];
    return figures.empty() ? 0 : std::stoi(figures.substr(figures.find('=') + 1));
  };
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = group.address();
  options.backoff_high = 100ms;
  StoreDriver driver{options};
  ASSERT_TRUE(driver.run_until([&] { return calls("role") >= 6; })) << "it tries again";
  EXPECT_FALSE(driver.store().health().ok());
  EXPECT_EQ(calls("eval"), 0) << "the connection for commands would mark the epoch";
  EXPECT_EQ(group.first().list({"PUBSUB", "NUMSUB", "__redis__:invalidate"}).back(), "0") << "the connection for events would subscribe";
  group.first().command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(driver.run_until([&driver] { return driver.store().health().ok(); })) << driver.store().health().to_string();
}

TEST(RedisSentinelLinux, StandingRowsComeFromTheMasterThatTheSentinelsName) {
  RONDO_NEEDS_REDIS();
  redis_kit::SentinelGroup group;
  group.first().command({"HSET", "T:k", "a", "1"});
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = group.address();
  StoreDriver driver{options};
  ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
  const auto consumer = driver.store().subscribe("T").value();
  ASSERT_TRUE(driver.run_until([&consumer] { return !consumer->empty(); }));
  std::vector<Change> taken;
  EXPECT_EQ(consumer->take(9, taken), 1U);
  EXPECT_TRUE(driver.run_until([&consumer] { return consumer->caught_up(); }));
}

// The lease is replicated with the rows, so on the new master both are from the same moment.
TEST(RedisSentinelLinux, AfterAFailOverOneOfTwoStoresHasTheLease) {
  RONDO_NEEDS_REDIS();
  redis_kit::SentinelGroup group;
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = group.address();
  options.answer_timeout = 2s;
  options.lease = kShortestRedisLease;
  struct Member {
    explicit Member(const RedisStoreOptions& options) : driver(options) {
      EXPECT_TRUE(driver.store().declare({.name = "T"}).ok());
      consumer = driver.store().subscribe("T").value();
    }
    RedisLease::State turn() {
      driver.run_until([] { return false; }, 20ms);
      std::vector<Change> changes;
      consumer->take(100, changes);
      for (const Change& change : changes) taken.emplace(change.key());
      return driver.store().lease().state;
    }
    StoreDriver driver;
    std::unique_ptr<Subscription> consumer;
    std::set<std::string> taken;
  };
  using State = RedisLease::State;
  options.lease_holder = new_lease_holder();
  Member first{options};
  ASSERT_TRUE(first.driver.run_until([&] { return first.driver.store().lease().state == State::Held; }));
  options.lease_holder = new_lease_holder();
  Member second{options};
  ASSERT_TRUE(second.driver.run_until([&] { return second.driver.store().lease().state == State::Standby; }));
  group.first().kill9();
  group.wait_for_master(group.second());
  StoreDriver writer({.address = group.address()});
  ASSERT_TRUE(writer.store().declare({.name = "T"}).ok());
  ASSERT_TRUE(writer.run_until([&] { return writer.store().health().ok(); }, 60s));
  ASSERT_TRUE(writer.store().write("T", Change::set("after", {{"n", "1"}})).ok());
  ASSERT_TRUE(writer.run_until([&] { return writer.store().unanswered() == 0; }));
  const Instant end = writer.clock().now() + 60s;
  while (first.taken.empty() && second.taken.empty() && writer.clock().now() < end) {
    first.turn();
    second.turn();
  }
  const bool has_first = first.turn() == State::Held;
  EXPECT_NE(has_first, second.turn() == State::Held);
  EXPECT_THAT(has_first ? first.taken : second.taken, testing::ElementsAre("after"));
  EXPECT_THAT(has_first ? second.taken : first.taken, testing::IsEmpty());
}

}  // namespace
}  // namespace rondo::redis
