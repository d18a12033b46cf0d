// The content of Redis after each of our operations, key by key and byte by byte: the format of SONiC's swss-common, so that SONiC's
// producers and consumers understand ours. Plain commands read it, and a subscriber of the test receives the published messages.
#include "rondo/store/table_view.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class RedisWire : public RedisTableTest {
 protected:
  void SetUp() override {
    RedisTableTest::SetUp();
    if (IsSkipped()) return;
    forbid_scripts_the_time();
    open(0, ':');
  }
  /// Opens a store on another database, with another separator.
  void open(unsigned database, char separator) {
    driver_.reset();
    RedisStoreOptions options;
    options.lease = 0s;
    options.address = server().address(database);
    options.separator = separator;
    driver_ = std::make_unique<StoreDriver>(options);
    client_ = std::make_unique<redis_kit::RedisClient>(server().address(database));
    ear_ = std::make_unique<redis_kit::RedisClient>(server().address(database));
    ASSERT_EQ(ear_->command({"PSUBSCRIBE", "*"}), "[psubscribe, *, 1]");
    driver_->settle();
    for (const char* table : {"T", "T2"}) declare(*driver_, table);
    declare(*driver_, "W", TableKind::Watched);
    declare(*driver_, "Q", TableKind::Queue);
    declare(*driver_, "C", TableKind::Channel);
  }
  StoreDriver& driver() { return *driver_; }
  redis_kit::RedisClient& client() { return *client_; }
  /// How often Redis has run a command since CONFIG RESETSTAT.
  std::size_t calls_of(const std::string& command) {
    const std::string stats = client().command({"INFO", "commandstats"});
    const std::string begin = "cmdstat_" + command + ":calls=";
    const std::size_t at = stats.find(begin);
    return at == std::string::npos ? 0 : std::stoul(stats.substr(at + begin.size()));
  }
  void set(std::string_view table, std::string_view key, FieldList fields) { RedisTableTest::set(*driver_, table, key, fields); }
  void remove(std::string_view table, std::string_view key) { write(*driver_, table, Change::remove(key)); }

  /// "channel text" of every message published until now.
  std::vector<std::string> heard() {
    driver_->settle();
    client_->command({"PUBLISH", "until now", "x"});
    std::vector<std::string> messages;
    const std::string head = "[pmessage, *, ";
    for (std::string message = ear_->next(); message != head + "until now, x]"; message = ear_->next()) {
      if (!message.starts_with(head)) ADD_FAILURE() << message;
      if (!message.starts_with(head)) break;
      message = message.substr(head.size(), message.size() - head.size() - 1);
      messages.push_back(message.replace(message.find(", "), 2, " "));
    }
    return messages;
  }
  /// All keys except RONDO_EPOCH, which every store leaves; see TheEpochIsOneHashThatNoTableLists.
  std::vector<std::string> keys() {
    driver_->settle();
    std::vector<std::string> all = all_keys(*client_);
    std::erase(all, "RONDO_EPOCH");
    return all;
  }
  Row hash(const std::string& key) {
    const std::vector<std::string> flat = client_->list({"HGETALL", key});
    Row row;
    for (std::size_t i = 0; i + 1 < flat.size(); i += 2) row[flat[i]] = flat[i + 1];
    return row;
  }
  /// The entries in flight, by batch, decoded.
  std::map<std::string, std::string> in_flight(const std::string& table) {
    const std::string key = "RONDO_INFLIGHT@" + table;
    std::map<std::string, std::string> batches;
    for (const std::string& number : client_->list({"HKEYS", key})) {
      batches[number] = client_->command({"EVAL", "return cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))", "1", key, number});
    }
    return batches;
  }

 private:
  std::unique_ptr<StoreDriver> driver_;
  std::unique_ptr<redis_kit::RedisClient> client_;
  std::unique_ptr<redis_kit::RedisClient> ear_;
};

// --- Staged: keys written by a producer

