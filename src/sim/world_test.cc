// The simulated world: repeatable bit for bit, and time advances whatever the sources do.
#include "rondo/sim/world.h"
#include "sim/world_reactor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sim/test_source.h"

namespace rondo::sim {
namespace {

/// A small busy world: descriptors, timers and chance. Returns all events with their times.
std::string history(std::uint64_t seed) {
  World world(seed);
  Scheduler scheduler(world.clock(), world.reactor(), test::policy(StrictPriority{.batch = 4}));
  std::string text;
  const auto write = [&](std::string_view name) {
    text.append(std::to_string(world.now().nanoseconds())).append(" ").append(name).append("\n");
  };
  std::vector<std::unique_ptr<test::WorkSource>> sources;
  for (int fd = 0; fd < 8; ++fd) {
    sources.push_back(std::make_unique<test::WorkSource>("s" + std::to_string(fd), static_cast<unsigned>(world.random().below(3))));
    test::WorkSource& source = *sources.back();
    source.on_collect = [&world, &source]() -> Result<Backlog> {
      source.left += world.random().below(10);
      return source.left > 0 ? Backlog::More : Backlog::Empty;
    };
    source.on_run = [&world, &source, write] {
      world.clock().advance(Duration{static_cast<std::int64_t>(world.random().below(5'000))});
      write(source.name());
    };
    scheduler.add(source);
    EXPECT_TRUE(world.reactor().watch(fd, Interest::Read, source).ok());
  }
  TimerSource timer("timer", Priority{1}, [&] {
    write("timer");
    sim::reactor_of(world).make_ready(static_cast<int>(world.random().below(8)));
  });
  scheduler.add(timer);
  timer.arm_every(7ms, world.now() + 3ms);
  for (int i = 0; i < 50; ++i) {
    const int fd = static_cast<int>(world.random().below(8));
    world.after(Duration{static_cast<std::int64_t>(world.random().below(1'000'000'000))},
                [&world, fd] { sim::reactor_of(world).make_ready(fd); });
  }
  world.run_for(scheduler, 1s);
  return text;
}

TEST(World, ARunIsRepeatableBitForBit) {
  const std::string first = history(11);
  EXPECT_GT(first.size(), 1000U);
  EXPECT_EQ(history(11), first);
  EXPECT_NE(history(12), first);
}

TEST(World, RunForStopsWhenTheTimeHasPassedEvenIfASourceIsAlwaysBusy) {
  World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), test::policy(StrictPriority{.batch = 1}));
  test::WorkSource busy("busy", 5, UINT64_MAX);
  scheduler.add(busy);
  const Instant start = world.now();
  world.set_turn_cost(10us);
  EXPECT_EQ(world.run_for(scheduler, 10ms), 1000U);
  EXPECT_EQ(world.now(), start + 10ms);
}

TEST(World, RunUntilSaysWhetherItHappenedInTime) {
  World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), test::policy());
  bool happened = false;
  world.after(3s, [&] { happened = true; });
  EXPECT_FALSE(world.run_until(
      scheduler, [&] { return happened; }, 1s));
  EXPECT_TRUE(world.run_until(
      scheduler, [&] { return happened; }, 5s));
}

TEST(World, AStoppedSchedulerEndsTheRunEarly) {
  World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), test::policy());
  world.after(3s, [&] { scheduler.stop(); });
  const Instant start = world.now();
  world.run_for(scheduler, 1h);
  EXPECT_LE(world.now() - start, 4s);
}

TEST(World, AnHourOfIdlenessIsCheap) {
  World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), test::policy());
  world.run_for(scheduler, 1h);
  EXPECT_LE(sim::reactor_of(world).waits(), 7201U);
}

}  // namespace
}  // namespace rondo::sim
