// The scheduler's contract in a simulated world: exact readiness, priorities, bounded gathering, safe changes inside turns.
#include "rondo/sched/scheduler.h"
#include "sched/limits.h"
#include "sim/world_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>

#include "rondo/base/limits.h"
#include "rondo/sched/timer.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using test::Simulation;
using test::WorkSource;

TEST(PriorityDeathTest, ALevelBeyondTheLastIsAProgramError) {
  EXPECT_EQ(Priority{limits::kPriorities - 1}.level(), limits::kPriorities - 1);
  EXPECT_DEATH(Priority{limits::kPriorities}, "a Priority above limits::kPriorities - 1");
}

TEST(Scheduler, IdleSourcesGetNoTurns) {
  Simulation simulation;
  simulation.add("idle", 5);
  EXPECT_FALSE(simulation.scheduler.turn());
  EXPECT_EQ(simulation.order, "");
}

TEST(Scheduler, ASourceThatSaysMoreIsReadyAgainAndOneThatSaysEmptyIsNot) {
  Simulation simulation(StrictPriority{.batch = 10});
  WorkSource& source = simulation.add("s", 5, 25);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 3U);
  EXPECT_EQ(source.stats().turns, 3U);
  EXPECT_EQ(source.stats().items, 25U);
  EXPECT_FALSE(source.is_ready());
}

TEST(Scheduler, ABurstOfWakesIsALevelAndGivesOneTurn) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  for (int i = 0; i < 1000; ++i) source.wake();
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
  EXPECT_EQ(source.stats().wakes, 1U);
}

TEST(Scheduler, ThereIsOneHistogramOfTheTurnsOfAllSources) {
  Simulation simulation;
  for (const Duration takes : {Duration{100}, Duration{3us}, Duration{5ms}}) {
    WorkSource& source = simulation.add("s", 5);
    source.on_run = [&simulation, takes] { simulation.world.clock().advance(takes); };
    source.wake();
  }
  simulation.scheduler.run_until_idle();
  const Log2Histogram& turns = simulation.scheduler.stats().turn_ns;
  EXPECT_EQ(turns.count(), simulation.scheduler.stats().turns);
  EXPECT_EQ(turns.sum(), 5'003'100U);
  EXPECT_EQ(turns.max(), 5'000'000U);
  EXPECT_EQ(turns.below_power(10), 1U);
  EXPECT_EQ(turns.below_power(12), 2U);
}

TEST(Scheduler, AWakeInsideTheOwnTurnCountsAsMore) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  int turns = 0;
  source.on_run = [&] {
    if (++turns < 3) source.wake();
  };
  source.wake();
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 3U);
}

TEST(Scheduler, ASourceWithABacklogIsReadyWhenAdded) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5, 1);
  EXPECT_TRUE(source.is_ready());
}

TEST(Scheduler, AWakeBeforeTheSourceIsAddedHasNoEffect) {
  Simulation simulation;
  WorkSource source("loose", 5);
  source.wake();
  source.wake_from_any_thread();
  simulation.scheduler.add(source);
  EXPECT_FALSE(simulation.scheduler.turn());
}

TEST(Scheduler, RunUntilIdleStopsAfterTheTurnsItMayGive) {
  Simulation simulation(StrictPriority{.batch = 1});
  simulation.add("s", 5, 100);
  EXPECT_EQ(simulation.scheduler.run_until_idle(7), 7U);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 93U);
}

TEST(Scheduler, DescriptorsAreCollectedBeforeTheTurn) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, source).ok());
  source.on_collect = [&]() -> Result<Backlog> {
    source.left = 4;
    return Backlog::More;
  };
  sim::reactor_of(simulation.world).make_ready(3);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
  EXPECT_EQ(source.collects, 1U);
  EXPECT_EQ(source.stats().items, 4U);
}

TEST(Scheduler, ADescriptorThatBroughtNothingGivesNoTurn) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, source).ok());
  sim::reactor_of(simulation.world).make_ready(3);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 0U);
  EXPECT_EQ(source.collects, 1U);
}