TEST_F(RedisWire, StagedSetIsAPendingKeyAStagedHashAndOneG) {
  set("T", "10.0.0.0/8", {{"nexthop", "10.1.1.1"}, {"ifname", "Ethernet0"}});
  EXPECT_THAT(heard(), ElementsAre("T_CHANNEL@0 G"));
  EXPECT_THAT(keys(), ElementsAre("T_KEY_SET", "_T:10.0.0.0/8"));
  EXPECT_THAT(client().list({"SMEMBERS", "T_KEY_SET"}), ElementsAre("10.0.0.0/8"));
  EXPECT_THAT(hash("_T:10.0.0.0/8"), ElementsAre(Pair("ifname", "Ethernet0"), Pair("nexthop", "10.1.1.1")));
}

TEST_F(RedisWire, StagedDeleteIsPendingAndMarkedAndStagesNothing) {
  remove("T", "k");
  EXPECT_THAT(heard(), ElementsAre("T_CHANNEL@0 G"));
  EXPECT_THAT(keys(), ElementsAre("T_DEL_SET", "T_KEY_SET"));
  EXPECT_THAT(client().list({"SMEMBERS", "T_KEY_SET"}), ElementsAre("k"));
  EXPECT_THAT(client().list({"SMEMBERS", "T_DEL_SET"}), ElementsAre("k"));
}

// In one transaction and in two.
TEST_F(RedisWire, StagedSetThenDeleteLeavesTheDelete) {
  for (const bool apart : {false, true}) {
    set("T", "k", {{"a", "1"}});
    if (apart) driver().settle();
    remove("T", "k");
    EXPECT_THAT(keys(), ElementsAre("T_DEL_SET", "T_KEY_SET")) << apart;
    client().command({"FLUSHDB"});
  }
}

TEST_F(RedisWire, StagedDeleteThenSetLeavesBothMarksAndOnlyTheNewFields) {
  for (const bool apart : {false, true}) {
    set("T", "k", {{"old", "1"}});
    remove("T", "k");
    if (apart) driver().settle();
    set("T", "k", {{"new", "2"}});
    EXPECT_THAT(keys(), ElementsAre("T_DEL_SET", "T_KEY_SET", "_T:k")) << apart;
    EXPECT_THAT(hash("_T:k"), ElementsAre(Pair("new", "2")));
    EXPECT_THAT(client().list({"SMEMBERS", "T_DEL_SET"}), ElementsAre("k"));
    client().command({"FLUSHDB"});
  }
}

TEST_F(RedisWire, StagedSetsMergeInTheStagedHash) {
  for (const bool apart : {false, true}) {
    set("T", "k", {{"a", "1"}, {"b", "1"}});
    if (apart) driver().settle();
    set("T", "k", {{"b", "2"}, {"c", "2"}});
    driver().settle();
    EXPECT_THAT(hash("_T:k"), ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", "2"))) << apart;
    client().command({"FLUSHDB"});
  }
}

TEST_F(RedisWire, StagedSetWithoutFieldsIsNullNull) {
  set("T", "k", {});
  EXPECT_THAT(keys(), ElementsAre("T_KEY_SET", "_T:k"));
  EXPECT_THAT(hash("_T:k"), ElementsAre(Pair("NULL", "NULL")));
}

TEST_F(RedisWire, SeparatorAndDatabaseNumberAreWhereSonicHasThem) {
  open(4, '|');
  set("T", "Vlan100|10.0.0.1/24", {{"a", "1"}});
  set("W", "Ethernet0", {{"mtu", "9100"}});
  EXPECT_THAT(heard(), ElementsAre("T_CHANNEL@4 G"));
  EXPECT_THAT(keys(), ElementsAre("T_KEY_SET", "W|Ethernet0", "_T|Vlan100|10.0.0.1/24"));
  EXPECT_THAT(RedisTableTest::all_keys(), ElementsAre("RONDO_EPOCH")) << "the store that was there before, and nothing of this one";
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET Vlan100|10.0.0.1/24 a=1"));
  EXPECT_THAT(keys(), ElementsAre("RONDO_INFLIGHT@T", "T|Vlan100|10.0.0.1/24", "W|Ethernet0"));
}

TEST_F(RedisWire, KeysAreBinary) {
  const std::string nul("a\0b", 3);
  set("T", nul, {{nul, nul}});
  EXPECT_THAT(keys(), ElementsAre("T_KEY_SET", "_T:" + nul));
  EXPECT_THAT(client().list({"SMEMBERS", "T_KEY_SET"}), ElementsAre(nul));
  EXPECT_THAT(hash("_T:" + nul), ElementsAre(Pair(nul, nul)));
}

/// This store writes no such row. Its consumer, an Orch, rejects it.
TEST_F(RedisWire, TheEmptyKeyOfAnotherProgramIsTaken) {
  client().command({"HSET", "_T:", "", "1"});
  client().command({"SADD", "T_KEY_SET", ""});
  client().command({"PUBLISH", "T_CHANNEL@4", "G"});
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET  =1"));
  EXPECT_TRUE(driver().store().write("T", Change::remove("")).ok());
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("DEL "));
}

