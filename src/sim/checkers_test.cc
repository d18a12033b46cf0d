// Every checker can fail: each case has one deliberate fault in a store, an Orch, a source or a ledger, and the checker of the violated
// property must find it. No checker reports a correct program.
#include "sim/checkers.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "orch/runtime_view.h"
#include "rondo/store/memory_store.h"
#include "sched/frames_policy.h"
#include "sim/passing_store.h"

namespace rondo::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A program of one Orch on table "T" that applies every change.
OpenOrch& add_simple(Runtime& runtime, ConsumeOptions options = {}) {
  OpenOrch& orch = runtime.add<OpenOrch>();
  orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); }, options);
  return orch;
}

void expect_violation(const World& world, std::string_view checker, const std::string& what) {
  ASSERT_TRUE(world.violation().has_value()) << "nothing was found";
  EXPECT_THAT(*world.violation(), AllOf(StartsWith(std::string{checker} + " at turn "), HasSubstr(what))) << world.report();
}

// --- nothing-lost

/// Reports one write as done without doing it, or does a write before an earlier one.
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

// --- order-per-key and no-handler-too-early: the effects of a broken ledger on a consumer

class BrokenLedger : public testing::Test {
 protected:
  BrokenLedger() {
    world_.start([](Runtime& runtime) -> std::shared_ptr<void> {
      runtime.add<OpenOrch>("groups").provide(kGroup, [](std::string_view) { return false; });
      return add_simple(runtime), nullptr;
    });
  }
  Status see(Checker& checker, Event::Kind kind, const Change& change, std::vector<Fact> facts = {}, Instant until = {}) {
    return checker.see(world_, {.kind = kind, .table = "T", .change = &change, .facts = facts, .until = until});
  }
  void accepts(Checker& checker, Event::Kind kind, const Change& change, std::vector<Fact> facts = {}) {
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
  EXPECT_THAT(std::string{checker.at_rest(world_).message()}, HasSubstr("T: the ledger has 0 rows and not 1"));
}

TEST_F(BrokenLedger, ThatTakesUpARowBeforeItsAnnouncementIsFound) {
  NoHandlerTooEarly checker;
  const Fact fact{kGroup, "102"};
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Waits, set_1_, {fact});
  EXPECT_THAT(std::string{see(checker, Event::Kind::Chosen, set_1_).message()}, HasSubstr("before group:102 was announced"));
}

