// A store detects that the server is another one than before and reports it once, and all stores of a database agree on the number. The
// server is a real one that is killed, started again with and without its saved data, and configured to refuse commands.
#include <stdexcept>

#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RedisEpoch : public RedisTableTest {
 protected:
  void open(RedisStoreOptions options) {
    driver_.reset();
    told_.clear();
    options.on_failover = [this](std::uint64_t epoch) {
      told_.push_back(epoch);
      if (when_told_) when_told_();
    };
    driver_ = std::make_unique<StoreDriver>(std::move(options));
    declare(*driver_, "T");
    declare(*driver_, "W", TableKind::Watched);
    declare(*driver_, "C", TableKind::Channel);
    driver_->settle();
  }
  void open() { open(quick_options()); }
  void when_told(std::function<void()> done) { when_told_ = std::move(done); }
  void restart() {
    server().kill9();
    ASSERT_TRUE(driver().run_until([this] { return !driver().store().health().ok(); }));
    server().start();
    driver().settle();
  }
  StoreDriver& driver() noexcept { return *driver_; }
  const RedisStoreStats& stats() const noexcept { return driver_->store().stats(); }
  const std::vector<std::uint64_t>& told() const noexcept { return told_; }

 private:
  std::vector<std::uint64_t> told_;
  std::function<void()> when_told_;
  std::unique_ptr<StoreDriver> driver_;
};

TEST_F(RedisEpoch, AServerThatSavedCountsOn) {
  start_server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  open();
  EXPECT_EQ(stats().epoch, 1U);
  EXPECT_THAT(told(), IsEmpty());
  restart();
  EXPECT_EQ(stats().epoch, 2U);
  restart();
  EXPECT_EQ(stats().epoch, 3U);
  EXPECT_EQ(stats().failovers, 2U);
  EXPECT_THAT(stats().last_failover, testing::HasSubstr("another server process answers (run id "));
  EXPECT_THAT(told(), ElementsAre(2U, 3U));
}

TEST_F(RedisEpoch, AServerThatForgotEverythingIsAnotherOne) {
  open();
  restart();
  EXPECT_EQ(stats().epoch, 2U) << "it counts on from the number that the store knows";
  EXPECT_EQ(stats().failovers, 1U);
  EXPECT_THAT(told(), ElementsAre(2U));
}

TEST_F(RedisEpoch, ADatabaseThatIsEmptiedUnderAConnectionIsToldOnceToEveryStore) {
  open(patient_options());
  StoreDriver second{patient_options()};
  declare(second, "W", TableKind::Watched);
  second.settle();
  const std::uint64_t connects = stats().connects;
  server().command({"FLUSHALL"});
  ASSERT_TRUE(driver().run_until([this] { return !told().empty(); }));
  driver().settle();
  EXPECT_TRUE(second.run_until([&second] { return second.store().stats().failovers > 0; }));
  EXPECT_THAT(told(), ElementsAre(2U));
  EXPECT_EQ(stats().failovers, 1U);
  EXPECT_EQ(second.store().stats().failovers, 1U);
  EXPECT_EQ(stats().connects, connects);
}

TEST_F(RedisEpoch, ABrokenConnectionAndASecondStoreAreNoFailOver) {
  open();
  const std::uint64_t before = stats().connects;
  server().command({"CLIENT", "KILL", "TYPE", "normal"});
  ASSERT_TRUE(driver().run_until([this, before] { return stats().connects > before; }));
  driver().settle();
  StoreDriver second{quick_options()};
  declare(second, "W", TableKind::Watched);
  second.settle();
  EXPECT_EQ(second.store().stats().epoch, 1U);
  EXPECT_EQ(stats().epoch, 1U);
  EXPECT_EQ(stats().failovers, 0U);
  EXPECT_THAT(told(), IsEmpty());
}

// The producer writes its rows in the turn in which the fail-over is reported.
TEST_F(RedisEpoch, AProducerThatIsToldBringsTheRowsBack) {
  open();
  set(driver(), "W", "row", {{"a", "1"}});
  driver().settle();
  when_told([this] { set(driver(), "W", "row", {{"a", "1"}}); });
  restart();
  EXPECT_EQ(server().hash("W:row")["a"], "1") << "the server itself had lost it";
}

