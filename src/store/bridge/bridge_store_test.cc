// What a bridge adds to the contract of Store (store_contract_test.cc): full rings, a home that ends, and the bound of a ring. The tests
// step both schedulers by hand.
#include "store/bridge/bridge_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/base/limits.h"
#include "rondo/store/memory_store.h"
#include "sim/test_source.h"
#include "store/memory/memory_store.h"
#include "store/store_contract.h"

namespace rondo::store::bridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BridgeStoreTest : public testing::Test {
 protected:
  void settle() {
    while (home_scheduler_.run_until_idle() + worker_scheduler_.run_until_idle() > 0) {
    }
  }
  void declare(const std::string& table, TableKind kind) { ASSERT_TRUE(home_store_->declare({.name = table, .kind = kind}).ok()); }
  void set(const std::string& table, const std::string& key, std::string_view value = "1") {
    ASSERT_TRUE(home_store_->write(table, Change::set(key, {{"v", value}})).ok());
  }
  std::vector<std::string> take(Subscription& subscription, std::size_t max = SIZE_MAX) {
    std::vector<Change> changes;
    subscription.take(max, changes);
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back(line(change));
    return lines;
  }

  sim::World home_world_{1};
  sim::World worker_world_{2};
  Scheduler home_scheduler_{home_world_.clock(), home_world_.reactor(), test::policy()};
  Scheduler worker_scheduler_{worker_world_.clock(), worker_world_.reactor(), test::policy()};
  std::unique_ptr<Store> home_store_ = make_memory_store(home_scheduler_);
  std::unique_ptr<HomeBridge> home_ =
      std::make_unique<HomeBridge>(home_scheduler_, *home_store_, Options{.name = "test", .ring_changes = 8, .requests_max = 8});
  std::unique_ptr<BridgeStore> bridge_ = std::make_unique<BridgeStore>(worker_scheduler_, *home_);
};

/// Counts the keys that the table need not deliver again after a restart.
class CountingKeeper final : public RowPersister {
 public:
  void keep(const Record&) override {}
  void keep_delete(const Record&) override {}
  void delete_acked(const Record& deleted) override { forgotten.emplace_back(deleted.key()); }
  void forget(const Record&) override {}
  void append(const Change&) override {}
  void entry_acked(const Change&) override { ++dropped; }
  std::vector<std::string> forgotten;
  int dropped = 0;
};

TEST_F(BridgeStoreTest, WhatWasDealtWithIsToldHomeAlsoWhenTheWayWasFull) {
  declare("T", TableKind::Staged);
  declare("Q", TableKind::Queue);
  CountingKeeper staged;
  CountingKeeper queue;
  auto& home = static_cast<MemoryStore&>(*home_store_);
  home.find("T")->persist_with(&staged);
  home.find("Q")->persist_with(&queue);
  auto from_t = std::move(bridge_->subscribe("T").value());
  const auto from_q = std::move(bridge_->subscribe("Q").value());
  std::vector<Change> changes;
  std::vector<std::string> keys;
  for (int i = 0; i < 30; ++i) {
    keys.push_back(std::to_string(i));
    set("T", keys.back());
    ASSERT_TRUE(home_store_->write("T", Change::remove(keys.back())).ok());
    ASSERT_TRUE(home_store_->write("Q", Change::set(keys.back(), {})).ok());
    settle();
    from_t->take(SIZE_MAX, changes);
    from_q->take(SIZE_MAX, changes);
  }
  for (const Change& change : changes) (change.op() == ChangeOp::Delete ? from_t : from_q)->ack(change);
  EXPECT_LT(staged.forgotten.size() + static_cast<std::size_t>(queue.dropped), 60U) << "the way is short";
  settle();
  from_q->take(SIZE_MAX, changes);  // The next take() sends the reports for which there was no room.
  settle();
  for (int i = 0; i < 30; ++i) {
    from_q->take(SIZE_MAX, changes);
    settle();
  }
  EXPECT_EQ(queue.dropped, 30);
  from_t.reset();  // Closing the subscription sends them, too.
  settle();
  EXPECT_EQ(staged.forgotten, keys);
}

TEST_F(BridgeStoreTest, FullRingLeavesTheRestInTheTableWhereItMerges) {
  declare("T", TableKind::Staged);
  const auto consumer = std::move(bridge_->subscribe("T").value());
  for (int i = 0; i < 100; ++i) set("T", std::to_string(i));
  settle();
  EXPECT_EQ(home_store_->size("T")->staged, 93U) << "room for a Delete and its Set is kept";
  EXPECT_EQ(home_->link().full_rings, 1U);
  EXPECT_EQ(consumer->depth(), 100U);
  for (int i = 0; i < 100; ++i) set("T", "99", std::to_string(i));
  settle();
  EXPECT_EQ(consumer->depth(), 100U);
  std::vector<std::string> all;
  while (!consumer->empty()) {
    for (std::string& one : take(*consumer, 3)) all.push_back(std::move(one));
    settle();
  }
  ASSERT_EQ(all.size(), 100U);
  EXPECT_EQ(all.front(), "SET 0 v=1");
  EXPECT_EQ(all.back(), "SET 99 v=99");
}

