// The promises of rondo/store/store.h about the rows that exist when a subscription is made, about whole and written rows, and about
// requeue(). They run on each implementation (store_contract.h). Each test's name states the promise. A header, so that parts of the store
// instantiate the same cases for theirs.
#pragma once

#include <algorithm>

#include "store/store_contract.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class StandingContract : public StoreContract {
 protected:
  void SetUp() override {
    declare("T", TableKind::Staged);
    declare("W", TableKind::Watched);
  }
  /// Makes standing rows: an earlier consumer takes them, so they are in the table.
  void stand(std::initializer_list<const char*> keys) {
    for (const char* const key : keys) set("T", key, {{"x", "1"}, {"y", "1"}});
    EXPECT_EQ(take_all(*subscribe("T", {.standing_rows = false})).size(), keys.size());
  }
  /// Sorts the fields of Sets by name, because their order in a row is not promised.
  static std::vector<std::string> sorted_fields(std::vector<Change> changes) {
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back(std::string{change.verb()} + " " + row_line(change.record()));
    return lines;
  }
  std::vector<std::string> take_rows(Subscription& subscription, std::size_t each = SIZE_MAX) {
    std::vector<Change> changes;
    settle();
    while (!subscription.empty()) {
      subscription.take(each, changes);
      settle();
    }
    return sorted_fields(std::move(changes));
  }
};

TEST_P(StandingContract, AStagedSubscriptionBeginsWithEveryRowOnce) {
  stand({"a", "b", "c"});
  const auto consumer = subscribe("T");
  EXPECT_FALSE(consumer->empty());
  EXPECT_THAT(take_rows(*consumer), UnorderedElementsAre("SET a x=1 y=1", "SET b x=1 y=1", "SET c x=1 y=1"));
  set("T", "d", {{"x", "4"}});
  EXPECT_THAT(take_rows(*consumer), ElementsAre("SET d x=4"));
}

TEST_P(StandingContract, ManyRowsComeInBatchesOfAnySizeAndOnceEach) {
  for (int i = 0; i < 2500; ++i) set("T", std::to_string(i), {{"x", "1"}});
  EXPECT_EQ(take_all(*subscribe("T", {.standing_rows = false})).size(), 2500U);
  const auto consumer = subscribe("T");
  std::vector<std::string> rows = take_rows(*consumer, 100);
  EXPECT_EQ(rows.size(), 2500U);
  std::ranges::sort(rows);
  EXPECT_EQ(std::ranges::adjacent_find(rows), rows.end());
  EXPECT_TRUE(consumer->empty());
}

TEST_P(StandingContract, EachConsumerBeginsAnew) {
  stand({"a"});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(take_rows(*subscribe("T")), ElementsAre("SET a x=1 y=1"));
}

TEST_P(StandingContract, AStandingRowWithStagedFieldsComesOnceAndMerged) {
  stand({"a", "b"});
  set("T", "a", {{"y", "2"}, {"z", "2"}});
  settle();
  for (const Rows rows : {Rows::Whole, Rows::Written}) {
    EXPECT_THAT(take_rows(*subscribe("T", {.rows = rows})), UnorderedElementsAre("SET a x=1 y=2 z=2", "SET b x=1 y=1"));
  }
}

TEST_P(StandingContract, AWriteBeforeAStandingRowWasTakenMergesWithIt) {
  stand({"a"});
  for (const Rows rows : {Rows::Whole, Rows::Written}) {
    const auto consumer = store().subscribe("T", {.rows = rows});
    set("T", "a", {{"y", "2"}});
    const std::vector<std::string> taken = take_rows(**consumer);
    ASSERT_FALSE(taken.empty());
    // A store that fetches ahead may have fetched the row before the write.
    EXPECT_THAT(taken.front(), testing::HasSubstr("x=1"));
    EXPECT_THAT(taken.back(), testing::HasSubstr("y=2"));
    if (rows == Rows::Whole) {
      EXPECT_EQ(taken.back(), "SET a x=1 y=2");
    }
  }
}

TEST_P(StandingContract, AStagedDeleteStaysADelete) {
  stand({"a", "b"});
  remove("T", "a");
  settle();
  const auto consumer = subscribe("T");
  EXPECT_THAT(take_rows(*consumer), UnorderedElementsAre("DEL a", "SET b x=1 y=1"));
  EXPECT_EQ(row("T", "a"), "no row");
}

