// Stock peers beside ours: a producer and a consumer with the effects of SONiC's ProducerStateTable and ConsumerStateTable, played by plain
// commands and short scripts of this test. Random groups of writes, with pops in between, run in three combinations: stock producer and our
// consumer, our producer and stock consumer, both producers by turns. One test has both producers at once. A plain model predicts the rows
// in Redis and what each consumer has received in the end.
#include <atomic>
#include <thread>

#include "rondo/store/table_view.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

constexpr int kGroups = 400;  // For each combination and seed.

/// Each write is one atomic step in Redis; it publishes "G" only when the key did not wait yet.
class StockProducer {
 public:
  explicit StockProducer(const RedisAddress& address) : client_(address) {}
  void set(const std::string& key, const Row& fields) {
    redis_kit::RedisClient::Arguments call{"EVAL", kSet, "2", "T_KEY_SET", "_T:" + key, "T_CHANNEL@0", key};
    for (const auto& [name, value] : fields) call.insert(call.end(), {name, value});
    ASSERT_EQ(client_.command(call), "(nil)");
  }
  void remove(const std::string& key) {
    ASSERT_EQ(client_.command({"EVAL", kRemove, "3", "T_KEY_SET", "T_DEL_SET", "_T:" + key, "T_CHANNEL@0", key}), "(nil)");
  }

 private:
  static constexpr const char* kSet = R"(
for at = 3, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1]) end
if redis.call('SADD', KEYS[1], ARGV[2]) == 1 then redis.call('PUBLISH', ARGV[1], 'G') end)";
  static constexpr const char* kRemove = R"(
redis.call('UNLINK', KEYS[3])
redis.call('SADD', KEYS[2], ARGV[2])
if redis.call('SADD', KEYS[1], ARGV[2]) == 1 then redis.call('PUBLISH', ARGV[1], 'G') end)";
  redis_kit::RedisClient client_;
};

/// Pops once for each "G" that it receives, and never otherwise: with too few "G" it leaves keys waiting.
class StockConsumer {
 public:
  explicit StockConsumer(const RedisAddress& address) : client_(address), ear_(address) {
    ear_.command({"SUBSCRIBE", "T_CHANNEL@0", "until now"});
    ear_.next();
    owed_ = std::stoul(client_.command({"SCARD", "T_KEY_SET"}));
  }
  /// Receives everything published until now.
  void listen() {
    client_.command({"PUBLISH", "until now", "x"});
    for (std::string message = ear_.next(); message != "[message, until now, x]"; message = ear_.next()) {
      ASSERT_EQ(message, "[message, T_CHANNEL@0, G]");
      ++owed_;
    }
  }
  std::size_t owed() const noexcept { return owed_; }
  void pop() {
    if (owed_ == 0) return;
    --owed_;
    const std::vector<std::string> flat = client_.list({"EVAL", kPop, "2", "T_KEY_SET", "T_DEL_SET", "128"});
    for (std::size_t at = 0; at < flat.size();) {
      ASSERT_LT(at + 1, flat.size()) << flat[at];
      const std::string key = flat[at++];
      std::size_t fields = std::stoul(flat[at++]);
      if (fields == 0) {
        told_.remove(key);
        changes_.push_back("DEL " + key);
        continue;
      }
      changes_.push_back("SET " + key);
      Row row;
      for (; fields > 0; --fields, at += 2) row[flat[at]] = flat[at + 1];
      told_.set(key, row);
    }
  }
  void pop_all() {
    for (listen(); owed_ > 0;) pop();
  }
  /// At most 'max' pops.
  void pop_some(std::uint64_t max) {
    for (; max > 0; --max) pop();
  }
  const Rows& told() const noexcept { return told_.rows(); }
  /// The changes delivered since the last call, without the fields.
  std::vector<std::string> changes() { return std::exchange(changes_, {}); }

