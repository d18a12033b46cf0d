// The policies that a user can choose: which source has the turn under each rule, in a simulated world.
#include "rondo/sched/policy.h"

#include <gtest/gtest.h>

#include "sim/test_source.h"

namespace rondo {
namespace {

using test::Simulation;
using test::WorkSource;

TEST(Policy, ABatchOfNothingIsRefused) {
  const Result<std::unique_ptr<Policy>> policy = make_policy(StrictPriority{.batch = 0});
  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().code(), StatusCode::InvalidArgument);
}

TEST(Policy, ATurnWithoutTimeIsRefused) {
  for (const Duration turn : {Duration{0}, Duration{-1}}) {
    const Result<std::unique_ptr<Policy>> policy = make_policy(StrictPriority{.turn = turn});
    ASSERT_FALSE(policy.has_value());
    EXPECT_EQ(policy.error().code(), StatusCode::InvalidArgument);
  }
}

TEST(Policy, DescribesItself) {
  EXPECT_EQ(test::policy()->describe(), "strict priority, least recently served first, 128 items or 1000 us a turn");
  EXPECT_EQ(test::policy(StrictPriority{.tie = Tie::Arrival, .batch = 1, .turn = 50us})->describe(),
            "strict priority, in order of arrival, 1 item or 50 us a turn");
}

TEST(Policy, TheTimeOfATurnIsTheBudgets) {
  Simulation simulation;
  const WorkSource source("s", 5);
  EXPECT_EQ(test::policy(StrictPriority{.turn = 50us})->budget(source).time, 50us);
}

TEST(Policy, TheBatchIsTheBudgetOfATurn) {
  Simulation simulation(StrictPriority{.batch = 7});
  simulation.add("s", 5, 20);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 3U);
}

// SObjectizer's strictly_ordered: "76543210", the highest priority first whatever the order of arrival.
TEST(Policy, StrictlyOrderedRunsByPriorityThenArrival) {
  Simulation simulation(StrictPriority{.tie = Tie::Arrival, .batch = 1});
  for (unsigned priority = 0; priority < 8; ++priority) simulation.add(std::to_string(priority), priority, 1);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "7 6 5 4 3 2 1 0");
}

TEST(Policy, InOrderOfArrivalALongSleeperGetsNoPreference) {
  Simulation simulation(StrictPriority{.tie = Tie::Arrival, .batch = 1});
  simulation.add("a", 5, 2);
  simulation.add("b", 5, 2);
  auto& sleeper = simulation.add("sleeper", 5);
  simulation.scheduler.turn();
  sleeper.wake();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "a b a sleeper b");
}

TEST(Policy, WithLeastRecentlyServedALongSleeperGoesFirst) {
  Simulation simulation(StrictPriority{.batch = 1});
  simulation.add("a", 5, 3);
  simulation.add("b", 5, 3);
  auto& sleeper = simulation.add("sleeper", 5);
  simulation.scheduler.turn();
  simulation.scheduler.turn();
  sleeper.wake();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "a b sleeper a b a b");
}

// A property of the rule (SObjectizer's strictly_ordered): while a higher priority always has work, a lower one starves.
TEST(Policy, AHigherPriorityThatAlwaysHasWorkStarvesALowerOne) {
  Simulation simulation;
  simulation.add("high", 7, 128 * 50);
  auto& low = simulation.add("low", 0, 1);
  simulation.scheduler.run_until_idle(50);
  EXPECT_EQ(low.stats().turns, 0U);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(low.stats().turns, 1U);
}

}  // namespace
}  // namespace rondo