// A stock consumer pops 128 keys for each "G": with fewer "G" it would leave keys waiting.
TEST_F(RedisWire, OneGForEach128KeysAtLeast) {
  constexpr int kKeys = 1000;
  for (int i = 0; i < kKeys; ++i) {
    set("T", std::to_string(i), {{"a", "1"}});
    set("T2", std::to_string(i), {});
    if (i % 3 == 0) remove("T2", std::to_string(i));
  }
  const std::vector<std::string> all = heard();
  EXPECT_GE(std::ranges::count(all, "T_CHANNEL@0 G"), (kKeys + 127) / 128);
  EXPECT_GE(std::ranges::count(all, "T2_CHANNEL@0 G"), (kKeys + 127) / 128);
  EXPECT_EQ(client().command({"SCARD", "T_KEY_SET"}), std::to_string(kKeys));
  EXPECT_EQ(client().command({"SCARD", "T2_KEY_SET"}), std::to_string(kKeys));
  EXPECT_EQ(client().command({"SCARD", "T2_DEL_SET"}), std::to_string((kKeys + 2) / 3));
}

// A stock consumer that pops one key for each "G".
TEST_F(RedisWire, OneGForEachKeyWhereTheConsumerPopsFewerThan128) {
  constexpr int kKeys = 1000;
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = server().address(0);
  options.notify_each_key = true;
  StoreDriver producer(options);
  declare(producer, "T");
  static_cast<void>(heard());
  for (int i = 0; i < kKeys; ++i) write(producer, "T", Change::set(std::to_string(i), {{"a", "1"}}));
  producer.settle();
  EXPECT_EQ(std::ranges::count(heard(), "T_CHANNEL@0 G"), kKeys);
  EXPECT_EQ(client().command({"SCARD", "T_KEY_SET"}), std::to_string(kKeys));
}

// The transaction's 128 writes end between the Delete and the Set. No client may pop between them.
TEST_F(RedisWire, ReplacedRowIsDeletedAndSetInOneTransaction) {
  for (int i = 0; i < 127; ++i) set("T", std::to_string(i), {{"a", "1"}});
  remove("T", "k");
  set("T", "k", {{"a", "2"}});
  EXPECT_THAT(heard(), ElementsAre("T_CHANNEL@0 G"));
  EXPECT_EQ(client().command({"SCARD", "T_KEY_SET"}), "128");
  EXPECT_THAT(client().list({"SMEMBERS", "T_DEL_SET"}), ElementsAre("k"));
}