 private:
  // The answer: key, number of fields, then the fields.
  static constexpr const char* kPop = R"(
local told = {}
for _, key in ipairs(redis.call('SPOP', KEYS[1], tonumber(ARGV[1]))) do
  local staged, row = '_T:' .. key, 'T:' .. key
  if redis.call('SREM', KEYS[2], key) > 0 then redis.call('DEL', row) end
  local fields = redis.call('HGETALL', staged)
  table.insert(told, key)
  table.insert(told, tostring(#fields / 2))
  for at = 1, #fields, 2 do
    redis.call('HSET', row, fields[at], fields[at + 1])
    table.insert(told, fields[at])
    table.insert(told, fields[at + 1])
  end
  redis.call('DEL', staged)
end
return told)";
  redis_kit::RedisClient client_;
  redis_kit::RedisClient ear_;
  std::size_t owed_ = 0;
  RowModel told_;
  std::vector<std::string> changes_;
};

class RedisStock : public RedisTableTest {
 protected:
  /// The result names the seed in failures while it lives.
  std::unique_ptr<testing::ScopedTrace> begin(std::uint64_t seed) {
    server().command({"FLUSHALL"});
    random_ = Random{seed};
    model_ = {};
    told_ = {};
    RedisStoreOptions options;
    options.lease = 0s;
    options.address = server().address();
    options.pop_batch = random_.between(1, 128);
    driver_ = std::make_unique<StoreDriver>(options);
    declare(*driver_, "T");
    driver_->settle();
    return std::make_unique<testing::ScopedTrace>(__FILE__, __LINE__, "seed " + std::to_string(seed));
  }
  Random& random() noexcept { return random_; }
  StoreDriver& driver() noexcept { return *driver_; }

  std::string a_key() { return "k" + std::to_string(random_.below(random_.chance(0.1) ? 400 : 20)); }
  Row some_fields() {
    Row row;
    for (std::uint64_t i = random_.between(1, 3); i > 0; --i) {
      row["f" + std::to_string(random_.below(4))] = std::to_string(random_.below(1'000'000));
    }
    return row;
  }
  /// Makes one write, also in the model. 'stock' writes it, or our store if null.
  void write_one(StockProducer* stock) {
    const std::string key = a_key();
    if (random_.chance(0.3)) {
      model_.remove(key);
      if (stock != nullptr) return stock->remove(key);
      return write(*driver_, "T", Change::remove(key));
    }
    const Row fields = some_fields();
    model_.set(key, fields);
    if (stock != nullptr) return stock->set(key, fields);
    write(*driver_, "T", Change::set(key, fields_of(fields)));
  }
  void write_group(StockProducer* stock) {
    const std::uint64_t writes = random_.chance(0.05) ? random_.between(150, 400) : random_.between(1, 12);
    for (std::uint64_t i = 0; i < writes; ++i) write_one(stock);
  }
  /// The next writes of the stock producer must follow everything that our store accepted.
  void wait_for_our_writes() {
    ASSERT_TRUE(driver_->run_until([this] { return driver_->store().unanswered() == 0; }));
  }
  /// Our consumer: some turns, some takes.
  void step(Subscription& consumer) {
    for (std::uint64_t turns = random_.below(4); turns > 0; --turns) driver_->scheduler().run_until_idle();
    take_some(consumer, random_.between(1, 200));
  }
  void take_some(Subscription& consumer, std::size_t max) {
    std::vector<Change> changes;
    consumer.take(max, changes);
    for (const Change& change : changes) {
      if (whole_rows_) told_.remove(std::string{change.key()});
      told_.apply(change);
    }
  }
  /// The table is Watched: a Set is the whole row.
  void tells_whole_rows() { whole_rows_ = true; }
  void drain(Subscription& consumer) {
    driver_->settle();
    while (!consumer.empty()) {
      take_some(consumer, 128);
      driver_->settle();
    }
  }
  const Rows& model() const noexcept { return model_.rows(); }
  const Rows& told() const noexcept { return told_.rows(); }
  /// Applies the view. The stock consumer pops in the end, or also while it is applied. Then the rows equal the view.
  void apply(TableView& view, const Rows& wanted, StockConsumer& consumer, bool pops_meanwhile) {
    for (const auto& [key, row] : wanted) ASSERT_TRUE(view.set(key, fields_of(row)).ok());
    ASSERT_TRUE(view.apply().ok());
    ASSERT_TRUE(driver_->run_until([&] {
      if (pops_meanwhile) consumer.pop_all();
      return !view.is_applying();
    }));
    consumer.pop_all();
    EXPECT_EQ(rows_in_redis("T:"), wanted);
    expect_nothing_waits();
  }
  /// Everything that was written is in Redis, our consumer has it, and nothing waits.
  void expect_all_arrives(Subscription& consumer) {
    drain(consumer);
    EXPECT_EQ(rows_in_redis("T:"), model());
    EXPECT_EQ(told(), model());
    expect_nothing_waits();
  }
  /// The same for a stock consumer, which pops for each "G" that it receives and never otherwise.
  void expect_all_arrives(StockConsumer& consumer) {
    driver_->settle();
    consumer.pop_all();
    expect_nothing_waits();
    EXPECT_EQ(rows_in_redis("T:"), model());
  }
  void expect_nothing_waits() {
    for (const char* key : {"T_KEY_SET", "T_DEL_SET"}) EXPECT_EQ(server().command({"EXISTS", key}), "0") << key;
    EXPECT_THAT(server().list({"KEYS", "_T:*"}), testing::IsEmpty());
  }

