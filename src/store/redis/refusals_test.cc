// Writes, pops and reads that the server refuses, full tables, interrupted views, and keys of another type under our names. The server is a
// real one.
#include "rondo/store/table_view.h"
#include "store/redis/testing/faults.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// --- refusals by the server

TEST_F(RedisFaults, RowThatCannotBeReadIsNotTakenForDeleted) {
  open();
  for (int i = 0; i < 300; ++i) server().command({"HSET", "W:" + std::to_string(i), "n", "1"});
  const auto consumer = subscribe(driver(), "W");
  EXPECT_EQ(take_all(driver(), *consumer).size(), 300U);
  server().command({"ACL", "SETUSER", "default", "-hgetall"});
  server().command({"HSET", "W:7", "n", "2"});
  const std::uint64_t reads = store().stats().reads;
  ASSERT_TRUE(driver().run_until([&] { return store().stats().reads > reads + 1; })) << "it tries again";
  server().command({"CLIENT", "KILL", "TYPE", "normal"});  // A complete new read fails, too.
  ASSERT_TRUE(driver().run_until([&] { return store().stats().connects > 1 && store().stats().resyncs > 2; }));
  EXPECT_TRUE(consumer->empty());
  server().command({"ACL", "SETUSER", "default", "+@all"});
  server().command({"DEL", "W:8"});
  std::vector<std::string> told;
  ASSERT_TRUE(driver().run_until([&] {
    std::ranges::move(take(*consumer, 10), std::back_inserter(told));
    return told.size() >= 2;
  }));
  EXPECT_THAT(told, UnorderedElementsAre("SET 7 n=2", "DEL 8"));
}

TEST_F(RedisFaults, NewRowsThatCannotBeReadAreToldOnceTheyCan) {
  open();
  const auto consumer = subscribe(driver(), "T");
  driver().settle();
  server().command({"ACL", "SETUSER", "default", "-hgetall"});
  for (int i = 0; i < 100; ++i) set(driver(), "T", std::to_string(i), {{"n", "1"}});
  ASSERT_TRUE(driver().run_until([this] { return store().unanswered() == 0 && server().command({"HLEN", "RONDO_INFLIGHT@T"}) != "0"; }));
  driver().scheduler().run_until_idle();
  EXPECT_TRUE(consumer->empty());
  server().command({"ACL", "SETUSER", "default", "+@all"});
  std::set<std::string> told;
  ASSERT_TRUE(driver().run_until([&] {
    for (std::string& line : take(*consumer, 10)) told.insert(std::move(line));
    return told.size() >= 100;
  }));
  for (const std::string& line : told) EXPECT_THAT(line, testing::StartsWith("SET "));
}

TEST_F(RedisFaults, PopsThatTheServerRefusesAreToldByHealth) {
  open(patient_options());
  driver().settle();
  const auto consumer = subscribe(driver(), "T");
  driver().settle();
  EXPECT_TRUE(store().health().ok());
  server().command({"ACL", "SETUSER", "default", "-eval"});
  set(driver(), "T", "k", {{"n", "1"}});
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  EXPECT_THAT(store().health().to_string(), testing::AllOf(HasSubstr("table 'T'"), HasSubstr("eval")));
  EXPECT_EQ(store().stats().connects, 1U) << "the connection is fine";
  server().command({"ACL", "SETUSER", "default", "+@all"});
  ASSERT_TRUE(driver().run_until([&] { return !consumer->empty(); }));
  EXPECT_THAT(take(*consumer, 10), ElementsAre("SET k n=1"));
  EXPECT_TRUE(store().health().ok()) << store().health().to_string();
}

TEST_F(RedisTableTest, AClusterIsRefusedWithTheReason) {
  redis_kit::RedisServer cluster({.arguments = {"--cluster-enabled", "yes", "--save", ""}});
  RedisStoreOptions options = quick_options();
  options.address = cluster.address();
  StoreDriver driver(options);
  ASSERT_TRUE(driver.run_until([&driver] { return driver.store().health().code() == StatusCode::Unimplemented; }));
  EXPECT_THAT(driver.store().health().to_string(), HasSubstr("Redis Cluster is not supported"));
  EXPECT_EQ(driver.store().stats().connects, 0U);
}