/// The difference that a view of the rows "same", "value", "less" and "new" writes over rows of the first three and "gone".
TEST_F(RedisWire, ViewLeavesTheDifferenceAsAStockProducerDoes) {
  for (const char separator : {':', '|'}) {
    open(separator == ':' ? 0 : 6, separator);
    const std::string head = std::string{"T"} + separator;
    for (const char* key : {"same", "value", "less", "gone"}) client().command({"HSET", head + key, "a", "1", "b", "1"});
    client().command({"HSET", std::string{"T2"} + separator + "k", "a", "1"});  // A table whose name begins alike.
    client().command({"SADD", "T2_KEY_SET", "k"});
    TableView view(driver().scheduler(), driver().store(), "T");
    ASSERT_TRUE(view.set("same", {{"b", "1"}, {"a", "1"}}).ok());
    ASSERT_TRUE(view.set("value", {{"a", "1"}, {"b", "2"}}).ok());
    ASSERT_TRUE(view.set("less", {{"a", "1"}}).ok());
    ASSERT_TRUE(view.set("new", {}).ok());
    ASSERT_TRUE(view.apply().ok());
    ASSERT_TRUE(driver().run_until([&view] { return !view.is_applying(); }));
    const std::string channel = "T_CHANNEL@" + std::string{separator == ':' ? "0" : "6"};
    EXPECT_THAT(heard(), testing::Each(channel + " G"));
    EXPECT_THAT(client().list({"SMEMBERS", "T_KEY_SET"}), UnorderedElementsAre("value", "less", "gone", "new"));
    EXPECT_THAT(client().list({"SMEMBERS", "T_DEL_SET"}), UnorderedElementsAre("less", "gone"));
    EXPECT_THAT(client().list({"KEYS", "_T*"}), UnorderedElementsAre("_" + head + "value", "_" + head + "less", "_" + head + "new"));
    EXPECT_THAT(hash("_" + head + "value"), ElementsAre(Pair("a", "1"), Pair("b", "2")));
    EXPECT_THAT(hash("_" + head + "less"), ElementsAre(Pair("a", "1")));
    EXPECT_THAT(hash("_" + head + "new"), ElementsAre(Pair("NULL", "NULL")));
    EXPECT_THAT(client().list({"SMEMBERS", "T2_KEY_SET"}), ElementsAre("k"));
  }
}

// --- Staged: keys after a consumer's pop

TEST_F(RedisWire, PopLeavesRowsAndTheBatchInFlight) {
  client().command({"HSET", "T:gone", "x", "1"});
  client().command({"HSET", "T:again", "old", "1"});
  client().command({"HSET", "T:more", "a", "1", "b", "1"});
  set("T", "new", {{"a", "1"}});
  set("T", "none", {});
  set("T", "more", {{"b", "2"}});
  remove("T", "gone");
  remove("T", "again");
  set("T", "again", {{"new", "2"}});
  driver().settle();
  const auto consumer = subscribe(driver(), "T");
  driver().settle();
  EXPECT_THAT(keys(), ElementsAre("RONDO_INFLIGHT@T", "T:again", "T:more", "T:new", "T:none"));
  EXPECT_THAT(hash("T:again"), ElementsAre(Pair("new", "2")));
  EXPECT_THAT(hash("T:more"), ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_THAT(hash("T:none"), ElementsAre(Pair("NULL", "NULL")));
  EXPECT_EQ(in_flight("T").size(), 1U);
  EXPECT_THAT(take(*consumer),
              UnorderedElementsAre("SET new a=1", "SET none", "SET more a=1 b=2", "DEL gone", "DEL again", "SET again new=2"));
}

TEST_F(RedisWire, InFlightHoldsTheKeysAndWhichWereDeletedByBatch) {
  set("T", "k", {{"a", "1"}});
  const auto consumer = subscribe(driver(), "T");
  driver().settle();
  EXPECT_THAT(in_flight("T"), ElementsAre(Pair("1", "[[k], (nil)]")));
  EXPECT_EQ(take(*consumer).size(), 1U);
  EXPECT_THAT(take(*consumer), IsEmpty());  // The consumer takes more, so the batch is dealt with. The next pop acknowledges it in Redis.
  remove("T", "k");
  driver().settle();
  EXPECT_THAT(in_flight("T"), ElementsAre(Pair("2", "[[k], [1]]")));
}

// From 32 keys on, staged hashes are renamed to rows: the result must be the same.
TEST_F(RedisWire, PopOfManyNewRowsLeavesTheSame) {
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    set("T", std::to_string(i), {{"a", std::to_string(i)}});
    expected.push_back("T:" + std::to_string(i));
  }
  driver().settle();
  const auto consumer = subscribe(driver(), "T");
  EXPECT_EQ(take_all(driver(), *consumer).size(), 300U);
  expected.push_back("RONDO_INFLIGHT@T");
  std::ranges::sort(expected);
  EXPECT_EQ(keys(), expected);
  for (int i = 0; i < 300; ++i) EXPECT_THAT(hash("T:" + std::to_string(i)), ElementsAre(Pair("a", std::to_string(i))));
}

