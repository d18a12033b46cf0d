// EventBuffer, WatchedView, Completions and the rules that all stores share: parts that the contract tests reach only through a store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "rondo/base/limits.h"
#include "rondo/sim/world.h"
#include "store/arrival_marks.h"
#include "store/completions.h"
#include "store/event_buffer.h"
#include "store/store_contract.h"
#include "store/table_rules.h"
#include "store/watched_view.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> lines(WatchedView& view, std::size_t max = SIZE_MAX) {
  std::vector<Change> changes;
  const std::size_t taken = view.take(max, changes);
  EXPECT_EQ(taken, changes.size());
  std::vector<std::string> result;
  for (const Change& change : changes) result.push_back(line(change));
  return result;
}

TEST(ArrivalMarks, OfManyTurnsCountFromAnEarlierWriteAndNeverFromALaterOne) {
  const auto at = [](std::size_t ns) { return Instant::from_nanoseconds(static_cast<std::int64_t>(ns)); };
  ArrivalMarks marks;
  constexpr std::size_t kKeys = 100'000;
  for (std::size_t i = 1; i <= kKeys; ++i) marks.add(at(i));
  EXPECT_LE(marks.size(), ArrivalMarks::kMarks);
  std::vector<Subscription::Arrival> all;
  marks.next(kKeys, all);
  std::size_t key = 0;
  for (const Subscription::Arrival& arrival : all) {
    EXPECT_LE(arrival.at, at(key + 1));
    key += arrival.keys;
    EXPECT_GE(arrival.at + Duration{kKeys / 256}, at(key));  // Its last key.
  }
  EXPECT_EQ(key, kKeys);
  marks.remove(kKeys - 1);
  all.clear();
  marks.next(5, all);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].keys, 1U);
}

TEST(EventBuffer, SeveralDropsBetweenTwoEventsAreOneGap) {
  EventBuffer events(1);
  for (const char* key : {"1", "2", "3"}) events.push(Change::event("e", key, {}));
  EXPECT_EQ(events.dropped(), 2U);
  std::vector<Change> out;
  EXPECT_EQ(events.take(9, out), 1U);
  EXPECT_TRUE(events.has_news());
  EXPECT_TRUE(events.take_gap());
  EXPECT_FALSE(events.has_news());
  EXPECT_FALSE(events.take_gap());
}

TEST(EventBuffer, GapBeforeAnyEventIsReadFirst) {
  EventBuffer events(9);
  events.mark_gap();
  events.push(Change::event("e", "1", {}));
  EXPECT_TRUE(events.take_gap());
  std::vector<Change> out;
  EXPECT_EQ(events.take(9, out), 1U);
  EXPECT_FALSE(events.take_gap());
}

TEST(WatchedView, ResyncLeavesTheDifferenceDeletesFirst) {
  WatchedView view;
  view.resync(std::vector<Record>{Record::make("a", {{"x", "1"}}), Record::make("b", {{"x", "1"}}), Record::make("c", {})});
  EXPECT_THAT(lines(view), ElementsAre("SET a x=1", "SET b x=1", "SET c"));
  view.resync(std::vector<Record>{Record::make("d", {}), Record::make("a", {{"x", "2"}}), Record::make("c", {})});
  EXPECT_THAT(lines(view), ElementsAre("DEL b", "SET d", "SET a x=2"));
  view.resync({});
  EXPECT_EQ(view.depth(), 3U);
  EXPECT_EQ(lines(view).size(), 3U);
  EXPECT_TRUE(view.empty());
}

TEST(WatchedView, ResyncForgetsWhatWaitedAndIsGone) {
  WatchedView view;
  view.changed(Change::set("never told", {}));
  view.resync({});
  EXPECT_THAT(lines(view), IsEmpty());
}

TEST(WatchedView, OrderOfFieldsIsNoDifference) {
  WatchedView view;
  view.resync(std::vector<Record>{Record::make("a", {{"x", "1"}, {"y", "2"}})});
  EXPECT_EQ(lines(view).size(), 1U);
  view.resync(std::vector<Record>{Record::make("a", {{"y", "2"}, {"x", "1"}})});
  EXPECT_TRUE(view.empty());
}

