// Runtime and Orch: facts, observers, listeners and lifetimes; and what must not be lost when a handler throws, an event is late or an
// Orch ends early.
#include "rondo/orch/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RuntimeTest : public testing::Test, public RuntimeFixture {
 protected:
  /// Parks every Set of "T" until its key is a group.
  void park_rows_of(OpenOrch& orch) {
    orch.consume(
        "T",
        [&](std::string_view key, const Fields&) {
          const Fact needed{kGroup, std::string{key}};
          return orch.holds(needed) ? Outcome::done() : Outcome::wait_for(needed);
        },
        [](std::string_view) { return Outcome::done(); });
  }
};

// --- the first example, on the embedded store and the real clock

TEST(RuntimeExample, ARouteWaitsForItsGroupAndIsInstalledOnce) {
  Runtime runtime;
  bool group = false;
  int asked = 0;
  auto& groups = runtime.add<OpenOrch>("groups", Priority::p5);
  groups.provide(kGroup, [&](std::string_view) { return group; });
  groups.consume(
      "GROUP",
      [&](std::string_view key, const Fields&) {
        group = true;
        groups.announce({kGroup, std::string{key}});
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); });
  auto& routes = runtime.add<OpenOrch>("routes", Priority::p1);
  routes.consume(
      "ROUTE",
      [&](std::string_view, const Fields& fields) {
        ++asked;
        const Fact needed{kGroup, fields.text("group").value_or("")};
        return routes.holds(needed) ? Outcome::done() : Outcome::wait_for(needed);
      },
      [](std::string_view) { return Outcome::done(); });
  ASSERT_TRUE(runtime.table("ROUTE").set("10.0.0.0/24", {{"group", "102"}}).ok());
  runtime.run_until_idle();
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(runtime.table("GROUP").set("102", {}).ok());
  runtime.run_until_idle();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(parked_rows(runtime, "ROUTE", 1).size(), 0U);
}

// --- observers

class ObserverTest : public RuntimeTest {
 protected:
  ObserverTest() {
    orch.provide(kGroup, [](std::string_view) { return false; });
    orch.provide(kOther, [](std::string_view) { return false; });
    orch.observe(kGroup, [this](std::string_view key, bool holds) {
      if (key == "bad") throw std::runtime_error("cannot bear it");
      calls.push_back((holds ? "+" : "-") + std::string{key});
    });
  }
  static constexpr FactKind kOther{"other"};
  OpenOrch& orch = runtime.add<OpenOrch>("watcher");
};

TEST_F(ObserverTest, FactsAreToldInATurnOfTheObserver) {
  orch.announce({kGroup, "1"});
  EXPECT_THAT(calls, IsEmpty());
  run();
  orch.withdraw({kGroup, "1"});
  run();
  EXPECT_THAT(calls, ElementsAre("+1", "-1"));
}

TEST_F(ObserverTest, AnEndIsNeverLostAndRepeatsMerge) {
  orch.announce({kGroup, "flaps"});
  run();
  for (int i = 0; i < 100; ++i) {
    orch.withdraw({kGroup, "flaps"});
    orch.announce({kGroup, "flaps"});
  }
  orch.announce({kGroup, "new"});
  orch.announce({kGroup, "new"});
  run();
  EXPECT_THAT(calls, ElementsAre("+flaps", "-flaps", "+flaps", "+new"));
}

TEST_F(ObserverTest, WhatBeganAndEndedWhileItWaitedIsToldAsAnEnd) {
  orch.announce({kGroup, "1"});
  orch.withdraw({kGroup, "1"});
  run();
  EXPECT_THAT(calls, ElementsAre("-1"));
}

TEST_F(ObserverTest, OtherKindsAreNotTold) {
  orch.announce({kOther, "1"});
  run();
  EXPECT_THAT(calls, IsEmpty());
}

TEST_F(ObserverTest, AnExceptionLosesThatEventAloneAndIsReported) {
  orch.announce({kGroup, "bad"});
  orch.announce({kGroup, "good"});
  run();
  EXPECT_THAT(calls, ElementsAre("+good"));
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("watcher observes group 'bad': the handler threw: cannot bear it")));
  EXPECT_EQ(runtime.scheduler().stats().quarantined, 0U);
}

// --- listeners

