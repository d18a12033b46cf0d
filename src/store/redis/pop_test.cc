// The cost of one pop with large values: the pop scripts run directly on a real server, and the time that a consumer of large rows costs
// the server.
#include <sstream>

#include "store/redis/scripts.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// Four staged keys of 200,000 bytes each, with a Delete, over existing rows.
class RedisPop : public RedisTableTest {
 protected:
  static constexpr std::size_t kMost = 256 * 1024;
  static constexpr std::size_t kLarge = 200'000;

  void stage() {
    for (const std::string key : {"a", "b", "c", "d"}) {
      server().command({"HSET", "T:" + key, "old", "1"});
      server().command({"SADD", "T_KEY_SET", key});
      server().command({"SADD", "T_DEL_SET", key});
      server().command({"HSET", "_T:" + key, "new", std::string(kLarge, key[0])});
    }
  }
  /// The script's answers, or its error.
  std::vector<std::string> pop(const std::string& seconds = "60") {
    return server().list({"EVAL", std::string{kPopStaged}, "3", "T_KEY_SET", "T_DEL_SET", "RONDO_INFLIGHT@T", "T:", "_T:", "128", "1",
                          std::to_string(kMost), "1", seconds});
  }
  std::vector<std::string> recover() {
    redis_kit::RedisServer::Arguments words{"EVAL", std::string{kRecoverStaged}, "2", "T_KEY_SET", "RONDO_INFLIGHT@T", "_T:", "T:", "60",
                                            ""};
    for (std::string& field : server().list({"HKEYS", "RONDO_INFLIGHT@T"})) words.push_back(std::move(field));
    return server().list(words);
  }
  std::set<std::string> members(const std::string& set) {
    const std::vector<std::string> all = server().list({"SMEMBERS", set});
    return {all.begin(), all.end()};
  }
};

TEST_F(RedisPop, KeysBeyondTheBytesWaitAgainAsTheyDid) {
  stage();
  EXPECT_EQ(pop().front(), "2");
  const std::set<std::string> waiting = members("T_KEY_SET");
  EXPECT_THAT(waiting, SizeIs(2));
  EXPECT_EQ(members("T_DEL_SET"), waiting);
  for (const std::string key : {"a", "b", "c", "d"}) {
    const bool waits = waiting.contains(key);
    EXPECT_EQ(server().command({"HEXISTS", "T:" + key, "old"}), waits ? "1" : "0") << key;
    EXPECT_EQ(server().command({"HSTRLEN", "T:" + key, "new"}), waits ? "0" : std::to_string(kLarge)) << key;
    EXPECT_EQ(server().command({"EXISTS", "_T:" + key}), waits ? "1" : "0") << key;
  }
  const std::vector<std::string> in_flight = recover();
  EXPECT_EQ(in_flight.front(), "2") << "none waits that was popped";
  for (const std::string& key : waiting) EXPECT_EQ(in_flight.at(1).find(key), std::string::npos) << in_flight.at(1);
  EXPECT_EQ(pop().front(), "0");
}

TEST_F(RedisPop, APopThatIsBrokenOffLosesNeitherKeysNorDeletes) {
  for (const std::string refused : {"hgetall", "sadd"}) {
    SCOPED_TRACE(refused);
    server().command({"FLUSHALL"});
    stage();
    server().command({"ACL", "SETUSER", "default", "-" + refused});
    EXPECT_THAT(pop().front(), testing::StartsWith("(error)"));
    server().command({"ACL", "SETUSER", "default", "+@all"});
    for (const char* row : {"T:a", "T:b", "T:c", "T:d"}) EXPECT_EQ(server().command({"EXISTS", row}), "0") << "it is told deleted";
    const std::vector<std::string> in_flight = recover();
    EXPECT_EQ(in_flight.front(), "4");
    EXPECT_THAT(in_flight.at(1), testing::EndsWith("[1, 1, 1, 1]]"));
    EXPECT_EQ(in_flight.at(2), "[]") << "nothing is damaged";
    EXPECT_EQ(pop().front(), "0") << "renamed, and so not read";
    for (const char* row : {"T:a", "T:b", "T:c", "T:d"}) EXPECT_EQ(server().command({"HSTRLEN", row, "new"}), std::to_string(kLarge));
  }
}