// A low-priority flood with turns longer than limits::kPollAfter, and a port event that arrives in the middle of one of them.
TEST(Scheduler, AHighPriorityArrivalWaitsAtMostOneLowTurnWhenTurnsAreLong) {
  Simulation simulation(StrictPriority{.batch = 1});
  WorkSource& port = simulation.add("port", 40);
  ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, port).ok());
  port.on_collect = []() -> Result<Backlog> { return Backlog::More; };
  WorkSource& route = simulation.add("route", 5, 1000);
  int low_turns = 0;
  int low_turns_since_arrival = -1;
  int worst = 0;
  route.on_run = [&] {
    simulation.world.clock().advance(limits::kPollAfter + 1ns);
    if (low_turns_since_arrival >= 0) worst = std::max(worst, ++low_turns_since_arrival);
    if (++low_turns % 7 == 0) {
      sim::reactor_of(simulation.world).make_ready(3);
      low_turns_since_arrival = 0;
    }
  };
  int port_turns = 0;
  port.on_run = [&] {
    ++port_turns;
    low_turns_since_arrival = -1;
  };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(port_turns, 1000 / 7);
  EXPECT_EQ(worst, 0) << "a whole low-priority turn began after the arrival";
  EXPECT_GE(simulation.scheduler.stats().due_polls, 1000U) << "one after each turn that was long";
}