TEST(WatchedView, DeleteOfAKeyIsToldOnceHoweverOftenItIsRead) {
  WatchedView view;
  view.resync(std::vector<Record>{Record::make("a", {{"x", "1"}})});
  EXPECT_THAT(lines(view), ElementsAre("SET a x=1"));
  view.changed(Change::remove("a"));
  EXPECT_THAT(lines(view), ElementsAre("DEL a"));
  view.changed(Change::remove("a"));
  EXPECT_THAT(lines(view), IsEmpty()) << "the second read of a key that is gone";
  view.changed(Change::set("a", {{"x", "2"}}));
  view.changed(Change::remove("a"));
  EXPECT_THAT(lines(view), IsEmpty()) << "came and went untold, and is known to be gone";
  view.changed(Change::set("a", {{"x", "2"}}));
  view.changed(Change::remove("never told"));
  EXPECT_THAT(lines(view), ElementsAre("SET a x=2", "DEL never told"));
  view.changed(Change::remove("a"));
  EXPECT_THAT(lines(view), ElementsAre("DEL a"));
}

TEST(WatchedView, KeyOfADeleteThatWaitsIsSetAgain) {
  WatchedView view;
  view.changed(Change::remove("a"));
  view.changed(Change::set("a", {{"x", "1"}}));
  EXPECT_THAT(lines(view), ElementsAre("SET a x=1"));
}

/// Random changes, gaps and partial takes. Once everything is taken, the sum of what the consumer received equals the table. After a resync
/// no row is delivered that the consumer knows already.
TEST(WatchedView, TellsInSumWhatIsThere) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    WatchedView view;
    std::map<std::string, std::string> truth;
    std::map<std::string, std::string> told;
    const auto take = [&](std::size_t max, bool exact) {
      std::vector<Change> changes;
      view.take(max, changes);
      for (const Change& change : changes) {
        const std::string key{change.key()};
        const std::string value{change.fields().find("v").value_or("")};
        if (exact) {
          ASSERT_NE(told.contains(key) ? told[key] : "", value) << key;
        }
        if (change.op() == ChangeOp::Delete) {
          told.erase(key);
        } else {
          told[key] = value;
        }
      }
    };
    bool connected = true;
    for (int i = 0; i < 60; ++i) {
      const std::string key = std::to_string(random.below(6));
      const std::string value = "v" + std::to_string(random.below(3));
      const std::uint64_t what = random.below(10);
      if (what < 5) {
        truth[key] = value;
        if (connected) view.changed(Change::set(key, {{"v", value}}));
      } else if (what < 7) {
        truth.erase(key);
        if (connected) view.changed(Change::remove(key));
      } else if (what < 9) {
        take(random.below(4), false);
      } else {
        connected = !connected;
        if (!connected) continue;
        std::vector<Record> rows;
        for (const auto& [row, text] : truth) rows.push_back(Record::make(row, {{"v", text}}));
        view.resync(rows);
        if (random.chance(0.5)) take(SIZE_MAX, true);
      }
      if (HasFatalFailure()) return;
    }
    if (connected) {
      take(SIZE_MAX, false);
      ASSERT_EQ(told, truth);
    }
  }
}

TEST(WatchedView, WhatAReadFoundIsHeldBackUntilItHasEnded) {
  WatchedView view;
  view.resync(std::vector<Record>{Record::make("a", {{"x", "1"}}), Record::make("b", {})});
  view.changed(Change::set("c", {}));
  EXPECT_THAT(lines(view, 1), ElementsAre("SET a x=1"));
  view.begin_read();
  view.read(Record::make("d", {}));
  view.read(Record::make("a", {{"x", "2"}}));
  view.read(Record::make("c", {{"x", "2"}}));
  EXPECT_THAT(lines(view), ElementsAre("SET b", "SET c x=2")) << "what waited stays, in its newest state";
  EXPECT_FALSE(view.end_read(3));
  EXPECT_THAT(lines(view), ElementsAre("DEL b"));
  EXPECT_FALSE(view.end_read(2));
  EXPECT_TRUE(view.end_read(1));
  EXPECT_THAT(lines(view), ElementsAre("SET d", "SET a x=2"));
}