 private:
  Random random_{1};
  RowModel model_;
  RowModel told_;
  bool whole_rows_ = false;
  std::unique_ptr<StoreDriver> driver_;
};

TEST_F(RedisStock, StockProducerAndOurConsumerModel) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = begin(seed);
    StockProducer producer(server().address());
    const auto consumer = subscribe(driver(), "T");
    for (int group = 0; group < kGroups; ++group) {
      write_group(&producer);
      step(*consumer);
    }
    expect_all_arrives(*consumer);
  }
}

// A stock consumer does not receive a Delete that a Set follows, so its copy may have older fields beside the right ones.
TEST_F(RedisStock, OurProducerAndStockConsumerModel) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = begin(seed);
    write_group(nullptr);
    wait_for_our_writes();  // The consumer must find writes that waited before it started.
    StockConsumer consumer(server().address());
    for (int group = 0; group < kGroups; ++group) {
      write_group(nullptr);
      for (std::uint64_t turns = random().below(4); turns > 0; --turns) driver().scheduler().run_until_idle();
      consumer.listen();
      consumer.pop_some(random().below(4));
    }
    expect_all_arrives(consumer);
    for (const auto& [key, row] : model()) {
      const auto told = consumer.told().find(key);
      ASSERT_NE(told, consumer.told().end()) << key;
      for (const auto& [name, value] : row) EXPECT_THAT(told->second, testing::Contains(testing::Pair(name, value))) << key;
    }
    for (const auto& [key, row] : consumer.told()) EXPECT_TRUE(model().contains(key)) << key;
  }
}

TEST_F(RedisStock, BothProducersByTurnsAndOurConsumerModel) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = begin(seed);
    StockProducer producer(server().address());
    const auto consumer = subscribe(driver(), "T");
    for (int group = 0; group < kGroups; ++group) {
      const bool stock = random().chance(0.5);
      if (stock) wait_for_our_writes();
      write_group(stock ? &producer : nullptr);
      step(*consumer);
    }
    expect_all_arrives(*consumer);
  }
}

TEST_F(RedisStock, BothProducersByTurnsNeverLeaveAStockConsumerShortModel) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = begin(seed);
    StockProducer producer(server().address());
    StockConsumer consumer(server().address());
    for (int group = 0; group < kGroups; ++group) {
      const bool stock = random().chance(0.5);
      if (stock) wait_for_our_writes();
      write_group(stock ? &producer : nullptr);
      if (random().chance(0.3)) driver().scheduler().run_until_idle();
      consumer.listen();
      consumer.pop_some(random().below(3));
    }
    expect_all_arrives(consumer);
  }
}