class ListenerTest : public RuntimeTest {
 protected:
  void listen(TableKind kind, std::size_t rows_max = 100) {
    TableSpec spec;
    spec.name = "EVENTS";
    spec.kind = kind;
    spec.rows_max = rows_max;
    ASSERT_TRUE(runtime.store().declare(spec).ok());
    runtime.add<OpenOrch>().listen(
        "EVENTS",
        [this](const Change& event) {
          world.clock().advance(slow * limits::kTurnTime / 8);
          if (event.key() == "bad") throw std::runtime_error("cannot bear it");
          if (event.key() == "worse") throw 42;  // NOLINT(hicpp-exception-baseclass): on purpose.
          calls.push_back(std::string{event.verb()} + " " + std::string{event.key()});
        },
        kind, [this] { calls.push_back("gap"); });
  }
  void send(std::string_view verb, std::string_view key) { ASSERT_TRUE(runtime.table("EVENTS").write(Change::event(verb, key, {})).ok()); }

  int slow = 0;  // Eighths of a turn's time that one event takes.
};

TEST_F(ListenerTest, EachEventIsHandledOnceInOrder) {
  listen(TableKind::Channel);
  for (const char* verb : {"up", "down", "up"}) send(verb, "Ethernet0");
  run();
  run_for(3s);
  EXPECT_THAT(calls, ElementsAre("up Ethernet0", "down Ethernet0", "up Ethernet0"));
}

TEST_F(ListenerTest, AnExceptionLosesThatEventAloneAndIsReported) {
  listen(TableKind::Channel);
  for (const char* key : {"a", "bad", "b", "worse", "c"}) send("up", key);
  run();
  EXPECT_THAT(calls, ElementsAre("up a", "up b", "up c"));
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("EVENTS 'bad': the handler threw: cannot bear it"), HasSubstr("EVENTS 'worse'")));
  EXPECT_EQ(runtime.scheduler().stats().quarantined, 0U);
}

TEST_F(ListenerTest, LostEventsAreToldAsAGapInOrder) {
  listen(TableKind::Channel, 3);
  for (int i = 0; i < 5; ++i) {
    const Status sent = runtime.table("EVENTS").write(Change::event("up", std::to_string(i), {}));
    EXPECT_TRUE(sent.ok() || sent.code() == StatusCode::ResourceExhausted);
  }
  run();
  EXPECT_THAT(calls, ElementsAre("up 0", "up 1", "up 2", "gap")) << "nobody waits for the next event";
  send("up", "after");
  run();
  EXPECT_THAT(calls, ElementsAre("up 0", "up 1", "up 2", "gap", "up after"));
  std::uint64_t turned_away = 0;
  runtime.scheduler().for_each_source([&](const Source& source) { turned_away += source.turned_away(); });
  EXPECT_EQ(turned_away, 2U);
}

TEST_F(ListenerTest, AGapIsToldBeforeWhatCameAfterItInTheSameTurn) {
  listen(TableKind::Channel, 20);
  for (int i = 0; i < 25; ++i) {
    const Status sent = runtime.table("EVENTS").write(Change::event("up", std::to_string(i), {}));
    EXPECT_TRUE(sent.ok() || sent.code() == StatusCode::ResourceExhausted);
    if (i != 22) continue;
    slow = 10;  // The first turn ends by time, with room in the subscription, and the gap still follows.
    runtime.scheduler().turn();
    slow = 0;
  }
  run();
  ASSERT_EQ(std::ranges::count(calls, "gap"), 1);
  ASSERT_EQ(calls.size(), 23U) << "20 before the gap, 2 behind it";
  EXPECT_EQ(calls[19], "up 19");
  EXPECT_EQ(calls[20], "gap");
  EXPECT_EQ(calls[21], "up 23");
}

TEST_F(ListenerTest, ATurnEndsWhenItsTimeIsOver) {
  listen(TableKind::Channel);
  for (int i = 0; i < 64; ++i) send("up", std::to_string(i));
  slow = 1000;
  runtime.scheduler().turn();
  EXPECT_EQ(calls.size(), limits::kItemsPerStep);
  slow = 0;
  run();
  EXPECT_EQ(calls.size(), 64U);
}

TEST_F(ListenerTest, AQueueDeliversEveryOperationUnmerged) {
  listen(TableKind::Queue);
  set("EVENTS", "a");
  remove("EVENTS", "a");
  set("EVENTS", "a");
  send("flush", "a");
  run();
  EXPECT_THAT(calls, ElementsAre("SET a", "DEL a", "SET a", "flush a"));
}

// --- lifetimes and introspection

