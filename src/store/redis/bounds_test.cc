// Bounds: the turns and memory of a consumer that starts late, with a million waiting keys; and the turns and reactor polls that a stopped
// server costs (SIGSTOP, so its connections stay open and silent).
#include <malloc.h>

#include "base/testing/sanitized.h"
#include "rondo/base/limits.h"
#include "rondo/sched/timer.h"
#include "rondo/store/redis_limits.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RedisBounds : public RedisTableTest {
 protected:
  void open(Duration answer_timeout = 5s) {
    RedisStoreOptions options = quick_options();
    options.answer_timeout = answer_timeout;
    driver_ = std::make_unique<StoreDriver>(options);
    declare(*driver_, "T");
    driver_->settle();
  }
  StoreDriver& driver() noexcept { return *driver_; }

  /// The turns of all sources except 'other'.
  std::uint64_t turns_without(const Source& other) {
    std::uint64_t turns = 0;
    driver_->scheduler().for_each_source([&](const Source& source) { turns += &source == &other ? 0 : source.stats().turns; });
    return turns;
  }
  /// Stops the server for this time, with writes and a pop outstanding, while another source has a turn each millisecond.
  void stop_server_for(std::chrono::seconds length, Duration answer_timeout);

 private:
  std::unique_ptr<StoreDriver> driver_;
};

void RedisBounds::stop_server_for(std::chrono::seconds length, Duration answer_timeout) {
  open(answer_timeout);
  std::size_t fired = 0;
  TimerSource other("other", Priority{}, [&fired] { ++fired; });
  driver().scheduler().add(other);
  const auto consumer = subscribe(driver(), "T");
  std::set<std::string> told;
  std::set<std::string> expected;
  const auto write_some = [&](const std::string& name) {
    for (int i = 0; i < 1000; ++i) {
      set(driver(), "T", name + std::to_string(i), {{"n", "1"}});
      expected.insert("SET " + name + std::to_string(i) + " n=1");
    }
  };
  write_some("before");
  driver().scheduler().run_until_idle(3);
  server().freeze();
  write_some("meanwhile");
  other.arm_every(1ms, driver().clock().now());
  const std::uint64_t turns = turns_without(other);
  const std::uint64_t polls = driver().scheduler().stats().polls;
  driver().run_until([] { return false; }, length);
  EXPECT_TRUE(driver().run_until([&fired] { return fired >= 500; })) << "the other source has its turns";
  EXPECT_TRUE(driver().run_until([this] { return !driver().store().health().ok(); })) << "its silence is noticed";
  // A busy machine gives fewer turns in this time, never more, so only spinning breaks these bounds.
  const auto seconds = static_cast<std::uint64_t>(length.count() + 1);
  EXPECT_LT(turns_without(other) - turns, 300 * seconds);
  EXPECT_LT(driver().scheduler().stats().polls - polls, 4 * fired + 1000 * seconds);
  server().thaw();
  for (std::string& line : take_all(driver(), *consumer)) told.insert(std::move(line));
  EXPECT_EQ(told, expected);
}

TEST_F(RedisBounds, StoppedServerCostsOthersNothingAndLosesNothing) { stop_server_for(1s, 400ms); }

TEST_F(RedisBounds, WritesThatWaitForTheirAnswersHaveALimitInNumberAndInBytes) {
  EXPECT_EQ(RedisStoreOptions{}.writes_max, limits::kRedisWrites);
  EXPECT_EQ(RedisStoreOptions{}.write_bytes_max, limits::kRedisWriteBytes);
  const std::string large(1000, 'x');
  for (const bool by_number : {true, false}) {
    RedisStoreOptions options = quick_options();
    if (by_number) options.writes_max = 10;
    if (!by_number) options.write_bytes_max = 10 * large.size();
    StoreDriver driver(options);
    declare(driver, "T");
    driver.settle();
    std::size_t accepted = 0;
    Status refused;
    while (refused.ok() && accepted < 100) {
      refused = driver.store().write("T", Change::set("k" + std::to_string(accepted), {{"f", large}}));
      accepted += refused.ok() ? 1U : 0U;
    }
    EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted) << refused.to_string();
    EXPECT_GE(accepted, by_number ? 10U : 9U);
    EXPECT_LE(accepted, 10U);
    driver.settle();
    EXPECT_TRUE(driver.store().write("T", Change::set("later", {})).ok());
    driver.settle();
  }
}

