// A consumer that starts anew gets every row once more. Rows are written as plain commands; the consumer is a store's of ours.
#include "store/redis/requeue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/redis/redis_worlds.h"

namespace rondo::redis {
namespace {

using testing::UnorderedElementsAre;

/// What a consumer of 'table' gets after a Requeue.
std::vector<std::string> requeued(redis_kit::RedisServer& server, const std::string& table, const std::vector<std::string>& tables,
                                  std::size_t* rows = nullptr) {
  RedisStoreOptions options;
  options.address = server.address();
  StoreDriver driver(options);
  EXPECT_TRUE(driver.store().declare({.name = table}).ok());
  {
    Requeue requeue(driver.scheduler(), server.address(), ':', tables, Priority{});
    EXPECT_TRUE(driver.run_until([&] { return requeue.is_done(); }));
    EXPECT_TRUE(requeue.refused().ok()) << requeue.refused().to_string();
    if (rows != nullptr) *rows = requeue.rows();
  }
  const auto consumer = driver.store().subscribe(table).value();
  std::vector<std::string> lines;
  std::vector<Change> taken;
  driver.settle();
  while (consumer->depth() > 0) {
    EXPECT_TRUE(driver.run_until([&] { return !consumer->empty() || consumer->depth() == 0; }));
    consumer->take(1000, taken);
    driver.settle();
  }
  for (const Change& change : taken) {
    std::vector<std::string> fields;
    for (const Field field : change.fields()) fields.push_back(" " + std::string{field.name} + "=" + std::string{field.value});
    std::ranges::sort(fields);
    std::string& text = lines.emplace_back(std::string{change.verb()} + " " + std::string{change.key()});
    for (const std::string& field : fields) text += field;
  }
  return lines;
}

TEST(RedisRequeue, EveryRowWaitsOnceMoreUnderWhatWaitsAlready) {
  RONDO_NEEDS_REDIS();
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
  EXPECT_THAT(requeued(server, "T", {"T", "U"}),
              UnorderedElementsAre("SET whole a=1 b=2", "SET bare", "SET newer a=9 b=2", "SET filled a=1", "DEL gone"));
  EXPECT_EQ(server.command({"EXISTS", "T2_KEY_SET"}), "0") << "not asked for";
  EXPECT_EQ(server.command({"HGET", "T:newer", "b"}), "2") << "the row is whole again";
}

TEST(RedisRequeue, ManyRowsOfSeveralTables) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  for (int i = 0; i < 3000; ++i) server.command({"HSET", (i % 2 == 0 ? "T:" : "U:") + std::to_string(i), "a", "1"});
  std::size_t rows = 0;
  EXPECT_EQ(requeued(server, "T", {"T", "U"}, &rows).size(), 1500U);
  EXPECT_EQ(rows, 3000U);
  EXPECT_EQ(server.command({"SCARD", "U_KEY_SET"}), "1500");
}

// A page that the server has no time for is not skipped: the walk starts anew, and counts anew.
TEST(RedisRequeue, ABusyServerIsAskedAgain) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server({.arguments = {"--lua-time-limit", "1"}});
  constexpr std::size_t kRows = 20000;
  for (std::size_t i = 0; i < kRows; ++i) server.command({"HSET", "T:" + std::to_string(i), "a", "1"});
  redis_kit::RedisProxy proxy(server.address());
  redis_kit::RedisClient script(server.address());
  redis_kit::RedisClient other(server.address());
  StoreDriver driver({.address = server.address()});
  Requeue requeue(driver.scheduler(), proxy.address(), ':', {"T"}, Priority{});
  ASSERT_TRUE(driver.run_until([&] { return requeue.rows() > 0; }));
  ASSERT_FALSE(requeue.is_done());
  script.append({"EVAL", "while true do end", "0"});
  script.flush();
  redis_kit::wait_until("the script runs", [&] { return other.command({"PING"}).starts_with("(error) BUSY"); });
  const std::size_t before = proxy.stats().accepted;
  driver.run_until([&] { return requeue.is_done() || proxy.stats().accepted > before; });
  EXPECT_FALSE(requeue.is_done()) << requeue.refused().to_string();
  EXPECT_EQ(other.command({"SCRIPT", "KILL"}), "OK");
  ASSERT_TRUE(driver.run_until([&] { return requeue.is_done(); }));
  EXPECT_TRUE(requeue.refused().ok()) << requeue.refused().to_string();
  EXPECT_EQ(requeue.rows(), kRows);
  EXPECT_EQ(server.command({"SCARD", "T_KEY_SET"}), std::to_string(kRows));
}

}  // namespace
}  // namespace rondo::redis
