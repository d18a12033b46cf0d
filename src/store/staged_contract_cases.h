// The promises of rondo/store/store.h about Staged tables, and those that not every store can keep, as tests (see store_contract_cases.h).
#pragma once

#include "rondo/base/limits.h"
#include "store/store_contract.h"

#include <algorithm>
#include <set>

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class StagedContract : public StoreContract {
 protected:
  void SetUp() override { declare("T", TableKind::Staged); }
};

TEST_P(StagedContract, SetAndSetMergeToOneSetWithTheUnionAndTheLastValues) {
  set("T", "k", {{"a", "1"}, {"b", "1"}});
  set("T", "k", {{"b", "2"}, {"c", "2"}});
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1 b=2 c=2"));
}

TEST_P(StagedContract, RewrittenFieldsMoveBehindUntouchedOnes) {  // sonic-swss addToSync: SET{f1,f2}, SET{f1',f3} is f2,f1',f3.
  set("T", "k", {{"f1", "1"}, {"f2", "2"}});
  set("T", "k", {{"f1", "new"}, {"f3", "3"}});
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("SET k f2=2 f1=new f3=3"));
}

TEST_P(StagedContract, SetThenDeleteIsOneDelete) {  // SONiC study: "SET Followed by DEL (Safe)".
  set("T", "k", {{"a", "1"}});
  remove("T", "k");
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k"));
}

TEST_P(StagedContract, DeleteThenSetIsPoppedAsBothAndTogether) {
  remove("T", "k");
  set("T", "k", {{"a", "1"}});
  const auto consumer = subscribe("T");
  EXPECT_EQ(consumer->depth(), 1U);
  EXPECT_THAT(take(*consumer, 1), ElementsAre("DEL k", "SET k a=1"));
  EXPECT_TRUE(consumer->empty());
}

TEST_P(StagedContract, SetDeleteSetIsDeleteThenTheLastSetHoweverOften) {
  for (int i = 0; i < 100; ++i) {
    set("T", "k", {{"old", "1"}});
    remove("T", "k");
    set("T", "k", {{"new", "2"}});
  }
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k", "SET k new=2"));
  EXPECT_TRUE(consumer->empty());
}

TEST_P(StagedContract, DeleteThenSetsMergeTheirSets) {
  remove("T", "k");
  set("T", "k", {{"a", "1"}});
  set("T", "k", {{"b", "2"}});
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k", "SET k a=1 b=2"));
}

TEST_P(StagedContract, DeleteSetDeleteIsOneDelete) {
  remove("T", "k");
  set("T", "k", {{"a", "1"}});
  remove("T", "k");
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k"));
}

TEST_P(StagedContract, DeleteOfAnAbsentKeyIsADelete) {
  remove("T", "k");
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k"));
  settle();
  EXPECT_EQ(row("T", "k"), "no row");
}

TEST_P(StagedContract, SetWithoutFieldsIsASetAndMakesARow) {  // SONiC pops it as DEL, and the row stays.
  set("T", "k", {});
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("SET k"));
  settle();
  EXPECT_EQ(row("T", "k"), "k");
}

TEST_P(StagedContract, SetMergesIntoTheRowAndAConsumerOfWrittenFieldsGetsOnlyThese) {
  const auto consumer = subscribe("T", {.rows = Rows::Written});
  set("T", "k", {{"a", "1"}, {"b", "1"}});
  EXPECT_THAT(take_all(*consumer), ElementsAre("SET k a=1 b=1"));
  set("T", "k", {{"b", "2"}});
  EXPECT_THAT(take_all(*consumer), ElementsAre("SET k b=2"));
  EXPECT_EQ(row("T", "k"), "k a=1 b=2");
}

TEST_P(StagedContract, DeleteThenSetLeavesNoOldFieldInTheRow) {  // Seen in SONiC: the old next hop beside the new group.
  const auto consumer = subscribe("T");
  set("T", "10.0.0.0/8", {{"nexthop", "10.1.1.1"}, {"ifname", "Ethernet0"}});
  EXPECT_EQ(take_all(*consumer).size(), 1U);
  remove("T", "10.0.0.0/8");
  set("T", "10.0.0.0/8", {{"nexthop_group", "102"}});
  EXPECT_THAT(take_all(*consumer), testing::Contains("DEL 10.0.0.0/8"));
  EXPECT_EQ(row("T", "10.0.0.0/8"), "10.0.0.0/8 nexthop_group=102");
}

TEST_P(StagedContract, DeleteRemovesTheRow) {
  const auto consumer = subscribe("T");
  set("T", "k", {{"a", "1"}});
  EXPECT_EQ(take_all(*consumer).size(), 1U);
  EXPECT_EQ(row("T", "k"), "k a=1");
  remove("T", "k");
  EXPECT_THAT(take_all(*consumer), ElementsAre("DEL k"));
  EXPECT_EQ(row("T", "k"), "no row");
}

