// The standing rows of a Staged table on Redis: rows that other clients wrote with plain commands, the page-by-page read, and its faults.
// store/standing_contract_cases.h has the promises of every store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/redis/testing/worlds.h"

namespace rondo::redis {
namespace {

using testing::UnorderedElementsAre;

std::string sorted_line(const Change& change) {
  std::vector<std::string> fields;
  for (const Field field : change.fields()) fields.push_back(" " + std::string{field.name} + "=" + std::string{field.value});
  std::ranges::sort(fields);
  std::string text = std::string{change.verb()} + " " + std::string{change.key()};
  for (const std::string& field : fields) text += field;
  return text;
}

/// Takes until the consumer has caught up.
std::vector<std::string> standing(StoreDriver& driver, Subscription& consumer) {
  std::vector<Change> taken;
  EXPECT_TRUE(driver.run_until([&] {
    consumer.take(1000, taken);
    return consumer.caught_up();
  }));
  std::vector<std::string> lines;
  for (const Change& change : taken) lines.push_back(sorted_line(change));
  return lines;
}

std::vector<std::string> standing(redis_kit::RedisServer& server, const SubscribeOptions& options = {}) {
  StoreDriver driver({.address = server.address()});
  EXPECT_TRUE(driver.store().declare({.name = "T"}).ok());
  const auto consumer = driver.store().subscribe("T", options).value();
  return standing(driver, *consumer);
}

TEST(RedisStanding, RowsComeWithWhatWaitsForThemAndOnlyOfTheirTable) {
  RONDO_NEEDS_REDIS();
  for (const rondo::Rows rows : {rondo::Rows::Whole, rondo::Rows::Written}) {
    redis_kit::RedisServer server;
    server.command({"HSET", "T:whole", "a", "1", "b", "2"});
    server.command({"HSET", "T:bare", "NULL", "NULL"});
    server.command({"HSET", "T:newer", "a", "1", "b", "2"});
    server.command({"HSET", "_T:newer", "a", "9"});
    server.command({"HSET", "T:filled", "NULL", "NULL"});
    server.command({"HSET", "_T:filled", "a", "1"});
    server.command({"HSET", "T:gone", "a", "1"});
    server.command({"SADD", "T_DEL_SET", "gone"});
    server.command({"SADD", "T_KEY_SET", "newer", "gone", "filled"});
    server.command({"SET", "T:text", "no row"});
    server.command({"HSET", "T2:other", "a", "1"});
    EXPECT_THAT(standing(server, {.rows = rows}),
                UnorderedElementsAre("SET whole a=1 b=2", "SET bare", "SET newer a=9 b=2", "SET filled a=1", "DEL gone"));
    EXPECT_EQ(server.command({"HGET", "T:newer", "b"}), "2");
    EXPECT_EQ(server.command({"EXISTS", "T_KEY_SET"}), "0");
  }
}

TEST(RedisStanding, WhatAnEarlierProcessHadInFlightComesOnce) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  for (const char* const key : {"a", "b", "gone"}) server.command({"HSET", std::string{"T:"} + key, "x", "1"});
  for (const char* const key : {"a", "b", "gone", "new"}) server.command({"SADD", "T_KEY_SET", key});
  server.command({"HSET", "_T:a", "x", "2"});
  server.command({"HSET", "_T:new", "x", "2"});
  server.command({"SADD", "T_DEL_SET", "gone", "b"});
  server.command({"HSET", "_T:b", "y", "2"});
  {
    StoreDriver driver({.address = server.address()});
    ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
    const auto consumer = driver.store().subscribe("T", {.standing_rows = false}).value();
    ASSERT_TRUE(driver.run_until([&] { return consumer->depth() == 4 && !consumer->empty(); }));
  }
  EXPECT_THAT(standing(server), UnorderedElementsAre("SET a x=2", "DEL gone", "SET new x=2", "DEL b", "SET b y=2"));
}

TEST(RedisStanding, WritesOfAProducerMeanwhileAreNeitherLostNorOvertaken) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  constexpr int kRows = 3000;
  for (int i = 0; i < kRows; ++i) server.command({"HSET", "T:" + std::to_string(i), "x", "0"});
  StoreDriver driver({.address = server.address()});
  StoreDriver producer({.address = server.address()});
  for (StoreDriver* const one : {&driver, &producer}) ASSERT_TRUE(one->store().declare({.name = "T"}).ok());
  const auto consumer = driver.store().subscribe("T").value();
  std::map<std::string, std::string> seen;
  std::vector<Change> taken;
  int written = 0;
  ASSERT_TRUE(driver.run_until([&] {
    taken.clear();
    consumer->take(64, taken);
    for (const Change& change : taken) {
      const std::string value{change.fields().find("x").value_or("deleted")};
      std::string& before = seen[std::string{change.key()}];
      EXPECT_LE(std::stoi(before.empty() ? "0" : before), std::stoi(value)) << change.key();
      before = value;
    }
    if (written < 500) {
      const std::string key = std::to_string(written * 7 % kRows);
      EXPECT_TRUE(producer.store().write("T", Change::set(key, {{"x", std::to_string(++written)}})).ok());
    }
    producer.scheduler().run_until_idle(10);
    return written == 500 && consumer->caught_up();
  }));
  producer.settle();
  driver.settle();
  taken.clear();
  while (consumer->take(1000, taken) > 0) driver.settle();
  for (const Change& change : taken) seen[std::string{change.key()}] = change.fields().find("x").value_or("deleted");
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kRows));
  for (const auto& [key, value] : seen) EXPECT_EQ(server.command({"HGET", "T:" + key, "x"}), value) << key;
}