TEST_P(StandingContract, AStagedDeleteAndSetComeAsBothWithoutTheOldFields) {
  stand({"a"});
  remove("T", "a");
  set("T", "a", {{"z", "3"}});
  settle();
  EXPECT_THAT(take_rows(*subscribe("T")), ElementsAre("DEL a", "SET a z=3"));
}

TEST_P(StandingContract, ADeletedRowStandsNoMore) {
  stand({"a", "b"});
  remove("T", "a");
  EXPECT_THAT(take_rows(*subscribe("T", {.standing_rows = false})), ElementsAre("DEL a"));
  EXPECT_THAT(take_rows(*subscribe("T")), ElementsAre("SET b x=1 y=1"));
}

TEST_P(StandingContract, WhatAnEarlierConsumerLeftComesOnceWithTheRows) {
  set("T", "a", {{"x", "1"}});
  set("T", "b", {{"x", "1"}});
  set("T", "c", {{"x", "1"}});
  auto consumer = subscribe("T");
  EXPECT_EQ(take(*consumer, 1).size(), 1U);
  consumer.reset();
  EXPECT_THAT(take_rows(*subscribe("T")), UnorderedElementsAre("SET a x=1", "SET b x=1", "SET c x=1"));
}

TEST_P(StandingContract, OptingOutGivesOnlyWhatChanges) {
  stand({"a", "b"});
  set("W", "w", {{"x", "1"}});
  set("T", "b", {{"y", "2"}});
  settle();
  const auto consumer = subscribe("T", {.rows = Rows::Written, .standing_rows = false});
  const auto watcher = subscribe("W", {.standing_rows = false});
  EXPECT_TRUE(consumer->caught_up());
  EXPECT_THAT(take_rows(*consumer), ElementsAre("SET b y=2"));
  EXPECT_THAT(take_rows(*watcher), IsEmpty());
  set("W", "w", {{"x", "2"}});
  EXPECT_THAT(take_rows(*watcher), ElementsAre("SET w x=2"));
}

TEST_P(StandingContract, TellsWhenTheStandingRowsAreTaken) {
  stand({"a", "b", "c"});
  set("W", "w", {});
  set("W", "v", {});
  settle();
  for (const auto* const table : {"T", "W"}) {
    const auto consumer = subscribe(table);
    EXPECT_FALSE(consumer->caught_up());
    EXPECT_EQ(take(*consumer, 1).size(), 1U);
    settle();
    EXPECT_FALSE(consumer->caught_up());
    take_rows(*consumer, 1);
    EXPECT_TRUE(consumer->caught_up());
    set(table, "later", {});
    settle();
    EXPECT_TRUE(consumer->caught_up());
  }
}

/// A store need not know it. If it does, a standing row has no time.
TEST_P(StandingContract, TellsWhenTheNextKeysCame) {
  stand({"a"});
  const Instant before = world().scheduler().now();
  remove("T", "b");
  set("T", "b", {{"x", "1"}});
  set("T", "c", {{"x", "1"}});
  settle();
  const auto consumer = subscribe("T");
  settle();
  std::vector<Subscription::Arrival> arrivals;
  consumer->next_arrivals(3, arrivals);
  std::vector<Instant> times;
  for (const Subscription::Arrival& arrival : arrivals) times.insert(times.end(), arrival.keys, arrival.at);
  ASSERT_LE(times.size(), 3U);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i] == Instant{}, i == 0) << i;
    EXPECT_TRUE(i == 0 || (times[i] >= before && times[i] <= world().scheduler().now())) << i;
  }
  EXPECT_EQ(take_rows(*consumer).size(), 4U);
}

TEST_P(StandingContract, HasCaughtUpWhereNothingStands) {
  const auto consumer = subscribe("T");
  const auto watcher = subscribe("W");
  settle();
  EXPECT_TRUE(consumer->empty() && consumer->caught_up());
  EXPECT_TRUE(watcher->empty() && watcher->caught_up());
}

TEST_P(StandingContract, ASetCarriesTheWholeRow) {
  const auto consumer = subscribe("T");
  set("T", "a", {{"x", "1"}, {"y", "1"}});
  EXPECT_THAT(take_rows(*consumer), ElementsAre("SET a x=1 y=1"));
  set("T", "a", {{"y", "2"}});
  EXPECT_THAT(take_rows(*consumer), ElementsAre("SET a x=1 y=2"));
  EXPECT_EQ(row("T", "a"), "a x=1 y=2");
}