// A whole row with further fields costs Redis one read more, also where the pop returns the rows itself (few keys), and a row whose
// fields were all set costs none.
TEST_F(RedisWire, PopOfExistingRowsDeliversThemWholeAndReadsOnlyThoseWithFurtherFields) {
  for (const int rows : {8, 100}) {
    SCOPED_TRACE(rows);
    client().command({"FLUSHALL"});
    std::vector<std::string> expected;
    for (int i = 0; i < rows; ++i) {
      const std::string key = std::to_string(i);
      const bool all = i % 4 != 0;
      client().command({"HSET", "T:" + key, "a", "1", "b", "1"});
      std::vector<Field> fields;
      if (all) fields.push_back({"a", "2"});
      fields.push_back({"b", "2"});
      write(driver(), "T", Change::set(key, fields));
      expected.push_back("SET " + key + (all ? " a=2 b=2" : " a=1 b=2"));
    }
    driver().settle();
    client().command({"CONFIG", "RESETSTAT"});
    const auto consumer = subscribe(driver(), "T", {.standing_rows = false});
    std::vector<std::string> got;
    ASSERT_TRUE(driver().run_until([&] {
      std::ranges::move(take(*consumer), std::back_inserter(got));
      return got.size() >= expected.size();
    }));
    EXPECT_THAT(got, testing::UnorderedElementsAreArray(expected));
    const std::size_t reads = calls_of("hgetall");
    EXPECT_GE(reads, rows + rows / 4);
    EXPECT_LE(reads, rows + rows / 4 + 7);  // After eight rows with further fields in succession, by chance.
  }
}

TEST_F(RedisWire, PopOfManyRowsWithFurtherFieldsLooksAtTheSizeOfFew) {
  constexpr std::size_t kRows = 100;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::string key = std::to_string(i);
    client().command({"HSET", "T:" + key, "a", "1", "b", "1"});
    set("T", key, {{"b", "2"}});
    expected.push_back("SET " + key + " a=1 b=2");
  }
  driver().settle();
  client().command({"CONFIG", "RESETSTAT"});
  const auto consumer = subscribe(driver(), "T", {.standing_rows = false});
  std::vector<std::string> got;
  ASSERT_TRUE(driver().run_until([&] {
    std::ranges::move(take(*consumer), std::back_inserter(got));
    return got.size() >= expected.size();
  }));
  EXPECT_THAT(got, testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(calls_of("hgetall"), 2 * kRows);  // The staged fields, and the whole row.
  EXPECT_LE(calls_of("hlen"), 30U);
}

