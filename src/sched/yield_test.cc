// When a running source must yield the next turn to another (Scheduler::should_yield), and the numbers of arrival.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "rondo/base/limits.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using test::Simulation;

/// Handles items one at a time, calls 'between' after each, and checks whether to continue.
class Polite final : public Source {
 public:
  Polite(unsigned priority, int items) : Source("polite", Priority{priority}), left(items) {}
  Turn run(const Budget& budget) override {
    Turn turn;
    while (left > 0 && turn.items < budget.items) {
      --left;
      ++turn.items;
      if (between) between(turn.items);
      if (should_yield()) break;
    }
    turn.backlog = left > 0 ? Backlog::More : Backlog::Empty;
    turns.push_back(turn.items);
    return turn;
  }
  bool has_backlog() const override { return left > 0; }

  int left;
  std::function<void(std::uint32_t)> between;
  std::vector<std::uint32_t> turns;
};

struct YieldTest : testing::Test {
  Simulation simulation;
};

TEST_F(YieldTest, AHigherPriorityThatBecomesReadyEndsTheTurn) {
  Polite polite(3, 10);
  auto& urgent = simulation.add("urgent", 4);
  polite.between = [&](std::uint32_t done) {
    if (done == 2 && polite.left == 8) {
      urgent.left = 1;
      urgent.wake();
    }
  };
  simulation.scheduler.add(polite);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{2, 8}));
}

TEST_F(YieldTest, AnEqualOrALowerOneDoesNot) {
  Polite polite(3, 10);
  auto& equal = simulation.add("equal", 3);
  auto& lower = simulation.add("lower", 2);
  polite.between = [&](std::uint32_t) {
    equal.left = lower.left = 1;
    equal.wake();
    lower.wake();
  };
  simulation.scheduler.add(polite);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{10}));
}

TEST_F(YieldTest, AWakeByAnotherThreadIsSeenAndNotTaken) {
  Polite polite(3, 10);
  auto& other = simulation.add("other", 7);
  auto& lower = simulation.add("lower", 0);
  const auto wake = [](test::WorkSource& source) {
    std::thread([&] {
      source.left = 1;
      source.wake_from_any_thread();
    }).join();
  };
  polite.between = [&](std::uint32_t done) {
    if (done == 2) wake(lower);  // A source that could not run first ends no turn.
    if (done == 4) wake(other);
  };
  simulation.scheduler.add(polite);
  EXPECT_TRUE(simulation.scheduler.turn());
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{4}));
  EXPECT_FALSE(other.is_ready());
  EXPECT_EQ(simulation.scheduler.stats().remote_wakes, 0U);
}

TEST_F(YieldTest, ALookAtTheReactorIsDueAfterSoManyItems) {
  Polite polite(3, 40);
  simulation.scheduler.add(polite);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{limits::kItemsWithoutPoll, limits::kItemsWithoutPoll, 8}));
  EXPECT_GE(simulation.scheduler.stats().polls, 3U);
}

TEST_F(YieldTest, LongItemsAreLookedAfterOneByOne) {
  Polite polite(3, 20);
  polite.between = [&](std::uint32_t) { simulation.world.clock().advance(50us); };
  simulation.scheduler.add(polite);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{16, 1, 1, 1, 1}));
}

TEST_F(YieldTest, NobodyGoesBeforeTheHighestPriority) {
  Polite polite(63, 100);
  auto& other = simulation.add("other", 63);
  polite.between = [&](std::uint32_t) { other.wake_from_any_thread(); };
  simulation.scheduler.add(polite);
  simulation.scheduler.turn();
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{100}));
}

TEST_F(YieldTest, ASourceWithoutASchedulerGoesOn) {
  Polite polite(3, 100);
  polite.run(Budget{});
  EXPECT_EQ(polite.left, 0);
}

TEST(Arrival, NumbersAscendAndAreGivenOnceWhoeverAsks) {
  Simulation simulation;
  constexpr std::size_t kEach = 20'000;
  std::vector<std::vector<std::uint64_t>> taken(2);
  std::vector<std::thread> threads;
  for (auto& numbers : taken) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < kEach; ++i) numbers.push_back(simulation.scheduler.next_arrival());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint64_t> all;
  for (const auto& numbers : taken) {
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), 2 * kEach);
  EXPECT_EQ(all.front(), 1U);
  EXPECT_EQ(all.back(), 2 * kEach);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

}  // namespace
}  // namespace rondo
