// The tests kill, freeze or empty the server, make it read-only, cut connections and lose answers. They check what consumers and producers
// receive, and what Redis holds in the end. The server is a real one; the proxy breaks the link. Every case ends when the expected state
// holds, not after a time.
#include "store/redis/testing/faults.h"
#include "rondo/sched/timer.h"
#include "store/standing_connection_cases.h"
#include "store/store_connection_cases.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// --- server failures

TEST_F(RedisFaults, KilledServerThatSavesLosesNothing) {
  start_server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  open();
  const auto consumer = subscribe(driver(), "T");
  Random random{1};
  for (int kill = 0; kill < 3; ++kill) {
    churn(*consumer, random, 20);
    server().kill9();
    churn(*consumer, random, 5);
    server().start();
  }
  expect_all_arrived(*consumer);
}

TEST_F(RedisFaults, KilledServerThatSavesLosesNoQueueEntry) {
  start_server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  open();
  const auto consumer = subscribe(driver(), "Q");
  std::vector<std::string> sent;
  std::vector<std::string> got;
  for (int i = 0; i < 900; ++i) {
    write(driver(), "Q", Change::set("k", {{"n", std::to_string(i)}}));
    if (i % 100 == 50) {
      ASSERT_TRUE(driver().run_until([this] { return store().unanswered() == 0; }));
      server().kill9();
      driver().scheduler().run_until_idle();
      server().start();
      driver().settle();
    }
    sent.push_back("SET k n=" + std::to_string(i));
    if (i % 7 == 0) std::ranges::move(take(*consumer, 3), std::back_inserter(got));
  }
  std::ranges::move(take_all(driver(), *consumer, 10), std::back_inserter(got));
  EXPECT_EQ(got, sent);
}

// The server's data is lost, and the watcher receives the Deletes. Later writes arrive.
TEST_F(RedisFaults, KilledServerThatDoesNotSaveGoesOn) {
  open();
  const auto consumer = subscribe(driver(), "T");
  const auto watcher = subscribe(driver(), "W");
  set(driver(), "W", "row", {{"a", "1"}});
  EXPECT_THAT(take_all(driver(), *watcher), ElementsAre("SET row a=1"));
  server().kill9();
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  set(driver(), "T", "k", {{"n", "1"}});
  server().start();
  EXPECT_THAT(take_all(driver(), *watcher), ElementsAre("DEL row"));
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=1"));
}

TEST_F(RedisFaults, ForgottenScriptsAreNoCase) {
  open();
  const auto consumer = subscribe(driver(), "T");
  Random random{2};
  for (int flush = 0; flush < 5; ++flush) {
    churn(*consumer, random, 5);
    ASSERT_EQ(server().command({"SCRIPT", "FLUSH", "SYNC"}), "OK");
  }
  expect_all_arrived(*consumer);
}

TEST_F(RedisFaults, FrozenServerIsGivenUpAndNothingIsLost) {
  open();
  const auto consumer = subscribe(driver(), "T");
  Random random{3};
  for (int freeze = 0; freeze < 2; ++freeze) {
    churn(*consumer, random, 20);
    server().freeze();
    churn(*consumer, random, 20);
    ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
    churn(*consumer, random, 20);
    server().thaw();
  }
  expect_all_arrived(*consumer);
}

TEST_F(RedisFaults, ReadOnlyServerMakesWritesWaitUntilItIsNot) {
  open();
  const auto consumer = subscribe(driver(), "T");
  Random random{4};
  churn(*consumer, random, 10);
  ASSERT_EQ(server().command({"REPLICAOF", "127.0.0.1", std::to_string(redis_kit::free_port())}), "OK");
  bool ended = false;
  ASSERT_TRUE(store().write("T", Change::set("last", {{"n", "9999999"}}), [&ended](const Status& end) { ended = end.ok(); }).ok());
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  EXPECT_FALSE(ended);
  EXPECT_THAT(std::string{store().health().message()}, HasSubstr("READONLY"));
  ASSERT_EQ(server().command({"REPLICAOF", "NO", "ONE"}), "OK");
  drain(*consumer);
  EXPECT_TRUE(ended);
  EXPECT_THAT(told().at("last"), ElementsAre(testing::Pair("n", "9999999")));
}