TEST_F(RedisEpoch, AListenerThatThrowsIsLoggedAndTheStoreServes) {
  open();
  when_told([] { throw std::runtime_error("boom"); });
  testing::internal::CaptureStderr();
  restart();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("on_failover threw: boom"));
  EXPECT_THAT(told(), ElementsAre(2U));
  set(driver(), "W", "row", {{"a", "1"}});
  driver().settle();
  EXPECT_EQ(server().hash("W:row")["a"], "1");
}

// This happens when a user makes a master a replica of another one, and its connections stay open.
TEST_F(RedisEpoch, AnEpochThatChangesUnderAConnectionResyncsEveryConsumer) {
  open(patient_options());
  const auto watcher = subscribe(driver(), "W");
  const auto listener = subscribe(driver(), "C");
  driver().settle();
  const std::uint64_t connects = stats().connects;
  const std::uint64_t resyncs = stats().resyncs;
  server().command({"HSET", "RONDO_EPOCH", "run_id", "another", "epoch", "7"});
  ASSERT_TRUE(driver().run_until([this] { return !told().empty(); }));
  driver().settle();
  EXPECT_THAT(told(), ElementsAre(8U)) << "the server is marked again";
  EXPECT_GT(stats().resyncs, resyncs);
  EXPECT_TRUE(listener->take_gap());
  EXPECT_EQ(stats().connects, connects);
}

TEST_F(RedisEpoch, WhatIsOnItsWayWhenItChangesUnderAConnectionArrives) {
  open();
  const auto consumer = subscribe(driver(), "T");
  driver().settle();
  server().command({"HSET", "RONDO_EPOCH", "run_id", "another"});
  RowModel written;
  RowModel taken;
  const auto take_some = [&] {
    std::vector<Change> changes;
    consumer->take(SIZE_MAX, changes);
    for (const Change& change : changes) taken.apply(change);
  };
  int n = 0;
  ASSERT_TRUE(driver().run_until([&] {
    for (const int end = n + 40; n < end; ++n) {
      const std::string key = std::to_string(n % 300);
      const std::string value = std::to_string(n);
      written.set(key, {{"n", value}});
      set(driver(), "T", key, {{"n", value}});
    }
    driver().scheduler().run_until_idle(6);
    take_some();
    return !told().empty();
  }));
  driver().settle();
  while (!consumer->empty()) {
    take_some();
    driver().settle();
  }
  EXPECT_EQ(taken.rows(), written.rows());
  EXPECT_EQ(rows_in_redis("T:"), written.rows());
}

TEST_F(RedisEpoch, AKeyOfAnotherTypeLeavesItUnknown) {
  server().command({"SET", "RONDO_EPOCH", "text"});
  open();
  set(driver(), "W", "k", {{"n", "1"}});
  const auto watcher = subscribe(driver(), "W");
  EXPECT_THAT(take_all(driver(), *watcher), ElementsAre("SET k n=1"));
  EXPECT_EQ(stats().epoch, 0U);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(RedisEpoch, WithoutTheRightToScriptsARestartIsToldAllTheSame) {
  start_server({.arguments = {"--user", "limited", "on", ">word", "~*", "&*", "+@all", "-eval"}});
  RedisStoreOptions options = quick_options();
  options.address.user = "limited";
  options.address.password = "word";
  open(options);
  EXPECT_EQ(stats().epoch, 0U);
  restart();
  EXPECT_EQ(stats().failovers, 1U);
  EXPECT_THAT(told(), ElementsAre(0U));
}

TEST_F(RedisEpoch, AReplicaIsReadAndNotMarked) {
  server().command({"HSET", "W:k", "n", "1"});
  ASSERT_EQ(server().command({"REPLICAOF", "127.0.0.1", std::to_string(redis_kit::free_port())}), "OK");
  open();
  const auto watcher = subscribe(driver(), "W");
  EXPECT_THAT(take_all(driver(), *watcher), ElementsAre("SET k n=1"));
  EXPECT_EQ(stats().epoch, 0U);
  EXPECT_EQ(server().command({"EXISTS", "RONDO_EPOCH"}), "0");
}

}  // namespace
}  // namespace rondo::redis