TEST_P(StagedContract, RowIsNotThereBeforeItIsPopped) {
  set("T", "k", {{"a", "1"}});
  settle();
  EXPECT_EQ(row("T", "k"), "no row");
  expect_rows("T", 0);
  EXPECT_EQ(store().size("T")->staged, 1U);
}

TEST_P(StagedContract, PopsAtMostAsManyKeysAsAsked) {
  for (int i = 0; i < 10; ++i) set("T", std::to_string(i), {});
  const auto consumer = subscribe("T");
  EXPECT_EQ(take(*consumer, 0).size(), 0U);
  EXPECT_THAT(take(*consumer, 3), ElementsAre("SET 0", "SET 1", "SET 2"));
  settle();
  EXPECT_EQ(consumer->depth(), 7U);
  EXPECT_EQ(take_all(*consumer, 3).size(), 7U);
  EXPECT_TRUE(consumer->empty());
}

TEST_P(StagedContract, EmptyValuesSeparatorsAndNulAreSafe) {
  const std::string nul("a\0b", 3);
  set("T", "T:k|x:y", {{"a:b", "|"}, {nul, nul}});
  set("T", nul, {{"NULL", "null"}});
  set("T", "%d \n", {{"e", ""}});
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), UnorderedElementsAre("SET T:k|x:y a:b=| " + nul + "=" + nul, "SET " + nul + " NULL=null", "SET %d \n e="));
  settle();
  EXPECT_EQ(row("T", nul), nul + " NULL=null");
  EXPECT_EQ(row("T", "a"), "no row");
}

TEST_P(StagedContract, ValuesOfSeveralMegabytesAreSafe) {  // Values of 5 MiB occur in SONiC.
  std::string big(5 * 1024 * 1024, 'x');
  big[1000] = '\0';
  set("T", "k", {{"small", "1"}, {"big", big}});
  set("T", "k", {{"small", "2"}});
  settle();  // Wait until both are written: another connection may pop between them.
  const auto consumer = subscribe("T");
  std::vector<Change> changes;
  consumer->take(1, changes);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].fields().find("big") == big);
  EXPECT_EQ(changes[0].fields().find("small"), "2");
}

TEST_P(StagedContract, FieldNamedTwiceMeansTheLast) {
  set("T", "k", {{"a", "1"}, {"b", "1"}, {"a", "2"}});
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("SET k b=1 a=2"));
}

TEST_P(StagedContract, WhatWasNotPoppedStaysForTheNextConsumer) {  // SONiC study: "Consumer Restart (Recoverable)".
  auto consumer = subscribe("T");
  for (const char* key : {"a", "b", "c"}) set("T", key, {});
  settle();
  std::vector<std::string> all = take(*consumer, 1);
  EXPECT_EQ(all.size(), 1U);
  consumer.reset();
  set("T", "d", {});
  settle();
  EXPECT_EQ(store().size("T")->staged, 3U);
  consumer = subscribe("T", {.standing_rows = false});
  for (std::string& later : take_all(*consumer)) all.push_back(std::move(later));
  EXPECT_THAT(all, UnorderedElementsAre("SET a", "SET b", "SET c", "SET d"));
}

TEST_P(StagedContract, SecondConsumerIsRefusedUntilTheFirstIsGone) {
  auto first = subscribe("T");
  EXPECT_EQ(store().subscribe("T").error().code(), StatusCode::FailedPrecondition);
  first.reset();
  EXPECT_TRUE(store().subscribe("T").has_value());
}