TEST_F(RedisBounds, AChangeThatWasFetchedIsKnownUntilItIsTaken) {
  open();
  const auto consumer = subscribe(driver(), "T");
  EXPECT_FALSE(consumer->has_fetched("k"));
  set(driver(), "T", "k", {{"n", "1"}});
  ASSERT_TRUE(driver().run_until([&] { return !consumer->empty(); }));
  EXPECT_TRUE(consumer->has_fetched("k"));
  EXPECT_FALSE(consumer->has_fetched("other"));
  std::vector<Change> taken;
  consumer->take(10, taken);
  EXPECT_FALSE(consumer->has_fetched("k"));
}

using RedisBoundsDeathTest = RedisBounds;

TEST_F(RedisBoundsDeathTest, PopOfMoreKeysThanTheLimitIsAProgramError) {
  RedisStoreOptions options = quick_options();
  options.pop_batch = limits::kRedisPopKeys;
  { const StoreDriver driver(options); }
  options.pop_batch = limits::kRedisPopKeys + 1;
  EXPECT_DEATH(StoreDriver{options}, "RedisStoreOptions::pop_batch is 1025; it is from 1 to 1024 \\(limits::kRedisPopKeys\\)");
  options.pop_batch = 0;
  EXPECT_DEATH(StoreDriver{options}, "RedisStoreOptions::pop_batch is 0; it is from 1 to");
}

TEST_F(RedisBounds, ServerThatIsStoppedForTenSecondsStorm) { stop_server_for(10s, 1s); }

/// Takes what arrives, one batch a turn, and counts the changes by kind ("SET 1": n is 1; "DEL ").
class Taker final : public Source {
 public:
  explicit Taker(Subscription& consumer) : Source("taker", Priority{}), consumer_(consumer) {
    consumer_.on_ready([this] { wake(); });
  }
  ~Taker() override { consumer_.on_ready(nullptr); }
  Turn run(const Budget& budget) override {
    changes_.clear();
    taken_ += consumer_.take(budget.items, changes_);
    for (const Change& change : changes_) ++kinds_[std::string{change.verb()} + " " + std::string{change.fields().find("n").value_or("")}];
    return {.items = static_cast<std::uint32_t>(changes_.size()), .backlog = consumer_.empty() ? Backlog::Empty : Backlog::More};
  }
  bool has_backlog() const override { return !consumer_.empty(); }
  std::size_t taken() const noexcept { return taken_; }
  /// The kinds counted since the last call.
  std::map<std::string, int> kinds() {
    taken_ = 0;
    return std::exchange(kinds_, {});
  }

 private:
  Subscription& consumer_;
  std::vector<Change> changes_;
  std::size_t taken_ = 0;
  std::map<std::string, int> kinds_;
};

class RedisLargeTable : public RedisBounds {
 protected:
  static constexpr int kRows = 400'000;

  /// Sends one command for each 'step'-th row, with many outstanding.
  void each_row(int step, const std::function<redis_kit::RedisClient::Arguments(const std::string& row)>& command) {
    redis_kit::RedisClient client(server().address());
    int owed = 0;
    const auto answers = [&] {
      for (; owed > 0; --owed) ASSERT_EQ(client.next().find("(error)"), std::string::npos);
    };
    for (int row = 0; row < kRows; row += step) {
      client.append(command("W:" + std::to_string(row)));
      if (++owed == 500) answers();
    }
    answers();
  }
  /// The CPU time of the longest turn of any source.
  Duration longest_turn_cpu() {
    Duration longest{0};
    driver().scheduler().for_each_source([&](const Source& source) { longest = std::max(longest, source.stats().longest_turn_cpu); });
    return longest;
  }
};