TEST_F(RedisFaults, TooFewReplicasMakeWritesWaitAndCostNoConnection) {
  open(patient_options());
  driver().settle();
  std::vector<std::string> ends;
  const auto send = [&](std::string_view table, const char* value) {
    const auto done = [&ends, value](const Status& end) { ends.push_back(std::string{value} + " " + std::string{to_string(end.code())}); };
    ASSERT_TRUE(store().write(table, Change::set("k", {{"n", value}}), done).ok());
    driver().scheduler().run_until_idle();
  };
  ASSERT_EQ(server().command({"CONFIG", "SET", "min-replicas-to-write", "1"}), "OK");
  const std::uint64_t connects = store().stats().connects;
  const std::uint64_t before = store().stats().transactions;
  send("T", "1");
  send("W", "2");
  send("T", "3");
  ASSERT_TRUE(driver().run_until([&] { return store().stats().transactions >= before + 5; })) << "it tries again";
  EXPECT_THAT(ends, IsEmpty());
  ASSERT_TRUE(driver().run_until([&] { return store().health().code() == StatusCode::Unavailable; }));
  EXPECT_THAT(std::string{store().health().message()}, HasSubstr("NOREPLICAS"));
  ASSERT_EQ(server().command({"CONFIG", "SET", "min-replicas-to-write", "0"}), "OK");
  driver().settle();
  EXPECT_THAT(ends, ElementsAre("1 ok", "2 ok", "3 ok"));
  EXPECT_EQ(store().stats().connects, connects);
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=3"));
}

// --- connection failures

TEST_F(RedisFaults, KilledConnectionsLoseNothing) {
  open();
  const auto consumer = subscribe(driver(), "T");
  Random random{5};
  for (int kill = 0; kill < 12; ++kill) {
    churn(*consumer, random, 10);
    server().command({"CLIENT", "KILL", "TYPE", kill % 2 == 0 ? "normal" : "pubsub", "SKIPME", "yes"});
    churn(*consumer, random, 3);
    ASSERT_TRUE(driver().run_until([this] { return store().health().ok(); }));
  }
  EXPECT_GE(store().stats().connects, 12U);
  expect_all_arrived(*consumer);
}

TEST_F(RedisFaults, KilledSubscriberTellsAChannelsListenerOnce) {
  open();
  const auto listener = subscribe(driver(), "C");
  driver().settle();
  server().command({"CLIENT", "KILL", "TYPE", "pubsub"});
  int gaps = 0;
  ASSERT_TRUE(driver().run_until([&] {
    gaps += listener->take_gap() ? 1 : 0;
    return gaps > 0;
  }));
  driver().settle();
  EXPECT_FALSE(listener->take_gap());
}

