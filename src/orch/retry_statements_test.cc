// The statements of SONiC's RetryCache design (OrchDaemon retry optimization), one test each. Routes refer to a next-hop group that does
// not exist yet, beside other tables and a timer of one second. The numbers are the design's, smaller where only the proportion matters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "journal/walk.h"
#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/journal/journal.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// NEXTHOP_GROUP (p5) provides groups; ROUTE (p1) waits for them. Each route costs 10 us of simulated time, whatever its outcome.
class RetryStatements : public testing::Test, public RuntimeFixture {
 protected:
  static constexpr Duration kRouteCost = 10us;

  RetryStatements() {
    OpenOrch& groups_orch = add_groups();
    groups_orch.consume(
        "NEXTHOP_GROUP",
        [&, this](std::string_view key, const Fields&) {
          calls.push_back("group " + std::string{key});
          groups.emplace(key);
          groups_orch.announce({kGroup, std::string{key}});
          return Outcome::done();
        },
        [this](std::string_view key) {
          groups.erase(std::string{key});
          return Outcome::done();
        });
    consume_routes({});
  }

  void consume_routes(ConsumeOptions options, std::string_view table = "ROUTE") {
    OpenOrch& orch = runtime.add<OpenOrch>("routes of " + std::string{table});
    orch.consume(
        table,
        [&, this](std::string_view key, const Fields& fields) {
          world.clock().advance(kRouteCost);
          ++tries[std::string{key}];
          ++turn_items[source("ROUTE").turns];
          const Fact needed{kGroup, fields.text("nexthop_group").value_or("")};
          if (!orch.holds(needed)) return Outcome::wait_for(needed);
          calls.push_back("route " + std::string{key});
          std::string text;
          for (const Field field : fields) text += std::string{field.name} + "=" + std::string{field.value} + ";";
          installed[std::string{key}] = text;
          return Outcome::done();
        },
        [this](std::string_view key) {
          installed.erase(std::string{key});
          return Outcome::done();
        },
        options);
  }
  void add_routes(int count, std::string_view group = "102", const std::string& prefix = "r") {
    for (int i = 0; i < count; ++i) set("ROUTE", prefix + std::to_string(i), {{"nexthop_group", group}});
  }
  /// Makes a port event now, and another each millisecond or so, also in the middle of a turn of the routes, and of a handler. 'asked' is
  /// when the newest event occurred, which is before the runtime polls it.
  void flap(Instant due, Instant& asked, int& events) {
    asked = due;
    set("PORT", "Ethernet0", {{"oper_status", std::to_string(++events)}});
    constexpr Duration kLater = 1003us;
    const Instant next = world.now() + kLater;
    world.after(kLater, [this, next, &asked, &events] { flap(next, asked, events); });
  }
  std::uint64_t all_tries() const {
    std::uint64_t sum = 0;
    for (const auto& [key, count] : tries) sum += count;
    return sum;
  }

  std::map<std::string, std::uint64_t> tries;
  std::map<std::uint64_t, std::uint32_t> turn_items;  // By the number of the ROUTE turn.
  std::map<std::string, std::string> installed;
};

// "skip retrying those tasks with constraints not yet resolved - save CPU cycles"
TEST_F(RetryStatements, AParkedTaskIsNotRetriedUntilItsConstraintResolves) {
  add_routes(1000);
  run();
  EXPECT_EQ(all_tries(), 1000U);
  for (int i = 0; i < 50; ++i) set("NEXTHOP_GROUP", std::to_string(i));
  run_for(10s);
  EXPECT_EQ(all_tries(), 1000U) << "other groups, other turns and time alone retry nothing";
  set("NEXTHOP_GROUP", "102");
  run();
  EXPECT_EQ(all_tries(), 2000U);
  EXPECT_EQ(installed.size(), 1000U);
}

// "First Iteration - Fail Twice ... They fail again in the retry stage"
TEST_F(RetryStatements, ATaskThatCannotRunFailsOnceAndNotTwice) {
  add_routes(1);
  run();
  EXPECT_EQ(tries["r0"], 1U);
}

