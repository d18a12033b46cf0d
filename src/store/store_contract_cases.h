// Every promise of rondo/store/store.h as a test, run on each implementation (store_contract.h). Each test's name states the promise. The
// tables T, W, C and Q are Staged, Watched, Channel and Queue. A header, so that parts of the store instantiate the same cases for theirs.
#pragma once

#include "rondo/base/limits.h"
#include "store/staged_contract_cases.h"
#include "store/store_contract.h"

#include <algorithm>
#include <set>

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class WatchedContract : public StoreContract {
 protected:
  void SetUp() override { declare("W", TableKind::Watched); }
};

TEST_P(WatchedContract, StartsWithEveryRowAsASet) {  // SONiC study: "Consumer Restart (Missed Updates)".
  for (const char* key : {"a", "b", "c"}) set("W", key, {{"x", key}});
  remove("W", "b");
  settle();
  const auto watcher = subscribe("W");
  EXPECT_EQ(watcher->depth(), 2U);
  EXPECT_THAT(take(*watcher), UnorderedElementsAre("SET a x=a", "SET c x=c"));
  EXPECT_TRUE(watcher->empty());
}

TEST_P(WatchedContract, ReportsAChangedKeyOnceWithItsNewestState) {  // SONiC study: "Rapid Updates".
  const auto watcher = subscribe("W");
  set("W", "k", {{"speed", "10000"}, {"mtu", "9100"}});
  set("W", "k", {{"speed", "25000"}});
  set("W", "k", {{"speed", "100000"}});
  settle();
  std::vector<Change> changes;
  EXPECT_EQ(watcher->take(SIZE_MAX, changes), 1U);
  EXPECT_EQ(row_line(changes.at(0).record()), "k mtu=9100 speed=100000");
  EXPECT_EQ(changes[0].op(), ChangeOp::Set);
  EXPECT_TRUE(watcher->empty());
}

TEST_P(WatchedContract, TakesNoMoreThanAsked) {  // SONiC ignores the batch size.
  for (int i = 0; i < 10; ++i) set("W", std::to_string(i), {});
  settle();
  const auto watcher = subscribe("W");
  EXPECT_EQ(take(*watcher, 4).size(), 4U);
  EXPECT_EQ(take(*watcher, 4).size(), 4U);
  EXPECT_EQ(take(*watcher, 4).size(), 2U);
}

TEST_P(WatchedContract, SetDeletedAtOnceIsADeleteAndNeverAnEmptySet) {  // SONiC study: "SET Followed by Quick DEL (Data Loss)".
  const auto watcher = subscribe("W");
  set("W", "k", {{"speed", "100000"}});
  remove("W", "k");
  settle();
  EXPECT_THAT(take(*watcher), ElementsAre("DEL k"));
  EXPECT_TRUE(watcher->empty());
}

TEST_P(WatchedContract, RowThatIsDeletedBeforeItWasToldIsADelete) {
  set("W", "k", {{"a", "1"}});
  settle();
  const auto watcher = store().subscribe("W");
  remove("W", "k");
  settle();
  std::vector<std::string> seen = take(**watcher);
  EXPECT_THAT(seen, testing::Contains("DEL k"));
  EXPECT_EQ(seen.back(), "DEL k");
}

TEST_P(WatchedContract, DeleteThenSetIsTheNewestSet) {
  set("W", "k", {{"old", "1"}});
  const auto watcher = subscribe("W");
  settle();
  EXPECT_EQ(take(*watcher).size(), 1U);
  remove("W", "k");
  set("W", "k", {{"new", "1"}});
  settle();
  EXPECT_THAT(take(*watcher), ElementsAre("SET k new=1"));
  EXPECT_EQ(row("W", "k"), "k new=1");
}

TEST_P(WatchedContract, DeleteOfAnAbsentKeyIsNotReported) {
  const auto watcher = subscribe("W");
  remove("W", "k");
  settle();
  EXPECT_TRUE(watcher->empty());
}

