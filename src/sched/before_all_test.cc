// Before-all sources: they wait only for the running turn, under every policy, and no other source starves behind them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/test_source.h"

namespace rondo {
namespace {

struct First final : test::WorkSource {
  First() : WorkSource("first", 0) { go_before_all(); }
};

std::vector<PolicyOptions> all_policies() {
  return {BudgetedFrames{}, BudgetedFrames{.tie = Tie::ConsumedTime}, StrictPriority{}, StrictlyOrdered{}, QuotedRoundRobin{.quota = 1000}};
}

TEST(BeforeAll, ItWaitsForOneTurnUnderEveryPolicy) {
  for (const PolicyOptions& options : all_policies()) {
    test::Simulation simulation(options);
    for (unsigned p : {0U, 30U, 63U}) simulation.add(std::to_string(p), p, 1'000'000).wake();
    First first;
    simulation.scheduler.add(first);
    simulation.scheduler.run_until_idle(100);
    for (int i = 0; i < 10; ++i) {
      ++first.left;
      first.wake();
      ASSERT_TRUE(simulation.scheduler.turn());
      EXPECT_EQ(first.left, 0U) << simulation.scheduler.policy().describe();
      simulation.scheduler.run_until_idle(10);
    }
    EXPECT_EQ(first.stats().turns, 10U);
  }
}

TEST(BeforeAll, OneThatNeverEndsLeavesEverySecondTurnToTheOthers) {
  test::Simulation simulation(BudgetedFrames{.batch = 1});
  simulation.add("a", 9, 1000).wake();
  First first;
  first.on_run = [&] { simulation.world.clock().advance(40us); };
  first.left = UINT64_MAX;
  simulation.scheduler.add(first);
  simulation.scheduler.run_until_idle(200);
  EXPECT_EQ(first.stats().turns, 100U);
  const Source& other = *simulation.sources.front();
  EXPECT_EQ(other.stats().turns, 100U);
  EXPECT_LE(other.stats().longest_wait, simulation.scheduler.bound(other));
  EXPECT_LE(first.stats().longest_wait, simulation.scheduler.bound(first));
}

// Two Agents on one scheduler have two of them: the second waits for the running turn, for the first, and for one turn of another source.
TEST(BeforeAll, TheBoundCountsThoseOfItsKind) {
  test::Simulation simulation(StrictPriority{.batch = 1});
  const auto takes_long = [&] { simulation.world.clock().advance(40us); };
  test::WorkSource& other = simulation.add("a", 9, 1000);
  First a, b, c;
  other.on_run = a.on_run = b.on_run = c.on_run = takes_long;
  for (First* first : {&a, &b, &c}) {
    simulation.scheduler.add(*first);
    first->left = UINT64_MAX;
    first->wake();
  }
  other.wake();
  simulation.scheduler.run_until_idle(100);
  for (const First* first : {&a, &b, &c}) {
    EXPECT_LE(first->stats().longest_wait, simulation.scheduler.bound(*first));
    EXPECT_GT(first->stats().longest_wait, 160us) << "more than a turn";
  }
}

TEST(BeforeAll, ThoseOfThemGoInTheOrderInWhichTheyBecameReady) {
  test::Simulation simulation;
  std::string order;
  First a, b, c;
  for (First* first : {&a, &b, &c}) {
    simulation.scheduler.add(*first);
    first->left = 1;
  }
  a.on_run = [&] { order += 'a'; };
  b.on_run = [&] { order += 'b'; };
  c.on_run = [&] { order += 'c'; };
  c.wake();
  a.wake();
  b.wake();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(order, "cab");
}

TEST(BeforeAll, OneThatLeavesWhileItIsReadyIsForgotten) {
  test::Simulation simulation;
  First stays;
  simulation.scheduler.add(stays);
  {
    First goes;
    simulation.scheduler.add(goes);
    goes.left = 1;
    goes.wake();
    stays.left = 1;
    stays.wake();
  }
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
  EXPECT_EQ(stays.stats().turns, 1U);
}

TEST(BeforeAll, AChangeOfPolicyLosesNoneOfThem) {
  test::Simulation simulation;
  First first;
  simulation.scheduler.add(first);
  first.left = 1;
  first.wake();
  simulation.scheduler.set_policy(test::policy(QuotedRoundRobin{}));
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
}

}  // namespace
}  // namespace rondo
