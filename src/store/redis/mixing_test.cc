// The statements of docs/guide/mixing-with-sonic.md about entries that a stock consumer cannot process: the empty key, a Queue's unknown
// operation, NUL in a Queue's value. The entries are written as a stock producer writes them.
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;

class RedisMixing : public RedisTableTest {
 protected:
  void SetUp() override {
    RedisTableTest::SetUp();
    if (IsSkipped()) return;
    forbid_scripts_the_time();
    driver_ = std::make_unique<StoreDriver>(patient_options());
    declare(*driver_, "T");
    declare(*driver_, "Q", TableKind::Queue);
    driver_->settle();
  }
  StoreDriver& driver() noexcept { return *driver_; }
  /// The keys of all rows, from a scan.
  static std::vector<std::string> scanned(StoreDriver& ours, std::string_view table) {
    std::vector<std::string> keys;
    std::string cursor;
    do {
      bool ended = false;
      ours.store().scan(table, cursor, 10, [&](const Result<RowPage>& page) {
        ended = true;
        ASSERT_TRUE(page.has_value()) << page.error().to_string();
        for (const Record& row : page->rows) keys.emplace_back(row.key());
        cursor = page->next;
      });
      EXPECT_TRUE(ours.run_until([&ended] { return ended; }));
    } while (!cursor.empty());
    return keys;
  }

 private:
  std::unique_ptr<StoreDriver> driver_;
};

TEST_F(RedisMixing, TheEmptyKeyOfAStockProducerIsASetWithoutFields) {
  server().command({"SADD", "T_KEY_SET", ""});
  server().command({"HSET", "_T", "a", "1"});
  server().command({"PUBLISH", "T_CHANNEL@0", "G"});
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET "));
  EXPECT_EQ(server().command({"EXISTS", "_T"}), "1") << "nobody's, as with a stock consumer";
}

TEST_F(RedisMixing, AFieldWithoutANameOfAStockProducerIsHandedOutAndOursAreRefused) {
  server().command({"HSET", "_T:k", "", "1", "a", "2"});
  server().command({"SADD", "T_KEY_SET", "k"});
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k =1 a=2"));
  EXPECT_EQ(server().command({"HGET", "T:k", ""}), "1") << "and it is in the row";
  EXPECT_EQ(driver().store().write("T", Change::set("k", {{"", "1"}})).code(), StatusCode::InvalidArgument);
}

TEST_F(RedisMixing, AnUnknownOperationCostsNoOtherEntryOfAQueue) {
  server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "a", R"(["x","1"])", "SSET", "b", "[]", "Sfrobnicate", "c", "[]", "?", "d",
                    R"(["x","4"])", "SSET"});
  server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
  const auto consumer = subscribe(driver(), "Q");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET a x=1", "frobnicate b", "SET d x=4"));
  EXPECT_EQ(driver().store().stats().malformed, 1U);
  EXPECT_THAT(driver().store().stats().last_damage,
              testing::HasSubstr("an entry of 'Q_KEY_VALUE_OP_QUEUE': operation '?' begins with neither S nor D"));
}

TEST_F(RedisMixing, AQueuesLastBatchThatWasDealtWithIsNotAppliedAgainOverAStockConsumers) {
  {
    StoreDriver ours(quick_options());
    declare(ours, "Q", TableKind::Queue);
    write(ours, "Q", Change::set("k", {{"v", "1"}}));
    const auto consumer = subscribe(ours, "Q");
    EXPECT_THAT(take_all(ours, *consumer), ElementsAre("SET k v=1"));
    EXPECT_THAT(take(*consumer), testing::IsEmpty()) << "it came for more: the batch is dealt with";
    ours.settle();
  }
  EXPECT_EQ(server().command({"EXISTS", "RONDO_INFLIGHT@Q"}), "0");
  server().command({"HSET", "Q:k", "v", "2"});  // A stock consumer applies this meanwhile.
  StoreDriver back(quick_options());
  declare(back, "Q", TableKind::Queue);
  const auto consumer = subscribe(back, "Q");
  EXPECT_THAT(take_all(back, *consumer), testing::IsEmpty());
  EXPECT_EQ(server().command({"HGET", "Q:k", "v"}), "2") << "not written over with what is older";
}