TEST_P(WatchedContract, SetWithoutFieldsIsASetAndMakesARow) {
  const auto watcher = subscribe("W");
  set("W", "k", {});
  settle();
  EXPECT_THAT(take(*watcher), ElementsAre("SET k"));
  EXPECT_EQ(row("W", "k"), "k");
}

TEST_P(WatchedContract, ManyWatchersAreEachToldInTheirOwnTime) {
  const auto quick = subscribe("W");
  const auto slow = subscribe("W");
  set("W", "a", {{"x", "1"}});
  settle();
  EXPECT_THAT(take(*quick), ElementsAre("SET a x=1"));
  set("W", "a", {{"x", "2"}});
  remove("W", "b");
  settle();
  const auto late = subscribe("W");
  EXPECT_THAT(take(*quick), ElementsAre("SET a x=2"));
  EXPECT_THAT(take(*slow), ElementsAre("SET a x=2"));
  EXPECT_THAT(take(*late), ElementsAre("SET a x=2"));
  remove("W", "a");
  settle();
  for (Subscription* watcher : {quick.get(), slow.get(), late.get()}) EXPECT_THAT(take(*watcher), ElementsAre("DEL a"));
}

TEST_P(WatchedContract, WatcherThatGoesOwesNothing) {
  auto gone = subscribe("W");
  const auto stays = subscribe("W");
  set("W", "a", {});
  remove("W", "a");
  settle();
  gone.reset();
  EXPECT_THAT(take(*stays), ElementsAre("DEL a"));
  set("W", "a", {});
  settle();
  EXPECT_THAT(take(*stays), ElementsAre("SET a"));
  expect_rows("W", 1);
}

TEST_P(WatchedContract, DeletedRowThatWasOwedToAGoneWatcherTakesNoRoom) {
  declare("small", TableKind::Watched, 1);
  auto watcher = subscribe("small");
  EXPECT_TRUE(end_of_write("small", Change::set("a", {})).ok());
  EXPECT_TRUE(end_of_write("small", Change::remove("a")).ok());
  watcher.reset();
  EXPECT_TRUE(end_of_write("small", Change::set("b", {})).ok());
}

TEST_P(WatchedContract, OnReadyFollowsTheLevel) {
  set("W", "a", {});
  settle();
  const auto watcher = subscribe("W");
  int wakes = 0;
  watcher->on_ready([&wakes] { ++wakes; });
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(take(*watcher).size(), 1U);
  set("W", "a", {});
  set("W", "b", {});
  settle();
  EXPECT_GE(wakes, 2);
  EXPECT_LE(wakes, 3);
  EXPECT_EQ(take(*watcher).size(), 2U);
}

class ChannelContract : public StoreContract {
 protected:
  void SetUp() override { declare("C", TableKind::Channel); }
};

TEST_P(ChannelContract, DeliversEachEventOnceInOrderToEveryListener) {
  const auto first = subscribe("C");
  const auto second = subscribe("C");
  send("C", "up", "Ethernet0");
  send("C", "down", "Ethernet0");
  send("C", "down", "Ethernet0");
  for (Subscription* listener : {first.get(), second.get()}) {
    EXPECT_THAT(take_all(*listener), ElementsAre("up Ethernet0", "down Ethernet0", "down Ethernet0"));
    EXPECT_FALSE(listener->take_gap());
  }
}

TEST_P(ChannelContract, EventIsSelfContained) {
  const auto listener = subscribe("C");
  const Field field{"state", "up"};
  write("C", Change::event("port_state", "Ethernet0", {&field, 1}));
  settle();
  std::vector<Change> changes;
  listener->take(1, changes);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].op(), ChangeOp::Event);
  EXPECT_EQ(line(changes[0]), "port_state Ethernet0 state=up");
}

TEST_P(ChannelContract, NothingIsStored) {
  send("C", "up", "Ethernet0");
  settle();
  const auto listener = subscribe("C");
  EXPECT_TRUE(listener->empty());
  EXPECT_EQ(row("C", "Ethernet0"), "no row");
  expect_rows("C", 0);
}