TEST_F(RedisPop, APopThatTheUserMayNotCompleteTakesNothing) {
  for (const std::string refused : {"-hset", "-srem", "-del", "-exists", "resetkeys ~T_* ~_T:* ~RONDO_INFLIGHT@T"}) {
    SCOPED_TRACE(refused);
    server().command({"FLUSHALL"});
    stage();
    std::istringstream rules(refused);
    redis_kit::RedisServer::Arguments user{"ACL", "SETUSER", "default"};
    for (std::string rule; rules >> rule;) user.push_back(rule);
    server().command(user);
    EXPECT_THAT(pop().front(), testing::HasSubstr("NOPERM this user may not run "));
    server().command({"ACL", "SETUSER", "default", "+@all", "~*"});
    EXPECT_THAT(members("T_KEY_SET"), SizeIs(4));
    EXPECT_THAT(members("T_DEL_SET"), SizeIs(4));
    EXPECT_EQ(server().command({"EXISTS", "RONDO_INFLIGHT@T"}), "0");
    EXPECT_EQ(pop().front(), "2") << "the other two are beyond the bytes";
  }
}

TEST_F(RedisPop, AQueueThatMayNotKeepWhatItPopsKeepsItsEntries) {
  for (const std::string word : {"key", "value", "SET"}) server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", word});
  const auto pop_queue = [this] {
    return server().list(
        {"EVAL", std::string{kPopQueue}, "2", "Q_KEY_VALUE_OP_QUEUE", "RONDO_INFLIGHT@Q", "8", "1", std::to_string(kMost), "60", ""});
  };
  for (const std::string refused : {"hset", "ltrim"}) {
    server().command({"ACL", "SETUSER", "default", "-" + refused});
    EXPECT_THAT(pop_queue().front(), testing::HasSubstr("NOPERM this user may not run ")) << refused;
    server().command({"ACL", "SETUSER", "default", "+@all"});
    EXPECT_EQ(server().command({"LLEN", "Q_KEY_VALUE_OP_QUEUE"}), "3");
    EXPECT_EQ(server().command({"EXISTS", "RONDO_INFLIGHT@Q"}), "0");
  }
  EXPECT_EQ(pop_queue().front(), "0");
}

TEST_F(RedisPop, ManySmallFieldsEndABatchAsLargeOnesDo) {
  for (int row = 0; row < 40; ++row) {
    const std::string key = std::to_string(row);
    server().command({"SADD", "T_KEY_SET", key});
    redis_kit::RedisServer::Arguments fields{"HSET", "_T:" + key};
    for (int field = 0; field < 1000; ++field) {
      fields.push_back(std::to_string(field));
      fields.push_back("1");
    }
    server().command(fields);
    server().command({"HSET", "T:" + key, "old", "1"});  // An existing row makes the pop read the hash and not rename it.
  }
  const int left = std::stoi(pop().front());
  EXPECT_GE(left, 34) << "a row of 1,000 fields counts as 70,000 bytes";
  EXPECT_LT(left, 40);
}

TEST_F(RedisPop, KeysBeyondTheTimeWaitAgain) {
  for (int row = 0; row < 100; ++row) {
    const std::string key = std::to_string(row);
    server().command({"SADD", "T_KEY_SET", key});
    server().command({"HSET", "_T:" + key, "new", "1"});
  }
  EXPECT_EQ(pop("0").front(), "92") << "the time is up before the first look, after eight keys";
  EXPECT_EQ(pop("0").front(), "84");
  EXPECT_EQ(pop().front(), "0");
  for (int row = 0; row < 100; ++row) EXPECT_EQ(server().command({"HGET", "T:" + std::to_string(row), "new"}), "1");
}

TEST_F(RedisPop, EntriesOfAQueueBeyondTheTimeStay) {
  for (int i = 0; i < 60; ++i) server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", std::to_string(i), "[]", "SSET"});
  const std::vector<std::string> popped = server().list(
      {"EVAL", std::string{kPopQueue}, "2", "Q_KEY_VALUE_OP_QUEUE", "RONDO_INFLIGHT@Q", "128", "1", std::to_string(kMost), "0"});
  EXPECT_EQ(popped.front(), "59") << "the first look takes one entry";
}