// Redis closes the connection of a subscriber that reads too slowly. The watcher receives exactly the difference, and the listener sees a
// gap.
TEST_F(RedisFaults, OutputBufferLimitIsAGap) {
  open();
  ASSERT_EQ(server().command({"CONFIG", "SET", "client-output-buffer-limit", "pubsub 65536 0 0"}), "OK");
  const auto watcher = subscribe(driver(), "W");
  const auto listener = subscribe(driver(), "C");
  server().command({"HSET", "W:stays", "a", "1"});
  server().command({"HSET", "W:goes", "a", "1"});
  EXPECT_EQ(take_all(driver(), *watcher).size(), 2U);
  const std::uint64_t before = store().stats().connects;
  const std::string big(100'000, 'x');
  for (int i = 0; i < 100; ++i) server().command({"PUBLISH", "C", "[\"e\",\"" + big + "\"]"});
  server().command({"DEL", "W:goes"});
  server().command({"HSET", "W:new", "a", "1"});
  ASSERT_TRUE(driver().run_until([this, before] { return store().stats().connects > before; }));
  EXPECT_THAT(take_all(driver(), *watcher), UnorderedElementsAre("DEL goes", "SET new a=1"));
  std::vector<Change> events;
  listener->take(SIZE_MAX, events);
  EXPECT_LT(events.size(), 100U);
  EXPECT_TRUE(listener->take_gap());
}

// --- lost answers

TEST_F(RedisFaults, LostAnswersOfPopsLoseNothing) {
  redis_kit::RedisProxy proxy(server().address());
  open(proxy, patient_options());
  const auto consumer = subscribe(driver(), "T");
  std::map<std::string, int> times;
  std::size_t told = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 300; ++i) set(driver(), "T", std::to_string(round) + "/" + std::to_string(i), {{"n", "1"}});
    // The cut also closes the writer's connection, and an unanswered write would be sent and delivered again. So wait until all are
    // answered.
    ASSERT_TRUE(driver().run_until([this] { return store().unanswered() == 0; }));
    proxy.lose_reply("SPOP");
    for (const std::string& line : take_all(driver(), *consumer, 100)) {
      ++times[line];
      ++told;
    }
  }
  // If all rows of a round were popped before the order to lose an answer, the order is for the next round, among its writes.
  EXPECT_GT(proxy.stats().lost, 0U);
  EXPECT_EQ(times.size(), 3000U);
  EXPECT_GE(told, 3000U);
  EXPECT_GT(store().stats().recovered, 0U);
}

TEST_F(RedisFaults, LostAnswerDoesNotForgetADelete) {
  redis_kit::RedisProxy proxy(server().address());
  open(proxy, patient_options());
  const auto consumer = subscribe(driver(), "T");
  for (const char* key : {"gone", "again"}) set(driver(), "T", key, {{"old", "1"}});
  ASSERT_TRUE(driver().run_until([&consumer] { return !consumer->empty(); }));
  EXPECT_EQ(take_all(driver(), *consumer).size(), 2U);
  StoreDriver writer{patient_options()};  // It has its own link: the cut must not lose its answers, or it would write again.
  declare(writer, "T");
  writer.settle();
  proxy.lose_reply("SPOP");
  write(writer, "T", Change::remove("gone"));
  write(writer, "T", Change::remove("again"));
  set(writer, "T", "again", {{"new", "2"}});
  writer.settle();
  ASSERT_TRUE(driver().run_until([&proxy] { return proxy.stats().lost > 0; }));
  EXPECT_THAT(take_all(driver(), *consumer), UnorderedElementsAre("DEL gone", "DEL again", "SET again new=2"));
  EXPECT_EQ(proxy.stats().lost, 1U);
}

TEST_F(RedisFaults, LostAnswersOfQueuePopsLoseNothingAndKeepTheOrder) {
  redis_kit::RedisProxy proxy(server().address());
  open(proxy);
  const auto consumer = subscribe(driver(), "Q");
  std::vector<std::string> sent;
  std::vector<std::string> got;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 200; ++i) {
      server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "k", "[\"n\",\"" + std::to_string(sent.size()) + "\"]", "SSET"});
      sent.push_back("SET k n=" + std::to_string(sent.size()));
    }
    const auto before = proxy.stats().lost;
    proxy.lose_reply("LTRIM", static_cast<unsigned>(round % 2));
    server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
    ASSERT_TRUE(driver().run_until([&] {
      std::ranges::move(take(*consumer, 50), std::back_inserter(got));
      return proxy.stats().lost > before;
    }));
    std::ranges::move(take_all(driver(), *consumer, 50), std::back_inserter(got));
  }
  EXPECT_EQ(got, sent);
}

TEST_F(RedisFaults, LostRequestsAndAnswersOfEveryKindLoseNothing) {
  redis_kit::RedisProxy proxy(server().address());
  open(proxy);
  const auto consumer = subscribe(driver(), "T");
  Random random{6};
  for (int fault = 0; fault < 40; ++fault) {
    const char* const texts[] = {"SPOP", "MULTI", "EXEC", "PUBLISH", "HGETALL", "SCARD", "SADD"};
    const char* const text = texts[random.below(std::size(texts))];
    if (random.chance(0.5)) {
      proxy.lose_reply(text, static_cast<unsigned>(random.below(5)));
    } else {
      proxy.lose_request(text, static_cast<unsigned>(random.below(5)));
    }
    churn(*consumer, random, 10);
    ASSERT_TRUE(driver().run_until([this] { return store().health().ok(); }));
  }
  expect_all_arrived(*consumer);
  EXPECT_GT(proxy.stats().lost, 5U);
}