// Two producers on one table at once: the stock one writes on a thread of its own, without waiting for ours. The last write of a key that
// both write is not known, so each has its keys, and both have 'shared' keys, of which the row must be one that was written.
TEST_F(RedisStock, BothProducersAtOnceOnOneTableModel) {
  constexpr int kWrites = 3000;
  constexpr std::uint64_t kShared = 10;
  const auto key_of = [](const char* who, std::uint64_t number) { return (number < kShared ? "shared" : who) + std::to_string(number); };
  const auto trace = begin(1);
  const auto consumer = subscribe(driver(), "T");
  // Neither is more than this many writes ahead of the other one, so that both write until the end.
  constexpr int kAhead = 100;
  std::atomic<int> stock_writes{0};
  std::atomic<int> our_writes{0};
  RowModel stock_model;
  std::thread stock([&, address = server().address()] {
    StockProducer producer(address);
    Random random{2};
    for (int i = 0; i < kWrites; ++i, ++stock_writes) {
      while (i > our_writes + kAhead) std::this_thread::yield();
      const std::string key = key_of("stock", random.below(100));
      const Row row{{"stock", std::to_string(i)}};
      const bool removes = random.chance(0.2);
      removes ? producer.remove(key) : producer.set(key, row);
      removes ? stock_model.remove(key) : stock_model.set(key, row);
    }
  });
  RowModel our_model;
  int ours = 0;
  int interleaved = 0;
  for (int before = 0; ours < kWrites || stock_writes < kWrites;) {
    for (int burst = 0; burst < 10 && ours < kWrites && ours < stock_writes + kAhead; ++burst, ++ours) {
      const std::string key = key_of("ours", random().below(100));
      const Row row{{"ours", std::to_string(ours)}};
      const bool removes = random().chance(0.2);
      write(driver(), "T", removes ? Change::remove(key) : Change::set(key, fields_of(row)));
      removes ? our_model.remove(key) : our_model.set(key, row);
    }
    our_writes = ours;
    step(*consumer);
    const int now = stock_writes;
    if (ours < kWrites && now < kWrites && now != before) ++interleaved;
    before = now;
  }
  stock.join();
  EXPECT_GT(interleaved, 10) << "the producers did not write at the same time";
  drain(*consumer);
  expect_nothing_waits();
  const Rows found = rows_in_redis("T:");
  EXPECT_EQ(told(), found) << "the consumer has what Redis has";
  Rows expected;
  for (const Rows* const rows : {&stock_model.rows(), &our_model.rows()}) {
    for (const auto& [key, row] : *rows) {
      if (!key.starts_with("shared")) expected[key] = row;
    }
  }
  Rows unshared;
  for (const auto& [key, row] : found) {
    if (!key.starts_with("shared")) {
      unshared[key] = row;
      continue;
    }
    for (const auto& [name, value] : row) {
      EXPECT_TRUE(name == "ours" || name == "stock") << key;
      EXPECT_LT(std::stoi(value), kWrites) << key;
    }
  }
  EXPECT_EQ(unshared, expected);
}

// A view over rows of a stock producer, some of them not popped yet. The stock consumer receives each row that differs, once, and no other
// row. In the end the rows equal the view.
TEST_F(RedisStock, ViewTellsAStockConsumerExactlyTheDifferenceModel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto trace = begin(seed);
    StockProducer producer(server().address());
    StockConsumer consumer(server().address());
    for (int group = 0; group < 40; ++group) write_group(&producer);
    consumer.pop_all();
    consumer.changes();
    TableView view(driver().scheduler(), driver().store(), "T");
    std::vector<std::string> expected;
    Rows wanted;
    for (const auto& [key, row] : model()) {
      if (random().chance(0.2)) {
        expected.push_back("DEL " + key);
        continue;
      }
      wanted[key] = row;
      if (random().chance(0.3)) wanted[key] = some_fields();
      if (wanted[key] != row) expected.push_back("SET " + key);
    }
    for (int i = 0; i < 300; ++i) {
      const std::string key = "new" + std::to_string(i);
      wanted[key] = some_fields();
      expected.push_back("SET " + key);
    }
    apply(view, wanted, consumer, seed % 2 == 0);
    EXPECT_THAT(consumer.changes(), testing::UnorderedElementsAreArray(expected));
  }
}