TEST_P(ChannelContract, OverflowDropsTheNewestCountsAndSaysSoInOrder) {
  declare("small", TableKind::Channel, 2);
  const auto listener = subscribe("small");
  for (const char* key : {"1", "2", "3", "4"}) send("small", "e", key);
  settle();
  EXPECT_EQ(listener->dropped(), 2U);
  EXPECT_FALSE(listener->take_gap()) << "the gap lies behind the events that wait";
  EXPECT_THAT(take(*listener), ElementsAre("e 1", "e 2"));
  send("small", "e", "5");
  settle();
  EXPECT_TRUE(listener->take_gap());
  EXPECT_FALSE(listener->take_gap()) << "reported once";
  EXPECT_THAT(take_all(*listener), ElementsAre("e 5"));
}

TEST_P(ChannelContract, SlowListenerCostsOthersNothing) {
  declare("small", TableKind::Channel, 1);
  const auto slow = subscribe("small");
  const auto quick = subscribe("small");
  for (const char* key : {"1", "2", "3"}) {
    send("small", "e", key);
    EXPECT_EQ(take_all(*quick).size(), 1U);
  }
  EXPECT_EQ(quick->dropped(), 0U);
  EXPECT_EQ(slow->dropped(), 2U);
}

TEST_P(ChannelContract, TakeStopsBeforeAGap) {
  declare("small", TableKind::Channel, 2);
  const auto listener = subscribe("small");
  for (const char* key : {"1", "2", "3"}) send("small", "e", key);
  settle();
  EXPECT_THAT(take(*listener, 1), ElementsAre("e 1"));
  send("small", "e", "4");
  settle();
  EXPECT_THAT(take(*listener), ElementsAre("e 2"));
  EXPECT_TRUE(listener->take_gap());
  EXPECT_THAT(take_all(*listener), ElementsAre("e 4"));
  EXPECT_FALSE(listener->take_gap());
}

TEST_P(ChannelContract, AnEventWakesAListenerThatHasLeftAGapUnread) {
  declare("small", TableKind::Channel, 1);
  const auto listener = subscribe("small");
  send("small", "e", "1");
  send("small", "e", "2");
  settle();
  int wakes = 0;
  listener->on_ready([&wakes] { ++wakes; });
  EXPECT_EQ(take(*listener).size(), 1U);
  wakes = 0;
  send("small", "e", "3");
  settle();
  EXPECT_GE(wakes, 1);
}

TEST_P(ChannelContract, GapThatWasNotReadIsReportedLater) {
  declare("small", TableKind::Channel, 1);
  const auto listener = subscribe("small");
  send("small", "e", "1");
  send("small", "e", "2");
  settle();
  EXPECT_EQ(take(*listener).size(), 1U);
  send("small", "e", "3");
  settle();
  EXPECT_THAT(take(*listener), ElementsAre("e 3"));
  EXPECT_TRUE(listener->take_gap());
  EXPECT_FALSE(listener->take_gap());
}

class QueueContract : public StoreContract {
 protected:
  void SetUp() override { declare("Q", TableKind::Queue); }
};

TEST_P(QueueContract, EveryOperationInOrderNoneMerged) {
  set("Q", "k", {{"a", "1"}});
  set("Q", "k", {{"a", "1"}});
  remove("Q", "k");
  send("Q", "flush", "k");
  set("Q", "k", {{"b", "2"}});
  const auto consumer = subscribe("Q");
  EXPECT_THAT(take_all(*consumer, 2), ElementsAre("SET k a=1", "SET k a=1", "DEL k", "flush k", "SET k b=2"));
}