/// An earlier process left more batches in flight than one short script can read.
TEST_F(RedisFaults, ARecoveryReadsManyBatchesInStepsOldestFirst) {
  constexpr int kBatches = 1000;
  server().command({"EVAL",
                    "for i = 1, tonumber(ARGV[1]) do\n"
                    "  redis.call('HSET', KEYS[1], i, cmsgpack.pack({{'k' .. i}, {1}}))\n"
                    "end",
                    "1", "RONDO_INFLIGHT@T", std::to_string(kBatches)});
  server().command({"HSET", "RONDO_INFLIGHT@T", "none", "of ours"});
  server().command({"CONFIG", "RESETSTAT"});
  open();
  const auto consumer = subscribe(driver(), "T");
  std::vector<std::string> got;
  ASSERT_TRUE(driver().run_until([&] {
    std::ranges::move(take(*consumer, 128), std::back_inserter(got));
    return got.size() >= kBatches;
  }));
  std::vector<std::string> sent;
  for (int i = 1; i <= kBatches; ++i) sent.push_back("DEL k" + std::to_string(i));
  EXPECT_EQ(got, sent);
  EXPECT_EQ(store().stats().malformed, 1U) << "told once";
  const std::string stats = server().command({"INFO", "commandstats"});
  const std::size_t at = stats.find("cmdstat_eval:calls=");
  ASSERT_NE(at, std::string::npos) << stats;
  EXPECT_GE(std::stoi(stats.substr(at + std::string_view{"cmdstat_eval:calls="}.size())), kBatches / 64);
}

TEST_F(RedisFaults, AcknowledgementsOfARefusedPopAreSentAgain) {
  open();
  const auto consumer = subscribe(driver(), "Q");
  std::vector<std::string> sent;
  for (int i = 0; i < 600; ++i) {
    sent.push_back("SET k n=" + std::to_string(i));
    set(driver(), "Q", "k", {{"n", std::to_string(i)}});
  }
  driver().settle();
  std::vector<std::string> got = take(*consumer, 128);  // The first batch; the next two are fetched.
  driver().settle();
  ASSERT_EQ(server().command({"HEXISTS", "RONDO_INFLIGHT@Q", "1"}), "1");
  server().command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  std::ranges::move(take(*consumer, 128), std::back_inserter(got));  // The pop for this take acknowledges the first batch, and is refused.
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  EXPECT_EQ(server().command({"HEXISTS", "RONDO_INFLIGHT@Q", "1"}), "1");
  server().command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  driver().settle();
  std::ranges::move(take_all(driver(), *consumer, 50), std::back_inserter(got));
  EXPECT_EQ(got, sent);
}

TEST_F(RedisFaults, TooFewReplicasMakePopsWaitAndCostNoConnection) {
  open(patient_options());
  driver().settle();
  const auto consumer = subscribe(driver(), "T");
  const auto queue = subscribe(driver(), "Q");
  driver().settle();
  const std::uint64_t connects = store().stats().connects;
  server().command({"HSET", "_T:k", "n", "1"});
  server().command({"SADD", "T_KEY_SET", "k"});
  server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "k", "[\"n\",\"2\"]", "SSET"});
  server().command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  server().command({"PUBLISH", "T_CHANNEL@0", "G"});
  server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
  ASSERT_TRUE(driver().run_until([this] { return store().health().code() == StatusCode::Unavailable; }));
  EXPECT_THAT(std::string{store().health().message()}, HasSubstr("NOREPLICAS"));
  const auto refused = [this] { return server().info("errorstats")["errorstat_NOREPLICAS"]; };
  const std::string before = refused();
  ASSERT_TRUE(driver().run_until([&] { return refused() != before; })) << "it tries again";
  EXPECT_TRUE(consumer->empty());
  EXPECT_TRUE(queue->empty());
  server().command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  ASSERT_TRUE(driver().run_until([&] { return store().health().ok() && !consumer->empty() && !queue->empty(); }));
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=1"));
  EXPECT_THAT(take_all(driver(), *queue), ElementsAre("SET k n=2"));
  EXPECT_EQ(store().stats().connects, connects);
}