TEST(WatchedView, AReadThatFailedIsBegunAnewAndLeavesWhatWaits) {
  WatchedView view;
  view.resync(std::vector<Record>{Record::make("a", {}), Record::make("b", {})});
  EXPECT_EQ(lines(view, 1).size(), 1U);
  view.begin_read();
  view.read(Record::make("new", {}));
  view.begin_read();
  EXPECT_THAT(lines(view), ElementsAre("SET b"));
  view.read(Record::make("a", {}));
  view.read(Record::make("other", {}));
  EXPECT_TRUE(view.end_read(SIZE_MAX));
  EXPECT_THAT(lines(view), ElementsAre("DEL b", "SET other"));
}

/// A remote table, a consumer that follows it, and what the consumer received.
class FollowedTable {
 public:
  explicit FollowedTable(std::uint64_t seed) : random_(seed) {}

  void change() {
    const std::string key = std::to_string(random_.below(12));
    if (random_.chance(0.3)) {
      truth_.erase(key);
    } else {
      truth_[key] = "v" + std::to_string(random_.below(3));
    }
    if (reading_ || lost_) {
      dirty_.insert(key);  // Marked after the read, as the end does.
    } else {
      notify_view(key);
    }
  }
  /// Starts or restarts a read. An answer of an earlier read may arrive late.
  void begin() {
    if (!truth_.empty() && random_.chance(0.3)) notify_view(truth_.begin()->first);
    view_.begin_read();
    const std::string late = std::to_string(random_.below(12));
    if (random_.chance(0.3)) notify_view(late);
    if (random_.chance(0.3)) truth_.erase(late);
    lost_ = false;
    reading_ = true;
    unread_.clear();
    for (int key = 0; key < 12; ++key) unread_.push_back(std::to_string(key));
  }
  void page() {
    for (std::uint64_t i = random_.below(5); i > 0 && !unread_.empty(); --i) {
      const std::size_t at = random_.below(unread_.size());
      const std::string key = unread_[at];
      if (!random_.chance(0.2)) unread_.erase(unread_.begin() + static_cast<std::ptrdiff_t>(at));  // Otherwise the row is read twice.
      if (!truth_.contains(key)) continue;
      view_.read(Record::make(key, {{"v", truth_[key]}}));
      told_by_change_.erase(key);
    }
    if (!unread_.empty() || !view_.end_read(random_.between(1, 4))) return;
    reading_ = false;
    for (const std::string& key : std::exchange(dirty_, {})) notify_view(key);
  }
  /// A gap: changes from now on are not reported.
  void lose() {
    lost_ = true;
    reading_ = false;
    dirty_.clear();
  }
  void take(std::size_t max) {
    const std::size_t waits = view_.depth();
    std::vector<Change> changes;
    ASSERT_EQ(view_.take(max, changes), std::min(max, waits));
    ASSERT_EQ(view_.empty(), view_.depth() == 0);
    std::set<std::string> once;
    for (const Change& change : changes) {
      const std::string key{change.key()};
      const std::string value = change.op() == ChangeOp::Delete ? "" : std::string{change.fields().find("v").value()};
      ASSERT_TRUE(once.insert(key).second) << key << " twice";
      if (told_by_change_.erase(key) == 0) {
        ASSERT_NE(told_.contains(key) ? told_[key] : "", value) << key << ": no difference";
      }
      if (change.op() == ChangeOp::Delete) {
        told_.erase(key);
      } else {
        told_[key] = value;
      }
    }
  }
  void finish() {
    if (lost_) begin();
    while (reading_) page();
    take(SIZE_MAX);
    EXPECT_EQ(told_, truth_);
  }
  void step() {
    const std::uint64_t what = random_.below(20);
    if (what < 7) return change();
    if (what < 9) return take(random_.below(4));
    if (what == 9) return lose();
    if (what == 10 || (lost_ && what < 15)) return begin();
    if (reading_) page();
  }

