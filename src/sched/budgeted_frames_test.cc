// Budgeted frames from the user's view: shares under a flood, the bound beside the longest wait, warnings, changes of policy, weights, and
// sources that leave while they starve. Simulated time: a turn takes as long as its source specifies.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/base/limits.h"
#include "sched/wait_bound.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

/// Always busy; an item takes 'cost'.
class Flood final : public Source {
 public:
  Flood(test::Simulation& simulation, std::string name, unsigned priority, Duration its_cost, std::uint32_t weight = 1)
      : Source(std::move(name), Priority{priority}), simulation_(simulation), cost_(its_cost) {
    set_weight(weight);
    simulation.scheduler.add(*this);
    wake();
  }
  Turn run(const Budget&) override {
    simulation_.world.clock().advance(cost_);
    return {.items = 1, .backlog = ends ? Backlog::Empty : Backlog::More};
  }
  bool ends = false;

 private:
  test::Simulation& simulation_;
  Duration cost_;
};

double share(const Source& source, Duration whole) {
  return static_cast<double>(source.stats().ran.count()) / static_cast<double>(whole.count());
}

TEST(BudgetedFrames, TheBudgetsGrowByEqualFactorsAndAFrameIsShort) {
  const PolicySettings settings = *resolve_policy(BudgetedFrames{});
  EXPECT_EQ(settings.budgets.front(), 500'000);
  EXPECT_EQ(settings.budgets.back(), 16'000'000);
  Duration frame{0};
  for (unsigned p = 0; p < limits::kPriorities; ++p) {
    if (p > 0) {
      EXPECT_GT(settings.budgets[p], settings.budgets[p - 1]);
    }
    frame += Duration{settings.budgets[p]} + std::min(Duration{settings.budgets[p]}, settings.turn);
  }
  EXPECT_LE(frame, limits::kFrameTime);
  EXPECT_TRUE(policy_warnings(settings).empty());
}

// The statement of docs/guide/policies.md about the default budgets: the second is the bound of a priority, not of one source among its
// equals.
TEST(BudgetedFrames, NoPriorityWaitsASecondThoughOneSourceAmongManyMay) {
  const PolicySettings settings = *resolve_policy(BudgetedFrames{});
  PriorityUses uses;
  for (unsigned p = 0; p < limits::kPriorities; ++p) {
    uses[p].longest = std::min(Duration{settings.budgets[p]}, settings.turn);
    uses[p].sources = 1;
  }
  for (unsigned p = 0; p < limits::kPriorities; ++p) EXPECT_LT(wait_bound(settings, uses, Priority{p}), 1s) << "priority " << p;
  EXPECT_EQ(wait_bound(settings, uses, Priority{0}) / 10ms, 69);
  uses[0].sources = 4;
  EXPECT_EQ(wait_bound(settings, uses, Priority{0}) / 10ms, 174);
  uses[0].sources = 64;
  EXPECT_EQ(wait_bound(settings, uses, Priority{0}) / 100ms, 227);
}

TEST(BudgetedFrames, ATurnIsNotLongerThanTheBudgetOfItsPriority) {
  const auto policy = test::policy(BudgetedFrames{});
  EXPECT_EQ(policy->budget(test::WorkSource("low", 0)).time, 500us);
  EXPECT_EQ(policy->budget(test::WorkSource("high", 63)).time, limits::kTurnTime);
}

// Seven priorities are flooded with handlers of 50 us: the lowest gets its share of the budgets, and the wait stays within the bound.
TEST(BudgetedFrames, UnderAFloodOfSevenPrioritiesTheLowestGetsItsShare) {
  test::Simulation simulation(BudgetedFrames{});
  std::vector<std::unique_ptr<Flood>> floods;
  std::int64_t sum = 0;
  for (unsigned p = 0; p < 8; ++p) {
    floods.push_back(std::make_unique<Flood>(simulation, "p" + std::to_string(p), p, 50us));
    sum += simulation.scheduler.policy().settings().budgets[p];
  }
  const Instant begin = simulation.scheduler.clock().now();
  simulation.scheduler.run_until_idle(200'000);
  const Duration whole = simulation.scheduler.clock().now() - begin;
  for (unsigned p = 0; p < 8; ++p) {
    const double fair = static_cast<double>(simulation.scheduler.policy().settings().budgets[p]) / static_cast<double>(sum);
    EXPECT_NEAR(share(*floods[p], whole), fair, 0.05 * fair) << "priority " << p;
    const Duration bound = simulation.scheduler.bound(*floods[p]);
    EXPECT_LE(floods[p]->stats().longest_wait, bound) << "priority " << p;
    EXPECT_GT(floods[p]->stats().longest_wait, bound / 3) << "priority " << p;
  }
}

// An urgent source within its budget waits for one handler, whatever floods the others.
TEST(BudgetedFrames, WhoIsUrgentWaitsForOneHandler) {
  test::Simulation simulation(BudgetedFrames{});
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 100; ++i) floods.push_back(std::make_unique<Flood>(simulation, "flood", 0, 50us));
  TimerSource urgent("urgent", Priority::p7, [&] { simulation.world.clock().advance(1us); });
  simulation.scheduler.add(urgent);
  urgent.arm_every(1ms, simulation.scheduler.clock().now());
  simulation.scheduler.run_until_idle(100'000);
  EXPECT_GT(urgent.stats().turns, 4000U);
  EXPECT_LE(urgent.stats().longest_wait, 50us);
}

TEST(BudgetedFrames, UnderStrictPriorityTheLowestStarvesAndHasNoBound) {
  test::Simulation simulation(StrictPriority{});
  Flood high(simulation, "high", 7, 50us);
  Flood low(simulation, "low", 0, 50us);
  simulation.scheduler.run_until_idle(10'000);
  EXPECT_EQ(low.stats().turns, 0U);
  EXPECT_EQ(simulation.scheduler.bound(low), Duration::max());
  EXPECT_NE(simulation.scheduler.bound(high), Duration::max());
}

TEST(BudgetedFrames, ALongTurnIsADebtThatIsPaidInLaterFrames) {
  test::Simulation simulation(BudgetedFrames{.lowest = 1ms, .highest = 1ms});
  Flood greedy(simulation, "greedy", 7, 10ms);
  Flood modest(simulation, "modest", 3, 100us);
  const Instant begin = simulation.scheduler.clock().now();
  simulation.scheduler.run_until_idle(20'000);
  EXPECT_NEAR(share(modest, simulation.scheduler.clock().now() - begin), 0.5, 0.02);
  EXPECT_FALSE(simulation.scheduler.policy().warnings().empty());
}

// A turn of a minute, such as that of a stopped process: its priority misses the frames of the maximum carried debt, and not more.
TEST(BudgetedFrames, DebtBeyondAFewFramesIsForgiven) {
  test::Simulation simulation(BudgetedFrames{.lowest = 1ms, .highest = 1ms});
  Flood other(simulation, "other", 7, 100us);
  const Flood* held_up = nullptr;
  Instant since;
  {
    Flood stopped(simulation, "stopped", 3, 60s);
    held_up = &stopped;
    while (held_up->stats().turns < 1) simulation.scheduler.turn();
    since = simulation.world.now();
    while (held_up->stats().turns < 2) simulation.scheduler.turn();
    const Duration waited = simulation.world.now() - since - 60s;
    EXPECT_GE(waited, limits::kDebtFrames * 1ms);
    EXPECT_LE(waited, (limits::kDebtFrames + 2) * 1ms);
    EXPECT_LE(stopped.stats().longest_wait, simulation.scheduler.bound(stopped));
  }
}

// Connections with one command each, beside one that stays: each new one is placed behind it.
TEST(BudgetedFrames, SourcesThatComeAndGoDoNotStarveOneThatStays) {
  for (const Tie tie : {Tie::LeastRecentlyServed, Tie::ConsumedTime, Tie::Arrival}) {
    test::Simulation simulation(BudgetedFrames{.tie = tie});
    Flood stays(simulation, "stays", 5, 10us);
    simulation.scheduler.turn();
    for (int i = 0; i < 100; ++i) {
      Flood guest(simulation, "guest", 5, 10us);
      guest.ends = true;
      while (guest.stats().turns == 0) simulation.scheduler.turn();
    }
    EXPECT_GE(stays.stats().turns, 90U);
    EXPECT_LE(stays.stats().longest_wait, simulation.scheduler.bound(stays));
  }
}

TEST(BudgetedFrames, ByConsumedTimeEqualsShareTheTimeByTheirWeight) {
  test::Simulation simulation(BudgetedFrames{.tie = Tie::ConsumedTime});
  Flood dear(simulation, "dear", 5, 1000us), cheap(simulation, "cheap", 5, 10us), heavy(simulation, "heavy", 5, 100us, 3);
  const Instant begin = simulation.scheduler.clock().now();
  simulation.scheduler.run_until_idle(100'000);
  const Duration whole = simulation.scheduler.clock().now() - begin;
  EXPECT_NEAR(share(dear, whole), 0.2, 0.01);
  EXPECT_NEAR(share(cheap, whole), 0.2, 0.01);
  EXPECT_NEAR(share(heavy, whole), 0.6, 0.01);
}

TEST(BudgetedFrames, WhoWasIdleDoesNotCatchUpForIt) {
  test::Simulation simulation(BudgetedFrames{.tie = Tie::ConsumedTime});
  Flood busy(simulation, "busy", 5, 100us);
  simulation.scheduler.run_until_idle(1000);
  Flood late(simulation, "late", 5, 100us);
  const std::uint64_t before = busy.stats().turns;
  simulation.scheduler.run_until_idle(100);
  EXPECT_NEAR(static_cast<double>(busy.stats().turns - before), 50, 1);
}

TEST(BudgetedFrames, SourcesMayLeaveWhileTheyStarveAndComeBack) {
  test::Simulation simulation(StrictPriority{});
  Flood high(simulation, "high", 7, 50us);
  std::vector<std::unique_ptr<Flood>> starved;
  for (int i = 0; i < 20; ++i) starved.push_back(std::make_unique<Flood>(simulation, "low", static_cast<unsigned>(i % 3), 10us));
  simulation.scheduler.run_until_idle(100);
  while (starved.size() > 10) starved.erase(starved.begin());
  simulation.scheduler.set_policy(test::policy(QuotedRoundRobin{.quota = 2}));
  while (starved.size() > 5) starved.erase(starved.begin());
  simulation.scheduler.run_until_idle(1000);
  for (const auto& source : starved) EXPECT_GT(source->stats().turns, 0U);
  for (const auto& source : starved) source->ends = true;
  high.ends = true;
  simulation.scheduler.run_until_idle(1000);
  EXPECT_TRUE(simulation.scheduler.policy().empty());
}

TEST(BudgetedFrames, AChangeOfPolicyEndsStarvation) {
  test::Simulation simulation(StrictPriority{});
  Flood high(simulation, "high", 7, 50us);
  Flood low(simulation, "low", 0, 50us);
  simulation.scheduler.run_until_idle(1000);
  EXPECT_EQ(low.stats().turns, 0U);
  simulation.scheduler.set_policy(test::policy(BudgetedFrames{}));
  simulation.scheduler.run_until_idle(1000);
  EXPECT_GT(low.stats().turns, 100U);
  EXPECT_LE(low.stats().longest_wait, simulation.scheduler.bound(low));  // The wait before the change is not counted.
}

// A change in a turn (SIGHUP is handled in one): the other priorities above run once before the next, as if the new policy had given that
// turn.
TEST(BudgetedFrames, AChangeToAOneWayCursorInATurnKeepsTheBound) {
  test::Simulation simulation(StrictPriority{.batch = 1});
  Flood high(simulation, "high", 7, 50us);
  test::WorkSource& low = simulation.add("low", 3, 5);
  low.on_run = [&] {
    if (simulation.scheduler.policy().settings().one_way) return;
    simulation.scheduler.set_policy(test::policy(QuotedRoundRobin{.quota = 1}));
    high.wake();
  };
  high.ends = true;
  simulation.scheduler.turn();
  high.ends = false;
  for (int turns = 0; low.stats().turns < 2; ++turns) {
    ASSERT_LT(turns, 10);
    simulation.scheduler.turn();
  }
  EXPECT_EQ(high.stats().turns, 2U) << "one before, and one between the two of the lower priority";
  EXPECT_LE(low.stats().longest_wait, simulation.scheduler.bound(low));
}

// A source that leaves and returns (a quarantined one that is retried) has not waited under the policy that began meanwhile.
TEST(BudgetedFrames, WhoComesBackUnderAnotherPolicyBeginsToWaitAnew) {
  test::Simulation simulation(StrictPriority{});
  Flood high(simulation, "high", 7, 50us);
  test::WorkSource& low = simulation.add("low", 0, 1);
  simulation.scheduler.poll();
  low.wake();
  simulation.scheduler.run_until_idle(1000);
  high.ends = true;
  simulation.scheduler.run_until_idle();
  ASSERT_GT(low.stats().longest_wait, 10ms);
  simulation.scheduler.remove(low);
  simulation.scheduler.set_policy(test::policy(BudgetedFrames{}));
  simulation.scheduler.add(low);
  EXPECT_EQ(low.stats().longest_wait, 0ms);
  EXPECT_LE(low.stats().longest_wait, simulation.scheduler.bound(low));
}

TEST(BudgetedFrames, WhatVoidsTheBoundIsSaid) {
  const auto warned = [](const PolicyOptions& options) { return policy_warnings(*resolve_policy(options)).size(); };
  EXPECT_EQ(warned(BudgetedFrames{}), 0U);
  EXPECT_EQ(warned(BudgetedFrames{}.set(Priority{9}, kNoBudget)), 1U);
  EXPECT_EQ(warned(BudgetedFrames{.highest = 64ms}), 1U);
  EXPECT_EQ(warned(StrictPriority{}), 1U);
  EXPECT_EQ(warned(QuotedRoundRobin{}), 0U);
}

TEST(BudgetedFrames, WhatIsSaidOfOnePriorityAndOfSeveralIsSaidInWords) {
  const auto said = [](const PolicyOptions& options) { return policy_warnings(*resolve_policy(options)).at(0); };
  const std::string rest = " has work, no wait of a source of another priority that comes after has a bound";
  EXPECT_EQ(said(BudgetedFrames{}.set(Priority{55}, kNoBudget)), "priority 55 has no budget: while it" + rest);
  EXPECT_EQ(said(BudgetedFrames{}.set(Priority{3}, kNoBudget).set(Priority{55}, kNoBudget)),
            "priorities 3, 55 have no budget: while one of them" + rest);
  EXPECT_EQ(said(StrictPriority{}), "priorities 0 to 63 have no budget: while one of them" + rest);
  test::Simulation simulation(BudgetedFrames{});
  Flood first(simulation, "first", 7, 10ms);
  simulation.scheduler.turn();
  EXPECT_EQ(simulation.scheduler.policy().warnings().at(0),
            "priority 7 had turns longer than its budget: after one it waits for several frames");
  Flood second(simulation, "second", 8, 10ms);
  while (second.stats().turns == 0) simulation.scheduler.turn();
  EXPECT_EQ(simulation.scheduler.policy().warnings().at(0),
            "priorities 7 to 8 had turns longer than their budget: after one they wait for several frames");
}

TEST(BudgetedFrames, ACursorThatGoesDownOnlyNeedsAFrameThatEnds) {
  PolicySettings settings{.one_way = true};
  settings.budgets.fill(PolicySettings::kInfinite);
  test::Simulation simulation(settings);
  Flood low(simulation, "low", 1, 50us);
  simulation.scheduler.run_until_idle(10);
  Flood high(simulation, "high", 7, 50us);
  simulation.scheduler.run_until_idle(10);
  EXPECT_GE(high.stats().turns, 9U);
}

TEST(BudgetedFrames, WhatCannotBeIsRefused) {
  for (const PolicyOptions& options : std::initializer_list<PolicyOptions>{
           BudgetedFrames{.lowest = Duration{0}}, BudgetedFrames{.lowest = 2ms, .highest = 1ms},
           BudgetedFrames{}.set(Priority{3}, Duration{-1}), BudgetedFrames{}.set(Priority{3}, 2 * limits::kBudgetMost),
           QuotedRoundRobin{.quota = 0}, QuotedRoundRobin{.quota = 5}.set(Priority::p7, 0), StrictlyOrdered{.batch = 0},
           PolicySettings{}}) {
    const auto policy = make_policy(options);
    ASSERT_FALSE(policy.has_value());
    EXPECT_EQ(policy.error().code(), StatusCode::InvalidArgument);
  }
}

TEST(BudgetedFramesDeathTest, AWeightBeyondTheMostIsAProgramError) {
  test::WorkSource source("heavy", 1);
  source.set_weight(limits::kWeightMost);
  EXPECT_DEATH(source.set_weight(limits::kWeightMost + 1), "");
  EXPECT_DEATH(source.set_weight(0), "");
}

}  // namespace
}  // namespace rondo
