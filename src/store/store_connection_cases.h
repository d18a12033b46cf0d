// The promises of store.h about a connection that is lost and restored, run on each implementation that has a connection
// (store_contract.h). Each test's name states the promise. A header, so that parts of the store instantiate the same cases for theirs.
#pragma once

#include <set>

#include "store/store_contract.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class BrokenConnection : public BreakableStoreContract {
 protected:
  void elsewhere_set(std::string_view table, std::string_view key, FieldList fields) {
    world().write_elsewhere(table, Change::set(key, fields));
  }
};

TEST_P(BrokenConnection, HealthSaysSo) {
  world().disconnect();
  EXPECT_EQ(store().health().code(), StatusCode::Unavailable);
  world().reconnect();
  settle();
  EXPECT_TRUE(store().health().ok());
}

TEST_P(BrokenConnection, WatchedReportsExactlyTheDifference) {
  declare("W", TableKind::Watched);
  for (const char* key : {"same", "changed", "gone", "blink"}) set("W", key, {{"x", "1"}});
  const auto watcher = subscribe("W");
  EXPECT_EQ(take_all(*watcher).size(), 4U);
  world().disconnect();
  elsewhere_set("W", "changed", {{"x", "2"}});
  elsewhere_set("W", "new", {{"x", "3"}});
  world().write_elsewhere("W", Change::remove("gone"));
  world().write_elsewhere("W", Change::remove("blink"));
  elsewhere_set("W", "blink", {{"x", "1"}});
  settle();
  EXPECT_TRUE(watcher->empty());
  world().reconnect();
  EXPECT_THAT(take_all(*watcher), UnorderedElementsAre("DEL gone", "SET changed x=2", "SET new x=3"));
}

TEST_P(BrokenConnection, WatchedThatLostEveryRowSaysSo) {
  declare("W", TableKind::Watched);
  set("W", "a", {});
  set("W", "b", {});
  const auto watcher = subscribe("W");
  EXPECT_EQ(take_all(*watcher).size(), 2U);
  world().disconnect();
  world().write_elsewhere("W", Change::remove("a"));
  world().write_elsewhere("W", Change::remove("b"));
  world().reconnect();
  EXPECT_THAT(take_all(*watcher), UnorderedElementsAre("DEL a", "DEL b"));
}

TEST_P(BrokenConnection, WatchedDoesNotReportWhatChangedBackBeforeItWasTold) {
  declare("W", TableKind::Watched);
  set("W", "k", {{"x", "1"}});
  const auto watcher = subscribe("W");
  EXPECT_EQ(take_all(*watcher).size(), 1U);
  set("W", "k", {{"x", "2"}});
  settle();
  world().disconnect();
  elsewhere_set("W", "k", {{"x", "1"}});
  world().reconnect();
  EXPECT_THAT(take_all(*watcher), IsEmpty());
}

TEST_P(BrokenConnection, ChannelReportsOneGapInOrder) {
  declare("C", TableKind::Channel);
  const auto listener = subscribe("C");
  int wakes = 0;
  listener->on_ready([&wakes] { ++wakes; });
  send("C", "e", "1");
  settle();
  world().disconnect();
  world().write_elsewhere("C", Change::event("e", "2", {}));
  settle();
  world().reconnect();
  settle();
  send("C", "e", "3");
  settle();
  EXPECT_GE(wakes, 1);
  EXPECT_FALSE(listener->take_gap());
  EXPECT_THAT(take(*listener), ElementsAre("e 1"));
  EXPECT_TRUE(listener->take_gap());
  EXPECT_THAT(take_all(*listener), ElementsAre("e 3"));
  EXPECT_FALSE(listener->take_gap());
}

TEST_P(BrokenConnection, ChannelWakesItsListenerForAGapWithoutEvents) {
  declare("C", TableKind::Channel);
  const auto listener = subscribe("C");
  int wakes = 0;
  listener->on_ready([&wakes] { ++wakes; });
  world().disconnect();
  world().reconnect();
  settle();
  EXPECT_GE(wakes, 1);
  EXPECT_TRUE(listener->take_gap());
}

TEST_P(BrokenConnection, StagedGoesOnFromItsPendingSet) {
  declare("T", TableKind::Staged);
  const auto consumer = subscribe("T");
  for (int i = 0; i < 1000; ++i) set("T", std::to_string(i), {});
  world().disconnect();  // Some writes and pops are outstanding.
  elsewhere_set("T", "elsewhere", {});
  settle();
  set("T", "later", {});
  world().reconnect();
  std::vector<std::string> taken = take_all(*consumer, 50);
  const std::set<std::string> all{taken.begin(), taken.end()};
  EXPECT_EQ(all.size(), 1002U);
  EXPECT_TRUE(all.contains("SET elsewhere") && all.contains("SET later"));
}

TEST_P(BrokenConnection, WritesAcceptedMeanwhileArriveInOrder) {
  declare("W", TableKind::Watched);
  world().disconnect();
  std::vector<Status> ends;
  for (const char* value : {"1", "2"}) {
    EXPECT_TRUE(store().write("W", Change::set("k", {{"x", value}}), [&ends](const Status& end) { ends.push_back(end); }).ok());
  }
  settle();
  EXPECT_TRUE(ends.empty());
  world().reconnect();
  settle();
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_TRUE(ends[0].ok() && ends[1].ok());
  EXPECT_EQ(row("W", "k"), "k x=2");
}

TEST_P(BrokenConnection, ReadsAreUnavailable) {
  declare("W", TableKind::Watched);
  world().disconnect();
  EXPECT_EQ(get("W", "k").error().code(), StatusCode::Unavailable);
  EXPECT_EQ(scan("W", "", 10).error().code(), StatusCode::Unavailable);
}

TEST_P(BrokenConnection, SubscribingMeanwhileWorksOnceItIsBack) {
  declare("W", TableKind::Watched);
  set("W", "k", {});
  settle();
  world().disconnect();
  const auto watcher = subscribe("W");
  EXPECT_TRUE(watcher->empty());
  world().reconnect();
  EXPECT_THAT(take_all(*watcher), ElementsAre("SET k"));
}

}  // namespace
}  // namespace rondo::store
