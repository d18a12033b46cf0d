// Scheduler::run_for: turns and waits for a span of time, to the nanosecond in simulated time, and on the real clock beside other threads.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "rondo/base/limits.h"
#include "rondo/sched/mailbox.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

TEST(SchedulerRunFor, GivesTurnsAndWaitsInBetweenUntilTheSpanIsOver) {
  test::Simulation simulation;
  TimerSource timer("timer", Priority{3}, [] {});
  simulation.scheduler.add(timer);
  const Instant begin = simulation.world.now();
  timer.arm_every(10ms, begin + 10ms);
  EXPECT_EQ(simulation.scheduler.run_for(95ms), 9U);
  EXPECT_EQ(simulation.world.now(), begin + 95ms);
  EXPECT_EQ(simulation.scheduler.run_for(6ms), 1U);
  EXPECT_EQ(simulation.world.now(), begin + 101ms);
}

TEST(SchedulerRunFor, WaitsForTheWholeSpanWhereNothingComes) {
  test::Simulation simulation;
  const Instant begin = simulation.world.now();
  EXPECT_EQ(simulation.scheduler.run_for(5s), 0U);
  EXPECT_EQ(simulation.world.now(), begin + 5s);
}

TEST(SchedulerRunFor, DoesNotInterruptATurnAndLeavesWhatIsReadyForTheNextCall) {
  test::Simulation simulation;
  test::WorkSource& busy = simulation.add("busy", 3, 10 * limits::kBatchItems);
  busy.on_run = [&] { simulation.world.clock().advance(3ms); };
  const Instant begin = simulation.world.now();
  busy.wake();
  EXPECT_EQ(simulation.scheduler.run_for(10ms), 4U);
  EXPECT_EQ(simulation.world.now(), begin + 12ms);
  EXPECT_TRUE(busy.is_ready());
  EXPECT_EQ(simulation.scheduler.run_for(1s), 6U);
}

TEST(SchedulerRunFor, OfNothingGivesAsManyTurnsAsSourcesAreReady) {
  test::Simulation simulation;
  simulation.add("a", 3, 1000).wake();
  simulation.add("b", 3, 1000).wake();
  simulation.add("c", 3, 1).wake();
  simulation.add("idle", 3);
  TimerSource due("due", Priority{3}, [&] { simulation.order += " due"; });
  simulation.scheduler.add(due);
  const Instant begin = simulation.world.now();
  due.arm_at(begin);
  EXPECT_EQ(simulation.scheduler.run_for(Duration{0}), 4U);
  EXPECT_EQ(simulation.order, "a b c due");
  EXPECT_EQ(simulation.scheduler.run_for(Duration{0}), 2U);
  EXPECT_EQ(simulation.order, "a b c due a b");
  EXPECT_EQ(simulation.world.now(), begin);
}

// One source removes the other: there are fewer turns than sources that were ready.
TEST(SchedulerRunFor, OfNothingEndsWhereNobodyIsReadyAnyMore) {
  test::Simulation simulation;
  test::WorkSource& first = simulation.add("first", 5, 1);
  test::WorkSource& second = simulation.add("second", 3, 1);
  first.on_run = [&] { simulation.scheduler.remove(second); };
  EXPECT_EQ(simulation.scheduler.run_for(Duration{0}), 1U);
  EXPECT_EQ(simulation.scheduler.run_for(Duration{0}), 0U);
}

TEST(SchedulerRunFor, OfLessThanNothingDoesNothing) {
  test::Simulation simulation;
  test::WorkSource& ready = simulation.add("ready", 3, 1);
  const std::uint64_t polls = simulation.scheduler.stats().polls;
  EXPECT_EQ(simulation.scheduler.run_for(Duration{-1}), 0U);
  EXPECT_EQ(simulation.scheduler.run_for(Duration::min()), 0U);
  EXPECT_TRUE(ready.is_ready());
  EXPECT_EQ(simulation.scheduler.stats().polls, polls);
}

TEST(SchedulerRunFor, EndsAtAStopAndGivesNoTurnAfterOne) {
  test::Simulation simulation;
  test::WorkSource& busy = simulation.add("busy", 3, 1'000'000);
  busy.on_run = [&] {
    simulation.world.clock().advance(1ms);
    if (busy.stats().turns == 4) simulation.scheduler.stop();
  };
  const Instant begin = simulation.world.now();
  EXPECT_EQ(simulation.scheduler.run_for(1h), 5U);
  EXPECT_EQ(simulation.world.now(), begin + 5ms);
  EXPECT_EQ(simulation.scheduler.run_for(1h), 0U);
  EXPECT_EQ(simulation.scheduler.run_for(Duration{0}), 0U);
}

struct RealLoop {
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler{clock, *reactor, test::policy(BudgetedFrames{})};
};

TEST(SchedulerRunFor, OnTheRealClockEndsNoSoonerThanTheSpanAndRunsWhatIsDueInIt) {
  RealLoop loop;
  int fired = 0;
  TimerSource timer("timer", Priority{3}, [&] { ++fired; });
  loop.scheduler.add(timer);
  const Instant begin = loop.clock.now();
  timer.arm_at(begin + 1ms);
  EXPECT_GE(loop.scheduler.run_for(20ms), 1U);
  EXPECT_GE(loop.clock.now() - begin, 20ms);
  EXPECT_EQ(fired, 1);
}

TEST(SchedulerRunFor, AStopOfAnotherThreadEndsTheWait) {
  RealLoop loop;
  std::thread other([&] { loop.scheduler.stop(); });
  const Instant begin = loop.clock.now();
  EXPECT_EQ(loop.scheduler.run_for(1h), 0U);
  EXPECT_LT(loop.clock.now() - begin, 1h);
  other.join();
}

TEST(SchedulerRunFor, LosesNoMessageOfAnotherThreadBetweenTwoSpansStorm) {
  RealLoop loop;
  constexpr int kMessages = 5'000;
  int received = 0;
  Mailbox<int> mailbox("m", Priority{3}, [&](int&& number) { EXPECT_EQ(number, received++); });
  loop.scheduler.add(mailbox);
  std::atomic<int> seen{0};
  std::thread poster([&] {
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(mailbox.post(int{i}).ok());
      if (i % 7 != 0) continue;
      while (seen.load() <= i) std::this_thread::yield();  // The loop falls asleep, or is between two calls.
    }
  });
  for (int call = 0; received < kMessages; ++call) {
    loop.scheduler.run_for(call % 3 == 0 ? Duration{0} : 100us);
    seen.store(received);
  }
  poster.join();
  EXPECT_EQ(received, kMessages);
  EXPECT_EQ(loop.scheduler.stats().sweep_rescues, 0U);
}

}  // namespace
}  // namespace rondo