TEST_F(RedisLargeTable, IsResynchronisedInShortTurnsAndTellsTheDifferenceMillion) {
  using testing::Pair;
  ::mallopt(M_MXFAST, 0);  // As rondod sets it for this allocator, which otherwise merges all small blocks whenever much memory is freed.
  each_row(1, [](const std::string& row) { return redis_kit::RedisClient::Arguments{"HSET", row, "n", "1"}; });
  open();
  declare(driver(), "W", TableKind::Watched);
  const auto consumer = subscribe(driver(), "W");
  Taker taker(*consumer);
  driver().scheduler().add(taker);
  const auto told = [&](std::size_t count) {
    EXPECT_TRUE(driver().run_until([&] { return taker.taken() >= count; }, 100s));
    driver().settle();
    return taker.kinds();
  };
  EXPECT_THAT(told(kRows), ElementsAre(Pair("SET 1", kRows)));
  server().command({"CLIENT", "KILL", "TYPE", "normal"});
  each_row(2, [](const std::string& row) { return redis_kit::RedisClient::Arguments{"DEL", row}; });
  each_row(5, [](const std::string& row) { return redis_kit::RedisClient::Arguments{"HSET", row, "n", "2"}; });
  constexpr int kGone = kRows / 2 - kRows / 10;
  EXPECT_THAT(told(kGone + kRows / 5), ElementsAre(Pair("DEL ", kGone), Pair("SET 2", kRows / 5)));
  server().command({"FLUSHDB"});
  EXPECT_THAT(told(kRows - kGone), ElementsAre(Pair("DEL ", kRows - kGone)));
  RecordProperty("longest_turn_cpu_us", static_cast<int>(longest_turn_cpu() / 1us));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(longest_turn_cpu(), 10 * limits::kTurnTime);
#endif
}

// The keys are written as a stock producer does that ran while no consumer was subscribed. Fetched at once they would need more
// memory than is allowed here.
TEST_F(RedisBounds, PendingKeysInLargeNumberAreDrainedInBoundedPieces) {
  constexpr std::size_t kKeys = plain_or_sanitized(400'000, 200'000);
  constexpr std::size_t kStep = 500;
  redis_kit::RedisClient producer(server().address());
  for (std::size_t begin = 0; begin < kKeys; begin += kStep) {
    redis_kit::RedisClient::Arguments pending{"SADD", "T_KEY_SET"};
    for (std::size_t i = begin; i < begin + kStep; ++i) {
      pending.push_back(std::to_string(i));
      producer.append({"HSET", "_T:" + pending.back(), "n", "1"});
    }
    producer.append(pending);
    for (std::size_t i = 0; i <= kStep; ++i) ASSERT_EQ(producer.next().find("(error)"), std::string::npos);
  }
  open();
  const auto consumer = subscribe(driver(), "T");
  std::vector<bool> seen(kKeys);
  std::size_t taken = 0;
  std::size_t most_at_once = 0;
  const std::size_t memory = ::mallinfo2().uordblks;  // 0 under the address sanitizer.
  std::size_t most_memory = memory;
  std::vector<Change> changes;
  ASSERT_TRUE(driver().run_until(
      [&] {
        changes.clear();
        const std::size_t now = consumer->take(SIZE_MAX, changes);
        most_at_once = std::max(most_at_once, now);
        for (const Change& change : changes) seen[std::stoull(std::string{change.key()})] = true;
        if ((taken += now) % 100 == 0) most_memory = std::max<std::size_t>(most_memory, ::mallinfo2().uordblks);
        return taken >= kKeys;
      },
      100s));
  EXPECT_EQ(taken, kKeys);
  EXPECT_EQ(std::ranges::count(seen, true), static_cast<std::ptrdiff_t>(kKeys));
  EXPECT_LE(most_at_once, 4 * RedisStoreOptions{}.pop_batch) << "what is fetched ahead";
  EXPECT_LT(most_memory - memory, std::size_t{16} * 1024 * 1024);
  EXPECT_EQ(driver().store().stats().empty_pops, 0U);
  EXPECT_THAT(take_all(driver(), *consumer), IsEmpty());
  EXPECT_EQ(server().command({"EXISTS", "T_KEY_SET"}), "0");
}

}  // namespace
}  // namespace rondo::redis