TEST_F(RedisPop, EntriesOfAQueueBeyondTheBytesStay) {
  std::vector<std::string> all;
  for (int i = 0; i < 9; ++i) {
    all.push_back(std::to_string(i));
    server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", all.back(), std::string(i < 3 ? 10 : kMost + 1, 'x'), "SSET"});
  }
  const auto popped = [this](const char* number) {
    server().list(
        {"EVAL", std::string{kPopQueue}, "2", "Q_KEY_VALUE_OP_QUEUE", "RONDO_INFLIGHT@Q", "8", number, std::to_string(kMost), "60"});
    const std::string whole = "return cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))";
    const std::vector<std::string> flat = server().list({"EVAL", whole, "1", "RONDO_INFLIGHT@Q", number});
    std::vector<std::string> keys;
    for (std::size_t i = 0; i + 2 < flat.size(); i += 3) keys.push_back(flat[i]);
    return keys;
  };
  EXPECT_THAT(popped("1"), ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(server().command({"LLEN", "Q_KEY_VALUE_OP_QUEUE"}), "15");
  for (const char* key : {"4", "5", "6", "7", "8"}) EXPECT_THAT(popped(key), ElementsAre(key));
  EXPECT_EQ(server().command({"EXISTS", "Q_KEY_VALUE_OP_QUEUE"}), "0");
}

/// 128 rows, or entries, of a mebibyte; half of the rows exist already.
class RedisLargeRows : public RedisTableTest, public testing::WithParamInterface<TableKind> {};

TEST_P(RedisLargeRows, ArePoppedInShortCommands) {
  constexpr int kRows = 128;
  constexpr std::size_t kMebibyte = 1024 * 1024;
  RedisStoreOptions options = quick_options();
  options.answer_timeout = 20s;  // The test measures the server's time for a command, not how long a busy machine needs for 128 MiB.
  StoreDriver driver(options);
  declare(driver, "T", GetParam());
  for (int i = 0; i < kRows; ++i) {
    if (i % 2 == 0) server().command({"HSET", "T:" + std::to_string(i), "v", "old"});
    write(driver, "T", Change::set(std::to_string(i), {{"v", std::string(kMebibyte, 'x')}}));
  }
  driver.settle();
  server().command({"CONFIG", "RESETSTAT"});
  server().command({"CONFIG", "SET", "slowlog-log-slower-than", "1000"});
  server().command({"CONFIG", "SET", "slowlog-max-len", "1000"});
  server().command({"SLOWLOG", "RESET"});
  const auto consumer = subscribe(driver, "T");
  std::size_t told = 0;
  std::vector<Change> changes;
  ASSERT_TRUE(driver.run_until([&] {
    changes.clear();
    consumer->take(1000, changes);
    for (const Change& change : changes) told += change.fields().find("v").value_or("").size() == kMebibyte ? 1U : 0U;
    return told == kRows;
  }));
  const RedisStoreStats& stats = driver.store().stats();
  EXPECT_LE(stats.popped, 3 * (stats.pops - stats.empty_pops)) << "no pop takes many of them";
  int worst = 0;  // Microseconds.
  for (const std::string& entry : server().list({"SLOWLOG", "GET", "1000"})) {
    int at = 0, when = 0, took = 0;
    ASSERT_EQ(std::sscanf(entry.c_str(), "[%d, %d, %d", &at, &when, &took), 3) << entry.substr(0, 100);
    worst = std::max(worst, took);
  }
  // 3,000 to 7,500 on the machine where this was written; a single value depends more on the machine than on the product.
  RecordProperty("worst_command_us", worst);
  const std::string eval = server().info("commandstats")["cmdstat_eval"];
  const std::size_t each = eval.find("usec_per_call=");
  ASSERT_NE(each, std::string::npos) << eval;
  EXPECT_LT(std::stod(eval.substr(each + 14)), 20'000) << eval;
}

INSTANTIATE_TEST_SUITE_P(Redis, RedisLargeRows, testing::Values(TableKind::Staged, TableKind::Queue),
                         [](const auto& kind) { return std::string{to_string(kind.param)}; });

}  // namespace
}  // namespace rondo::redis