// Writes whose answers were lost are sent again. Meanwhile the consumer must not receive the older of two writes after the newer.
TEST_F(RedisFaults, ResentWritesDoNotGoBack) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    redis_kit::RedisProxy proxy(server().address());
    open(proxy);
    const auto consumer = subscribe(driver(), "T");
    Random random{seed};
    churn(*consumer, random, 2);
    for (int batch = 0; batch < 8; ++batch) {  // Several transactions with the same keys are outstanding.
      for (int i = 0; i < 128; ++i) write_next("T", random, 200);
      driver().scheduler().run_until_idle(4);
      if (batch == 1) proxy.lose_reply("EXEC", static_cast<unsigned>(random.below(6)));
    }
    ASSERT_TRUE(driver().run_until([&proxy] { return proxy.stats().lost > 0; }));
    ASSERT_TRUE(driver().run_until([&] {
      take_into_told(*consumer, 20);
      return store().health().ok() && store().unanswered() == 0;
    }));
    expect_all_arrived(*consumer);
  }
}

// Two batches with the same keys were executed and popped by another process, and then their answers are lost. They are sent again slowly,
// so that the other process can pop at any point between them.
TEST_F(RedisFaults, ResentWritesDoNotGoBackForAConsumerElsewhere) {
  constexpr int kKeys = 128;
  redis_kit::RedisProxy proxy(server().address());
  RedisStoreOptions options = quick_options();
  options.address = proxy.address();
  options.answer_timeout = 20s;  // The proxy ends the connection, not this timeout.
  open(options);
  driver().settle();
  StoreDriver elsewhere{quick_options()};
  declare(elsewhere, "T");
  const auto consumer = subscribe(elsewhere, "T");
  elsewhere.settle();
  proxy.stall(redis_kit::RedisProxy::Direction::ToClient);
  const std::string padding(1200, 'x');  // Makes the resend slow; 128 such writes still fit one transaction.
  std::vector<int> ends;
  for (int value = 1; value <= 2; ++value) {
    for (int key = 0; key < kKeys; ++key) {
      const int number = (value - 1) * kKeys + key;
      const Change change = Change::set("k" + std::to_string(key), {{"n", std::to_string(value)}, {"padding", padding}});
      ASSERT_TRUE(store().write("T", change, [&ends, number](const Status& end) { ends.push_back(end.ok() ? number : -1); }).ok());
    }
    ASSERT_TRUE(elsewhere.run_until([&] {
      driver().scheduler().run_until_idle();
      take_into_told(*consumer);
      return told().size() == kKeys &&
             std::ranges::all_of(told(), [&](const auto& row) { return row.second.at("n") == std::to_string(value); });
    }));
  }
  EXPECT_THAT(ends, IsEmpty());
  const std::uint64_t before = store().stats().transactions;
  proxy.limit(1'000'000);
  proxy.cut();
  proxy.stall(redis_kit::RedisProxy::Direction::ToClient, false);
  ASSERT_TRUE(driver().run_until([&] {
    elsewhere.scheduler().run_until_idle();
    take_into_told(*consumer);
    return ends.size() == 2U * kKeys && store().unanswered() == 0;
  }));
  EXPECT_EQ(store().stats().transactions, before + 1) << "each key once";
  std::vector<int> all(ends.size());
  std::ranges::generate(all, [next = 0]() mutable { return next++; });
  EXPECT_EQ(ends, all);
}