TEST_F(BridgeStoreTest, ForwarderSleepsWhileTheRingIsFullAndIsWokenWhenHalfOfItIsFree) {
  declare("T", TableKind::Staged);
  const auto consumer = std::move(bridge_->subscribe("T").value());
  for (int i = 0; i < 100; ++i) set("T", std::to_string(i));
  settle();
  EXPECT_EQ(home_scheduler_.run_until_idle(), 0U) << "a full ring costs no turns";
  take(*consumer, 2);
  EXPECT_EQ(home_scheduler_.run_until_idle(), 0U);
  take(*consumer, 1);
  EXPECT_GT(home_scheduler_.run_until_idle(), 0U);
  EXPECT_EQ(home_store_->size("T")->staged, 90U);
}

TEST_F(BridgeStoreTest, DeleteAndItsSetGoThroughTheSmallestLaneTogether) {
  declare("T", TableKind::Staged);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(home_store_->write("T", Change::remove(std::to_string(i))).ok());
    set("T", std::to_string(i));
  }
  const auto consumer = std::move(bridge_->subscribe("T").value());
  for (int i = 0; i < 10; ++i) {
    settle();
    const std::string key = std::to_string(i);
    EXPECT_THAT(take(*consumer, 1), ElementsAre("DEL " + key, "SET " + key + " v=1"));
  }
}

TEST_F(BridgeStoreTest, EndsOfManyMoreWritesThanTheWayHoldsAllArrive) {
  declare("W", TableKind::Watched);
  int ends = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(bridge_->write("W", Change::set(std::to_string(i), {}), [&](const Status& status) { ends += status.ok() ? 1 : 0; }).ok());
    }
    settle();
  }
  EXPECT_EQ(ends, 800);
}

TEST_F(BridgeStoreTest, QuestionsBeyondTheWayHomeAreRefused) {
  declare("W", TableKind::Watched);
  std::vector<StatusCode> ends;
  for (int i = 0; i < 9; ++i) {
    bridge_->get("W", "k", [&](const Result<Record>& record) { ends.push_back(record ? StatusCode::Ok : record.error().code()); });
  }
  settle();
  EXPECT_EQ(std::ranges::count(ends, StatusCode::Ok), 8);
  EXPECT_EQ(std::ranges::count(ends, StatusCode::ResourceExhausted), 1);
  EXPECT_EQ(home_->refused_requests(), 1U);
}

TEST_F(BridgeStoreTest, CallForWhichHomeHasNoTurnEndsIsCountedAndIsNotMadeLater) {
  EXPECT_EQ(Options{}.call_wait, limits::kWorkerCallWait);
  HomeBridge home{home_scheduler_, *home_store_, Options{.name = "late", .call_wait = 1ms}};
  BridgeStore bridge{worker_scheduler_, home};
  home.threaded(true);  // The home scheduler gets no turn meanwhile, because this thread is the home thread.
  const Status late = bridge.declare({.name = "T"});
  EXPECT_EQ(late.code(), StatusCode::DeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("worker 'late'"));
  EXPECT_EQ(home.late_calls(), 1U);
  home.threaded(false);
  settle();
  EXPECT_TRUE(home_store_->tables().empty());
}

TEST_F(BridgeStoreTest, WriteThatTheTableRefusesIsCountedWhenNobodyAskedForItsEnd) {
  ASSERT_TRUE(home_store_->declare({.name = "small", .kind = TableKind::Watched, .rows_max = 1}).ok());
  EXPECT_TRUE(bridge_->write("small", Change::set("a", {})).ok());
  EXPECT_TRUE(bridge_->write("small", Change::set("b", {})).ok());
  settle();
  EXPECT_EQ(home_->refused_writes(), 1U);
}

TEST_F(BridgeStoreTest, HomeThatEndsTakesNothingWithItAndIsUnavailable) {
  declare("T", TableKind::Staged);
  const auto consumer = std::move(bridge_->subscribe("T").value());
  for (int i = 0; i < 100; ++i) set("T", std::to_string(i));
  settle();
  EXPECT_TRUE(bridge_->write("T", Change::set("on its way", {})).ok());
  home_->close();
  EXPECT_EQ(home_store_->size("T")->staged, 94U) << "what was accepted was written";
  home_store_.reset();
  EXPECT_EQ(take(*consumer).size(), 7U) << "what has come is here";
  EXPECT_TRUE(consumer->empty());
  EXPECT_EQ(bridge_->health().code(), StatusCode::Unavailable);
  EXPECT_EQ(bridge_->declare({.name = "new"}).code(), StatusCode::Unavailable);
  EXPECT_EQ(bridge_->subscribe("T").error().code(), StatusCode::FailedPrecondition);
}

}  // namespace
}  // namespace rondo::store::bridge