TEST_P(QueueContract, AppliesSetsAndDeletesToTheTableWhenPopped) {
  set("Q", "k", {{"a", "1"}});
  set("Q", "k", {{"b", "2"}});
  settle();
  EXPECT_EQ(row("Q", "k"), "no row");
  const auto consumer = subscribe("Q");
  EXPECT_EQ(take_all(*consumer).size(), 2U);
  EXPECT_EQ(row("Q", "k"), "k a=1 b=2");
  remove("Q", "k");
  EXPECT_EQ(take_all(*consumer).size(), 1U);
  EXPECT_EQ(row("Q", "k"), "no row");
}

TEST_P(QueueContract, EventsLeaveTheTableAlone) {
  const auto consumer = subscribe("Q");
  send("Q", "flush", "k");
  EXPECT_THAT(take_all(*consumer), ElementsAre("flush k"));
  EXPECT_EQ(row("Q", "k"), "no row");
}

TEST_P(QueueContract, KeepsWhatWasNotPoppedWhenTheConsumerGoes) {
  auto consumer = subscribe("Q");
  for (const char* key : {"a", "b", "c"}) set("Q", key, {});
  settle();
  EXPECT_THAT(take(*consumer, 1), ElementsAre("SET a"));
  consumer.reset();
  EXPECT_EQ(store().size("Q")->staged, 2U);
  consumer = subscribe("Q");
  EXPECT_THAT(take_all(*consumer), ElementsAre("SET b", "SET c"));
}

TEST_P(QueueContract, HasOneConsumer) {
  const auto first = subscribe("Q");
  EXPECT_EQ(store().subscribe("Q").error().code(), StatusCode::FailedPrecondition);
}

TEST_P(QueueContract, FullQueueRefusesTheWriteAndLosesNothing) {
  declare("small", TableKind::Queue, 2);
  EXPECT_TRUE(end_of_write("small", Change::set("a", {})).ok());
  EXPECT_TRUE(end_of_write("small", Change::set("a", {})).ok());
  EXPECT_EQ(end_of_write("small", Change::set("a", {})).code(), StatusCode::ResourceExhausted);
  const auto consumer = subscribe("small");
  EXPECT_EQ(take_all(*consumer).size(), 2U);
  EXPECT_TRUE(end_of_write("small", Change::set("a", {})).ok());
}

class AnyStoreContract : public StoreContract {};