// Changes that a stock producer left waiting count as existing, and none of them reappears after the view.
TEST_F(RedisStock, ViewOverWhatAStockProducerLeftWaitingModel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto trace = begin(seed);
    StockProducer producer(server().address());
    StockConsumer consumer(server().address());
    for (int group = 0; group < 40; ++group) {
      write_group(&producer);
      if (random().chance(0.2)) consumer.listen();
      if (random().chance(0.5)) consumer.pop();
    }
    TableView view(driver().scheduler(), driver().store(), "T");
    Rows wanted;
    for (const auto& [key, row] : model()) {
      if (random().chance(0.7)) wanted[key] = random().chance(0.5) ? row : some_fields();
    }
    apply(view, wanted, consumer, seed % 2 == 0);
  }
}

// A stock queue consumer takes three elements for each entry from the tail. Ours takes what a stock producer pushes, in order.
TEST_F(RedisStock, QueueGoesBothWaysInOrder) {
  begin(1);
  declare(driver(), "Q", TableKind::Queue);
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    const std::string key = std::to_string(i % 7);
    expected.push_back(i % 3 == 0 ? "DEL " + key : "SET " + key + " n=" + std::to_string(i));
    write(driver(), "Q", i % 3 == 0 ? Change::remove(key) : Change::set(key, {{"n", std::to_string(i)}}));
  }
  driver().settle();
  std::vector<std::string> tail = server().list({"LRANGE", "Q_KEY_VALUE_OP_QUEUE", "0", "-1"});
  ASSERT_EQ(tail.size(), 900U);
  std::ranges::reverse(tail);
  server().command({"DEL", "Q_KEY_VALUE_OP_QUEUE"});
  const auto consumer = subscribe(driver(), "Q");
  driver().settle();
  for (std::size_t at = 0; at < tail.size(); at += 3) {  // Our entries are encoded as a stock producer encodes them.
    ASSERT_EQ(tail[at], std::to_string(at / 3 % 7));
    server().command({"LPUSH", "Q_KEY_VALUE_OP_QUEUE", tail[at], tail[at + 1], tail[at + 2]});
    server().command({"PUBLISH", "Q_CHANNEL@0", "G"});
    if (at % 30 == 0) driver().scheduler().run_until_idle();
  }
  EXPECT_EQ(take_all(driver(), *consumer, 11), expected);
}

// Our Watched table and a stock writer of plain hashes: the consumer receives the newest state of each key, whatever happened to the key.
TEST_F(RedisStock, StockWriterAndOurWatcherModel) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = begin(seed);
    declare(driver(), "W", TableKind::Watched);
    tells_whole_rows();
    const auto watcher = subscribe(driver(), "W");
    for (int group = 0; group < kGroups; ++group) {
      for (std::uint64_t writes = random().between(1, 12); writes > 0; --writes) {
        const std::string key = "W:" + a_key();
        server().command({"DEL", key});
        if (random().chance(0.3)) continue;
        redis_kit::RedisClient::Arguments call{"HSET", key};
        for (const auto& [name, value] : some_fields()) call.insert(call.end(), {name, value});
        server().command(call);
      }
      step(*watcher);
    }
    drain(*watcher);
    EXPECT_EQ(told(), rows_in_redis("W:"));
  }
}

}  // namespace
}  // namespace rondo::redis