/// The rows fetched ahead of the consumer stay within two pops, however many rows stand.
TEST(RedisStanding, AConsumerThatTakesNothingHoldsTheReadingUp) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  for (int i = 0; i < 5000; ++i) server.command({"HSET", "T:" + std::to_string(i), "x", "0"});
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = server.address();
  options.pop_batch = 128;
  StoreDriver driver(options);
  ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
  const auto consumer = driver.store().subscribe("T").value();
  driver.settle();
  EXPECT_GE(consumer->depth(), 128U);
  EXPECT_LE(consumer->depth(), 2U * 128U + 256U);
  EXPECT_FALSE(consumer->caught_up());
  EXPECT_EQ(standing(driver, *consumer).size(), 5000U);
}

// A page for which the server had no time is not skipped: the walk restarts, and every row is delivered at least once.
TEST(RedisStanding, ABusyServerIsAskedAgain) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server({.arguments = {"--lua-time-limit", "1"}});
  constexpr std::size_t kRows = 5000;
  for (std::size_t i = 0; i < kRows; ++i) server.command({"HSET", "T:" + std::to_string(i), "a", "1"});
  redis_kit::RedisProxy proxy(server.address());
  redis_kit::RedisClient script(server.address());
  redis_kit::RedisClient other(server.address());
  StoreDriver driver({.address = proxy.address()});
  ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
  const auto consumer = driver.store().subscribe("T").value();
  std::vector<Change> taken;
  ASSERT_TRUE(driver.run_until([&] {
    consumer->take(100, taken);
    return !taken.empty();
  }));
  ASSERT_FALSE(consumer->caught_up());
  script.append({"EVAL", "while true do end", "0"});
  script.flush();
  redis_kit::wait_until("the script runs", [&] { return other.command({"PING"}).starts_with("(error) BUSY"); });
  const std::size_t before = proxy.stats().accepted;
  driver.run_until([&] {
    consumer->take(1000, taken);
    return proxy.stats().accepted > before;
  });
  EXPECT_FALSE(consumer->caught_up());
  EXPECT_EQ(other.command({"SCRIPT", "KILL"}), "OK");
  std::set<std::string> keys;
  for (const Change& change : taken) keys.emplace(change.key());
  for (const std::string& line : standing(driver, *consumer)) keys.insert(line.substr(4, line.size() - 8));
  EXPECT_EQ(keys.size(), kRows);
}