// "Test": 40k routes refer to a group that does not exist; deleting a group that does not exist retries nothing: "0 entries -> 0 entries".
TEST_F(RetryStatements, FortyThousandParkedRoutesAddNothingToTheTurnOfAnotherTable) {
  add_routes(40'000);
  run();
  EXPECT_EQ(stats("ROUTE").parked, 40'000U);
  const std::uint64_t turns_before = runtime.scheduler().stats().turns;
  const std::uint64_t route_turns_before = source("ROUTE").turns;
  const Instant time_before = world.now();
  remove("NEXTHOP_GROUP", "none");
  run();
  EXPECT_EQ(source("ROUTE").turns, route_turns_before);
  EXPECT_LE(runtime.scheduler().stats().turns - turns_before, 1U);
  EXPECT_EQ(world.now(), time_before) << "no route handler ran";
  EXPECT_EQ(stats("ROUTE").queued, 0U);
}

// "control the duration of OrchDaemon retry stage - should not affect the normal execution process"
TEST_F(RetryStatements, RetryingDoesNotAffectTheNormalExecutionProcess) {
  Duration worst{0};
  Instant asked;
  OpenOrch& ports = runtime.add<OpenOrch>("ports", Priority{40});
  ports.consume(
      "PORT",
      [&](std::string_view, const Fields&) {
        worst = std::max(worst, world.now() - asked);
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); });
  add_routes(20'000);
  run();
  set("NEXTHOP_GROUP", "102");
  int events = 0;
  world.after(0ms, [&] { flap(world.now(), asked, events); });
  while (installed.size() < 20'000) ASSERT_TRUE(runtime.scheduler().turn());
  EXPECT_GT(events, 100);
  EXPECT_GE(stats("PORT").done, static_cast<std::uint64_t>(events) - 1);
  EXPECT_GT(worst, 0us);
  EXPECT_LE(worst, limits::kPollPeriod + kRouteCost)
      << "a port waits until somebody looks, and for the handler that runs then, not for a turn";
}

// "limit the number of tasks to retry, even though task constraints have already been resolved - avoid starvation"
TEST_F(RetryStatements, TheNumberOfTasksToRetryInATurnIsLimited) {
  add_routes(10'000);
  run();
  turn_items.clear();
  set("NEXTHOP_GROUP", "102");
  run();
  EXPECT_EQ(installed.size(), 10'000U);
  for (const auto& [turn, items] : turn_items) EXPECT_LE(items, limits::kBatchItems) << "turn " << turn;
}

// The same statement says: resolved tasks do not starve the new tasks of their own table.
TEST_F(RetryStatements, ResolvedTasksDoNotStarveNewOnes) {
  add_routes(10'000);
  run();
  set("NEXTHOP_GROUP", "102");
  set("NEXTHOP_GROUP", "103");
  set("ROUTE", "new", {{"nexthop_group", "103"}});
  calls.clear();
  run();
  const auto at = std::ranges::find(calls, "route new");
  ASSERT_NE(at, calls.end());
  EXPECT_LE(at - calls.begin(), static_cast<std::ptrdiff_t>(limits::kBatchItems) + 2) << "in the first turn";
}

// "make configurable the number of tasks to retry in OrchDaemon's retry stage"
TEST_F(RetryStatements, TheShareOfRetriedTasksIsConfigurable) {
  consume_routes({.retry_quota = 3}, "ROUTE_3");
  for (int i = 0; i < 100; ++i) set("ROUTE_3", "old" + std::to_string(i), {{"nexthop_group", "102"}});
  run();
  set("NEXTHOP_GROUP", "102");
  for (int i = 0; i < 1000; ++i) set("ROUTE_3", "new" + std::to_string(i), {{"nexthop_group", "102"}});
  calls.clear();
  run();
  ASSERT_EQ(calls.size(), 1101U);
  const auto first_turn = calls.begin() + 1;
  EXPECT_EQ(std::count_if(first_turn, first_turn + limits::kBatchItems, [](const std::string& c) { return c.starts_with("route old"); }),
            3);
}

// "[Deadlock] ... Only ExecutableTimer instances gets selected in the following iterations, and the system gets starved and stuck"
TEST_F(RetryStatements, TheDeadlockOf800kRoutesAndAOneSecondTimerCannotHappen) {
  // 150,000 routes of 10 us are 1.5 s of work a pass: longer than the timer's period, as 800,000 are in the design.
  int fired = 0;
  TimerSource timer("one second", Priority{50}, [&] { ++fired; });
  runtime.scheduler().add(timer);
  timer.arm_every(1s, world.now() + 1s);
  add_routes(150'000);
  set("NEXTHOP_GROUP", "102");
  const Instant start = world.now();
  EXPECT_TRUE(world.run_until(
      runtime.scheduler(), [&] { return installed.size() == 150'000; }, 10s));
  EXPECT_LT(world.now() - start, 4s) << "the work itself and nothing else";
  EXPECT_GE(fired, 1);
  EXPECT_EQ(calls.front(), "group 102") << "the group goes first: it has the higher priority";
}

TEST_F(RetryStatements, TheDeadlockCannotHappenEitherWhenTheGroupComesLate) {
  int fired = 0;
  TimerSource timer("one second", Priority{50}, [&] { ++fired; });
  runtime.scheduler().add(timer);
  timer.arm_every(1s, world.now() + 1s);
  add_routes(150'000);
  run_for(700ms);  // In the middle of the first pass.
  set("NEXTHOP_GROUP", "102");
  EXPECT_TRUE(world.run_until(
      runtime.scheduler(), [&] { return installed.size() == 150'000; }, 10s));
  EXPECT_LE(all_tries(), 2U * 150'000U);
  EXPECT_GE(fired, 1);
}

// "identify the constraint for a specific task"
TEST_F(RetryStatements, TheConstraintOfASpecificTaskIsKnown) {
  add_routes(1);
  run();
  const std::vector<ParkedRow> rows = parked_rows(runtime, "ROUTE", 10);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key, "r0");
  EXPECT_THAT(rows[0].facts, ElementsAre(Fact{kGroup, "102"}));
  const std::vector<ParkedFact> facts = parked_facts(runtime, 10);
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].fact.to_string(), "group:102");
  EXPECT_EQ(facts[0].table, "ROUTE");
  EXPECT_EQ(facts[0].rows, 1U);
}

// "determine how to maintain the skipped tasks, so they can be restored"
TEST_F(RetryStatements, ASkippedTaskIsRestoredWithAllItsFields) {
  set("ROUTE", "r", {{"nexthop_group", "102"}, {"empty", ""}, {"x", "1"}});
  run();
  set("ROUTE", "r", {{"x", "2"}});
  run();
  EXPECT_EQ(stats("ROUTE").parked, 1U);
  set("NEXTHOP_GROUP", "102");
  run();
  EXPECT_EQ(installed["r"], "nexthop_group=102;empty=;x=2;");
}

// "identify when the constraint gets resolved", "make in-time notification of constraint resolution"
TEST_F(RetryStatements, AResolutionIsNoticedInTheVeryNextTurnOfTheTable) {
  add_routes(10);
  run();
  const Instant before = world.now();
  set("NEXTHOP_GROUP", "102");
  // Each route takes kRouteCost, so the reactor is polled between some of them for more urgent sources.
  EXPECT_LE(runtime.run_until_idle(), 1U + 10U) << "one turn of the groups, then those of the routes";
  EXPECT_EQ(installed.size(), 10U);
  EXPECT_LE(world.now() - before, 10 * kRouteCost) << "there: about once a second, when a timer fires";
}

// "The route table executor only marks the constraint as resolved but doesn't retry tasks right now, since it's still in nhg executor's
// execution"
TEST_F(RetryStatements, AResolutionRetriesNothingInsideTheTurnThatBroughtIt) {
  add_routes(1);
  run();
  set("NEXTHOP_GROUP", "102");
  set("NEXTHOP_GROUP", "103");
  run();
  EXPECT_THAT(calls, ElementsAre("group 102", "group 103", "route r0"));
}

// "Otherwise ... If no, it ignores this notification."
TEST_F(RetryStatements, ANotificationThatNobodyAwaitsIsIgnored) {
  add_routes(1);
  run();
  const std::uint64_t before = source("ROUTE").turns;
  for (int i = 0; i < 1000; ++i) set("NEXTHOP_GROUP", std::to_string(1000 + i));
  run();
  EXPECT_EQ(source("ROUTE").turns, before);
}

// "m_toSync doesn't distinguish new tasks in this run, failed tasks from the previous run"
TEST_F(RetryStatements, NewTasksAndFailedOnesAreDistinguished) {
  add_routes(5);
  run();
  set("ROUTE", "fine", {{"nexthop_group", "7"}});
  groups.insert("7");
  EXPECT_EQ(stats("ROUTE").parked, 5U);
  EXPECT_EQ(stats("ROUTE").queued, 1U);
  run();
  EXPECT_EQ(tries["fine"], 1U);
  EXPECT_EQ(all_tries(), 6U);
}

// "do readable logging, easy to debug" and "Logging"
TEST(RetryStatementsLogging, ParkedResolvedAndRetriedTasksAreOnRecord) {
  const std::string directory = testing::TempDir() + "rondo-retry-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  sim::World world{1};
  const std::string file = directory + "/day.journal";
  Result<std::unique_ptr<Journal>> journal = Journal::open({.file = file}, world.clock());
  ASSERT_TRUE(journal.has_value());
  RuntimeOptions options;
  options.clock = &world.clock();
  options.reactor = &world.reactor();
  options.observer = std::move(*journal);
  bool exists = false;
  {
    Runtime runtime(std::move(options));
    OpenOrch& orch = runtime.add<OpenOrch>();
    orch.provide(kGroup, [&](std::string_view) { return exists; });
    orch.consume(
        "ROUTE_TABLE",
        [&](std::string_view, const Fields&) {
          return exists ? Outcome::done() : Outcome::wait_for({kGroup, "1"});
        },
        [](std::string_view) { return Outcome::done(); });
    ASSERT_TRUE(runtime.table("ROUTE_TABLE").set("5.5.78.31/32", {{"nexthop_group", "1"}}).ok());
    runtime.run_until_idle();
    exists = true;
    orch.announce({kGroup, "1"});
    runtime.run_until_idle();
  }
  const auto reader = std::move(journal::JournalReader::open(file).value());
  std::vector<std::string> retries;
  std::vector<std::string> changes;
  const auto add = [](std::vector<std::string>& lines, const std::string& line) {
    if (!line.empty()) lines.push_back(line.substr(line.find('|')));
  };
  for (journal::JournalWalk walk(*reader); walk.next();) {
    add(retries, journal::retry_lines(walk));
    add(changes, journal::swss_lines(walk));
  }
  EXPECT_THAT(retries,
              ElementsAre("| ++++ |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n", "| (group, 1) resolution notified -> 1 tasks\n",
                          "| ---- |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n"));
  EXPECT_THAT(changes, ElementsAre("|recording started\n", "|ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n"));
  EXPECT_EQ(std::remove(file.c_str()), 0);
  EXPECT_EQ(::rmdir(directory.c_str()), 0);
}

}  // namespace
}  // namespace rondo