TEST_F(RedisFaults, RowsOfAQueueThatAreRefusedForWantOfReplicasAreWrittenLater) {
  open();
  const auto consumer = subscribe(driver(), "Q");
  driver().settle();
  // The server must begin to refuse between the pop and the write of the row. Sometimes the row is written first; then the test runs
  // another round.
  for (int round = 1; round <= 100; ++round) {
    const std::string value = std::to_string(round);
    const auto is_written = [&] { return server().command({"HGET", "Q:k", "n"}) == value; };
    server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "k", "[\"n\",\"" + value + "\"]", "SSET"});
    server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
    for (int turn = 0; turn < 1000 && server().command({"HLEN", "RONDO_INFLIGHT@Q"}) == "0"; ++turn) {
      if (!driver().scheduler().turn()) driver().scheduler().wait(driver().clock().now() + 10ms);
    }
    server().command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    ASSERT_TRUE(driver().run_until([&] { return !store().health().ok() || is_written(); }));
    const bool refused = !is_written();
    server().command({"CONFIG", "SET", "min-replicas-to-write", "0"});
    EXPECT_TRUE(driver().run_until([&] { return is_written() && store().health().ok(); }));
    EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=" + value));
    if (refused || HasFailure()) return;
    driver().settle();
  }
  FAIL() << "the row was always faster";
}

TEST_F(RedisFaults, RowsOfAQueueThatWereNotWrittenAreWrittenAfterTheGap) {
  redis_kit::RedisProxy proxy(server().address());
  open(proxy);
  const auto consumer = subscribe(driver(), "Q");
  driver().settle();
  proxy.lose_request("Q:k");  // The write that remains after the pop.
  server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "k", "[\"n\",\"1\"]", "SSET"});
  server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
  ASSERT_TRUE(driver().run_until([&] { return proxy.stats().lost == 1; }));
  driver().settle();
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=1"));
  EXPECT_EQ(server().command({"HGET", "Q:k", "n"}), "1");
}

TEST_F(RedisFaults, BatchesOfMalformedEntriesDoNotStayInFlight) {
  open();
  const auto consumer = subscribe(driver(), "Q");
  driver().settle();
  for (int i = 0; i < 20; ++i) {
    server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "k", "no json", "SSET"});
    server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
    ASSERT_TRUE(driver().run_until([&] { return store().stats().malformed == static_cast<std::uint64_t>(i) + 1; }));
  }
  driver().settle();
  EXPECT_EQ(server().command({"HLEN", "RONDO_INFLIGHT@Q"}), "0");
  EXPECT_TRUE(consumer->empty());
}

TEST_F(RedisFaults, BigValueThatIsCutInTheMiddleArrives) {
  redis_kit::RedisProxy proxy(server().address());
  open(proxy);
  const auto consumer = subscribe(driver(), "T");
  const std::string big(5 * 1024 * 1024, 'x');
  const std::size_t before = proxy.stats().bytes_to_server;
  set(driver(), "T", "k", {{"big", big}});
  ASSERT_TRUE(driver().run_until([&] { return proxy.stats().bytes_to_server > before + 1024 * 1024; }));
  proxy.cut();
  driver().settle();
  std::vector<Change> changes;
  ASSERT_EQ(consumer->take(10, changes), 1U);
  EXPECT_TRUE(changes[0].fields().find("big") == big);
}

/// A producer that is not ours wrote it: Redis permits 512 MiB. The connection was closed at each such answer, so nothing else of the
/// database came through.
TEST_F(RedisFaults, AValueBeyondTheLimitHidesNoOtherRow) {
  const auto stage = [this](const std::string& key, std::size_t bytes) {
    const std::string script = "redis.call('HSET', '_T:" + key + "', 'big', string.rep('v', " + std::to_string(bytes) +
                               ")) return redis.call('SADD', 'T_KEY_SET', '" + key + "')";
    server().command({"EVAL", script, "0"});
  };
  stage("huge", 140'000'000);
  stage("large", 68'000'000);
  stage("small", 3);
  open();
  const auto consumer = subscribe(driver(), "T");
  std::vector<Change> changes;
  ASSERT_TRUE(driver().run_until([&] {
    consumer->take(10, changes);
    return changes.size() == 3;
  }));
  for (const Change& change : changes) {
    const Status checked = check_record(change.record());
    EXPECT_EQ(checked.ok(), change.key() == "small") << change.key() << ": " << checked.to_string();
  }
  EXPECT_TRUE(store().health().ok()) << store().health().to_string();
}