// A consumer takes part of a batch. What it dealt with is not given again, and what it took last is.
TEST_F(RedisMixing, AQueuesEntryThatWasDealtWithIsNotGivenAgainToTheNextProcess) {
  const auto serve = [](StoreDriver& ours) {
    declare(ours, "Q", TableKind::Queue);
    return subscribe(ours, "Q");
  };
  server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "a", R"(["v","1"])", "SSET", "b", "[]", "?", "c", R"(["v","3"])", "SSET", "d",
                    R"(["v","4"])", "SSET", "e", R"(["v","5"])", "SSET"});
  {
    StoreDriver ours(quick_options());
    const auto consumer = serve(ours);
    ASSERT_TRUE(ours.run_until([&consumer] { return !consumer->empty(); }));
    EXPECT_THAT(take(*consumer, 1), ElementsAre("SET a v=1"));
    ours.settle();
    EXPECT_THAT(take(*consumer, 2), ElementsAre("SET c v=3", "SET d v=4")) << "it came for more: the first entry is dealt with";
    ours.settle();
  }
  {
    StoreDriver next(quick_options());
    const auto consumer = serve(next);
    ASSERT_TRUE(next.run_until([&consumer] { return !consumer->empty(); }));
    EXPECT_THAT(take(*consumer, 1), ElementsAre("SET c v=3"));
    EXPECT_THAT(take(*consumer, 1), ElementsAre("SET d v=4"));
    EXPECT_THAT(take(*consumer, 1), ElementsAre("SET e v=5")) << "three takes in one turn";
    next.settle();
  }
  StoreDriver last(quick_options());
  const auto consumer = serve(last);
  EXPECT_THAT(take_all(last, *consumer), ElementsAre("SET e v=5"));
  EXPECT_THAT(take(*consumer), testing::IsEmpty());
  last.settle();
  EXPECT_EQ(server().command({"EXISTS", "RONDO_INFLIGHT@Q"}), "0");
}

TEST_F(RedisMixing, AQueuesBatchThatWasDealtWithWhileAPopIsOutstandingDoesNotStayInFlight) {
  const auto consumer = subscribe(driver(), "Q");
  write(driver(), "Q", Change::set("k", {{"v", "1"}}));
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k v=1"));
  const Instant later = driver().clock().now() + 1ms;  // A notification right after a pop only requests the count.
  driver().run_until([&] { return driver().clock().now() >= later; });
  server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
  while (driver().scheduler().run_until_idle() == 0) driver().scheduler().wait(driver().clock().now() + 20ms);
  EXPECT_THAT(take(*consumer), testing::IsEmpty()) << "the pop is on its way";
  driver().settle();
  EXPECT_EQ(server().command({"EXISTS", "RONDO_INFLIGHT@Q"}), "0");
}

// The same for a Staged table: a Delete that one of our processes has applied is not delivered again to the next one.
TEST_F(RedisMixing, AStagedDeleteThatWasDealtWithIsNotToldAgainToTheNextProcess) {
  const auto serve = [](StoreDriver& ours) {
    declare(ours, "S");
    return subscribe(ours, "S");
  };
  {
    StoreDriver ours(quick_options());
    const auto consumer = serve(ours);
    set(ours, "S", "k", {{"v", "1"}});
    EXPECT_THAT(take_all(ours, *consumer), ElementsAre("SET k v=1"));
    write(ours, "S", Change::remove("k"));
    EXPECT_THAT(take_all(ours, *consumer), ElementsAre("DEL k"));
    EXPECT_THAT(take(*consumer), testing::IsEmpty()) << "the consumer polls again: it has applied the batch";
    ours.settle();
  }
  EXPECT_EQ(server().command({"EXISTS", "RONDO_INFLIGHT@S"}), "0");
  StoreDriver next(quick_options());
  const auto consumer = serve(next);
  EXPECT_THAT(take_all(next, *consumer), testing::IsEmpty());
  EXPECT_EQ(next.store().stats().recovered, 0U);
}

// The rows of a batch that was renamed are read after the pop. Here the next pop deletes them in between.
TEST_F(RedisMixing, AStagedRowThatIsDeletedBeforeItIsReadIsToldGoneOnce) {
  redis_kit::RedisProxy proxy(server().address());
  RedisStoreOptions options = quick_options();
  options.address = proxy.address();
  options.answer_timeout = 60s;
  options.pop_batch = 8;
  StoreDriver ours(options);
  declare(ours, "T");
  for (int i = 0; i < 40; ++i) {
    server().command({"HSET", "_T:" + std::to_string(i), "v", "1"});
    server().command({"SADD", "T_KEY_SET", std::to_string(i)});
  }
  const auto consumer = subscribe(ours, "T", {.standing_rows = false});
  ASSERT_TRUE(ours.run_until([&ours] { return ours.store().stats().popped == 16; }));
  ours.settle();
  proxy.stall(redis_kit::RedisProxy::Direction::ToClient);
  EXPECT_EQ(take(*consumer, 8).size(), 8U);
  const auto is_waiting = [this](const char* count) { return server().command({"SCARD", "T_KEY_SET"}) == count; };
  ASSERT_TRUE(ours.run_until([&] { return is_waiting("16"); })) << "the third pop's answer is on the way";
  const std::vector<std::string> unread =
      server().list({"EVAL", "return cmsgpack.unpack(redis.call('HGET', KEYS[1], '3'))[1]", "1", "RONDO_INFLIGHT@T"});
  ASSERT_EQ(unread.size(), 8U);
  server().command({"DEL", "T_KEY_SET"});  // The next pop takes these Deletes.
  for (const std::string& key : unread) {
    EXPECT_EQ(server().command({"EXISTS", "T:" + key}), "1") << "renamed";
    server().command({"SADD", "T_DEL_SET", key});
    server().command({"SADD", "T_KEY_SET", key});
  }
  EXPECT_EQ(take(*consumer, 8).size(), 8U);
  ASSERT_TRUE(ours.run_until([&] { return is_waiting("0"); }));
  proxy.stall(redis_kit::RedisProxy::Direction::ToClient, false);
  std::vector<std::string> deletes;
  for (const std::string& key : unread) deletes.push_back("DEL " + key);
  EXPECT_THAT(take_all(ours, *consumer), testing::UnorderedElementsAreArray(deletes));
}