TEST_P(StandingContract, AWholeRowAfterADeleteHasOnlyTheNewFields) {
  const auto consumer = subscribe("T");
  set("T", "a", {{"x", "1"}, {"y", "1"}});
  EXPECT_EQ(take_rows(*consumer).size(), 1U);
  remove("T", "a");
  settle();
  set("T", "a", {{"y", "2"}});
  settle();
  const std::vector<std::string> taken = take_rows(*consumer);
  EXPECT_THAT(taken, testing::AnyOf(ElementsAre("DEL a", "SET a y=2"), ElementsAre("SET a y=2")));
}

TEST_P(StandingContract, RequeueGivesTheWholeRowOnceMore) {
  for (const Rows rows : {Rows::Whole, Rows::Written}) {
    stand({"a"});
    set("W", "w", {{"x", "1"}});
    const auto consumer = subscribe("T", {.rows = rows});
    const auto watcher = subscribe("W", {.rows = rows});
    take_rows(*consumer);
    take_rows(*watcher);
    int wakes = 0;
    consumer->on_ready([&wakes] { ++wakes; });
    watcher->on_ready([&wakes] { ++wakes; });
    for (int twice = 0; twice < 2; ++twice) {
      consumer->requeue("a");
      watcher->requeue("w");
    }
    settle();
    EXPECT_EQ(wakes, 2);
    EXPECT_THAT(take_rows(*consumer), ElementsAre("SET a x=1 y=1"));
    EXPECT_THAT(take_rows(*watcher), ElementsAre("SET w x=1"));
    EXPECT_EQ(row("T", "a"), "a x=1 y=1");
  }
}

TEST_P(StandingContract, RequeueOfARowThatIsGoneGivesNothing) {
  stand({"a"});
  set("W", "w", {});
  const auto consumer = subscribe("T");
  const auto watcher = subscribe("W");
  remove("T", "a");
  remove("W", "w");
  take_rows(*consumer);
  take_rows(*watcher);
  for (const char* const key : {"a", "w", "never was"}) {
    consumer->requeue(key);
    watcher->requeue(key);
  }
  EXPECT_THAT(take_rows(*consumer), IsEmpty());
  EXPECT_THAT(take_rows(*watcher), IsEmpty());
}

TEST_P(StandingContract, RequeueWhileAChangeWaitsGivesTheChangeAlone) {
  stand({"set", "gone"});
  const auto consumer = subscribe("T");
  take_rows(*consumer);
  set("T", "set", {{"y", "2"}});
  remove("T", "gone");
  settle();
  consumer->requeue("set");
  consumer->requeue("gone");
  std::vector<std::string> taken = take_rows(*consumer);
  // A Set that was fetched ahead no longer waits in the table, so its row may follow it once more. A deleted row does not.
  std::ranges::sort(taken);
  taken.erase(std::ranges::unique(taken).begin(), taken.end());
  EXPECT_THAT(taken, UnorderedElementsAre("SET set x=1 y=2", "DEL gone"));
}

TEST_P(StandingContract, AWriteAfterRequeueComesWithIt) {
  stand({"set", "gone"});
  const auto consumer = subscribe("T");
  take_rows(*consumer);
  consumer->requeue("set");
  consumer->requeue("gone");
  set("T", "set", {{"y", "2"}});
  remove("T", "gone");
  const std::vector<std::string> taken = take_rows(*consumer);
  EXPECT_THAT(taken, testing::Contains("SET set x=1 y=2"));
  const auto last =
      std::ranges::find_if(taken.rbegin(), taken.rend(), [](const std::string& line) { return line.find(" gone") != line.npos; });
  EXPECT_EQ(last == taken.rend() ? "" : *last, "DEL gone");
  EXPECT_EQ(row("T", "gone"), "no row") << "a row that was deleted did not come back";
}

TEST_P(StandingContract, RequeueOfManyRowsGivesEachOnce) {
  for (int i = 0; i < 1000; ++i) set("T", std::to_string(i), {{"x", "1"}});
  const auto consumer = subscribe("T");
  EXPECT_EQ(take_rows(*consumer).size(), 1000U);
  for (int i = 0; i < 1000; ++i) consumer->requeue(std::to_string(i));
  std::vector<std::string> rows = take_rows(*consumer, 64);
  EXPECT_EQ(rows.size(), 1000U);
  std::ranges::sort(rows);
  EXPECT_EQ(std::ranges::adjacent_find(rows), rows.end());
}

}  // namespace
}  // namespace rondo::store