TEST_F(RuntimeTest, AnOrchThatGoesTakesItsParkedRowsWithIt) {
  OpenOrch& groups_orch = add_groups();
  {
    OpenOrch orch(runtime, "short lived");
    park_rows_of(orch);
    for (const char* key : {"a", "b", "b2"}) set("T", key);
    run();
    EXPECT_EQ(stats("T").parked, 3U);
    EXPECT_EQ(parked_facts(runtime, 10).size(), 3U);
  }
  EXPECT_THAT(runtime.consumers(), IsEmpty());
  EXPECT_THAT(parked_facts(runtime, 10), IsEmpty());
  EXPECT_FALSE(groups_orch.is_awaited({kGroup, "a"}));
  groups_orch.announce({kGroup, "a"});
  run();
  OpenOrch& next = runtime.add<OpenOrch>("next");
  park_rows_of(next);
  set("T", "c");
  run();
  EXPECT_EQ(stats("T").taken, 4U) << "the next consumer begins with the rows that stand";
}

// SONiC's orchagent, "Consumer Ordering Within Orch": there consumers are ordered by the names of their tables. The order must be the same
// in every run. Ours is the order in which the Orch subscribed, whatever the names.
TEST_F(RuntimeTest, ConsumersOfAnOrchThatAreReadyTogetherGoInTheOrderOfTheirSubscription) {
  const std::vector<std::string> tables{"C_TABLE", "A_TABLE", "D_TABLE", "B_TABLE"};
  for (const auto& table : {"A_TABLE", "B_TABLE", "C_TABLE", "D_TABLE"}) {
    for (const char* key : {"1", "2"}) set(table, key);
  }
  OpenOrch& orch = runtime.add<OpenOrch>();
  for (const std::string& table : tables) {
    orch.consume(
        table,
        [this, table](std::string_view key, const Fields&) {
          calls.push_back(table + ":" + std::string{key});
          return Outcome::done();
        },
        [](std::string_view) { return Outcome::done(); });
  }
  run();
  EXPECT_THAT(calls, ElementsAre("C_TABLE:1", "C_TABLE:2", "A_TABLE:1", "A_TABLE:2", "D_TABLE:1", "D_TABLE:2", "B_TABLE:1", "B_TABLE:2"));
}

TEST_F(RuntimeTest, AProviderThatGoesLeavesItsKindToAnother) {
  {
    OpenOrch first(runtime, "first");
    first.provide(kGroup, [](std::string_view) { return true; });
    EXPECT_TRUE(first.holds({kGroup, "1"}));
  }
  OpenOrch& second = runtime.add<OpenOrch>("second");
  EXPECT_FALSE(second.holds({kGroup, "1"}));
  second.provide(kGroup, [](std::string_view key) { return key == "2"; });
  EXPECT_TRUE(second.holds({kGroup, "2"}));
  EXPECT_FALSE(second.holds({kGroup, "1"}));
}