// The merged writes of a key: fields of several Sets, and the Delete before them.
TEST_F(RedisFaults, ResentWritesAreWhatTheyWereOneByOne) {
  redis_kit::RedisProxy proxy(server().address());
  RedisStoreOptions options = quick_options();
  options.address = proxy.address();
  options.answer_timeout = 20s;
  open(options);
  driver().settle();
  for (const char* table : {"T", "W"}) {
    for (const char* key : {"both", "new", "gone"}) server().command({"HSET", std::string{table} + ":" + key, "old", "1"});
  }
  proxy.stall(redis_kit::RedisProxy::Direction::ToServer);
  std::vector<std::string> ends;
  const auto send = [&](std::string_view table, Change change) {
    const std::string name = std::string{table} + " " + store::line(change);
    ASSERT_TRUE(
        store().write(table, std::move(change), [&ends, name](const Status& end) { ends.push_back(end.ok() ? name : "failed"); }).ok());
    driver().scheduler().run_until_idle();  // Sends this as a separate batch.
  };
  for (const char* table : {"T", "W"}) {
    send(table, Change::set("both", {{"a", "1"}, {"b", "1"}}));
    send(table, Change::set("new", {{"a", "1"}}));
    send(table, Change::remove("new"));
    send(table, Change::set("both", {{"b", "2"}}));
    send(table, Change::set("gone", {{"a", "1"}}));
    send(table, Change::set("new", {{"b", "1"}}));
    send(table, Change::remove("gone"));
  }
  proxy.cut();
  proxy.stall(redis_kit::RedisProxy::Direction::ToServer, false);
  driver().settle();
  EXPECT_THAT(ends, ElementsAre("T SET both a=1 b=1", "T SET new a=1", "T DEL new", "T SET both b=2", "T SET gone a=1", "T SET new b=1",
                                "T DEL gone", "W SET both a=1 b=1", "W SET new a=1", "W DEL new", "W SET both b=2", "W SET gone a=1",
                                "W SET new b=1", "W DEL gone"));
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), UnorderedElementsAre("SET both old=1 a=1 b=2", "DEL new", "SET new b=1", "DEL gone"));
  const Rows expected{{"both", {{"old", "1"}, {"a", "1"}, {"b", "2"}}}, {"new", {{"b", "1"}}}};
  EXPECT_EQ(rows_in_redis("T:"), expected);
  EXPECT_EQ(rows_in_redis("W:"), expected);
}

TEST_F(RedisFaults, SlowAndLossyLinkLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    server().command({"FLUSHALL"});
    redis_kit::RedisProxy proxy(server().address());
    open(proxy);
    const std::string table = "S" + std::to_string(seed);
    declare(driver(), table);
    const auto consumer = subscribe(driver(), table);
    proxy.delay(std::chrono::milliseconds{2});
    proxy.limit(2'000'000);
    proxy.lossy(0.02, seed);
    Random random{seed};
    RowModel model;
    RowModel told;
    // How often a link with 2 % losses is cut depends on the split of the bytes into packets. So continue until it was cut twice.
    for (int i = 1; i <= 3000 || (proxy.stats().cut < 2 && i <= 100'000); ++i) {
      const std::string key = std::to_string(random.below(100));
      model.set(key, {{"n", std::to_string(i)}});
      set(driver(), table, key, {{"n", std::to_string(i)}});
      if (i % 20 != 0) continue;
      driver().run_until([this] { return store().unanswered() < 100; });
      std::vector<Change> changes;
      consumer->take(SIZE_MAX, changes);
      for (const Change& change : changes) told.apply(change);
    }
    proxy.lossy(0, seed);
    driver().settle();
    while (!consumer->empty()) {
      std::vector<Change> changes;
      consumer->take(SIZE_MAX, changes);
      for (const Change& change : changes) told.apply(change);
      driver().settle();
    }
    EXPECT_EQ(told.rows(), model.rows());
    EXPECT_GE(proxy.stats().cut, 2U);
  }
}

// --- consumer failures