TEST(Scheduler, ShortTurnsShareALookAtTheReactorAndNeverMoreThanTheLimit) {
  Simulation simulation(StrictPriority{.batch = 1});
  simulation.add("busy", 5, 10'000);
  const std::uint64_t before = sim::reactor_of(simulation.world).polls();
  simulation.scheduler.run_until_idle();
  const std::uint64_t polls = sim::reactor_of(simulation.world).polls() - before;
  EXPECT_GE(polls, 10'000 / limits::kTurnsWithoutPoll);
  EXPECT_LE(polls, 10'000 / limits::kTurnsWithoutPoll + 3);
  EXPECT_GE(simulation.scheduler.stats().due_polls, 10'000 / limits::kTurnsWithoutPoll);
}

TEST(Scheduler, ShortTurnsGoOnForOnePeriodWithoutALookAtTheReactor) {
  Simulation simulation(StrictPriority{.batch = 1});
  WorkSource& busy = simulation.add("busy", 5, 10'000);
  Instant looked = simulation.world.now();
  std::uint64_t polls = sim::reactor_of(simulation.world).polls();
  Duration longest{0};
  busy.on_run = [&] {
    if (sim::reactor_of(simulation.world).polls() != polls) looked = simulation.world.now();
    polls = sim::reactor_of(simulation.world).polls();
    longest = std::max(longest, simulation.world.now() - looked);
    simulation.world.clock().advance(1us);
  };
  const std::uint64_t before = polls;
  simulation.scheduler.run_until_idle();
  EXPECT_LT(longest, limits::kPollPeriod) << "a turn began so long after the last look";
  EXPECT_LE(sim::reactor_of(simulation.world).polls() - before, 10'000 / (limits::kPollPeriod / 1us) + 3)
      << "it was looked at before it was due";
}

TEST(Scheduler, AHighPriorityArrivalWaitsAtMostTheLimitOfShortTurns) {
  Simulation simulation(StrictPriority{.batch = 1});
  WorkSource& port = simulation.add("port", 40);
  ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, port).ok());
  port.on_collect = []() -> Result<Backlog> { return Backlog::More; };
  WorkSource& route = simulation.add("route", 5, 200);
  std::uint32_t waited = 0;
  std::uint32_t worst = 0;
  route.on_run = [&] {
    if (route.left == 151) sim::reactor_of(simulation.world).make_ready(3);
    if (route.left <= 150 && port.stats().turns == 0) worst = ++waited;
  };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(port.stats().turns, 1U);
  EXPECT_LE(worst, limits::kTurnsWithoutPoll);
}

TEST(Scheduler, MoreDescriptorsThanOneReportHoldsAreAllSeenBeforeTheNextTurn) {
  Simulation simulation;
  for (int fd = 0; fd < 2000; ++fd) {
    WorkSource& source = simulation.add("low", 5);
    source.on_collect = []() -> Result<Backlog> { return Backlog::More; };
    ASSERT_TRUE(simulation.world.reactor().watch(fd, Interest::Read, source).ok());
    sim::reactor_of(simulation.world).make_ready(fd);
  }
  WorkSource& urgent = simulation.add("urgent", 60);
  urgent.on_collect = []() -> Result<Backlog> { return Backlog::More; };
  ASSERT_TRUE(simulation.world.reactor().watch(5000, Interest::Read, urgent).ok());
  sim::reactor_of(simulation.world).make_ready(5000);  // The last of the kernel's list.
  simulation.scheduler.turn();
  EXPECT_EQ(simulation.order, "urgent");
}

TEST(Scheduler, StatsSayWhoRanHowLongAndWaited) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  source.on_run = [&] { simulation.world.clock().advance(30us); };
  source.wake();
  simulation.world.clock().advance(10us);
  simulation.scheduler.turn();
  EXPECT_EQ(source.stats().ran, 30us);
  EXPECT_EQ(source.stats().longest_turn, 30us);
  EXPECT_EQ(source.waits().max(), 10'000U);
  EXPECT_EQ(simulation.scheduler.stats().longest_turn, 30us);
}

TEST(Scheduler, TurnsThatOthersWouldNoticeAreCountedAndToldByName) {
  Simulation simulation;
  std::vector<std::pair<std::string, Duration>> told;
  simulation.scheduler.on_long_turn([&told](const LongTurn& turn) { told.emplace_back(turn.source, turn.ran); });
  WorkSource& source = simulation.add("s", 5);
  for (const Duration length : {limits::kLongTurn, limits::kLongTurn + 1ns, 2 * limits::kLongTurn, Duration{0}}) {
    source.on_run = [&simulation, length] { simulation.world.clock().advance(length); };
    source.wake();
    simulation.scheduler.turn();
  }
  EXPECT_EQ(simulation.scheduler.stats().turns, 4U);
  EXPECT_EQ(simulation.scheduler.stats().long_turns, 2U);
  EXPECT_THAT(told, testing::ElementsAre(testing::Pair("s", limits::kLongTurn + 1ns), testing::Pair("s", 2 * limits::kLongTurn)));
}

TEST(Scheduler, TurnsThatUseAllItemsOfTheirBudgetAreCounted) {
  Simulation simulation;
  simulation.add("busy", 5, 2 * limits::kBatchItems + 1);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.scheduler.stats().turns, 3U);
  EXPECT_EQ(simulation.scheduler.stats().full_turns, 2U);
  EXPECT_EQ(simulation.scheduler.stats().timed_out_turns, 0U);
}

TEST(Scheduler, MoreTimersThanOneLookFiresAreLeftForTheNextAndCounted) {
  Simulation simulation;
  std::uint32_t fired = 0;
  std::vector<std::unique_ptr<TimerSource>> timers;
  const Instant due = simulation.world.now() + 5ms;
  for (std::uint32_t i = 0; i < limits::kTimersPerTurn + 1; ++i) {
    timers.push_back(std::make_unique<TimerSource>("timer", Priority{5}, [&fired] { ++fired; }));
    simulation.scheduler.add(*timers.back());
    timers.back()->arm_at(due);
  }
  simulation.world.clock().advance(10ms);
  simulation.scheduler.poll();
  std::size_t ready = 0;
  for (const auto& timer : timers) ready += timer->is_ready() ? 1U : 0U;
  EXPECT_EQ(ready, limits::kTimersPerTurn);
  EXPECT_EQ(simulation.scheduler.stats().timer_bursts, 1U);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(fired, limits::kTimersPerTurn + 1);
  EXPECT_EQ(simulation.scheduler.stats().timer_bursts, 1U) << "the one that was left is no burst";
}

/// Like a row that waits for a time: it wakes its source.
class BulkTimer final : public TimerNode {
 public:
  BulkTimer(Source& owner, std::uint32_t& fired) : owner_(owner), fired_(fired) {}

 private:
  void on_due() override {
    ++fired_;
    owner_.wake();
  }
  Source& owner_;
  std::uint32_t& fired_;
};

TEST(Scheduler, ABurstOfBulkTimersIsCutAndHoldsUpNoOther) {
  Simulation simulation;
  WorkSource& owner = simulation.add("owner", 5);
  std::uint32_t fired = 0;
  std::vector<std::unique_ptr<BulkTimer>> rows;
  const Instant due = simulation.world.now() + 5ms;
  for (std::uint32_t i = 0; i < 3 * limits::kTimersPerTurn; ++i) {
    rows.push_back(std::make_unique<BulkTimer>(owner, fired));
    simulation.scheduler.bulk_timers().insert(*rows.back(), due);
  }
  TimerSource later("later", Priority{5}, [] {});
  simulation.scheduler.add(later);
  later.arm_at(due + 2ms);
  simulation.world.clock().advance(10ms);
  simulation.scheduler.poll();
  EXPECT_TRUE(later.is_ready()) << "behind all of them it would wait for two more looks";
  EXPECT_EQ(fired, limits::kTimersPerTurn);
  EXPECT_EQ(simulation.scheduler.stats().timer_bursts, 1U);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(fired, 3 * limits::kTimersPerTurn);
  simulation.scheduler.remove(later);
}

// Only one wheel has a timer: the loop wakes for it.
TEST(Scheduler, SleepsUntilTheFirstBulkTimerAndNoLonger) {
  Simulation simulation;
  WorkSource& owner = simulation.add("owner", 5);
  simulation.scheduler.run_until_idle();
  std::uint32_t fired = 0;
  BulkTimer row(owner, fired);
  const Instant due = simulation.world.now() + 5ms;
  simulation.scheduler.bulk_timers().insert(row, due);
  simulation.scheduler.wait(due + 1s);
  EXPECT_EQ(fired, 1U);
  EXPECT_TRUE(owner.is_ready());
  EXPECT_LE(simulation.world.now(), due + 1ms);
}

TEST(Scheduler, ATurnThatWaitedIsToldFromOneThatWorked) {
  SystemClock clock;
  sim::World world(1);
  Scheduler scheduler(clock, world.reactor(), test::policy());
  test::WorkSource waits("waits", 5);
  test::WorkSource works("works", 5);
  const auto have_turn = [&scheduler](test::WorkSource& source, std::function<void()> what) {
    source.on_run = std::move(what);
    scheduler.add(source);
    source.wake();
    EXPECT_TRUE(scheduler.turn());
  };
  have_turn(waits, [&clock] {
    for (const Instant start = clock.now(); clock.now() - start < 20ms;) ::poll(nullptr, 0, 5);
  });
  have_turn(works, [&clock] {
    for (const Duration start = clock.thread_cpu_time(); clock.thread_cpu_time() - start < 10ms;) {
    }
  });
  EXPECT_GE(waits.stats().longest_turn, 20ms);
  EXPECT_LT(waits.stats().longest_turn_cpu, 10ms);
  EXPECT_GE(works.stats().longest_turn_cpu, 10ms);
  EXPECT_LE(works.stats().longest_turn_cpu, works.stats().longest_turn);
}

TEST(Scheduler, SourcesAreVisitedInTheOrderTheyWereAdded) {
  Simulation simulation;
  simulation.add("a", 1);
  WorkSource& middle = simulation.add("b", 9);
  simulation.add("c", 5);
  simulation.scheduler.remove(middle);
  simulation.scheduler.add(middle);
  std::string names;
  simulation.scheduler.for_each_source([&](const Source& source) { names.append(source.name()); });
  EXPECT_EQ(names, "acb");
}

TEST(Scheduler, ASourceTellsSinceWhenItWaitsAndHasWork) {
  Simulation simulation(StrictPriority{.batch = 1});
  WorkSource& source = simulation.add("s", 5, 3);
  EXPECT_GT(source.number(), 0U);
  const Instant woken = simulation.world.now();
  EXPECT_EQ(source.ready_since(), woken);
  source.on_run = [&] {
    EXPECT_TRUE(source.is_running());
    simulation.world.clock().advance(10us);
  };
  ASSERT_TRUE(simulation.scheduler.turn());
  EXPECT_TRUE(source.is_ready()) << "it has more";
  EXPECT_EQ(source.busy_since(), woken) << "it was never idle";
  EXPECT_EQ(source.ready_since(), woken + 10us) << "it waits for its next turn";
  simulation.scheduler.run_until_idle();
  simulation.world.clock().advance(1s);
  source.left = 1;
  source.wake();
  EXPECT_EQ(source.busy_since(), simulation.world.now());
}

TEST(Scheduler, ASourceMayRemoveItselfInItsTurn) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5, 1000);
  source.on_run = [&] { simulation.scheduler.remove(source); };
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
  EXPECT_EQ(source.scheduler(), nullptr);
}

TEST(Scheduler, ASourceThatRemovesAndAddsItselfInItsTurnGoesOn) {
  Simulation simulation(StrictPriority{.batch = 1});
  WorkSource& source = simulation.add("s", 5, 3);
  source.on_run = [&] {
    simulation.scheduler.remove(source);
    simulation.scheduler.add(source);
  };
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 3U);
  EXPECT_EQ(source.left, 0U);
}

