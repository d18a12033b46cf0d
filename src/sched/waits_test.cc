// Source::waits(): how long a source waited for each of its turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "rondo/base/random.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using test::Simulation;
using test::WorkSource;

void expect_same(const Log2Histogram& found, const Log2Histogram& wanted) {
  EXPECT_EQ(found.count(), wanted.count());
  EXPECT_EQ(found.max(), wanted.max());
  for (const double q : {0.01, 0.25, 0.5, 0.75, 0.99}) EXPECT_EQ(found.quantile(q), wanted.quantile(q)) << q;
}

TEST(Waits, OfManySourcesAreCountedEachForItself) {
  constexpr std::size_t kSources = 50;
  Simulation simulation;
  Random random(7);
  std::array<Log2Histogram, kSources> wanted;
  std::array<Instant, kSources> since;
  for (std::size_t i = 0; i < kSources; ++i) {
    WorkSource& source = simulation.add("s", 5);
    source.on_run = [&, i] { wanted[i].add(static_cast<std::uint64_t>((simulation.scheduler.now() - since[i]).count())); };
  }
  for (int round = 0; round < 2000; ++round) {
    // Long runs of equal waits, and sometimes a different one.
    const Duration wait = random.chance(0.1) ? Duration{static_cast<std::int64_t>(random.below(1'000'000))} : Duration{3000};
    const std::size_t i = random.below(kSources);
    simulation.sources[i]->wake();
    since[i] = simulation.scheduler.now();
    simulation.world.clock().advance(wait);
    ASSERT_TRUE(simulation.scheduler.turn());
  }
  for (std::size_t i = 0; i < kSources; ++i) {
    SCOPED_TRACE(i);
    EXPECT_GT(wanted[i].count(), 10U);
    expect_same(simulation.sources[i]->waits(), wanted[i]);
  }
}

TEST(Waits, TheLongestIsSinceThePolicyInForceBegan) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  Random random(11);
  Instant policy_since;
  Duration wanted{0};
  const auto change = [&] {
    simulation.scheduler.set_policy(test::policy(BudgetedFrames{}));
    policy_since = simulation.scheduler.now();
    wanted = Duration{0};
  };
  for (int round = 0; round < 5000; ++round) {
    if (random.chance(0.05)) change();
    source.wake();
    const Instant since = simulation.scheduler.now();
    simulation.world.clock().advance(Duration{static_cast<std::int64_t>(random.below(64))});
    if (random.chance(0.05)) {
      simulation.scheduler.poll();  // It stores the time.
      change();
      simulation.world.clock().advance(Duration{static_cast<std::int64_t>(random.below(64))});
    }
    ASSERT_TRUE(simulation.scheduler.turn());
    wanted = std::max(wanted, simulation.world.clock().now() - std::max(since, policy_since));
    ASSERT_EQ(source.stats().longest_wait, wanted) << round;
  }
}

TEST(Waits, OnBothSidesOfAPowerOfTwoAndMoreThanASourceCountsByItself) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  Random random(9);
  Log2Histogram wanted;
  const auto wait = [&](std::uint64_t time) {
    source.wake();
    simulation.world.clock().advance(Duration{static_cast<std::int64_t>(time)});
    ASSERT_TRUE(simulation.scheduler.turn());
    wanted.add(time);
  };
  for (int i = 0; i < 5000; ++i) wait(2048 - 50 + random.below(100));
  expect_same(source.waits(), wanted);
  for (int i = 0; i < 70'000; ++i) wait(900);
  expect_same(source.waits(), wanted);
  for (const std::uint64_t time : {0U, 1U, 2U, 1U, 0U, 3U, 5U, 4U, 3U, 1'000'000U, 0U}) wait(time);
  expect_same(source.waits(), wanted);
}

TEST(Waits, BeginAnewWhenASourceIsAddedAnew) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  const auto wait = [&](Duration time) {
    source.wake();
    simulation.world.clock().advance(time);
    ASSERT_TRUE(simulation.scheduler.turn());
  };
  wait(1ms);
  wait(1us);
  wait(1us);
  EXPECT_EQ(source.waits().count(), 3U);
  simulation.scheduler.remove(source);
  EXPECT_EQ(source.waits().count(), 0U);
  simulation.scheduler.add(source);
  EXPECT_EQ(source.waits().count(), 0U);
  wait(2us);
  EXPECT_EQ(source.waits().count(), 1U);
  EXPECT_EQ(source.waits().max(), 2000U);
  simulation.scheduler.remove(source);
  simulation.scheduler.add(source);
  wait(1100ns);  // 1100 has as many bits as the earlier value.
  EXPECT_EQ(source.waits().max(), 1100U);
}

}  // namespace
}  // namespace rondo