TEST_F(RedisFaults, WhatAKilledConsumerHadNotDealtWithComesBack) {
  server().command({"HSET", "T:gone", "a", "1"});
  open();
  for (int i = 0; i < 300; ++i) set(driver(), "T", std::to_string(i), {{"n", std::to_string(i)}});
  write(driver(), "T", Change::remove("gone"));
  driver().settle();
  std::set<std::string> acked;
  {
    const auto consumer = subscribe(driver(), "T");
    driver().settle();
    for (int i = 0; i < 2; ++i) {
      for (const std::string& line : take(*consumer, 100)) acked.insert(line);
      driver().settle();
    }
    EXPECT_EQ(acked.size(), 200U);
  }
  close();  // The rest is fetched and in flight.
  open();
  const auto consumer = subscribe(driver(), "T");
  std::set<std::string> all = acked;
  for (const std::string& line : take_all(driver(), *consumer)) all.insert(line);
  EXPECT_EQ(all.size(), 301U);
  EXPECT_TRUE(all.contains("DEL gone"));
  EXPECT_GT(store().stats().recovered, 0U);
  EXPECT_THAT(take_all(driver(), *consumer), IsEmpty());
}

TEST_F(RedisFaults, WhatAKilledConsumerHadDealtWithDoesNotComeBack) {
  open();
  {
    const auto consumer = subscribe(driver(), "T");
    set(driver(), "T", "first", {{"n", "1"}});
    EXPECT_EQ(take_all(driver(), *consumer).size(), 1U);
    EXPECT_THAT(take(*consumer), IsEmpty());
    set(driver(), "T", "second", {{"n", "2"}});  // The pop of this key acknowledges the first one.
    driver().settle();
  }
  close();
  open();
  const auto consumer = subscribe(driver(), "T", {.standing_rows = false});
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET second n=2"));
}

// --- large tables, and changes by other clients

TEST_F(RedisFaults, HundredThousandPendingKeysStorm) {
  constexpr std::size_t kKeys = 100'000;
  const std::string fill =
      "for i = 1, tonumber(ARGV[1]) do redis.call('SADD', 'T_KEY_SET', i) redis.call('HSET', '_T:' .. i, 'n', i) end return 'done'";
  ASSERT_EQ(server().command({"EVAL", fill, "0", std::to_string(kKeys)}), "done");
  open();
  const auto consumer = subscribe(driver(), "T");
  std::set<std::string> keys;
  std::size_t taken = 0;
  ASSERT_TRUE(driver().run_until(
      [&] {
        std::vector<Change> changes;
        taken += consumer->take(SIZE_MAX, changes);
        for (const Change& change : changes) keys.insert(std::string{change.key()});
        return taken >= kKeys;
      },
      60s));
  EXPECT_EQ(taken, kKeys);
  EXPECT_EQ(keys.size(), kKeys);
  EXPECT_THAT(take_all(driver(), *consumer), IsEmpty());
}

TEST_F(RedisFaults, WatchedSeesExpiryRenameAndFlush) {
  open();
  for (const char* key : {"a", "b", "c"}) server().command({"HSET", "W:" + std::string{key}, "x", "1"});
  const auto watcher = subscribe(driver(), "W");
  EXPECT_EQ(take_all(driver(), *watcher).size(), 3U);
  server().command({"RENAME", "W:a", "W:d"});
  EXPECT_THAT(take_all(driver(), *watcher), UnorderedElementsAre("DEL a", "SET d x=1"));
  server().command({"PEXPIRE", "W:b", "1"});
  std::vector<std::string> told;  // Setting an expiry is a change, too.
  ASSERT_TRUE(driver().run_until([&] {
    std::ranges::move(take(*watcher), std::back_inserter(told));
    return !told.empty() && told.back() == "DEL b";
  }));
  // Redis may report the key once more when it removes expired keys: a Set and a Delete could have been in between.
  const auto without_b = [this, &watcher] {
    std::vector<std::string> lines = take_all(driver(), *watcher);
    std::erase(lines, "DEL b");
    return lines;
  };
  server().command({"HDEL", "W:c", "x"});
  EXPECT_THAT(without_b(), ElementsAre("DEL c"));
  server().command({"FLUSHDB"});
  EXPECT_THAT(without_b(), ElementsAre("DEL d"));
}