TEST(Scheduler, ATurnMayDestroyOtherSourcesReadyOrIdleOrWithEventsUnderWay) {
  Simulation simulation;
  auto ready = std::make_unique<WorkSource>("ready", 5, 10);
  auto idle = std::make_unique<WorkSource>("idle", 5);
  auto woken = std::make_unique<WorkSource>("woken", 5);
  simulation.scheduler.add(*ready);
  simulation.scheduler.add(*idle);
  simulation.scheduler.add(*woken);
  ASSERT_TRUE(simulation.world.reactor().watch(4, Interest::Read, *idle).ok());
  WorkSource& killer = simulation.add("killer", 50, 1);
  killer.on_run = [&] {
    sim::reactor_of(simulation.world).make_ready(4);
    woken->wake_from_any_thread();
    ready.reset();
    idle.reset();
    woken.reset();
  };
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
}

TEST(Scheduler, ACollectMayDestroyASourceThatIsReportedAfterIt) {
  Simulation simulation;
  auto victim = std::make_unique<WorkSource>("victim", 5);
  simulation.scheduler.add(*victim);
  WorkSource& killer = simulation.add("killer", 5);
  killer.on_collect = [&]() -> Result<Backlog> {
    victim.reset();
    return Backlog::Empty;
  };
  ASSERT_TRUE(simulation.world.reactor().watch(1, Interest::Read, killer).ok());
  ASSERT_TRUE(simulation.world.reactor().watch(2, Interest::Read, *victim).ok());
  sim::reactor_of(simulation.world).make_ready(1);
  sim::reactor_of(simulation.world).make_ready(2);
  EXPECT_FALSE(simulation.scheduler.turn());
  EXPECT_EQ(victim, nullptr);
}

