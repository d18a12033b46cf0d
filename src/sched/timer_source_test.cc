// Timers as sources, in simulated time: phase, missed periods, and operations on a timer at any moment.
#include <gtest/gtest.h>

#include <vector>

#include "sim/test_source.h"

namespace rondo {
namespace {

using test::Simulation;
using test::WorkSource;

TEST(TimerSource, FiresOnceAtItsTimeInATurnOfItsPriority) {
  Simulation simulation;
  std::vector<Instant> fired;
  TimerSource timer("t", Priority{5}, [&] { fired.push_back(simulation.world.now()); });
  simulation.scheduler.add(timer);
  const Instant due = simulation.world.now() + 250ms;
  timer.arm_at(due);
  EXPECT_TRUE(timer.is_armed());
  simulation.world.run_for(simulation.scheduler, 2s);
  ASSERT_EQ(fired.size(), 1U);
  EXPECT_GE(fired[0], due);
  EXPECT_LE(fired[0], due + 1ms);
  EXPECT_FALSE(timer.is_armed());
  EXPECT_EQ(timer.stats().turns, 1U);
}

TEST(TimerSource, PeriodsStayInPhase) {
  Simulation simulation;
  const Instant start = simulation.world.now();
  std::vector<std::int64_t> at_ms;
  TimerSource timer("t", Priority{5}, [&] { at_ms.push_back((simulation.world.now() - start) / 1ms); });
  simulation.scheduler.add(timer);
  timer.arm_every(300ms, start + 100ms);
  simulation.world.run_for(simulation.scheduler, 1s + 50ms);
  EXPECT_EQ(at_ms, (std::vector<std::int64_t>{100, 400, 700, 1000}));
  EXPECT_EQ(timer.missed(), 0U);
}

TEST(TimerSource, MissedPeriodsAreSkippedCountedAndTheNextIsInPhase) {
  Simulation simulation;
  const Instant start = simulation.world.now();
  std::vector<std::int64_t> at_ms;
  TimerSource timer("t", Priority{5}, [&] { at_ms.push_back((simulation.world.now() - start) / 1ms); });
  simulation.scheduler.add(timer);
  WorkSource& hog = simulation.add("hog", 50);
  hog.on_run = [&] { simulation.world.clock().advance(950ms); };
  timer.arm_every(100ms, start + 100ms);
  simulation.world.after(150ms, [&] { hog.wake(); });
  simulation.world.run_for(simulation.scheduler, 1250ms);
  EXPECT_EQ(at_ms, (std::vector<std::int64_t>{100, 1100, 1200}));
  EXPECT_EQ(timer.missed(), 9U);
}

TEST(TimerSource, DisarmedAfterItWasDueItDoesNotCallBack) {
  Simulation simulation;
  int calls = 0;
  TimerSource timer("t", Priority{5}, [&] { ++calls; });
  simulation.scheduler.add(timer);
  WorkSource& other = simulation.add("other", 50);
  other.on_run = [&] { timer.disarm(); };
  timer.arm_at(simulation.world.now());
  simulation.scheduler.wait(simulation.world.now() + 5ms);
  ASSERT_TRUE(timer.is_ready());
  other.wake();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(timer.is_armed());
}

TEST(TimerSource, TheCallbackMayArmOrDisarmItsTimer) {
  Simulation simulation;
  int calls = 0;
  TimerSource* self = nullptr;
  TimerSource timer("t", Priority{5}, [&] {
    if (++calls == 3) self->disarm();
    if (calls == 1) self->arm_every(10ms, simulation.world.now() + 10ms);
  });
  self = &timer;
  simulation.scheduler.add(timer);
  timer.arm_at(simulation.world.now() + 1ms);
  simulation.world.run_for(simulation.scheduler, 1s);
  EXPECT_EQ(calls, 3);
}

TEST(TimerSource, OneThatFiredWhileItWasRemovedGetsItsTurnWhenAddedAgain) {
  Simulation simulation;
  int calls = 0;
  TimerSource timer("t", Priority{5}, [&] { ++calls; });
  simulation.scheduler.add(timer);
  timer.arm_at(simulation.world.now() + 10ms);
  simulation.scheduler.remove(timer);
  simulation.world.run_for(simulation.scheduler, 100ms);
  EXPECT_EQ(calls, 0);
  simulation.scheduler.add(timer);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(calls, 1);
}

TEST(TimerSource, DestroyedWhileArmedItIsForgotten) {
  Simulation simulation;
  {
    TimerSource timer("t", Priority{5}, [] { FAIL(); });
    simulation.scheduler.add(timer);
    timer.arm_at(simulation.world.now() + 10ms);
  }
  EXPECT_EQ(simulation.scheduler.timers().size(), 0U);
  simulation.world.run_for(simulation.scheduler, 100ms);
}

// Ten thousand timers of one instant are an ordinary burst: an urgent source gets its turn after one batch of them.
TEST(TimerSource, ABurstOfTimersLetsAnUrgentSourceThrough) {
  Simulation simulation;
  std::vector<std::unique_ptr<TimerSource>> timers;
  std::size_t calls = 0;
  const Instant due = simulation.world.now() + 10ms;
  WorkSource& urgent = simulation.add("urgent", 60);
  std::size_t calls_before_urgent = 0;
  urgent.on_run = [&] { calls_before_urgent = calls; };
  for (int i = 0; i < 10'000; ++i) {
    timers.push_back(std::make_unique<TimerSource>("t", Priority{5}, [&] {
      if (++calls == 100) urgent.wake();
    }));
    simulation.scheduler.add(*timers.back());
    timers.back()->arm_at(due);
  }
  simulation.world.run_for(simulation.scheduler, 1s);
  EXPECT_EQ(calls, 10'000U);
  EXPECT_EQ(calls_before_urgent, 100U);
}

}  // namespace
}  // namespace rondo
