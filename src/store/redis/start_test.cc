// Changes that arrive while a consumer subscribes must not be missed. Every moment between its subscription, its first read and another
// process's first write is covered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "store/redis/testing/worlds.h"

namespace rondo::redis {
namespace {

TEST(RedisStartFaults, AWriteThatMeetsTheFirstLookIsNotMissed) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = server.address();
  for (int round = 0; round < 300; ++round) {
    StoreDriver consumer{options};
    ASSERT_TRUE(consumer.store().declare({.name = "T", .kind = TableKind::Staged}).ok());
    ASSERT_TRUE(consumer.run_until([&] { return consumer.store().health().ok(); }));
    auto subscription = consumer.store().subscribe("T");
    ASSERT_TRUE(subscription.has_value());
    // Another client writes as the stock producer does, after a number of the consumer's turns that depends on the round.
    for (int turns = round % 12; turns > 0; --turns) {
      if (!consumer.scheduler().turn()) consumer.scheduler().wait(consumer.clock().now() + 1ms);
    }
    const std::string value = std::to_string(round);
    server.command({"MULTI"});
    server.command({"SADD", "T_KEY_SET", "k"});
    server.command({"HSET", "_T:k", "round", value});
    server.command({"PUBLISH", "T_CHANNEL@0", "G"});
    server.command({"EXEC"});
    std::vector<Change> changes;
    std::string seen;
    const bool came = consumer.run_until(
        [&] {
          changes.clear();
          (*subscription)->take(128, changes);
          for (const Change& change : changes) seen = change.fields().find("round").value_or("");
          return seen == value;
        },
        5s);
    ASSERT_TRUE(came) << "round " << round << ": seen " << seen;
  }
}

TEST(RedisStartFaults, AnUnreachableServerIsLoggedOnceWithItsAddressAndTheReason) {
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = parse_redis_address("unix:///nowhere/redis.sock").value();
  RedisStoreOptions silent = options;
  silent.log_unreachable = false;
  testing::internal::CaptureStderr();
  {
    StoreDriver driver{options};
    StoreDriver other{silent};
    driver.run_until([] { return false; }, 2500ms);
    other.run_until([] { return false; }, 1200ms);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("[^\n]*Redis is not usable yet, retrying server=[^\n]*/nowhere/redis.sock[^\n]* why=[^\n]*\n"));
}

}  // namespace
}  // namespace rondo::redis
