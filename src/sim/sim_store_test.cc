// SimStore's own controls, beyond the contract of Store (store/store_contract.h), which it fulfils like any store.
#include "sim/sim_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rondo/sim/world.h"

namespace rondo::sim {
namespace {

class SimStoreTest : public testing::Test {
 protected:
  void run(Duration time) { world_.run_for(scheduler_, time); }
  Status write(std::string_view table, Change change) {
    return store_.write(table, std::move(change), [this](const Status& end) { ends_.push_back(end.code()); });
  }
  void declare(TableKind kind) { ASSERT_TRUE(store_.declare({.name = "T", .kind = kind}).ok()); }

  World world_{7};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  SimStore store_{scheduler_, {.seed = 7}};
  std::vector<StatusCode> ends_;
};

TEST_F(SimStoreTest, WriteTakesTheLatencyThereAndBack) {
  declare(TableKind::Watched);
  store_.set_latency(10ms, 10ms);
  ASSERT_TRUE(write("T", Change::set("k", {})).ok());
  run(9ms);
  EXPECT_EQ(store_.server().size("T")->rows, 0U);
  run(3ms);
  EXPECT_EQ(store_.server().size("T")->rows, 1U);
  EXPECT_TRUE(ends_.empty());
  EXPECT_EQ(store_.unanswered(), 1U);
  run(10ms);
  EXPECT_EQ(ends_, std::vector{StatusCode::Ok});
  EXPECT_EQ(store_.unanswered(), 0U);
}

TEST_F(SimStoreTest, FullSendBufferRefusesAndSaysWhetherTheConnectionIsLost) {
  declare(TableKind::Watched);
  store_.set_send_buffer(2);
  EXPECT_TRUE(write("T", Change::set("a", {})).ok());
  EXPECT_TRUE(write("T", Change::set("b", {})).ok());
  EXPECT_EQ(write("T", Change::set("c", {})).code(), StatusCode::ResourceExhausted);
  store_.disconnect();
  EXPECT_EQ(write("T", Change::set("c", {})).code(), StatusCode::Unavailable);
  store_.reconnect();
  run(100ms);
  EXPECT_EQ(ends_.size(), 2U);
  EXPECT_TRUE(write("T", Change::set("c", {})).ok());
}

TEST_F(SimStoreTest, FailedWriteIsTellingAndNotApplied) {
  declare(TableKind::Watched);
  store_.set_failure_chance(1.0);
  ASSERT_TRUE(write("T", Change::set("k", {})).ok());
  run(100ms);
  EXPECT_EQ(ends_, std::vector{StatusCode::Unavailable});
  EXPECT_EQ(store_.server().size("T")->rows, 0U);
}

TEST_F(SimStoreTest, AnswerThatIsLostLeavesTheOutcomeUnknown) {
  declare(TableKind::Watched);
  store_.set_latency(10ms, 10ms);
  ASSERT_TRUE(write("T", Change::set("applied", {})).ok());
  run(12ms);
  ASSERT_TRUE(write("T", Change::set("on its way", {})).ok());
  store_.disconnect();
  EXPECT_TRUE(ends_.empty()) << "completed inside the call";
  run(100ms);
  EXPECT_EQ(ends_, std::vector{StatusCode::DeadlineExceeded});
  EXPECT_EQ(store_.server().size("T")->rows, 1U);
  store_.reconnect();
  run(100ms);
  EXPECT_EQ(ends_, (std::vector{StatusCode::DeadlineExceeded, StatusCode::Ok}));
  EXPECT_EQ(store_.server().size("T")->rows, 2U);
}

TEST_F(SimStoreTest, SecondConsumerAfterTheFirstIsReconnectedOnce) {
  declare(TableKind::Staged);
  for (int i = 0; i < 3; ++i) {
    const auto consumer = store_.subscribe("T", {.standing_rows = false});
    ASSERT_TRUE(consumer.has_value());
    store_.disconnect();
    store_.reconnect();
    ASSERT_TRUE(write("T", Change::set(std::to_string(i), {})).ok());
    run(100ms);
    EXPECT_EQ((*consumer)->depth(), 1U);
    std::vector<Change> out;
    EXPECT_EQ((*consumer)->take(9, out), 1U);
  }
}

TEST_F(SimStoreTest, KeysThatAreSwappedComeOnceEachAndADeleteBeforeItsSet) {
  declare(TableKind::Staged);
  store_.set_keys_swapped(1.0);
  const auto consumer = store_.subscribe("T");
  ASSERT_TRUE(consumer.has_value());
  ASSERT_TRUE(write("T", Change::set("a", {})).ok());
  ASSERT_TRUE(write("T", Change::remove("b")).ok());
  ASSERT_TRUE(write("T", Change::set("b", {})).ok());
  for (const char* const key : {"c", "d", "e"}) ASSERT_TRUE(write("T", Change::set(key, {})).ok());
  run(100ms);
  std::vector<Change> out;
  (*consumer)->take(9, out);
  std::string seen;
  for (const Change& change : out) seen.append(change.verb().substr(0, 1)).append(change.key()).append(" ");
  EXPECT_EQ(seen, "Sa Db Sb Sd Se Sc ");
}

/// A run with random writes, breaks and takes; returns all that was seen.
std::vector<std::string> random_run(std::uint64_t seed, TableKind kind) {
  World world(seed);
  Random random(seed);
  Scheduler scheduler(world.clock(), world.reactor(), *make_policy(StrictPriority{}));
  SimStore store(scheduler, {.seed = seed, .latency_low = 0ms, .latency_high = 8ms, .prefetch = 1 + random.below(5)});
  EXPECT_TRUE(store.declare({.name = "T", .kind = kind}).ok());
  std::unique_ptr<Subscription> consumer = *store.subscribe("T");
  std::vector<std::string> seen;
  std::map<std::string, std::string> copy;
  const auto take = [&](std::size_t max) {
    std::vector<Change> out;
    consumer->take(max, out);
    for (const Change& change : out) {
      const std::string value{change.fields().find("v").value_or("")};
      seen.push_back(std::string{change.verb()} + " " + std::string{change.key()} + " " + value);
      if (change.op() == ChangeOp::Set) copy[std::string{change.key()}] = value;
      if (change.op() == ChangeOp::Delete) copy.erase(std::string{change.key()});
    }
  };
  for (int i = 0; i < 120; ++i) {
    const std::string key = std::to_string(random.below(5));
    const std::uint64_t what = random.below(20);
    if (what < 9) {
      EXPECT_TRUE(store.write("T", Change::set(key, {{"v", std::to_string(i)}})).ok());
    } else if (what < 12) {
      EXPECT_TRUE(store.write("T", Change::remove(key)).ok());
    } else if (what < 15) {
      take(random.below(4));
    } else if (what < 17) {
      world.run_for(scheduler, Duration{1ms} * static_cast<int>(random.below(10)));
    } else if (what == 17) {
      store.disconnect();
    } else if (what == 18) {
      store.reconnect();
    } else if (kind == TableKind::Staged) {
      consumer.reset();
      consumer = *store.subscribe("T");
    }
  }
  store.reconnect();
  for (world.run_for(scheduler, 200ms); !consumer->empty(); world.run_for(scheduler, 200ms)) take(3);
  std::map<std::string, std::string> rows;
  store.server().scan("T", "", 100, [&rows](const Result<RowPage>& page) {
    for (const Record& row : page->rows) rows.emplace(row.key(), row.fields().find("v").value_or(""));
  });
  world.run_for(scheduler, 200ms);
  EXPECT_EQ(copy, rows) << "seed " << seed << ", kind " << to_string(kind);
  return seen;
}

TEST(SimStoreRuns, ConsumersCopyEqualsTheTableWhateverTheConnectionDoes) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    for (const TableKind kind : {TableKind::Staged, TableKind::Watched, TableKind::Queue}) {
      random_run(seed, kind);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(SimStoreRuns, SameSeedSeesTheSame) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(random_run(seed, TableKind::Staged), random_run(seed, TableKind::Staged));
}

}  // namespace
}  // namespace rondo::sim