TEST_P(AnyStoreContract, DeclareKnowsTheSameSpecAgainAndRefusesAnother) {
  declare("T", TableKind::Staged);
  declare("T", TableKind::Staged);
  EXPECT_EQ(store().declare({.name = "T", .kind = TableKind::Watched}).code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(store().declare({.name = "T", .kind = TableKind::Staged, .rows_max = 7}).code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(store().declare({.name = "", .kind = TableKind::Staged}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store().declare({.name = std::string(limits::kNameBytes + 1, 'x')}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store().declare({.name = "X", .rows_max = 0}).code(), StatusCode::InvalidArgument);
}

TEST_P(AnyStoreContract, ListsItsTablesByName) {
  declare("b", TableKind::Queue);
  declare("a", TableKind::Channel, 10);
  std::vector<TableSpec> tables = store().tables();
  EXPECT_EQ(tables.size(), 2 + world().tables_at_first());
  EXPECT_TRUE(std::ranges::is_sorted(tables, {}, &TableSpec::name));
  std::erase_if(tables, [](const TableSpec& spec) { return spec.name != "a" && spec.name != "b"; });
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0], (TableSpec{.name = "a", .kind = TableKind::Channel, .rows_max = 10}));
  EXPECT_EQ(tables[1].name, "b");
}

TEST_P(AnyStoreContract, HasALimitOnItsTables) {
  for (std::size_t i = world().tables_at_first(); i < limits::kTables; ++i) declare(std::to_string(i), TableKind::Queue);
  EXPECT_EQ(store().declare({.name = "one more"}).code(), StatusCode::ResourceExhausted);
}

TEST_P(AnyStoreContract, UnknownTableIsNotFoundEverywhere) {
  EXPECT_EQ(store().write("none", Change::set("k", {})).code(), StatusCode::NotFound);
  EXPECT_THAT(std::string{store().write("none", Change::set("k", {})).message()}, HasSubstr("none"));
  EXPECT_EQ(store().subscribe("none").error().code(), StatusCode::NotFound);
  EXPECT_EQ(get("none", "k").error().code(), StatusCode::NotFound);
  EXPECT_EQ(scan("none", "", 10).error().code(), StatusCode::NotFound);
  EXPECT_EQ(store().size("none").error().code(), StatusCode::NotFound);
}

TEST_P(AnyStoreContract, WrongOperationForTheKindIsRefusedAtOnce) {
  declare("T", TableKind::Staged);
  declare("W", TableKind::Watched);
  declare("C", TableKind::Channel);
  EXPECT_EQ(store().write("T", Change::event("e", "k", {})).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store().write("W", Change::event("e", "k", {})).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store().write("C", Change::set("k", {})).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store().write("C", Change::remove("k")).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store().write("T", Change{}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store().write("T", Change{ChangeOp::Delete, Record::make("k", {{"a", "1"}})}).code(), StatusCode::InvalidArgument);
}

TEST_P(AnyStoreContract, SizesBeyondTheLimitsAreRefusedAtOnceAndNamed) {
  declare("T", TableKind::Staged);
  const std::string long_name(limits::kNameBytes + 1, 'n');
  EXPECT_EQ(store().write("T", Change::set(long_name, {})).code(), StatusCode::InvalidArgument);
  EXPECT_THAT(store().write("T", Change::set("k", {{long_name, "v"}})).to_string(), HasSubstr("'k'"));
  const std::string big(limits::kValueBytes + 1, 'v');
  EXPECT_THAT(store().write("T", Change::set("k", {{"speed", big}})).to_string(), HasSubstr("'speed'"));
  const std::vector<Field> many(limits::kFields + 1, Field{"a", "b"});
  EXPECT_EQ(store().write("T", Change::set("k", many)).code(), StatusCode::InvalidArgument);
}

TEST_P(AnyStoreContract, ASetWithAnEmptyKeyOrNameOfAFieldIsRefusedAtOnceAndNamed) {
  declare("T", TableKind::Staged);
  declare("W", TableKind::Watched);
  for (const char* const table : {"T", "W"}) {
    const Status no_key = store().write(table, Change::set("", {{"a", "1"}}));
    EXPECT_EQ(no_key.code(), StatusCode::InvalidArgument);
    EXPECT_THAT(no_key.to_string(), testing::AllOf(HasSubstr("table '" + std::string{table} + "'"), HasSubstr("the key is empty")));
    const Status no_name = store().write(table, Change::set("k", {{"a", "1"}, {"", "2"}}));
    EXPECT_EQ(no_name.code(), StatusCode::InvalidArgument);
    EXPECT_THAT(no_name.to_string(), HasSubstr("key 'k': the name of a field is empty"));
    EXPECT_TRUE(store().write(table, Change::remove("")).ok()) << "the row of another program";
  }
}

TEST_P(AnyStoreContract, WriteCompletesOnceAndLater) {
  declare("T", TableKind::Staged);
  EXPECT_TRUE(end_of_write("T", Change::set("k", {})).ok());
  EXPECT_TRUE(end_of_write("T", Change::remove("k")).ok());
}

TEST_P(AnyStoreContract, AStoreThatAppliesAtOnceHasTheWriteWhenTheCallReturns) {
  EXPECT_FALSE(store().applies_at_once("unknown"));
  declare("U", TableKind::Staged, 1);
  ASSERT_EQ(store().write_answer("U"), answer());
  ASSERT_EQ(store().applies_at_once("U"), answer() == WriteAnswer::Accepted);
  if (answer() != WriteAnswer::Accepted) return;
  const auto subscription = subscribe("U");
  EXPECT_TRUE(store().write("U", Change::set("k", {{"x", "1"}})).ok());
  EXPECT_THAT(take(*subscription), ElementsAre("SET k x=1"));
  EXPECT_EQ(store().write("U", Change::set("other", {})).code(), StatusCode::ResourceExhausted) << "known in the call";
}

TEST_P(AnyStoreContract, WritesCompleteInTheOrderTheyWereAccepted) {
  declare("T", TableKind::Staged);
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(store().write("T", Change::set(std::to_string(i % 7), {}), [&order, i](const Status&) { order.push_back(i); }).ok());
  }
  settle();
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(AnyStoreContract, CompletionMayUseTheStore) {
  declare("W", TableKind::Watched);
  int ends = 0;
  std::function<void(const Status&)> again = [&](const Status&) {
    if (++ends == 5) return;
    EXPECT_TRUE(store().write("W", Change::set(std::to_string(ends), {}), again).ok());
  };
  EXPECT_TRUE(store().write("W", Change::set("0", {}), again).ok());
  settle();
  EXPECT_EQ(ends, 5);
  expect_rows("W", 5);
}

TEST_P(AnyStoreContract, ScanVisitsEveryRowOncePageByPage) {
  declare("W", TableKind::Watched);
  std::set<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    set("W", std::to_string(i), {});
    if (i % 3 == 0) {
      remove("W", std::to_string(i));
    } else {
      expected.insert(std::to_string(i));
    }
  }
  settle();
  std::set<std::string> seen;
  std::string cursor;
  do {
    const Result<RowPage> page = scan("W", cursor, 70);
    ASSERT_TRUE(page.has_value()) << page.error().to_string();
    EXPECT_LE(page->rows.size(), 70U);
    for (const Record& record : page->rows) EXPECT_TRUE(seen.emplace(record.key()).second) << record.key();
    cursor = page->next;
  } while (!cursor.empty());
  EXPECT_EQ(seen, expected);
}

TEST_P(AnyStoreContract, APageOfAScanCanBeReadAgainAndShorter) {
  declare("W", TableKind::Watched);
  for (int i = 0; i < 900; ++i) set("W", "k" + std::to_string(i), {});
  settle();
  std::set<std::string> seen;
  std::string cursor;
  do {
    ASSERT_TRUE(scan("W", cursor, 300).has_value());
    const Result<RowPage> page = scan("W", cursor, 90);
    ASSERT_TRUE(page.has_value()) << page.error().to_string();
    EXPECT_LE(page->rows.size(), 90U);
    for (const Record& record : page->rows) EXPECT_TRUE(seen.emplace(record.key()).second) << record.key();
    cursor = page->next;
  } while (!cursor.empty());
  EXPECT_EQ(seen.size(), 900U);
}

TEST_P(AnyStoreContract, ScanMissesNoRowThatStaysWhileOthersComeAndGo) {
  declare("W", TableKind::Watched);
  for (int i = 0; i < 300; ++i) set("W", "stays" + std::to_string(i), {});
  for (int i = 0; i < 300; ++i) set("W", "goes" + std::to_string(i), {});
  settle();
  std::set<std::string> seen;
  std::string cursor;
  int round = 0;
  do {
    const Result<RowPage> page = scan("W", cursor, 50);
    ASSERT_TRUE(page.has_value());
    for (const Record& record : page->rows) seen.emplace(record.key());
    cursor = page->next;
    for (int i = 0; i < 25; ++i) {
      remove("W", "goes" + std::to_string(round * 25 + i));
      set("W", "new" + std::to_string(round * 25 + i), {});
    }
    settle();
    ++round;
  } while (!cursor.empty() && round < 100);
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(seen.contains("stays" + std::to_string(i))) << i;
}

TEST_P(AnyStoreContract, ScanOfAForeignCursorIsInvalid) {
  declare("W", TableKind::Watched);
  EXPECT_EQ(scan("W", "no cursor", 10).error().code(), StatusCode::InvalidArgument);
}

TEST_P(AnyStoreContract, HealthIsOk) { EXPECT_TRUE(store().health().ok()); }

}  // namespace
}  // namespace rondo::store
