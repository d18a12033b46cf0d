// Every checker can fail: each case plants one fault - a store, an Orch, a source or a ledger that is broken on purpose - and sees it found
// by the checker whose statement it breaks. And none complains of a sound program.
#include "rondo/sim/checkers.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "orch/runtime_fixture.h"
#include "orch/runtime_view.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"

namespace rondo::sim {
namespace {

using testing::HasSubstr;

/// A program of one Orch on table "T" that applies what it is told.
OpenOrch& add_simple(Runtime& runtime, ConsumeOptions options = {}) {
  OpenOrch& orch = runtime.add<OpenOrch>();
  orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); }, options);
  return orch;
}

void expect_violation(const World& world, std::string_view checker, const std::string& what) {
  ASSERT_TRUE(world.violation().has_value()) << "nothing was found";
  EXPECT_EQ(world.violation()->checker, checker) << world.report();
  EXPECT_THAT(world.violation()->what, HasSubstr(what));
}

// --- nothing-lost

/// Says of one write that it is done, and forgets it; or does it before the one that came before.
class WrongStore final : public test::PassingStore {
 public:
  enum class Fault { Loses, Swaps };
  WrongStore(Scheduler& scheduler, Fault fault) : PassingStore(make_memory_store(scheduler)), fault_(fault) {}

  Status write(std::string_view table, Change change, WriteDone done) override {
    if (++writes_ == 3) {
      kept_ = change;
      store().get(table, change.key(), [done](const Result<Record>&) { done({}); });
      return {};
    }
    Status accepted = store().write(table, std::move(change), std::move(done));
    if (writes_ == 4 && fault_ == Fault::Swaps) return store().write(table, kept_);
    return accepted;
  }

 private:
  Fault fault_;
  int writes_ = 0;
  Change kept_;
};

WorldOptions with_store(WrongStore::Fault fault) {
  WorldOptions options;
  options.make_store = [fault](Scheduler& scheduler) { return std::make_unique<WrongStore>(scheduler, fault); };
  return options;
}

TEST(NothingLost, FindsASetThatTheStoreForgot) {
  World world(with_store(WrongStore::Fault::Loses));
  world.start([](Runtime& runtime) -> std::shared_ptr<void> { return add_simple(runtime), nullptr; });
  for (const char* const key : {"a", "b", "c", "d"}) world.set("T", key, {{"v", "1"}});
  EXPECT_FALSE(world.come_to_rest());
  expect_violation(world, "nothing-lost", "T 'c': a Set is lost");
}

TEST(NothingLost, FindsADeleteThatTheStoreForgot) {
  World world(with_store(WrongStore::Fault::Loses));
  world.start([](Runtime& runtime) -> std::shared_ptr<void> { return add_simple(runtime), nullptr; });
  for (const char* const key : {"a", "b"}) world.set("T", key, {{"v", "1"}});
  world.remove("T", "a");
  EXPECT_FALSE(world.come_to_rest());
  expect_violation(world, "nothing-lost", "T 'a': a Delete is lost");
}

TEST(NothingLost, FindsAnOlderWriteThatWon) {
  World world(with_store(WrongStore::Fault::Swaps));
  world.start([](Runtime& runtime) -> std::shared_ptr<void> { return add_simple(runtime), nullptr; });
  for (const char* const value : {"1", "2", "3", "4"}) world.set("T", "a", {{"v", value}});
  EXPECT_FALSE(world.come_to_rest());
  expect_violation(world, "nothing-lost", "the last write did not win: written {v=4}, done {v=3}");
}

// --- order-per-key and no-handler-too-early: what a broken ledger would make a consumer do

class BrokenLedger : public testing::Test {
 protected:
  BrokenLedger() {
    world_.start([](Runtime& runtime) -> std::shared_ptr<void> {
      runtime.add<OpenOrch>("groups").provide(kGroup, [](std::string_view) { return false; });
      return add_simple(runtime), nullptr;
    });
  }
  Status see(Checker& checker, Event::Kind kind, const Change& change, std::vector<Constraint> facts = {}) {
    return checker.see(world_, {.kind = kind, .table = "T", .change = &change, .facts = facts});
  }
  void accepts(Checker& checker, Event::Kind kind, const Change& change, std::vector<Constraint> facts = {}) {
    const Status status = see(checker, kind, change, std::move(facts));
    ASSERT_TRUE(status.ok()) << status.to_string();
  }

  World world_{1};
  const Change set_1_ = Change::set("k", {{"v", "1"}});
  const Change set_2_ = Change::set("k", {{"v", "2"}});
  const Change remove_ = Change::remove("k");
};