TEST(Scheduler, ACollectMayReplaceADescriptorThatIsReportedAfterIt) {
  Simulation simulation;
  WorkSource& first = simulation.add("first", 5);
  WorkSource& second = simulation.add("second", 5);
  ASSERT_TRUE(simulation.world.reactor().watch(1, Interest::Read, first).ok());
  ASSERT_TRUE(simulation.world.reactor().watch(2, Interest::Read, second).ok());
  first.on_collect = [&]() -> Result<Backlog> {
    simulation.world.reactor().unwatch(2);
    EXPECT_TRUE(simulation.world.reactor().watch(2, Interest::Read, second).ok());  // A new descriptor with the old number.
    return Backlog::Empty;
  };
  sim::reactor_of(simulation.world).make_ready(1);
  sim::reactor_of(simulation.world).make_error(2);
  simulation.scheduler.turn();
  EXPECT_EQ(second.collects, 0U);
  EXPECT_TRUE(second.quarantine().ok());
}

TEST(Scheduler, WakesFromOtherThreadsAreCollectedInTheOrderOfTheWakes) {
  Simulation simulation;
  for (const char* name : {"a", "b", "c"}) {
    simulation.add(name, 5).on_collect = []() -> Result<Backlog> { return Backlog::More; };
  }
  for (const auto& source : simulation.sources) {
    source->wake_from_any_thread();
    source->wake_from_any_thread();
  }
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "a b c");
  EXPECT_EQ(simulation.scheduler.stats().remote_wakes, 3U);
}

TEST(Scheduler, RemovingOneOfTheSourcesWokenByOthersKeepsTheRest) {
  for (std::size_t removed = 0; removed < 3; ++removed) {
    Simulation simulation;
    for (const char* name : {"a", "b", "c"}) {
      simulation.add(name, 5).on_collect = []() -> Result<Backlog> { return Backlog::More; };
    }
    for (const auto& source : simulation.sources) source->wake_from_any_thread();
    simulation.scheduler.remove(*simulation.sources[removed]);
    EXPECT_EQ(simulation.scheduler.run_until_idle(), 2U);
    EXPECT_EQ(simulation.sources[removed]->stats().turns, 0U);
  }
}

