// The statements of SONiC's orchagent design about Select: its fairness, stages and priorities, one test each. The parts about tables and
// retries are tested in store and orch.
#include <gtest/gtest.h>

#include "sim/test_source.h"
#include "sim/world_reactor.h"

namespace rondo {
namespace {

using test::Simulation;
using test::WorkSource;

// "Fair Scheduling with Same Priority": A and B both have data; T1 A, T2 B, T3 A: "Alternates fairly".
TEST(SelectStatements, TwoSourcesOfTheSamePriorityAlternateFairly) {
  Simulation simulation(StrictPriority{.batch = 1});
  simulation.add("A", 5, 4);
  simulation.add("B", 5, 4);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "A B A B A B A B");
}

// "We have fair scheduler. We've read different selectables on the second read."
TEST(SelectStatements, TheSecondReadIsOfAnotherSource) {
  Simulation simulation;
  WorkSource& first = simulation.add("first", 5, 1000);
  WorkSource& second = simulation.add("second", 5, 1000);
  simulation.scheduler.turn();
  simulation.scheduler.turn();
  EXPECT_EQ(first.stats().turns, 1U);
  EXPECT_EQ(second.stats().turns, 1U);
}

// "The m_ready set is ordered by: 1. Priority (higher first)."
TEST(SelectStatements, HigherPriorityFirst) {
  Simulation simulation;
  simulation.add("route", 5, 1);
  simulation.add("nat", 50, 1);
  simulation.add("port", 40, 1);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "nat port route");
}

// "2. Last used time (older first, for fairness among same priority)."
TEST(SelectStatements, AmongEqualsTheLeastRecentlyUsedWins) {
  Simulation simulation;
  for (const char* name : {"A", "B", "C"}) simulation.add(name, 5, 1);
  simulation.scheduler.run_until_idle();
  for (const std::size_t i : {2U, 0U, 1U}) simulation.sources[i]->left = 128 * 2;
  simulation.sources[0]->wake();
  simulation.scheduler.turn();    // A was used last.
  simulation.sources[1]->wake();  // B and C were used before A.
  simulation.sources[2]->wake();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "A B C A B C A B C");
}

// "Single consumer per select: select() returns ONE ready consumer."
TEST(SelectStatements, OneTurnRunsOneSource) {
  Simulation simulation;
  for (int i = 0; i < 5; ++i) simulation.add("s", 5, 1);
  EXPECT_TRUE(simulation.scheduler.turn());
  std::uint64_t turns = 0;
  for (const auto& source : simulation.sources) turns += source->stats().turns;
  EXPECT_EQ(turns, 1U);
}

// "Two-Stage Mechanism": readData() only buffers and runs for every ready descriptor; one execute() follows.
TEST(SelectStatements, CollectingIsApartFromRunning) {
  Simulation simulation;
  for (int fd = 0; fd < 3; ++fd) {
    WorkSource& source = simulation.add("s", 5);
    source.on_collect = [&source]() -> Result<Backlog> {
      source.left = 300;
      return Backlog::More;
    };
    ASSERT_TRUE(simulation.world.reactor().watch(fd, Interest::Read, source).ok());
    sim::reactor_of(simulation.world).make_ready(fd);
  }
  simulation.scheduler.turn();
  std::uint64_t handled = 0;
  for (const auto& source : simulation.sources) {
    EXPECT_EQ(source->collects, 1U);
    handled += source->stats().items;
  }
  EXPECT_EQ(handled, 128U);
}

// "Batch Size Limit": 100,000 routes, 128 an iteration, about 780 iterations, with other orchs in between.
TEST(SelectStatements, AHundredThousandRoutesTakeAbout780TurnsWithOthersInBetween) {
  Simulation simulation;
  WorkSource& routes = simulation.add("routes", 5, 100'000);
  WorkSource& other = simulation.add("other", 5);
  routes.on_run = [&] { other.wake(); };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(routes.stats().turns, 782U);
  EXPECT_EQ(other.stats().turns, 782U);
}

// "Table Priorities": port state (40) stays responsive while routes (5) flood; a port event waits for at most one batch of routes.
TEST(SelectStatements, PortsGoBeforeRoutesWithinOneBatch) {
  Simulation simulation;
  WorkSource& routes = simulation.add("routes", 5, 1280);
  WorkSource& port = simulation.add("port", 40);
  int batches_behind = 0;
  int worst = 0;
  routes.on_run = [&] {
    worst = std::max(worst, batches_behind++);
    port.wake();
  };
  port.on_run = [&] { batches_behind = 0; };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(port.stats().turns, routes.stats().turns);
  EXPECT_EQ(worst, 0);
}

// "hasCachedData() is a hint": 3 notifications for 5,000 changes, or 100,000 notifications for as many. Here a wake is level-triggered:
// the number of turns depends on the work, not on the number of notifications.
TEST(SelectStatements, TurnsFollowTheWorkAndNotTheNotifications) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  source.left = 5000;
  for (int i = 0; i < 3; ++i) source.wake();
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 40U);  // All of the 5,000 are handled.
  source.left = 128;
  for (int i = 0; i < 100'000; ++i) source.wake();
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);  // No turn is empty.
}

// "First check for already-cached data, only block if there is none": no waiting while a source is ready.
TEST(SelectStatements, TheLoopWaitsOnlyWhenNothingIsReady) {
  Simulation simulation(StrictPriority{.batch = 1});
  WorkSource& source = simulation.add("s", 5, 1000);
  const std::uint64_t before = sim::reactor_of(simulation.world).waits();
  source.on_run = [&] { EXPECT_EQ(sim::reactor_of(simulation.world).waits(), before); };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(source.left, 0U);
}

// "1000ms timeout ensures liveness: no orch completely starved". SONiC processes all orchs on the timeout; here the sweep finds a source
// that lost a wake.
TEST(SelectStatements, TheTimeoutOf1000msEnsuresLiveness) {
  Simulation simulation;
  WorkSource& source = simulation.add("s", 5);
  source.left = 1;
  simulation.world.run_for(simulation.scheduler, 1000ms + 1us);
  EXPECT_EQ(source.left, 0U);
}

// Priorities work in the loop itself, for timers and notifications too. In SONiC they do not, because its executors do not forward them.
TEST(SelectStatements, TimersAndTablesShareOneOrderOfPriorities) {
  Simulation simulation;
  std::string& order = simulation.order;
  TimerSource timer("timer", Priority{50}, [&] { order.append(order.empty() ? "timer" : " timer"); });
  simulation.scheduler.add(timer);
  timer.arm_at(simulation.world.now());
  simulation.add("notification", 60, 1);
  simulation.add("table", 5, 1);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(order, "notification timer table");
}

}  // namespace
}  // namespace rondo