// A key of table "A:B" is also a key of table "A". Redis does not track overlapping prefixes.
TEST_F(RedisFaults, WatchedTablesWhoseNamesOverlapAreAllFollowed) {
  for (const bool shorter_first : {true, false}) {
    SCOPED_TRACE(shorter_first);
    server().command({"FLUSHALL"});
    server().command({"HSET", "A:B:x", "n", "1"});
    server().command({"HSET", "A:y", "n", "1"});
    open(patient_options());
    driver().settle();
    for (const char* table : {"A", "A:B", "AB"}) declare(driver(), table, TableKind::Watched);
    const auto other = subscribe(driver(), "AB");
    auto first = subscribe(driver(), shorter_first ? "A" : "A:B");
    driver().settle();
    auto second = subscribe(driver(), shorter_first ? "A:B" : "A");
    Subscription& shorter = shorter_first ? *first : *second;
    Subscription& longer = shorter_first ? *second : *first;
    EXPECT_THAT(take_all(driver(), shorter), UnorderedElementsAre("SET B:x n=1", "SET y n=1"));
    EXPECT_THAT(take_all(driver(), longer), ElementsAre("SET x n=1"));
    EXPECT_EQ(store().stats().resyncs, shorter_first ? 3U : 5U) << "who was followed before has a gap when a shorter one comes";
    const auto change = [&](const char* n) {
      for (const char* key : {"A:B:x", "A:y", "AB:z"}) server().command({"HSET", key, "n", n});
      const std::string value = std::string{" n="} + n;
      EXPECT_THAT(take_all(driver(), shorter), UnorderedElementsAre("SET B:x" + value, "SET y" + value));
      EXPECT_THAT(take_all(driver(), longer), ElementsAre("SET x" + value));
      EXPECT_THAT(take_all(driver(), *other), ElementsAre("SET z" + value));
    };
    change("2");
    EXPECT_EQ(store().stats().connects, 1U);
    server().command({"CLIENT", "KILL", "TYPE", "normal"});
    ASSERT_TRUE(driver().run_until([this] { return store().stats().connects == 2; }));
    change("3");
  }
}

TEST_F(RedisFaults, FlushedStagedTableGoesOn) {
  open();
  const auto consumer = subscribe(driver(), "T");
  set(driver(), "T", "before", {{"n", "1"}});
  driver().settle();
  server().command({"FLUSHALL"});
  set(driver(), "T", "after", {{"n", "2"}});
  EXPECT_THAT(take_all(driver(), *consumer), UnorderedElementsAre("SET before n=1", "SET after n=2"));
}

// The commands connection may reconnect before the events connection. Redis must then report changes to the new events connection, not to
// the closed one.
TEST_F(RedisFaults, WatchedHearsChangesAfterARestartHoweverTheConnectionsComeBack) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    server().command({"FLUSHALL"});
    RedisStoreOptions options = quick_options();
    options.seed = seed;
    open(options);
    driver().settle();
    const auto watcher = subscribe(driver(), "W");
    driver().settle();
    server().kill9();
    ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
    server().start();
    driver().settle();
    server().command({"HSET", "W:k", "a", "1"});
    ASSERT_TRUE(driver().run_until([&watcher] { return !watcher->empty(); }, 5s));
    EXPECT_THAT(take_all(driver(), *watcher), ElementsAre("SET k a=1"));
  }
}

// --- absent server

TEST_F(RedisFaults, WrongPasswordAndAbsentSocketAreNamed) {
  start_server({.password = "right"});
  RedisStoreOptions options = quick_options();
  options.address.password = "wrong";
  open(options);
  ASSERT_TRUE(driver().run_until([this] { return std::string{store().health().message()}.find("WRONGPASS") != std::string::npos; }));
  EXPECT_EQ(store().health().code(), StatusCode::PermissionDenied);
  options.address = server().address();
  options.address.unix_path += ".absent";
  open(options);
  ASSERT_TRUE(driver().run_until([this] { return std::string{store().health().message()}.find(".absent") != std::string::npos; }));
  EXPECT_EQ(store().health().code(), StatusCode::Unavailable) << "it may come";
}