// --- interrupted views

/// Rows of which a view keeps the even ones and adds as many new ones, and a consumer that has dealt with them.
class RedisViewFaults : public RedisFaults {
 protected:
  static constexpr int kRows = 3000;
  void fill_table() {
    for (int i = 0; i < kRows; ++i) set(driver(), "T", std::to_string(i), {{"a", "1"}});
    driver().settle();
  }
  static void fill(TableView& view) {
    for (int i = 0; i < kRows; i += 2) {
      ASSERT_TRUE(view.set(std::to_string(i), {{"a", "1"}}).ok());
      ASSERT_TRUE(view.set("new" + std::to_string(i), {{"a", "1"}}).ok());
    }
  }
  void give_turns(std::uint64_t turns) {
    for (; turns > 0; --turns) {
      if (!driver().scheduler().turn()) driver().scheduler().wait(driver().clock().now() + 1ms);
    }
  }
  void take_from(Subscription& consumer) {
    for (const std::string& line : take(consumer)) {
      const bool stays = line.starts_with("DEL ") && (line.back() - '0') % 2 == 0;
      EXPECT_FALSE(stays) << line << ": it stays";
    }
  }
  void expect_the_view(Subscription& consumer) {
    driver().settle();
    while (!consumer.empty()) {
      take_from(consumer);
      driver().settle();
    }
    Rows expected;
    for (int i = 0; i < kRows; i += 2) expected[std::to_string(i)] = expected["new" + std::to_string(i)] = {{"a", "1"}};
    EXPECT_EQ(rows_in_redis("T:"), expected);
  }
};