TEST_F(RedisMixing, AStagedRowThatWasSetAndDeletedInBatchesInFlightIsToldGoneOnce) {
  {
    StoreDriver ours(quick_options());
    declare(ours, "S");
    const auto consumer = subscribe(ours, "S");
    set(ours, "S", "k", {{"v", "1"}});
    ASSERT_TRUE(ours.run_until([&ours] { return ours.store().stats().popped == 1; }));
    write(ours, "S", Change::remove("k"));
    ASSERT_TRUE(ours.run_until([&ours] { return ours.store().stats().popped == 2; }));
  }
  StoreDriver next(quick_options());
  declare(next, "S");
  const auto consumer = subscribe(next, "S");
  EXPECT_THAT(take_all(next, *consumer), ElementsAre("DEL k"));
}

TEST_F(RedisMixing, AWatchedKeyThatGoesAsQuicklyAsItCameIsNotToldGoneTwice) {
  StoreDriver ours(quick_options());
  declare(ours, "W", TableKind::Watched);
  const auto consumer = subscribe(ours, "W");
  EXPECT_THAT(take_all(ours, *consumer), testing::IsEmpty());
  std::map<std::string, int> deletes;
  for (int i = 0; i < 200; ++i) {
    const std::string key = std::to_string(i);
    write(ours, "W", Change::set(key, {{"v", "1"}}));
    write(ours, "W", Change::remove(key));
    for (const std::string& line : take_all(ours, *consumer)) deletes[key] += line.starts_with("DEL") ? 1 : 0;
  }
  for (const auto& [key, count] : deletes) EXPECT_LE(count, 1) << key;
}

TEST_F(RedisMixing, AStrayFieldAmongBatchesInFlightIsNamedOnceAndEndsNoConnection) {
  for (const char* const table : {"T", "Q"}) {
    SCOPED_TRACE(table);
    const std::string hash = std::string{"RONDO_INFLIGHT@"} + table;
    server().command({"HSET", hash, "stray", "x", "7", "no batch", "9", "\x91\x05"});
    set(driver(), table, "k", {{"a", "1"}});
    driver().settle();
    const std::uint64_t connects = driver().store().stats().connects;
    const std::uint64_t malformed = driver().store().stats().malformed;
    const auto consumer = subscribe(driver(), table);
    EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k a=1"));
    EXPECT_EQ(driver().store().stats().malformed, malformed + 3);
    EXPECT_THAT(driver().store().stats().last_damage, testing::HasSubstr(hash));
    EXPECT_EQ(driver().store().stats().connects, connects) << "no connection ends";
    EXPECT_EQ(server().command({"HEXISTS", hash, "stray"}), "0");
    EXPECT_TRUE(driver().store().health().ok());
  }
}

TEST_F(RedisMixing, TheLetterOfAQueuesOperationDecidesAboutTheRowAsInAStockConsumer) {
  server().command({"HSET", "Q:a", "x", "1"});
  server().command({"HSET", "Q:b", "x", "1"});
  server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "a", R"(["y","2"])", "Dset", "b", R"(["y","2"])", "Sremove", "c", R"(["y","2"])",
                    "SDEL", "d", R"(["y","2"])", "Sget"});
  server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
  const auto consumer = subscribe(driver(), "Q");
  EXPECT_EQ(take_all(driver(), *consumer).size(), 4U);
  EXPECT_EQ(server().command({"EXISTS", "Q:a"}), "0");
  EXPECT_EQ(server().command({"HGET", "Q:b", "y"}), "2");
  EXPECT_EQ(server().command({"HGET", "Q:c", "y"}), "2");
  EXPECT_EQ(server().command({"EXISTS", "Q:d"}), "0");
}