// A busy machine gives fewer turns in a second, never more, so only spinning breaks the bound.
TEST_F(RedisFaults, DeadServerDoesNotSpin) {
  open();
  const auto consumer = subscribe(driver(), "T");
  server().kill9();
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  set(driver(), "T", "k", {{"n", "1"}});
  const std::uint64_t before = driver().scheduler().stats().turns;
  driver().run_until([] { return false; }, 1s);
  EXPECT_LT(driver().scheduler().stats().turns - before, 200U);
  server().start();
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=1"));
}

TEST_F(RedisFaults, ReadOnlyServerDoesNotSpin) {
  open();
  const auto consumer = subscribe(driver(), "T");
  ASSERT_EQ(server().command({"REPLICAOF", "127.0.0.1", std::to_string(redis_kit::free_port())}), "OK");
  set(driver(), "T", "k", {{"n", "1"}});
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  const std::uint64_t before = driver().scheduler().stats().turns;
  driver().run_until([] { return false; }, 1s);
  EXPECT_LT(driver().scheduler().stats().turns - before, 400U);
}

TEST_F(RedisFaults, OtherSourcesKeepTheirTurnsWithoutServer) {
  open();
  server().kill9();
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  std::size_t fired = 0;
  TimerSource other("other", Priority{}, [&fired] { ++fired; });
  driver().scheduler().add(other);
  other.arm_every(1ms, driver().clock().now());
  EXPECT_TRUE(driver().run_until([&fired] { return fired >= 300; }));
  EXPECT_FALSE(store().health().ok());
}

// --- the contract of a connection that breaks

/// The link to the server is cut and new connections are refused. Another store, on its own link, is "elsewhere".
class CutWorld final : public store::BreakableStoreWorld {
 public:
  CutWorld() : proxy_(server_.address()), driver_(options(proxy_.address())), elsewhere_(options(server_.address())) { driver_.settle(); }
  Store& store() override { return driver_.store(); }
  Scheduler& scheduler() override { return driver_.scheduler(); }
  void settle() override {
    if (away_) {
      driver_.run_until([] { return false; }, 50ms);  // Only time passes here: nothing arrives while the link is cut.
    } else {
      driver_.settle();
    }
  }
  bool counts_rows() const override { return false; }
  void disconnect() override {
    away_ = true;
    proxy_.refuse();
    proxy_.cut();
    EXPECT_TRUE(driver_.run_until([this] { return !driver_.store().health().ok(); }));
  }
  void reconnect() override {
    proxy_.refuse(false);
    away_ = false;
  }
  void write_elsewhere(std::string_view table, Change change) override {
    for (const TableSpec& spec : driver_.store().tables()) EXPECT_TRUE(elsewhere_.store().declare(spec).ok());
    EXPECT_TRUE(elsewhere_.store().write(table, std::move(change)).ok());
    elsewhere_.settle();
  }

 private:
  static RedisStoreOptions options(const RedisAddress& address) {
    RedisStoreOptions options;
    options.lease = 0s;
    options.address = address;
    options.backoff_high = 50ms;
    return options;
  }
  redis_kit::RedisServer server_;
  redis_kit::RedisProxy proxy_;
  StoreDriver driver_;
  StoreDriver elsewhere_;
  bool away_ = false;
};

}  // namespace
}  // namespace rondo::redis

namespace rondo::store {
namespace {

const auto kCut = testing::Values(WorldMaker<BreakableStoreWorld>{"cut", []() -> std::unique_ptr<BreakableStoreWorld> {
                                                                    if (redis_kit::server_program().empty()) return nullptr;
                                                                    return std::make_unique<redis::CutWorld>();
                                                                  }});
const auto kName = [](const auto& one) { return one.param.name; };
INSTANTIATE_TEST_SUITE_P(Redis, BrokenConnection, kCut, kName);
INSTANTIATE_TEST_SUITE_P(Redis, StandingConnection, kCut, kName);

}  // namespace
}  // namespace rondo::store