TEST(Scheduler, ASourceRemovedWhileWokenCanBeAddedAndWokenAgain) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  source.on_collect = []() -> Result<Backlog> { return Backlog::More; };
  source.wake_from_any_thread();
  simulation.scheduler.remove(source);
  simulation.scheduler.add(source);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 0U);
  source.wake_from_any_thread();
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
}

TEST(Scheduler, WaitReturnsAtItsDeadlineWithoutATurn) {
  Simulation simulation;
  const Instant start = simulation.world.now();
  simulation.scheduler.wait(start + 300ms);
  EXPECT_EQ(simulation.world.now(), start + 300ms);
}

TEST(Scheduler, WaitReturnsWhenSomethingIsReady) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  simulation.world.after(40ms, [&] { source.wake(); });
  const Instant start = simulation.world.now();
  simulation.scheduler.wait(Instant::never());
  EXPECT_EQ(simulation.world.now(), start + 40ms);
  EXPECT_TRUE(source.is_ready());
}

TEST(Scheduler, AWakeFromAnotherThreadJustBeforeTheLoopFallsAsleepKeepsItAwake) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  source.on_collect = []() -> Result<Backlog> { return Backlog::More; };
  EXPECT_FALSE(simulation.scheduler.turn());
  source.wake_from_any_thread();  // The loop is awake, so nothing is written to the reactor.
  const Instant start = simulation.world.now();
  simulation.scheduler.wait(start + 1h);
  EXPECT_EQ(simulation.world.now(), start);
  EXPECT_TRUE(source.is_ready());
}

TEST(Scheduler, StopEndsRunEvenBeforeItBegan) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  simulation.world.after(10ms, [&] { source.wake(); });
  source.on_run = [&] { simulation.scheduler.stop(); };
  simulation.scheduler.run();
  EXPECT_EQ(source.stats().turns, 1U);
  simulation.scheduler.run();
  EXPECT_TRUE(simulation.scheduler.stopping());
}

TEST(Scheduler, TheSweepFindsALostWakeWithinItsPeriodAndCountsIt) {
  Simulation simulation;
  WorkSource& source = simulation.add("forgetful", 5);
  simulation.world.run_for(simulation.scheduler, 10s);
  EXPECT_EQ(simulation.scheduler.stats().sweep_rescues, 0U);
  const Instant lost = simulation.world.now();
  source.left = 1;  // Without a wake.
  ASSERT_TRUE(simulation.world.run_until(
      simulation.scheduler, [&] { return source.left == 0; }, 2s));
  EXPECT_LE(simulation.world.now() - lost, limits::kSweepPeriod + 1ms);
  EXPECT_EQ(simulation.scheduler.stats().sweep_rescues, 1U);
}

TEST(Scheduler, TheSweepCountsNothingWhenEveryWakeIsInPlace) {
  Simulation simulation(StrictPriority{.batch = 1});
  WorkSource& busy = simulation.add("busy", 50, 100'000'000);
  WorkSource& starved = simulation.add("starved", 1, 1);  // A ready source that waits has not lost its wake.
  simulation.world.set_turn_cost(1ms);
  simulation.world.run_for(simulation.scheduler, 5s);
  EXPECT_EQ(starved.stats().turns, 0U);
  EXPECT_GT(busy.stats().turns, 4000U);
  EXPECT_EQ(simulation.scheduler.stats().sweep_rescues, 0U);
}

// A message is in its mailbox shortly before its wake: a sweep in between must not count it as lost.
TEST(Scheduler, TheSweepForgivesABacklogWhoseWakeIsUnderWay) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  for (int i = 0; i < 10; ++i) {
    source.left = 1;
    simulation.world.run_for(simulation.scheduler, limits::kSweepPeriod / 2 + 1ms);  // One sweep finds it.
    EXPECT_EQ(source.left, 1U);
    source.wake();
    simulation.world.run_for(simulation.scheduler, limits::kSweepPeriod / 2);
    EXPECT_EQ(source.left, 0U);
  }
  EXPECT_EQ(simulation.scheduler.stats().sweep_rescues, 0U);
}

TEST(Scheduler, AnIdleSchedulerWakesOnlyToSweep) {
  Simulation simulation;
  simulation.add("idle", 5);
  const std::uint64_t before = sim::reactor_of(simulation.world).waits();
  simulation.world.run_for(simulation.scheduler, 60s);
  EXPECT_LE(sim::reactor_of(simulation.world).waits() - before, 121U);
}

}  // namespace
}  // namespace rondo