TEST_F(BrokenLedger, ThatLetsASetOvertakeItsDeleteIsFound) {
  OrderPerKey checker;
  accepts(checker, Event::Kind::Taken, remove_);
  accepts(checker, Event::Kind::Taken, set_1_);
  EXPECT_THAT(std::string{see(checker, Event::Kind::Asked, set_1_).message()}, HasSubstr("a Set overtakes a Delete"));
}

TEST_F(BrokenLedger, ThatHandsOutAnOldSetIsFound) {
  OrderPerKey checker;
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Taken, set_2_);
  EXPECT_THAT(std::string{see(checker, Event::Kind::Asked, set_1_).message()}, HasSubstr("asked about {v=1} and not {v=2}"));
}

TEST_F(BrokenLedger, ThatHandsOutASecondChangeOfAKeyInFlightIsFound) {
  OrderPerKey checker;
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Taken, set_2_);
  EXPECT_THAT(std::string{see(checker, Event::Kind::Asked, set_2_).message()}, HasSubstr("while the first has no outcome"));
}

TEST_F(BrokenLedger, ThatRepeatsWhatIsDoneIsFound) {
  OrderPerKey checker;
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Done, set_1_);
  EXPECT_THAT(std::string{see(checker, Event::Kind::Asked, set_1_).message()}, HasSubstr("not taken, or is done"));
}

TEST_F(BrokenLedger, ThatForgetsARowIsFoundAtRest) {
  OrderPerKey checker;
  accepts(checker, Event::Kind::Taken, set_1_);
  EXPECT_THAT(std::string{checker.at_rest(world_).message()}, HasSubstr("T: the ledger owes 0 rows and not 1"));
}

TEST_F(BrokenLedger, ThatTakesUpARowBeforeItsAnnouncementIsFound) {
  NoHandlerTooEarly checker;
  const Constraint fact{kGroup, "102"};
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Waits, set_1_, {fact});
  EXPECT_THAT(std::string{see(checker, Event::Kind::Chosen, set_1_).message()}, HasSubstr("before group:102 was announced"));
}

TEST_F(BrokenLedger, MayTakeUpARowThatWasAnnouncedThoughItEndedSince) {
  NoHandlerTooEarly checker;
  const Constraint fact{kGroup, "102"};
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Waits, set_1_, {fact});
  EXPECT_TRUE(checker.see(world_, {.kind = Event::Kind::Announced, .facts = {&fact, 1}}).ok());
  accepts(checker, Event::Kind::Chosen, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
}

TEST_F(BrokenLedger, ThatTakesUpARowWhoseSecondFactDoesNotHoldIsFound) {
  NoHandlerTooEarly checker;
  const Constraint fact{kGroup, "102"};
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Waits, set_1_, {fact, {kGroup, "103"}});
  EXPECT_TRUE(checker.see(world_, {.kind = Event::Kind::Announced, .facts = {&fact, 1}}).ok());
  EXPECT_THAT(std::string{see(checker, Event::Kind::Chosen, set_1_).message()}, HasSubstr("while group:102 does not hold"));
}

TEST_F(BrokenLedger, ThatAsksAHandlerAboutARowThatWaitsIsFound) {
  NoHandlerTooEarly checker;
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Waits, set_1_, {{kGroup, "102"}});
  EXPECT_THAT(std::string{see(checker, Event::Kind::Asked, set_1_).message()}, HasSubstr("while the change waits"));
}

// --- ledgers-agree, bounds-hold

/// Reaches into the ledger of "T" as no production code can.
Ledger& ledger_of(const World& world) { return RuntimeView(world.runtime()).consumers().at("T")->ledger(); }

TEST(LedgersAgree, FindsARowThatIsListedInAnotherIndex) {
  World world(1);
  world.start([](Runtime& runtime) -> std::shared_ptr<void> { return add_simple(runtime), nullptr; });
  ConstraintIndex other;
  Ledger& ledger = ledger_of(world);
  ledger.merge(Change::set("k", {}), world.now(), other);
  const Constraint fact{kGroup, "102"};
  ASSERT_TRUE(ledger.park(ledger.take_new()->row, {&fact, 1}, 0, world.now(), other));
  LedgersAgree checker;
  EXPECT_THAT(std::string{checker.at_rest(world).message()}, HasSubstr("does not know"));
  other.announce(fact);
  EXPECT_TRUE(checker.at_rest(world).ok()) << "a resolved row waits for its turn only";
}