 private:
  void notify_view(const std::string& key) {
    told_by_change_.insert(key);
    view_.changed(truth_.contains(key) ? Change::set(key, {{"v", truth_[key]}}) : Change::remove(key));
  }

  Random random_;
  WatchedView view_;
  std::map<std::string, std::string> truth_;
  std::map<std::string, std::string> told_;
  std::set<std::string> told_by_change_;  // Keys delivered because of a change; delivering the same state again is no fault.
  std::set<std::string> dirty_;
  std::vector<std::string> unread_;
  bool reading_ = false;
  bool lost_ = true;
};

/// Random pages, changes, failures and takes. The consumer receives each key once, and no row that a read found unchanged; the sum of all
/// equals the table.
TEST(WatchedView, ReadsInStepsTellTheDifferenceProperty) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FollowedTable table(seed);
    for (int i = 0; i < 150; ++i) {
      table.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    table.finish();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(SameFields, ComparesFewAndManyFields) {
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back(std::to_string(i));
  std::vector<Field> forward;
  for (const std::string& name : names) forward.push_back({name, name});
  std::vector<Field> backward{forward.rbegin(), forward.rend()};
  EXPECT_TRUE(same_fields(Record::make("k", forward).fields(), Record::make("k", backward).fields()));
  backward[7].value = "other";
  EXPECT_FALSE(same_fields(Record::make("k", forward).fields(), Record::make("k", backward).fields()));
  EXPECT_FALSE(same_fields(Record::make("k", {{"a", "1"}}).fields(), Record::make("k", {{"b", "1"}}).fields()));
  EXPECT_FALSE(same_fields(Record::make("k", {{"a", "1"}}).fields(), Record::make("k", {}).fields()));
}

TEST(Completions, KeepToTheBudgetOfTheirTurn) {
  sim::World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), *make_policy(StrictPriority{.batch = 4}));
  Completions completions(scheduler, "completions", Priority::p7);
  int ends = 0;
  for (int i = 0; i < 10; ++i) completions.post([&ends](const Status&) { ++ends; }, Status{});
  completions.post(WriteDone{}, Status{});
  EXPECT_EQ(ends, 0);
  EXPECT_TRUE(scheduler.turn());
  EXPECT_EQ(ends, 4);
  EXPECT_EQ(scheduler.run_until_idle(), 2U);
  EXPECT_EQ(ends, 10);
  EXPECT_FALSE(completions.has_backlog());
}

TEST(TableRules, CursorIsANumberOrNothing) {
  EXPECT_EQ(parse_cursor(""), 0U);
  EXPECT_EQ(parse_cursor("17"), 17U);
  for (const char* bad : {"x", "1x", "-1", "4294967296", " 1"})
    EXPECT_EQ(parse_cursor(bad).error().code(), StatusCode::InvalidArgument) << bad;
}

TEST(TableRules, ASpecMayAskForTheLimitOfRowsAndNotOneMore) {
  EXPECT_TRUE(check_spec({.name = "T", .rows_max = limits::kTableRows}).ok());
  for (const std::size_t wrong : {std::size_t{0}, limits::kTableRows + 1}) {
    const Status refused = check_spec({.name = "T", .rows_max = wrong});
    EXPECT_EQ(refused.code(), StatusCode::InvalidArgument);
    EXPECT_NE(refused.message().find("not from 1 to 16000000"), std::string::npos) << refused.message();
  }
}

TEST(TableRules, AQueueWithoutASizeHasThatOfTheLimit) {
  EXPECT_EQ(queue_capacity({.name = "Q", .kind = TableKind::Queue}), limits::kQueuedEvents);
  EXPECT_EQ(queue_capacity({.name = "Q", .kind = TableKind::Queue, .rows_max = 5}), 5U);
}

}  // namespace
}  // namespace rondo::store