// SONiC pops it as a Delete that leaves the row.
TEST_F(RedisWire, StockSetWithoutFieldsIsASet) {
  client().command({"HSET", "T:there", "a", "1"});
  client().command({"SADD", "T_KEY_SET", "there", "new"});
  const auto consumer = subscribe(driver(), "T");
  EXPECT_THAT(take_all(driver(), *consumer), UnorderedElementsAre("SET there a=1", "SET new"));
  EXPECT_THAT(hash("T:there"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(hash("T:new"), ElementsAre(Pair("NULL", "NULL")));
}

// --- Queue

TEST_F(RedisWire, QueueEntryIsThreeElementsNewestFirstAndAlwaysAG) {
  set("Q", "oid:0x1", {{"A", "1"}, {"B", "x\"y\\z\n"}});
  const std::vector<Field> fields{{"SAI", "v"}};
  write(driver(), "Q", Change::event("create", "oid:0x2", fields));
  remove("Q", "oid:0x1");
  set("Q", "oid:0x3", {});
  EXPECT_THAT(heard(), ElementsAre("Q_CHANNEL@0 G", "Q_CHANNEL@0 G", "Q_CHANNEL@0 G", "Q_CHANNEL@0 G"));
  EXPECT_THAT(keys(), ElementsAre("Q_KEY_VALUE_OP_QUEUE"));
  EXPECT_THAT(client().list({"LRANGE", "Q_KEY_VALUE_OP_QUEUE", "0", "-1"}),
              ElementsAre("SSET", "[]", "oid:0x3", "DDEL", "{}", "oid:0x1", "Screate", "[\"SAI\",\"v\"]", "oid:0x2", "SSET",
                          "[\"A\",\"1\",\"B\",\"x\\\"y\\\\z\\n\"]", "oid:0x1"));
}

TEST_F(RedisWire, QueuePopLeavesRowsAndTheBatchInFlight) {
  client().command({"HSET", "Q:gone", "x", "1"});
  set("Q", "k", {{"a", "1"}});
  remove("Q", "gone");
  driver().settle();
  const auto consumer = subscribe(driver(), "Q");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k a=1", "DEL gone"));
  EXPECT_THAT(keys(), ElementsAre("Q:k", "RONDO_INFLIGHT@Q"));
  EXPECT_THAT(hash("Q:k"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(in_flight("Q"), ElementsAre(Pair("1", "[k, [\"a\",\"1\"], SSET, gone, {}, DDEL]")));
}

TEST_F(RedisWire, StockQueueOperationsAreUnderstood) {
  client().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", "a", R"(["x","1"])", "Sset", "b", R"(["y","2"])", "SSET", "a", "{}", "DDEL", "c", "[]",
                    "Dremove", "d", "[]", "Sget"});
  client().command({"HSET", "Q:c", "z", "3"});
  client().command({"PUBLISH", "Q_CHANNEL@0", "G"});
  const auto consumer = subscribe(driver(), "Q");
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("set a x=1", "SET b y=2", "DEL a", "remove c", "get d"));
  EXPECT_THAT(keys(), ElementsAre("Q:b", "RONDO_INFLIGHT@Q"));
}

// --- Channel and Watched

TEST_F(RedisWire, EventIsAListOfTextsAndLeavesNothing) {
  const std::vector<Field> fields{{"a", "1"}, {"quote\"", "back\\slash"}, {"tab\t", "\x01"}, {"ä", "€"}};
  write(driver(), "C", Change::event("port_state_change", "[{\"port_id\":\"oid:0x1\"}]", fields));
  write(driver(), "C", Change::event("", "", {}));
  EXPECT_THAT(heard(),
              ElementsAre("C [\"port_state_change\",\"[{\\\"port_id\\\":\\\"oid:0x1\\\"}]\",\"a\",\"1\",\"quote\\\"\",\"back\\\\slash\","
                          "\"tab\\t\",\"\\u0001\",\"ä\",\"€\"]",
                          "C [\"\",\"\"]"));
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(RedisWire, WatchedIsThePlainHashAndNothingElse) {
  set("W", "a", {{"x", "1"}});
  set("W", "a", {{"y", "2"}});
  set("W", "none", {});
  set("W", "gone", {{"x", "1"}});
  remove("W", "gone");
  EXPECT_THAT(heard(), IsEmpty());
  EXPECT_THAT(keys(), ElementsAre("W:a", "W:none"));
  EXPECT_THAT(hash("W:a"), ElementsAre(Pair("x", "1"), Pair("y", "2")));
  EXPECT_THAT(hash("W:none"), ElementsAre(Pair("NULL", "NULL")));
}

// A stock peer lists a table by the prefix of its rows, and finds waiting changes under SONiC's key names.
TEST_F(RedisWire, TheEpochIsOneHashThatNoTableLists) {
  driver().settle();
  EXPECT_THAT(all_keys(client()), ElementsAre("RONDO_EPOCH"));
  EXPECT_THAT(hash("RONDO_EPOCH"), ElementsAre(Pair("epoch", "1"), Pair("run_id", server().info("server")["run_id"])));
  EXPECT_THAT(heard(), IsEmpty());
  for (const char* table : {"T", "W", "Q", "RONDO_EPOCH"}) {
    const std::string name = table;
    for (const std::string& pattern : {name + ":*", "_" + name + ":*", name + "_*"})
      EXPECT_THAT(client().list({"KEYS", pattern}), IsEmpty());
  }
}

}  // namespace
}  // namespace rondo::redis