TEST(RedisStanding, AConsumerThatWantsNoneGetsNoneThatAnEarlierOneLeft) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  for (int i = 0; i < 1000; ++i) server.command({"HSET", "T:" + std::to_string(i), "x", "1"});
  StoreDriver driver({.address = server.address()});
  ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
  {
    const auto earlier = driver.store().subscribe("T").value();
    ASSERT_TRUE(driver.run_until([&] { return !earlier->empty(); }));
  }
  const auto consumer = driver.store().subscribe("T", {.standing_rows = false}).value();
  driver.settle();
  EXPECT_TRUE(consumer->empty());
  EXPECT_EQ(consumer->depth(), 0U);
  server.command({"HSET", "_T:new", "x", "1"});
  server.command({"SADD", "T_KEY_SET", "new"});
  server.command({"PUBLISH", "T_CHANNEL@0", "G"});
  std::vector<Change> taken;
  ASSERT_TRUE(driver.run_until([&] { return !taken.empty() || consumer->take(10, taken) > 0; }));
  EXPECT_EQ(sorted_line(taken.front()), "SET new x=1");
}

// The answer to the count that ends the walk may be lost with its connection. Nothing waits then, and no later message reports that.
TEST(RedisStanding, AConsumerCatchesUpAlthoughTheAnswerToTheCountIsLost) {
  RONDO_NEEDS_REDIS();
  for (const bool reply : {true, false}) {
    redis_kit::RedisServer server;
    server.command({"HSET", "T:a", "x", "1"});
    redis_kit::RedisProxy proxy(server.address());
    StoreDriver driver({.address = proxy.address()});
    ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
    driver.settle();
    if (reply) {
      proxy.lose_reply("SCARD\r\n");
    } else {
      proxy.lose_request("SCARD\r\n");
    }
    const auto consumer = driver.store().subscribe("T").value();
    EXPECT_THAT(standing(driver, *consumer), testing::Contains("SET a x=1"));
    EXPECT_EQ(proxy.stats().lost, 1U);
  }
}

TEST(RedisStanding, ARequeuedRowThatWasReadBehindAnUnreadPopIsNotLostWithTheConnection) {
  RONDO_NEEDS_REDIS();
  int losses = 0;
  for (int round = 0; round < 10; ++round) {
    redis_kit::RedisServer server;
    server.command({"HSET", "T:again", "x", "1"});
    redis_kit::RedisProxy proxy(server.address());
    RedisStoreOptions options;
    options.lease = 0s;
    options.address = proxy.address();
    options.pop_batch = 64;
    StoreDriver driver(options);
    ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
    for (int i = 0; i < 300; ++i) {
      server.command({"HSET", "_T:" + std::to_string(i), "x", "1"});
      server.command({"SADD", "T_KEY_SET", std::to_string(i)});
    }
    const auto consumer = driver.store().subscribe("T").value();
    std::vector<Change> taken;
    ASSERT_TRUE(driver.run_until([&] { return !taken.empty() || consumer->take(1, taken) > 0; }));
    proxy.lose_request("HGETALL\r\n");
    ASSERT_TRUE(driver.run_until([&] { return consumer->depth() >= 300; }));
    consumer->requeue("again");
    // If everything that may be read ahead was read before, the row is read, and the connection lost, once the consumer has taken some
    // rows.
    if (driver.run_until([&] { return proxy.stats().lost > 0; }, 2s)) ++losses;
    std::set<std::string> keys;
    const auto take = [&] {
      taken.clear();
      consumer->take(1000, taken);
      for (const Change& change : taken) keys.emplace(change.key());
      return keys.size() == 301;
    };
    EXPECT_TRUE(driver.run_until(take)) << keys.size();
    EXPECT_TRUE(keys.contains("again")) << round;
  }
  EXPECT_GT(losses, 0);
}

}  // namespace
}  // namespace rondo::redis