TEST(BoundsHold, FindsALedgerBeyondItsLimit) {
  World world(1);
  world.start([](Runtime& runtime) -> std::shared_ptr<void> { return add_simple(runtime, {.rows_max = 2}), nullptr; });
  ConstraintIndex other;
  for (const char* const key : {"a", "b", "c", "d"}) {
    ledger_of(world).merge(Change::set(key, {}), world.now(), other);
    static_cast<void>(ledger_of(world).take_new());
  }
  world.set("T", "e", {});
  RuntimeView(world.runtime()).consumers().at("T")->wake();
  world.run_for(1ms);
  expect_violation(world, "bounds-hold", "the ledger owes 4 rows, at most 2 are allowed");
}

/// A source that breaks the rules of sources.
class WrongSource final : public Source {
 public:
  enum class Fault { Overdraws, Throws, ForgetsItsWake };
  WrongSource(Scheduler& scheduler, Fault fault) : Source("wrong", Priority::p0), fault_(fault) { scheduler.add(*this); }
  Turn run(const Budget& budget) override {
    if (fault_ == Fault::Throws) throw std::runtime_error("broken");
    return {.items = fault_ == Fault::Overdraws ? budget.items + 1 : 0, .backlog = Backlog::Empty};
  }
  bool has_backlog() const override { return is_forgetful; }
  bool is_forgetful = false;

 private:
  Fault fault_;
};

void expect_of_source(WrongSource::Fault fault, const std::string& what) {
  World world(1);
  WrongSource* source = nullptr;
  world.start([&](Runtime& runtime) -> std::shared_ptr<void> {
    auto made = std::make_shared<WrongSource>(runtime.scheduler(), fault);
    source = made.get();
    return made;
  });
  source->is_forgetful = fault == WrongSource::Fault::ForgetsItsWake;
  for (int i = 0; i < 300 && !world.violation(); ++i) {
    if (!source->is_forgetful) source->wake();
    world.run_for(10ms);
  }
  expect_violation(world, "bounds-hold", what);
}

TEST(BoundsHold, FindsASourceThatOverdrawsItsBudget) { expect_of_source(WrongSource::Fault::Overdraws, "source 'wrong'"); }
TEST(BoundsHold, FindsASourceThatFails) { expect_of_source(WrongSource::Fault::Throws, "quarantined"); }
TEST(BoundsHold, FindsALostWakeUp) { expect_of_source(WrongSource::Fault::ForgetsItsWake, "a wake-up was lost"); }

// --- parked-rows-are-explained

/// Rows of "T" wait for group "102"; the group comes with or without a word.
World& start_waiting(World& world, std::set<std::string, std::less<>>& groups, bool has_provider) {
  world.start([&groups, has_provider](Runtime& runtime) -> std::shared_ptr<void> {
    OpenOrch& orch = runtime.add<OpenOrch>();
    if (has_provider) orch.provide(kGroup, [&groups](std::string_view key) { return groups.contains(key); });
    orch.consume(
        "T",
        [&orch](std::string_view, const Fields&) {
          const Constraint fact{kGroup, "102"};
          return orch.holds(fact) ? Outcome::done() : Outcome::wait_for(fact);
        },
        [](std::string_view) { return Outcome::done(); });
    return nullptr;
  });
  world.set("T", "k", {{"v", "1"}});
  return world;
}

TEST(ParkedRowsAreExplained, FindsAnOrchThatForgetsToAnnounce) {
  std::set<std::string, std::less<>> groups;
  World world(1);
  EXPECT_TRUE(start_waiting(world, groups, true).come_to_rest()) << world.report();
  groups.insert("102");
  EXPECT_FALSE(world.come_to_rest());
  expect_violation(world, "parked-rows-are-explained", "T: 1 rows wait for group:102, which holds: it was not announced");
}

TEST(ParkedRowsAreExplained, AKindThatNobodyProvidesIsReported) {
  std::set<std::string, std::less<>> groups;
  World world(1);
  EXPECT_TRUE(start_waiting(world, groups, false).come_to_rest()) << world.report();
  // What the checker asks for: somebody who looks is told.
  const std::vector<ParkedConstraint> told = world.runtime().parked_constraints(10);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told.front().has_provider);
}

TEST(ParkedRowsAreExplained, FindsAKindThatNobodyProvidesAndNobodyReports) {
  std::set<std::string, std::less<>> groups;
  World world(1);
  ASSERT_TRUE(start_waiting(world, groups, false).come_to_rest()) << world.report();
  ParkedRowsAreExplained deaf([](const Runtime&) { return std::vector<ParkedConstraint>{}; });
  EXPECT_THAT(std::string{deaf.at_rest(world).message()}, HasSubstr("which nobody provides, and nobody is told"));
}

}  // namespace
}  // namespace rondo::sim
