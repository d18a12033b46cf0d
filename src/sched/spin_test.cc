// When the scheduler looks for wakes of other threads instead of going to sleep, in simulated time.
#include <gtest/gtest.h>

#include "base/pause.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

class Spin : public testing::Test {
 protected:
  /// The scheduler sleeps, and another thread wakes the source so long after.
  void wake_after(Duration time) {
    simulation_.world.after(time, [this] {
      ++source_.left;
      source_.wake_from_any_thread();
    });
    simulation_.scheduler.wait(Instant::never());
    simulation_.scheduler.run_until_idle();
    ASSERT_EQ(source_.left, 0U);
  }
  std::uint64_t spins() const { return simulation_.scheduler.stats().spins; }
  std::uint64_t in_vain() const { return simulation_.scheduler.stats().spins_in_vain; }

  test::Simulation simulation_;
  test::WorkSource& source_ = simulation_.add("s", 3);
};

TEST_F(Spin, WhoIsWokenSeldomNeverSpins) {
  for (int i = 0; i < 1000; ++i) wake_after(1400us);
  EXPECT_EQ(spins(), 0U);
}

TEST_F(Spin, SpinsInVainBecomeRareAndOneThatFindsSomethingMakesThemUsualAgain) {
  if (!has_other_processors()) GTEST_SKIP() << "one processor: nobody can come while it is looked for";
  // Here time stands still while it looks, so every spin is in vain: after the sleeps 1, 3, 7, 15, 31, 63, 127 and then each 64th.
  for (int i = 0; i < 127; ++i) wake_after(30us);
  EXPECT_EQ(spins(), 6U);
  EXPECT_EQ(in_vain(), 6U);
  // The next sleep is preceded by a spin, which finds what came before it began.
  ++source_.left;
  source_.wake_from_any_thread();
  simulation_.scheduler.wait(Instant::never());
  EXPECT_EQ(simulation_.scheduler.run_until_idle(), 1U);
  EXPECT_EQ(spins(), 7U);
  EXPECT_EQ(in_vain(), 6U);
  wake_after(30us);
  EXPECT_EQ(in_vain(), 7U);
}

TEST_F(Spin, SleepsThatADescriptorOrATimerEndsCauseNone) {
  for (int i = 0; i < 100; ++i) {
    simulation_.world.after(30us, [this] {
      ++source_.left;
      source_.wake();
    });
    simulation_.scheduler.wait(simulation_.world.clock().now() + 30us);
    simulation_.scheduler.run_until_idle();
  }
  EXPECT_EQ(spins(), 0U);
}

}  // namespace
}  // namespace rondo