TEST_F(RedisViewFaults, GoesOnThroughCutsAndRestarts) {
  start_server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  open();
  const auto consumer = subscribe(driver(), "T");
  fill_table();
  EXPECT_EQ(take_all(driver(), *consumer).size(), std::size_t{kRows});
  TableView view(driver().scheduler(), store(), "T", Priority{}, 10ms);
  fill(view);
  Result<ViewTotals> end = failure(StatusCode::Internal, "not told");
  ASSERT_TRUE(view.apply([&end](const Result<ViewTotals>& told) { end = told; }).ok());
  Random random{1};
  int faults = 0;
  for (; faults < 6 && view.is_applying(); ++faults) {
    give_turns(random.between(1, 40));
    take_from(*consumer);
    if (faults % 3 == 2) {
      server().kill9();
      server().start();
    } else {
      server().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
  }
  ASSERT_TRUE(driver().run_until([&] {
    take_from(*consumer);
    return !view.is_applying();
  }));
  EXPECT_TRUE(end.has_value()) << end.error().to_string();
  EXPECT_EQ(faults, 6) << "in the middle";
  expect_the_view(*consumer);
}

TEST_F(RedisViewFaults, TheNextProcessFinishes) {
  open();
  fill_table();
  for (const std::uint64_t turns : {1U, 10U, 20U, 40U}) {
    {
      TableView view(driver().scheduler(), store(), "T");
      fill(view);
      ASSERT_TRUE(view.apply().ok());
      give_turns(turns);
      EXPECT_TRUE(view.is_applying()) << "in the middle";
    }
    close();  // The process ends here: requests not sent by now are lost.
    open();
  }
  const auto consumer = subscribe(driver(), "T");
  TableView view(driver().scheduler(), store(), "T");
  fill(view);
  ASSERT_TRUE(view.apply().ok());
  ASSERT_TRUE(driver().run_until([&view] { return !view.is_applying(); }));
  expect_the_view(*consumer);
}

// --- a process that only writes

// Both a writer that retries and a caller of size() must see the room.
TEST_F(RedisFaults, FullTableHasRoomAgainWhenAConsumerElsewhereMadeIt) {
  open();
  StoreDriver elsewhere{quick_options()};
  for (const TableKind kind : {TableKind::Staged, TableKind::Queue}) {
    for (const bool by_writing : {true, false}) {
      const std::string table = std::string{to_string(kind)} + (by_writing ? "_written" : "_read");
      SCOPED_TRACE(table);
      for (StoreDriver* each : {&driver(), &elsewhere}) {
        ASSERT_TRUE(each->store().declare({.name = table, .kind = kind, .rows_max = 3}).ok());
      }
      for (const char* key : {"a", "b", "c"}) set(driver(), table, key, {{"n", "1"}});
      driver().settle();
      EXPECT_EQ(store().write(table, Change::set("d", {})).code(), StatusCode::ResourceExhausted);
      driver().settle();
      EXPECT_EQ(store().write(table, Change::set("d", {})).code(), StatusCode::ResourceExhausted) << "it is full";
      driver().settle();
      const auto consumer = subscribe(elsewhere, table);
      EXPECT_EQ(take_all(elsewhere, *consumer).size(), 3U);
      bool accepted = false;
      ASSERT_TRUE(driver().run_until([&] {
        if (!by_writing) return store().size(table)->staged == 0;
        return accepted = accepted || store().write(table, Change::set("d", {{"n", "1"}})).ok();
      }));
      if (!by_writing) set(driver(), table, "d", {{"n", "1"}});
      driver().settle();
      EXPECT_THAT(take_all(elsewhere, *consumer), ElementsAre("SET d n=1"));
    }
  }
}

// --- keys of another type

TEST_F(RedisFaults, RowOfAnotherTypeIsReplaced) {
  open();
  server().command({"SET", "T:k", "text"});
  server().command({"SET", "W:k", "text"});
  const auto consumer = subscribe(driver(), "T");
  const auto watcher = subscribe(driver(), "W");
  for (int i = 0; i < 50; ++i) set(driver(), "T", i == 0 ? "k" : std::to_string(i), {{"n", "1"}});
  set(driver(), "W", "other", {{"n", "1"}});
  std::vector<std::string> rows;
  std::vector<std::string> watched;
  EXPECT_TRUE(driver().run_until([&] {
    std::ranges::move(take(*consumer, 100), std::back_inserter(rows));
    std::ranges::move(take(*watcher, 100), std::back_inserter(watched));
    return rows.size() >= 50 && !watched.empty();
  }));
  EXPECT_THAT(rows, testing::AllOf(testing::SizeIs(50), testing::Contains("SET k n=1")));
  EXPECT_EQ(server().hash("T:k")["n"], "1");
  EXPECT_THAT(watched, ElementsAre("SET other n=1"));
}

TEST_F(RedisFaults, StagedKeyOfAnotherTypeHarmsNoOther) {
  open();
  server().command({"SET", "_T:k", "text"});
  server().command({"SADD", "T_KEY_SET", "k"});
  set(driver(), "T", "other", {{"n", "1"}});
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), testing::Contains("SET other n=1"));
  set(driver(), "T", "k", {{"n", "2"}});
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=2"));
}

TEST_F(RedisFaults, PendingSetOfAnotherTypeFailsTheWriteAndDoesNotSpin) {
  open();
  const auto consumer = subscribe(driver(), "T");
  server().command({"SET", "T_KEY_SET", "text"});
  Status end;
  bool ended = false;
  ASSERT_TRUE(store().write("T", Change::set("k", {}), [&](const Status& status) { end = status, ended = true; }).ok());
  ASSERT_TRUE(driver().run_until([&ended] { return ended; }));
  EXPECT_EQ(end.code(), StatusCode::FailedPrecondition) << end.to_string();
  server().command({"DEL", "T_KEY_SET"});
  set(driver(), "T", "later", {{"n", "1"}});
  ASSERT_TRUE(driver().run_until([&consumer] { return !consumer->empty(); }));
  EXPECT_THAT(take_all(driver(), *consumer), testing::Contains("SET later n=1"));
}