// Seen in SONiC: 98 496 empty dispatches for 100 000 writes.
TEST_P(StagedContract, ReadinessIsALevelAndABurstIsDrainedWithoutEmptyTakes) {
  const auto consumer = subscribe("T");
  int wakes = 0;
  consumer->on_ready([&wakes] { ++wakes; });
  for (int i = 0; i < 100'000; ++i) {
    const Status status = store().write("T", Change::set(std::to_string(i), {{"f", "1"}}));
    ASSERT_TRUE(status.ok()) << status.to_string();
    if (i % 10'000 == 9'999) settle();
  }
  EXPECT_GE(wakes, 1);
  std::size_t taken = 0;
  std::size_t takes = 0;
  std::vector<Change> changes;
  for (settle(); !consumer->empty(); settle()) {
    changes.clear();
    ASSERT_GT(consumer->take(128, changes), 0U) << "an empty take after " << taken;
    taken += changes.size();
    ++takes;
  }
  EXPECT_EQ(taken, 100'000U);
  EXPECT_LE(takes, 2U * 100'000U / 128U);  // A batch is short only where a fetch ended.
  EXPECT_LE(static_cast<std::size_t>(wakes), takes + 1);
}

TEST_P(StagedContract, OnReadyIsCalledAtOnceWhenThereIsSomething) {
  set("T", "k", {});
  const auto consumer = subscribe("T");
  int wakes = 0;
  consumer->on_ready([&wakes] { ++wakes; });
  EXPECT_EQ(wakes, 1);
}

TEST_P(StagedContract, OnReadyIsCalledAgainAfterItWasEmptied) {
  const auto consumer = subscribe("T");
  int wakes = 0;
  consumer->on_ready([&wakes] { ++wakes; });
  EXPECT_EQ(wakes, 0);
  for (int round = 1; round <= 3; ++round) {
    set("T", "k", {});
    settle();
    EXPECT_EQ(wakes, round);
    EXPECT_THAT(take(*consumer), ElementsAre("SET k"));
    EXPECT_TRUE(consumer->empty());
  }
}

TEST_P(StagedContract, TablesWhoseNamesBeginAlikeDoNotTouchEachOther) {  // In SONiC, clearing T wiped T2.
  declare("T2", TableKind::Staged);
  set("T2", "k", {{"a", "1"}});
  remove("T", "k");
  remove("T", "2:k");
  const auto consumer = subscribe("T2");
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1"));
}

// --- promises that not every store can keep

/// Instantiated for stores that keep the order of arrival.
class OrderContract : public StoreContract {
 protected:
  void SetUp() override {
    declare("T", TableKind::Staged);
    declare("W", TableKind::Watched);
  }
};

TEST_P(OrderContract, PopsInTheOrderOfFirstArrival) {
  for (const char* key : {"c", "a", "b", "a", "c"}) set("T", key, {{"x", key}});
  const auto consumer = subscribe("T");
  EXPECT_THAT(take(*consumer), ElementsAre("SET c x=c", "SET a x=a", "SET b x=b"));
}

TEST_P(OrderContract, KeyThatIsWrittenAgainAfterItsPopQueuesBehindOthers) {
  const auto consumer = subscribe("T");
  set("T", "a", {});
  set("T", "b", {});
  settle();
  EXPECT_THAT(take(*consumer, 1), ElementsAre("SET a"));
  set("T", "a", {{"x", "2"}});
  EXPECT_THAT(take_all(*consumer), ElementsAre("SET b", "SET a x=2"));
}

TEST_P(OrderContract, ReportsInTheOrderOfTheFirstUnreportedChange) {
  const auto watcher = subscribe("W");
  for (const char* key : {"c", "a", "c", "b"}) set("W", key, {});
  settle();
  EXPECT_THAT(take(*watcher), ElementsAre("SET c", "SET a", "SET b"));
}

/// Instantiated for stores that hold the rows themselves: rows_max limits them, and a merge that would outgrow a record is refused.
class RowsContract : public StoreContract {
 protected:
  void SetUp() override { declare("T", TableKind::Staged); }
};

TEST_P(RowsContract, FullStagedTableRefusesNewKeysAndTakesWritesOfKnownOnes) {
  declare("small", TableKind::Staged, 2);
  EXPECT_TRUE(end_of_write("small", Change::set("a", {})).ok());
  EXPECT_TRUE(end_of_write("small", Change::set("b", {})).ok());
  const Status refused = end_of_write("small", Change::set("c", {}));
  EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(refused.to_string(), HasSubstr("small"));
  EXPECT_EQ(end_of_write("small", Change::remove("c")).code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(end_of_write("small", Change::set("a", {{"x", "1"}})).ok());
  EXPECT_TRUE(end_of_write("small", Change::remove("b")).ok());
  const auto consumer = subscribe("small");
  EXPECT_THAT(take_all(*consumer), ElementsAre("SET a x=1", "DEL b"));
  EXPECT_TRUE(end_of_write("small", Change::set("c", {})).ok());
}

TEST_P(RowsContract, RowThatWouldOutgrowARecordIsRefusedAndStaysAsItWas) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < limits::kFields; ++i) names.push_back("n" + std::to_string(i));
  std::vector<Field> fields;
  for (const std::string& name : names) fields.push_back({name, ""});
  EXPECT_TRUE(end_of_write("T", Change::set("k", fields)).ok());
  EXPECT_EQ(end_of_write("T", Change::set("k", {{"one more", ""}})).code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(end_of_write("T", Change::set("k", {{"n7", "again"}})).ok());
  const auto consumer = subscribe("T");
  std::vector<Change> changes;
  consumer->take(1, changes);
  settle();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].fields().size(), limits::kFields);
  EXPECT_EQ(end_of_write("T", Change::set("k", {{"one more", ""}})).code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(end_of_write("T", Change::remove("k")).ok());
}

TEST_P(RowsContract, FullWatchedTableRefusesNewKeys) {
  declare("small", TableKind::Watched, 1);
  EXPECT_TRUE(end_of_write("small", Change::set("a", {})).ok());
  EXPECT_EQ(end_of_write("small", Change::set("b", {})).code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(end_of_write("small", Change::set("a", {{"x", "1"}})).ok());
  EXPECT_TRUE(end_of_write("small", Change::remove("a")).ok());
  EXPECT_TRUE(end_of_write("small", Change::set("b", {})).ok());
}

}  // namespace
}  // namespace rondo::store