// With a lease, other commands write the rows, so both cases are tested.
TEST_F(RedisMixing, TheRowOfAQueuesEmptyKeyHasTheNameThatAStockConsumerGivesIt) {
  for (const bool leased : {false, true}) {
    SCOPED_TRACE(leased);
    RedisStoreOptions options = quick_options();
    if (leased) options.lease = 3s;
    StoreDriver ours(options);
    declare(ours, "Q", TableKind::Queue);
    server().command({"DEL", "Q"});
    server().command({"HSET", "Q:k", "x", "1"});
    server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "", R"(["x","1"])", "SSET"});
    server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
    const auto consumer = subscribe(ours, "Q");
    EXPECT_THAT(take_all(ours, *consumer), ElementsAre("SET  x=1"));
    EXPECT_EQ(server().command({"HGET", "Q", "x"}), "1");
    EXPECT_EQ(server().command({"EXISTS", "Q:"}), "0");
    EXPECT_THAT(scanned(ours, "Q"), testing::UnorderedElementsAre("", "k"));
    write(ours, "Q", Change::remove(""));
    EXPECT_THAT(take_all(ours, *consumer), ElementsAre("DEL "));
    EXPECT_EQ(server().command({"EXISTS", "Q"}), "0");
    EXPECT_EQ(server().command({"HGET", "Q:k", "x"}), "1");
    EXPECT_THAT(take(*consumer), testing::IsEmpty()) << "which acknowledges the batch";
    ours.settle();
  }
}

/// A stock peer that subscribes to keyspace events.
class KeyspaceSubscriber {
 public:
  explicit KeyspaceSubscriber(const RedisAddress& address) : client_(address), ear_(address) {
    EXPECT_EQ(client_.command({"CONFIG", "SET", "notify-keyspace-events", "AKE"}), "OK");
    ear_.command({"PSUBSCRIBE", "__keyspace@0__:T:*", "until now"});
    ear_.next();
  }
  ~KeyspaceSubscriber() { client_.command({"CONFIG", "SET", "notify-keyspace-events", ""}); }
  KeyspaceSubscriber(const KeyspaceSubscriber&) = delete;
  KeyspaceSubscriber& operator=(const KeyspaceSubscriber&) = delete;
  /// The events of rows until now, as "KEY EVENT".
  std::vector<std::string> events() {
    std::vector<std::string> found;
    client_.command({"PUBLISH", "until now", "x"});
    const std::string begin = "[pmessage, __keyspace@0__:T:*, __keyspace@0__:";
    for (std::string message = ear_.next(); message.starts_with(begin); message = ear_.next()) {
      std::string event = message.substr(begin.size(), message.size() - begin.size() - 1);
      event.erase(event.find(','), 1);
      found.push_back(std::move(event));
    }
    return found;
  }

 private:
  redis_kit::RedisClient client_;
  redis_kit::RedisClient ear_;
};

// A stock consumer copies the fields of a staged row. Ours renames the staging hash onto a row that does not exist, if at least 32 keys
// wait.
TEST_F(RedisMixing, ManyNewRowsAreRenamedToAndOthersAreSetAsAKeyspaceSubscriberSees) {
  std::vector<std::string> renamed;
  for (int i = 0; i < 40; ++i) {
    const std::string key = "k" + std::to_string(i);
    set(driver(), "T", key, {{"a", "1"}, {"b", "2"}});
    renamed.push_back("T:" + key + " rename_to");
  }
  driver().settle();
  KeyspaceSubscriber subscriber(server().address());
  const auto consumer = subscribe(driver(), "T");
  EXPECT_EQ(take_all(driver(), *consumer).size(), renamed.size());
  EXPECT_THAT(subscriber.events(), testing::UnorderedElementsAreArray(renamed));
  EXPECT_EQ(server().hash("T:k7"), (Row{{"a", "1"}, {"b", "2"}})) << "the same row";
  set(driver(), "T", "k7", {{"a", "3"}});
  EXPECT_EQ(take_all(driver(), *consumer).size(), 1U);
  EXPECT_THAT(subscriber.events(), ElementsAre("T:k7 hset")) << "the row exists";
  EXPECT_EQ(server().hash("T:k7"), (Row{{"a", "3"}, {"b", "2"}}));
  set(driver(), "T", "new", {{"a", "1"}});
  EXPECT_EQ(take_all(driver(), *consumer).size(), 1U);
  EXPECT_THAT(subscriber.events(), ElementsAre("T:new hset")) << "one key waits";
}

TEST_F(RedisMixing, NulInAQueuesValueIsKept) {
  const std::string nul("a\0b", 3);
  set(driver(), "Q", "ours", {{"x", nul}});
  driver().settle();
  server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "theirs", R"(["x","a\u0000b"])", "SSET"});
  const auto consumer = subscribe(driver(), "Q");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET ours x=" + nul, "SET theirs x=" + nul));
  EXPECT_EQ(server().hash("Q:theirs").at("x"), nul);
}

}  // namespace
}  // namespace rondo::redis