TEST_F(RuntimeTest, ATableThatTheStoreWillNotHaveRefusesWritesWithItsReason) {
  for (std::size_t i = 0; i < limits::kTables; ++i) ASSERT_TRUE(runtime.store().declare({.name = "T" + std::to_string(i)}).ok());
  const Status full = runtime.table("one more").set("k", {});
  EXPECT_EQ(full.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(runtime.table("").set("k", {}).code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(runtime.table("T0").set("k", {}).ok());
}

/// Returns no tables, like a home runtime that has no time to answer.
class SilentStore final : public test::PassingStore {
 public:
  using PassingStore::PassingStore;
  std::vector<TableSpec> tables() const override { return {}; }
};

TEST(RuntimeTables, OneThatSomebodyElseDeclaredAsAnotherKindCanBeWritten) {
  RuntimeFixture in{{}, [](Scheduler& scheduler) { return std::make_unique<SilentStore>(make_memory_store(scheduler)); }};
  ASSERT_TRUE(in.runtime.store().declare({.name = "Q", .kind = TableKind::Queue}).ok());
  EXPECT_TRUE(in.runtime.table("Q").set("k", {}).ok());
  EXPECT_EQ(in.runtime.store().size("Q")->staged, 1U);
}

TEST_F(RuntimeTest, KindsAreEqualWhenTheirNamesAre) {
  OpenOrch& orch = runtime.add<OpenOrch>();
  static constexpr char kSameName[] = "group";  // The same text as the literal, at another address.
  orch.provide(kGroup, [](std::string_view) { return true; });
  EXPECT_TRUE(orch.holds({FactKind{kSameName}, "1"}));
}

TEST_F(RuntimeTest, ParkedRowsAndFactsAreShownBounded) {
  add_groups();
  OpenOrch& orch = runtime.add<OpenOrch>();
  park_rows_of(orch);
  for (int i = 0; i < 1000; ++i) set("T", std::to_string(i));
  run();
  world.clock().advance(3s);
  const std::vector<ParkedRow> rows = parked_rows(runtime, "T", 10);
  ASSERT_EQ(rows.size(), 10U);
  EXPECT_EQ(rows[0].table, "T");
  EXPECT_THAT(rows[0].facts, ElementsAre(Fact{kGroup, rows[0].key}));
  EXPECT_GE(rows[0].waited, 3s);
  EXPECT_EQ(rows[0].retry_in, 0s);
  const std::vector<ParkedFact> facts = parked_facts(runtime, 7);
  ASSERT_EQ(facts.size(), 7U);
  EXPECT_EQ(facts[0].rows, 1U);
  EXPECT_TRUE(facts[0].has_provider);
  EXPECT_EQ(parked_facts(runtime, 5000).size(), 1000U);
  EXPECT_THAT(parked_rows(runtime, "NO_TABLE", 10), IsEmpty());
}

TEST_F(RuntimeTest, ParkedRowsAndFactsComeInPagesHoweverMany) {
  OpenOrch& groups_orch = add_groups();
  park_rows_of(runtime.add<OpenOrch>());
  for (int i = 0; i < 3000; ++i) set("T", std::to_string(i));
  run();
  groups.emplace("17");
  groups_orch.announce({kGroup, "17"});
  run();
  std::set<std::string> keys;
  std::size_t calls_made = 0;
  for (std::uint32_t place = 0; place != kNoPlace; ++calls_made) {
    const std::vector<ParkedRow> page = parked_rows(runtime, "T", 100, place);
    EXPECT_LE(page.size(), 100U);
    for (const ParkedRow& row : page) EXPECT_TRUE(keys.insert(row.key).second) << row.key << " came twice";
  }
  EXPECT_EQ(keys.size(), 2999U);
  EXPECT_FALSE(keys.contains("17"));
  EXPECT_GE(calls_made, 30U);
  std::size_t rows = 0;
  for (std::uint32_t place = 0; place != kNoPlace;) {
    for (const ParkedFact& fact : parked_facts(runtime, 100, place)) {
      EXPECT_EQ(fact.table, "T");
      rows += fact.rows;
    }
  }
  EXPECT_EQ(rows, 2999U);
  EXPECT_EQ(runtime.awaited_facts(), 2999U);
  std::uint32_t place = 0;
  EXPECT_THAT(parked_rows(runtime, "NO_TABLE", 10, place), IsEmpty());
  EXPECT_EQ(place, kNoPlace);
}

TEST_F(RuntimeTest, AWatchedTableIsConsumedFromItsFirstRow) {
  TableSpec spec;
  spec.name = "CONFIG";
  spec.kind = TableKind::Watched;
  ASSERT_TRUE(runtime.store().declare(spec).ok());
  set("CONFIG", "before", {{"f", "1"}});
  OpenOrch& orch = runtime.add<OpenOrch>();
  orch.consume(
      "CONFIG",
      [this](std::string_view key, const Fields&) {
        calls.push_back(call(ChangeOp::Set, key));
        return Outcome::done();
      },
      [this](std::string_view key) {
        calls.push_back(call(ChangeOp::Delete, key));
        return Outcome::done();
      },
      {.kind = TableKind::Watched});
  run();
  set("CONFIG", "after");
  remove("CONFIG", "before");
  run();
  EXPECT_THAT(calls, testing::UnorderedElementsAre("S before", "S after", "D before"));
}

TEST_F(RuntimeTest, ATableOfAnUnusualLimitIsConsumedAsItWasDeclared) {
  TableSpec spec;
  spec.name = "T";
  spec.rows_max = 2;
  ASSERT_TRUE(runtime.store().declare(spec).ok());
  OpenOrch& orch = runtime.add<OpenOrch>();
  park_rows_of(orch);
  set("T", "a");
  set("T", "b");
  EXPECT_EQ(runtime.table("T").set("c", {}).code(), StatusCode::ResourceExhausted);
  run();
  EXPECT_EQ(stats("T").parked, 2U);
}

}  // namespace
}  // namespace rondo
