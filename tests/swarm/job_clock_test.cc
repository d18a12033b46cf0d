// Jobs in simulated time: a wall clock that is set, crashes between two steps, and edits while a run is under way. The seeds of JobLife
// found each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"
#include "rondo/sim/world.h"

namespace rondo::swarm {
namespace {

class JobClockTest : public ::testing::Test {
 protected:
  JobClockTest() {
    world.start([this](Runtime& runtime) {
      auto made = std::make_shared<jobs::Jobs>(runtime, jobs::make_sqlite_job_store((folder / "jobs.db").string()).value());
      made->handle("work", [this](const jobs::JobContext& context) { return work(context); });
      made->handle_in_turn("turn", [this](const jobs::JobContext& context) { return work(context); });
      made->start();
      current = made;
      return made;
    });
    world.run_for(100ms);
  }
  ~JobClockTest() override { world.crash(); }
  jobs::Jobs& jobs() { return *current.lock(); }
  void define(const std::string& when, Duration backoff = 1s) {
    jobs().define({.name = "j", .handler = "work", .schedule = {.when = when}, .retries = 3, .backoff = backoff});
    world.run_for(100ms);
  }
  void set_wall(Duration by) { world.clock().set_wall(world.clock().wall_now() + by); }
  jobs::StoredJob stored() {
    jobs::StoredJob found;
    jobs().find("j", [&](Result<jobs::StoredJob> job) { found = job.value(); });
    world.run_for(1s);
    return found;
  }
  /// The stored runs as "state note", the oldest first.
  std::vector<std::string> runs() {
    std::vector<std::string> texts;
    jobs().runs("j", INT64_MAX, 1000, [&](const Result<std::vector<jobs::JobRun>>& all) {
      for (const jobs::JobRun& run : all.value()) texts.insert(texts.begin(), std::string{to_string(run.state)} + " " + run.note);
    });
    world.run_for(1s);
    return texts;
  }