TEST_F(BrokenLedger, MayTakeUpARowThatWasAnnouncedThoughItEndedSince) {
  NoHandlerTooEarly checker;
  const Fact fact{kGroup, "102"};
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  accepts(checker, Event::Kind::Waits, set_1_, {fact});
  EXPECT_TRUE(checker.see(world_, {.kind = Event::Kind::Announced, .facts = {&fact, 1}}).ok());
  accepts(checker, Event::Kind::Chosen, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
}

TEST_F(BrokenLedger, ThatTakesUpARowWhoseSecondFactDoesNotHoldIsFound) {
  NoHandlerTooEarly checker;
  const Fact fact{kGroup, "102"};
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

TEST_F(BrokenLedger, ThatTakesUpARowBeforeItsTimeIsFound) {
  NoHandlerTooEarly checker;
  accepts(checker, Event::Kind::Taken, set_1_);
  accepts(checker, Event::Kind::Asked, set_1_);
  ASSERT_TRUE(see(checker, Event::Kind::Delayed, set_1_, {}, world_.now() + 1h).ok());
  world_.clock().advance(59min);
  EXPECT_THAT(std::string{see(checker, Event::Kind::Chosen, set_1_).message()}, HasSubstr("retried 60000000000 ns before its time"));
}

TEST_F(BrokenLedger, MayTakeUpARowWhoseTimeHasComeOrWhoseWaitANewSetHasEnded) {
  NoHandlerTooEarly checker;
  for (const bool has_come : {true, false}) {
    accepts(checker, Event::Kind::Taken, set_1_);
    accepts(checker, Event::Kind::Asked, set_1_);
    ASSERT_TRUE(see(checker, Event::Kind::Delayed, set_1_, {}, world_.now() + 1h).ok());
    if (has_come) {
      world_.clock().advance(1h);
      accepts(checker, Event::Kind::Chosen, set_1_);
    } else {
      accepts(checker, Event::Kind::Taken, set_2_);
    }
    accepts(checker, Event::Kind::Asked, set_1_);
    accepts(checker, Event::Kind::Done, set_1_);
  }
}

/// Stores what a run reports about a delayed row.
class Delays final : public Checker {
 public:
  explicit Delays(Instant& until) : until_(until) {}
  std::string_view name() const noexcept override { return "delays"; }
  Status see(const World&, const Event& event) override {
    if (event.kind == Event::Kind::Delayed) until_ = event.until;
    return {};
  }

 private:
  Instant& until_;
};

TEST(NoHandlerTooEarly, IsToldUntilWhenARowWaits) {
  World world(1);
  Instant until;
  Instant asked;
  world.add(std::make_unique<Delays>(until));
  world.start([&](Runtime& runtime) -> std::shared_ptr<void> {
    runtime.add<OpenOrch>().consume(
        "T",
        [&](std::string_view, const Fields&) {
          if (asked != Instant{}) return Outcome::done();
          asked = world.now();
          return Outcome::retry_after(1h, {StatusCode::Unavailable, "not now"});
        },
        [](std::string_view) { return Outcome::done(); });
    return nullptr;
  });
  world.set("T", "k", {{"v", "1"}});
  world.run_for(1min);
  ASSERT_NE(asked, Instant{});
  EXPECT_EQ(until, asked + 1h);
  EXPECT_TRUE(world.come_to_rest(2h)) << world.report();
}

// --- ledgers-agree, bounds-hold

/// Accesses the ledger of "T", which production code cannot do.
Ledger& ledger_of(const World& world) { return RuntimeView(world.runtime()).consumers().at("T")->ledger(); }

TEST(LedgersAgree, FindsARowThatIsListedInAnotherIndex) {
  World world(1);
  world.start([](Runtime& runtime) -> std::shared_ptr<void> { return add_simple(runtime), nullptr; });
  FactIndex other;
  Ledger& ledger = ledger_of(world);
  ledger.merge(Change::set("k", {}), world.now(), other);
  const Fact fact{kGroup, "102"};
  ASSERT_TRUE(ledger.park(ledger.take_new()->row, {&fact, 1}, 0, world.now(), other));
  LedgersAgree checker;
  EXPECT_THAT(std::string{checker.at_rest(world).message()}, HasSubstr("does not know"));
  other.announce(fact);
  EXPECT_TRUE(checker.at_rest(world).ok()) << "a resolved row waits for its turn only";
}

TEST(BoundsHold, FindsALedgerBeyondItsLimit) {
  World world(1);
  world.start([](Runtime& runtime) -> std::shared_ptr<void> { return add_simple(runtime, {.rows_max = 2}), nullptr; });
  FactIndex other;
  for (const char* const key : {"a", "b", "c", "d"}) {
    ledger_of(world).merge(Change::set(key, {}), world.now(), other);
    static_cast<void>(ledger_of(world).take_new());
  }
  world.set("T", "e", {});
  RuntimeView(world.runtime()).consumers().at("T")->wake();
  world.run_for(1ms);
  expect_violation(world, "bounds-hold", "the ledger has 4 rows, at most 2 are allowed");
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

/// Handles one item a turn, and in one turn one more than its budget.
class OneTooMany final : public Source {
 public:
  explicit OneTooMany(Scheduler& scheduler) : Source("greedy", Priority::p0) { scheduler.add(*this); }
  Turn run(const Budget& budget) override {
    return {.items = ++turns_ == 1000 ? budget.items + 1 : 1, .backlog = turns_ < 2000 ? Backlog::More : Backlog::Empty};
  }

 private:
  int turns_ = 0;
};

TEST(BoundsHold, FindsTheOneTurnThatOverdrewAmongManySmallOnes) {
  World world(1);
  std::shared_ptr<OneTooMany> source;
  world.start([&](Runtime& runtime) { return source = std::make_shared<OneTooMany>(runtime.scheduler()); });
  source->wake();
  world.run_for(1s);
  expect_violation(world, "bounds-hold", "source 'greedy': a turn of 129 items; its budget is 128");
  EXPECT_EQ(world.turns(), 1000U);
  source.reset();
}

/// Checks the time as it must, and then handles one more item if the test sets it.
class Overstayer final : public Source {
 public:
  Overstayer(World& world, bool overstays) : Source("stays", Priority::p0), world_(world), overstays_(overstays) {
    world.runtime().scheduler().add(*this);
  }
  Turn run(const Budget& budget) override {
    Turn turn{.items = 1, .backlog = Backlog::Empty};
    for (bool is_up = false; !is_up; ++turn.items) {
      world_.clock().advance(100us);
      is_up = time_is_up(budget);
    }
    if (overstays_) world_.clock().advance(100us);
    return turn;
  }

 private:
  World& world_;
  const bool overstays_;
};

TEST(BoundsHold, FindsASourceThatGoesOnWhenItsTimeIsUp) {
  for (const bool overstays : {false, true}) {
    World world(1);
    world.start([](Runtime&) { return nullptr; });
    Overstayer source(world, overstays);
    source.wake();
    world.run_for(1s);
    EXPECT_EQ(world.turns(), 1U);
    if (overstays) {
      expect_violation(world, "bounds-hold", "source 'stays': continued for 100000 ns after its time was up");
    } else {
      EXPECT_FALSE(world.violation()) << world.report();
    }
  }
}

/// Always has more work.
class Busy final : public Source {
 public:
  explicit Busy(Scheduler& scheduler) : Source("busy", Priority::p0) {
    scheduler.add(*this);
    wake();
  }
  Turn run(const Budget&) override { return {.items = 1, .backlog = Backlog::More}; }
};

struct NewestFirst : FrameRules {
  static constexpr bool kNewestServedFirst = true;
};

/// Three sources that always have more work, under frames by 'Rules'.
template <class Rules>
void live_under_rules(World& world) {
  world.start([](Runtime& runtime) -> std::shared_ptr<void> {
    runtime.scheduler().set_policy(std::make_unique<FramesPolicy<Rules>>(resolve_policy(BudgetedFrames{}).value()));
    auto sources = std::make_shared<std::vector<std::unique_ptr<Busy>>>();
    for (int i = 0; i < 3; ++i) sources->push_back(std::make_unique<Busy>(runtime.scheduler()));
    return sources;
  });
  world.run_for(10ms);
}

TEST(BoundsHold, FindsASourceThatWaitsForLongerThanIsPromised) {
  World sound(1);
  live_under_rules<FrameRules>(sound);
  EXPECT_FALSE(sound.violation()) << sound.report();
  EXPECT_GT(sound.turns(), 1000U);
  World world(1);
  live_under_rules<NewestFirst>(world);
  expect_violation(world, "bounds-hold", "source 'busy': waited for its turn for");
}

TEST(BoundsHold, FindsASourceThatFails) { expect_of_source(WrongSource::Fault::Throws, "quarantined"); }
TEST(BoundsHold, FindsALostWakeUp) { expect_of_source(WrongSource::Fault::ForgetsItsWake, "a wake-up was lost"); }

// --- parked-rows-are-explained

/// Rows of "T" wait for group "102"; the group begins with or without an announcement.
World& start_waiting(World& world, std::set<std::string, std::less<>>& groups, bool has_provider) {
  world.start([&groups, has_provider](Runtime& runtime) -> std::shared_ptr<void> {
    OpenOrch& orch = runtime.add<OpenOrch>();
    if (has_provider) orch.provide(kGroup, [&groups](std::string_view key) { return groups.contains(key); });
    orch.consume(
        "T",
        [&orch](std::string_view, const Fields&) {
          const Fact fact{kGroup, "102"};
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
  expect_violation(world, "parked-rows-are-explained", "group:102 holds, but was not announced by test");
}

TEST(ParkedRowsAreExplained, AKindThatNobodyProvidesIsReported) {
  std::set<std::string, std::less<>> groups;
  World world(1);
  EXPECT_TRUE(start_waiting(world, groups, false).come_to_rest()) << world.report();
  // The checker's requirement: the wait is listed.
  const std::vector<ParkedFact> told = parked_facts(world.runtime(), 10);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told.front().has_provider);
}

TEST(ParkedRowsAreExplained, FindsAKindThatNobodyProvidesAndNobodyReports) {
  std::set<std::string, std::less<>> groups;
  World world(1);
  ASSERT_TRUE(start_waiting(world, groups, false).come_to_rest()) << world.report();
  ParkedRowsAreExplained deaf([](const Runtime&) { return std::vector<ParkedFact>{}; });
  EXPECT_THAT(std::string{deaf.at_rest(world).message()}, HasSubstr("which no Orch provides, and no report names it"));
}

// --- EndedFactsAreWithdrawn

TEST(EndedFactsAreWithdrawn, FindsAProviderThatForgetsToWithdraw) {
  const Fact group{FactKind{"group"}, "102"};
  std::set<std::string, std::less<>> groups;
  World world(1);
  ASSERT_TRUE(start_waiting(world, groups, true).come_to_rest()) << world.report();
  EndedFactsAreWithdrawn checker;
  EXPECT_TRUE(checker.see(world, {.kind = Event::Kind::Announced, .facts = {&group, 1}}).ok());
  EXPECT_THAT(std::string{checker.at_rest(world).message()}, HasSubstr("group:102 was announced and does not hold any more"));
  EXPECT_TRUE(checker.see(world, {.kind = Event::Kind::Withdrawn, .facts = {&group, 1}}).ok());
  EXPECT_TRUE(checker.at_rest(world).ok());
}

}  // namespace
}  // namespace rondo::sim