TEST_F(RedisFaults, FailedWriteFailsNoOtherOfItsBatch) {
  open();
  declare(driver(), "T2");
  server().command({"SET", "T_KEY_SET", "text"});
  server().command({"SET", "W:bad", "text"});
  server().command({"SET", "Q_KEY_VALUE_OP_QUEUE", "text"});
  std::map<std::string, StatusCode> ends;
  for (const auto& [table, key] : {std::pair{"T", "k"}, {"T2", "k"}, {"W", "bad"}, {"W", "good"}, {"Q", "k"}, {"T2", "other"}}) {
    const std::string name = std::string{table} + " " + key;
    const auto done = [&ends, name](const Status& end) { ends[name] = end.code(); };
    ASSERT_TRUE(store().write(table, Change::set(key, {{"n", "1"}}), done).ok());
  }
  driver().settle();
  EXPECT_THAT(ends, ElementsAre(testing::Pair("Q k", StatusCode::FailedPrecondition), testing::Pair("T k", StatusCode::FailedPrecondition),
                                testing::Pair("T2 k", StatusCode::Ok), testing::Pair("T2 other", StatusCode::Ok),
                                testing::Pair("W bad", StatusCode::FailedPrecondition), testing::Pair("W good", StatusCode::Ok)));
}

TEST_F(RedisFaults, DeletedSetOrInFlightOfAnotherTypeLosesNoKey) {
  open();
  const auto consumer = subscribe(driver(), "T");
  for (const char* key : {"T_DEL_SET", "RONDO_INFLIGHT@T"}) {
    server().command({"DEL", key});
    server().command({"SET", key, "text"});
    set(driver(), "T", key, {{"n", "1"}});
    ASSERT_TRUE(driver().run_until([this] { return store().unanswered() == 0 && !store().health().ok(); }));
    EXPECT_THAT(store().health().to_string(), HasSubstr("WRONGTYPE")) << "it says why nothing comes";
    EXPECT_EQ(server().command({"SISMEMBER", "T_KEY_SET", key}), "1");
    server().command({"DEL", key});
    ASSERT_TRUE(driver().run_until([&] { return !consumer->empty() && store().health().ok(); }));
    EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET " + std::string{key} + " n=1"));
  }
}

TEST_F(RedisFaults, HealthNamesARowOfAStagedTableThatIsNoHash) {
  open();
  server().command({"LPUSH", "T:r", "text"});
  const auto consumer = subscribe(driver(), "T");
  const auto is_named = [this] { return store().health().to_string().find("the key 'T:r' is not a hash") != std::string::npos; };
  EXPECT_TRUE(driver().run_until(is_named)) << store().health().to_string();
  server().command({"DEL", "T:r"});
  set(driver(), "T", "r", {{"n", "1"}});
  EXPECT_TRUE(driver().run_until([&] { return !consumer->empty() && store().health().ok(); })) << store().health().to_string();
}

TEST_F(RedisFaults, HealthNamesAKeyOfAWatchedTableThatIsNoHash) {
  open();
  server().command({"SET", "W:before", "text"});
  const auto consumer = subscribe(driver(), "W");
  const auto names = [this](const char* key) { return store().health().to_string().find(key) != std::string::npos; };
  EXPECT_TRUE(driver().run_until([&] { return names("the key 'W:before' is not a hash"); })) << store().health().to_string();
  server().command({"LPUSH", "W:after", "text"});
  EXPECT_TRUE(driver().run_until([&] { return names("W:after"); })) << store().health().to_string();
  server().command({"DEL", "W:before", "W:after"});
  EXPECT_TRUE(driver().run_until([&] { return store().health().ok(); })) << store().health().to_string();
}

TEST_F(RedisFaults, HealthNamesEveryTableThatIsStopped) {
  open();
  declare(driver(), "T2");
  const auto one = subscribe(driver(), "T");
  const auto two = subscribe(driver(), "T2");
  driver().settle();
  for (const std::string table : {"T", "T2"}) {
    server().command({"SET", "RONDO_INFLIGHT@" + table, "text"});
    set(driver(), table, "k", {{"n", "1"}});
  }
  const auto names = [this](const char* what) { return store().health().to_string().find(what) != std::string::npos; };
  EXPECT_TRUE(driver().run_until([&] { return names("table 'T'") && names("table 'T2'"); })) << store().health().to_string();
}

}  // namespace
}  // namespace rondo::redis