  TemporaryFolder folder;
  int calls = 0;
  std::function<Status(const jobs::JobContext&)> work = [this](const jobs::JobContext&) {
    ++calls;
    return Status{};
  };
  std::weak_ptr<jobs::Jobs> current;
  sim::World world{1};
};

TEST_F(JobClockTest, AJobContinuesAtOnceAfterItsClockWasSetBackAYear) {
  define("every 1s");
  world.run_for(5s);
  EXPECT_EQ(calls, 5);
  set_wall(-std::chrono::hours{24 * 365});
  world.run_for(5s);
  EXPECT_GE(calls, 8);
  EXPECT_LE(calls, 10);
}

TEST_F(JobClockTest, AnInstantThatComesAgainDoesNotRunAgain) {
  define("every 1s");
  world.run_for(20s);
  const int before = calls;
  set_wall(-10s);
  world.run_for(9s);
  EXPECT_LE(calls, before + 1) << "those ten seconds have runs already";
  world.run_for(20s);
  EXPECT_GE(calls, before + 18);
}

TEST_F(JobClockTest, AJobContinuesAfterARestartWithAnEarlierClock) {
  define("every 1s");
  world.run_for(3s);
  world.crash(1s);
  set_wall(-std::chrono::hours{24 * 365});
  calls = 0;
  world.run_for(6s);
  EXPECT_GE(calls, 3);
}

TEST_F(JobClockTest, AFurtherAttemptWaitsNoLongerThanItsBackoff) {
  work = [this](const jobs::JobContext& context) { return ++calls, context.attempt == 0 ? Status{StatusCode::Internal, "no"} : Status{}; };
  define("manual", 2s);
  jobs().trigger("j");
  world.run_for(1s);
  EXPECT_EQ(calls, 1);
  set_wall(-std::chrono::hours{24 * 365});
  world.run_for(4s);
  EXPECT_EQ(calls, 2);
}

TEST_F(JobClockTest, ADelayWaitsNoLongerThanItsDuration) {
  define("after 2s");
  world.run_for(5s);
  const int before = calls;
  set_wall(-std::chrono::hours{24 * 365});
  world.run_for(10s);
  EXPECT_GE(calls, before + 2);
}

TEST_F(JobClockTest, AnEditWhileARunOfADelayIsUnderWayKeepsTheNextTimeOfTheEdit) {
  const WallTime at = world.clock().wall_now() + std::chrono::hours{1};
  work = [&](const jobs::JobContext&) {
    ++calls;
    jobs().define({.name = "j", .handler = "turn", .schedule = {.when = "at " + calendar::format_rfc3339(at)}});
    return Status{};
  };
  jobs().define({.name = "j", .handler = "turn", .schedule = {.when = "after 1s"}});
  world.run_for(3s);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(calendar::format_rfc3339(stored().next.value_or(WallTime{})), calendar::format_rfc3339(at));
}

TEST_F(JobClockTest, AHandlerThatDoesNotEndAfterItsTimeoutIsATroubleOfHealthAfterAMinute) {
  std::vector<jobs::AsyncRun> open;
  jobs().handle_async("never", {.begin = [&](const jobs::AsyncRun& run) { open.push_back(run); }});
  jobs().define({.name = "j", .handler = "never", .timeout = 5s});
  jobs().trigger("j");
  world.run_for(60s);
  EXPECT_TRUE(jobs().health().ok()) << jobs().health().to_string();
  world.run_for(10s);
  EXPECT_EQ(
      jobs().health().to_string(),
      "failed-precondition: the handler of run j#1 was asked to stop more than a minute ago (the timeout of 5000 ms has passed). It still "
      "runs");
  ASSERT_EQ(open.size(), 1U);
  open.front().end({});
  world.run_for(2s);
  EXPECT_TRUE(jobs().health().ok()) << jobs().health().to_string();
}

/// The entry of the first attempt counted for the second one.
TEST_F(JobClockTest, AFurtherAttemptHasItsOwnMinuteToStop) {
  std::vector<jobs::AsyncRun> open;
  jobs().handle_async("slow", {.begin = [&](const jobs::AsyncRun& run) { open.push_back(run); }});
  jobs().define({.name = "j", .handler = "slow", .retries = 3, .backoff = 1ms, .timeout = 1s});
  jobs().trigger("j");
  for (int attempt = 0; attempt < 3; ++attempt) {
    world.run_for(40s);
    EXPECT_TRUE(jobs().health().ok()) << jobs().health().to_string();
    open.back().end({StatusCode::Internal, "stopped"});
  }
  world.run_for(10s);
  EXPECT_EQ(open.size(), 4U);
}

TEST_F(JobClockTest, ARunOfAJobThatWasStoppedBeforeACrashDoesNotFireAfterIt) {
  define("every 3s");
  world.run_for(500ms);  // The next run is planned.
  sim::FaultPlan slow;
  slow.operation_time_high = 300ms;
  world.set_faults(slow);
  bool is_stopped = false;
  jobs().stop("j", "", [&](const Result<jobs::StoredJob>&) { is_stopped = true; });
  while (!is_stopped) world.run_for(1us);
  world.crash();  // The stop is stored, the ends of the runs are not.
  world.set_faults({});
  world.run_for(10s);
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(runs(), testing::IsEmpty()) << "its instants were to come";
}

TEST_F(JobClockTest, AnInstantIsNotLostByAStopAndAStartBeforeIt) {
  define("every 10s");
  world.run_for(7s);  // The run of the next instant is planned.
  jobs().stop("j", "", {});
  world.run_for(1s);
  jobs().start("j", {});
  world.run_for(4s);
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(runs(), testing::ElementsAre("succeeded "));
}

TEST_F(JobClockTest, AnInstantIsNotLostByAStopACrashAndAStartBeforeIt) {
  define("every 10s");
  world.run_for(7s);
  jobs().stop("j", "", {});
  world.run_for(10ms);
  world.crash();
  world.run_for(1s);
  jobs().start("j", {});
  world.run_for(4s);
  EXPECT_EQ(calls, 1);
}

TEST_F(JobClockTest, AnEditedScheduleHoldsFromTheEditOn) {
  define("every 10s");
  world.run_for(7s);
  define("at " + calendar::format_rfc3339(world.clock().wall_now() + 20s));
  world.run_for(15s);
  EXPECT_EQ(calls, 0) << "the instant of the old schedule was to come";
  world.run_for(15s);
  EXPECT_EQ(calls, 1);
}

TEST_F(JobClockTest, AnEditThatKeepsTheScheduleKeepsThePlannedRun) {
  define("every 10s");
  world.run_for(7s);
  const jobs::StoredJob before = stored();
  define("every 10s", 2s);  // Another backoff.
  EXPECT_EQ(stored().next, before.next);
  world.run_for(3s);
  EXPECT_EQ(calls, 1);
}

TEST_F(JobClockTest, AChildThatIsStoppedAndStartedTakesPartInTheNextInstant) {
  std::vector<std::string> order;
  work = [&order](const jobs::JobContext& context) { return order.push_back(context.job), Status{}; };
  define("every 10s");
  jobs().define({.name = "child", .handler = "turn", .parents = {"j"}});
  jobs().define({.name = "grandchild", .handler = "turn", .parents = {"child"}});
  world.run_for(7s);  // The runs of all three are planned.
  jobs().stop("child", "", {});
  world.run_for(500ms);
  jobs().start("child", {});
  world.run_for(5s);
  EXPECT_THAT(order, testing::ElementsAre("j", "child", "grandchild"));
  world.run_for(3s);
  jobs().define({.name = "late", .handler = "turn", .parents = {"j"}});  // The next instant is planned without it.
  world.run_for(7s);
  EXPECT_THAT(order, testing::Contains("late"));
}

TEST_F(JobClockTest, AnEditToAnotherScheduleWithTheSameInstantKeepsTheRunsBelow) {
  std::vector<std::string> order;
  work = [&order](const jobs::JobContext& context) { return order.push_back(context.job), Status{}; };
  define("every 10s");
  jobs().define({.name = "child", .handler = "turn", .parents = {"j"}});
  jobs().define({.name = "grandchild", .handler = "turn", .parents = {"child"}});
  world.run_for(7s);
  define("every 5s");
  world.run_for(4s);
  EXPECT_THAT(order, testing::ElementsAre("j", "child", "grandchild"));
}

/// The store is slow, so the planner works while the job is stopped, edited and started.
TEST_F(JobClockTest, EachInstantRunsOnceWhateverIsDoneToTheJobInBetween) {
  std::vector<WallTime> scheduled;
  work = [&scheduled](const jobs::JobContext& context) { return scheduled.push_back(context.scheduled), Status{}; };
  sim::FaultPlan slow;
  slow.operation_time_high = 300ms;
  world.set_faults(slow);
  define("every 1s");
  for (int i = 0; i < 40; ++i) {
    world.run_for(370ms);
    if (i % 3 == 0) jobs().stop("j", "", {});
    jobs().start("j", {});
    if (i % 5 == 0) define("every 1s", Duration{1s} * (1 + i));
  }
  world.run_for(10s);
  ASSERT_GT(scheduled.size(), 20U);
  const std::set<WallTime> once(scheduled.begin(), scheduled.end());
  EXPECT_EQ(once.size(), scheduled.size());
  EXPECT_EQ(*once.rbegin() - *once.begin(), Duration{1s} * (once.size() - 1)) << "none is missing";
}

}  // namespace
}  // namespace rondo::swarm
