// The statements of Orth's document on scheduling and misfire, one test each, in simulated time. Where the document names a limitation of
// Orth, the test shows what holds here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "jobs/pools.h"
#include "jobs/time_ring.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

namespace rondo::swarm {
namespace {

using jobs::Job;
using jobs::JobRun;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

class JobStatements : public ::testing::Test {
 protected:
  JobStatements() {
    world.start([this](Runtime& runtime) {
      auto made = std::make_shared<jobs::Jobs>(runtime, jobs::make_sqlite_job_store((folder / "jobs.db").string()).value());
      made->handle_in_turn("note", [this](const jobs::JobContext& context) {
        called.push_back({context.job, context.scheduled, world.clock().wall_now()});
        return Status{};
      });
      made->handle_async("keep", {.begin = [this](const jobs::AsyncRun& run) { kept.push_back(run); }});
      made->start();
      current = made;
      return made;
    });
    world.run_for(10ms);
  }
  ~JobStatements() override {
    for (const jobs::AsyncRun& run : kept) run.leave();
    world.crash();
  }

  struct Call {
    std::string job;
    WallTime scheduled;
    WallTime at;
  };

  jobs::Jobs& jobs() { return *current.lock(); }
  /// A time of the wall clock as a schedule.
  static std::string once(WallTime time) { return "at " + calendar::format_rfc3339(time); }
  WallTime in(Duration time) { return world.clock().wall_now() + time; }
  void define(Job job) {
    jobs().define(std::move(job));
    world.run_for(10ms);
  }
  jobs::StoredJob stored(const std::string& name) {
    std::optional<jobs::StoredJob> found;
    jobs().find(name, [&](const Result<jobs::StoredJob>& job) { found = job.value(); });
    world.run_for(10ms);
    return found.value_or(jobs::StoredJob{});
  }
  /// The stored runs, the oldest first.
  std::vector<JobRun> rows(const std::string& name) {
    std::vector<JobRun> found;
    jobs().runs(name, INT64_MAX, 1000, [&](const Result<std::vector<JobRun>>& all) { found = all.value(); });
    world.run_for(10ms);
    std::ranges::reverse(found);
    return found;
  }
  /// The bands and states of the stored runs, the oldest first.
  std::vector<std::string> bands(const std::string& name) {
    std::vector<std::string> texts;
    for (const JobRun& run : rows(name)) texts.push_back(std::string{to_string(run.band)} + " " + std::string{to_string(run.state)});
    return texts;
  }
  /// The process ends, and the next one begins that much after 'due'.
  void start_after(WallTime due, Duration late) { world.crash(due + late - world.clock().wall_now()); }
  void trigger(const std::string& name) {
    jobs().trigger(name);
    world.run_for(10ms);
  }

  TemporaryFolder folder;
  std::vector<Call> called;
  std::vector<jobs::AsyncRun> kept;
  std::weak_ptr<jobs::Jobs> current;
  sim::World world{1};
};

// --- Reading ahead, and the ring

TEST_F(JobStatements, AJobIsReadFiveSecondsAhead) {
  define({.name = "j", .handler = "note", .schedule = {.when = once(in(8s))}});
  world.run_for(2s);
  EXPECT_THAT(rows("j"), IsEmpty()) << "six seconds ahead";
  world.run_for(2s);
  EXPECT_THAT(bands("j"), ElementsAre("ring due")) << "four seconds ahead";
  EXPECT_THAT(called, IsEmpty());
}

/// Orth fires at the second. Here a run fires at its millisecond.
TEST_F(JobStatements, ARunFiresAtItsExactTime) {
  const WallTime due = in(7137ms);
  define({.name = "j", .handler = "note", .schedule = {.when = once(due)}});
  world.run_for(10s);
  ASSERT_EQ(called.size(), 1U);
  EXPECT_EQ(called[0].scheduled, due);
  EXPECT_GE(called[0].at, due);
  EXPECT_LT(called[0].at, due + 1ms);
}

TEST(JobStatementsRing, HasSixtySlotsAndTakesTheCurrentOneWithThoseThatAPauseMissed) {
  const WallTime now = calendar::parse_rfc3339("2026-01-01T10:00:00Z").value();
  jobs::TimeRing ring;
  EXPECT_TRUE(ring.push({now + 59s, 59}, now));
  EXPECT_FALSE(ring.push({now + 60s, 60}, now));
  for (const int second : {3, 1, 2}) EXPECT_TRUE(ring.push({now + std::chrono::seconds{second}, second}, now));
  std::vector<jobs::TimeRing::Entry> taken;
  ring.take(now + 3s, 100, taken);
  EXPECT_THAT(taken, ElementsAre(Field(&jobs::TimeRing::Entry::run, 1), Field(&jobs::TimeRing::Entry::run, 2),
                                 Field(&jobs::TimeRing::Entry::run, 3)));
}

/// The window of a cycle overlaps those of the four cycles before it.
TEST_F(JobStatements, AJobFiresOnceForEachScheduledTime) {
  define({.name = "j", .handler = "note", .schedule = {.when = "every 1s"}});
  world.run_for(30s);
  ASSERT_GE(called.size(), 29U);
  for (std::size_t i = 1; i < called.size(); ++i) EXPECT_EQ(called[i].scheduled, called[i - 1].scheduled + 1s);
}

TEST_F(JobStatements, EachCycleMovesTheNextTimeBehindTheWindow) {
  define({.name = "j", .handler = "note", .schedule = {.when = "every 1s"}});
  for (int second = 0; second < 10; ++second) {
    world.run_for(1s);
    EXPECT_GT(stored("j").next, in(3s));
    EXPECT_LE(stored("j").next, in(6s));
  }
}

// --- The states of a job

TEST_F(JobStatements, AJobIsStoppedUntilAUserStartsItAndAfterAUserStopsIt) {
  jobs().put({.name = "j", .handler = "note", .schedule = {.when = "every 1s"}});
  world.run_for(10s);
  EXPECT_FALSE(stored("j").is_running);
  EXPECT_THAT(called, IsEmpty());
  jobs().start("j");
  world.run_for(3s);
  EXPECT_TRUE(stored("j").is_running);
  EXPECT_GE(called.size(), 2U);
  jobs().stop("j", "maintenance");
  world.run_for(10ms);
  const std::size_t before = called.size();
  world.run_for(10s);
  EXPECT_EQ(called.size(), before) << "what was in the ring does not fire";
}

/// Orth stops a job that has no next time. Here it stays started, so that an edit of its schedule takes effect.
TEST_F(JobStatements, AJobWithoutANextTimeRunsNoMore) {
  define({.name = "j", .handler = "note", .schedule = {.when = once(in(2s))}});
  world.run_for(30s);
  EXPECT_EQ(called.size(), 1U);
  EXPECT_FALSE(stored("j").next.has_value());
  define({.name = "j", .handler = "note", .schedule = {.when = once(in(2s))}});
  world.run_for(5s);
  EXPECT_EQ(called.size(), 2U);
}

// --- Late runs

TEST_F(JobStatements, UpToFiveSecondsLateIsNormal) {
  const WallTime due = in(20s);
  define({.name = "j", .handler = "note", .schedule = {.when = once(due)}});
  start_after(due, 4900ms);
  world.run_for(1s);
  EXPECT_THAT(bands("j"), ElementsAre("ring succeeded"));
}

TEST_F(JobStatements, FiveToTenSecondsLateFiresDirectly) {
  const WallTime due = in(20s);
  define({.name = "j", .handler = "note", .schedule = {.when = once(due)}, .misfire = jobs::Misfire::DoNothing});
  start_after(due, 5100ms);
  world.run_for(1s);
  EXPECT_THAT(bands("j"), ElementsAre("direct succeeded"));
}

TEST_F(JobStatements, MoreThanTenSecondsLateWithFireOnceNowFiresAtOnce) {
  const WallTime due = in(20s);
  define({.name = "j", .handler = "note", .schedule = {.when = once(due)}, .misfire = jobs::Misfire::FireOnce});
  start_after(due, 11s);
  world.run_for(1s);
  EXPECT_THAT(bands("j"), ElementsAre("misfire succeeded"));
}

/// Orth only logs it. Here a row says which instant was skipped.
TEST_F(JobStatements, MoreThanTenSecondsLateWithDoNothingIsSkipped) {
  const WallTime due = in(20s);
  define({.name = "j", .handler = "note", .schedule = {.when = once(due)}, .misfire = jobs::Misfire::DoNothing});
  start_after(due, 11s);
  world.run_for(1s);
  EXPECT_THAT(bands("j"), ElementsAre("misfire skipped"));
  EXPECT_THAT(called, IsEmpty());
}

TEST_F(JobStatements, AfterAMisfireTheNextTimesAreRegular) {
  define({.name = "j", .handler = "note", .schedule = {.when = "every 20s"}, .misfire = jobs::Misfire::DoNothing});
  world.run_for(1s);
  world.crash(75s);
  called.clear();
  world.run_for(61s);
  ASSERT_GE(called.size(), 3U);
  for (const Call& call : called) EXPECT_LT(call.at, call.scheduled + 10s);
}

// --- Pools

TEST(JobStatementsPools, AJobWithMoreThanTenSlowRunsInAMinuteUsesTheSlowPoolUntilTheMinuteEnds) {
  const jobs::JobsOptions options;
  const WallTime minute = calendar::parse_rfc3339("2026-01-01T10:00:00Z").value();
  jobs::PoolChoice choice;
  for (int run = 0; run < 20; ++run) choice.ended(7, minute + 1s, 500ms, options);
  EXPECT_EQ(choice.pool(7, minute + 1s, options), jobs::PoolKind::Fast) << "500 ms is not slow";
  for (int run = 0; run < 10; ++run) choice.ended(7, minute + 2s, 501ms, options);
  EXPECT_EQ(choice.pool(7, minute + 2s, options), jobs::PoolKind::Fast) << "ten are not too many";
  choice.ended(7, minute + 3s, 501ms, options);
  EXPECT_EQ(choice.pool(7, minute + 59s, options), jobs::PoolKind::Slow);
  EXPECT_EQ(choice.pool(8, minute + 59s, options), jobs::PoolKind::Fast) << "another job";
  EXPECT_EQ(choice.pool(7, minute + 60s, options), jobs::PoolKind::Fast);
}

/// On the real clock and real threads: the pools have one thread each. A job whose first run was slow blocks the slow pool for good.
TEST(JobStatementsPools, ASlowJobDoesNotHoldUpFastOnes) {
  const TemporaryFolder folder;
  {
    Runtime runtime;
    jobs::Jobs jobs(
        runtime, jobs::make_sqlite_job_store((folder / "jobs.db").string()).value(),
        {.fast = {.threads = 1, .runs_max = 1}, .slow = {.threads = 1, .runs_max = 1}, .slow_run = Duration{0}, .slow_runs = 0});
    std::atomic<std::int64_t> blocked{0};
    std::atomic<bool> blocks{false};
    std::atomic<int> fast{0};
    jobs.handle("slow", [&](const jobs::JobContext& context) {
      if (!blocks) return Status{};
      blocked = context.run;
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait(lock, context.stop, [] { return false; });
      blocked = 0;
      return Status{};
    });
    jobs.handle("fast", [&fast](const jobs::JobContext&) {
      ++fast;
      return Status{};
    });
    jobs.put({.name = "slow", .handler = "slow"});
    for (int i = 0; i < 5; ++i) jobs.put({.name = "fast-" + std::to_string(i), .handler = "fast"});
    jobs.start();
    const auto becomes = [&runtime](const auto& condition) {
      const Instant deadline = runtime.clock().now() + 30s;
      while (!condition() && runtime.clock().now() < deadline) runtime.scheduler().run_for(1ms);
      return condition();
    };
    const auto minute = [&runtime] { return runtime.clock().wall_now().nanoseconds() / 60'000'000'000; };
    // In a new minute the blocked run would be in the fast pool.
    for (std::int64_t began = -1; began != minute();) {
      if (blocked != 0) {
        ASSERT_TRUE(jobs.kill(blocked).ok());
      }
      blocks = false;
      ASSERT_TRUE(becomes([&] { return blocked == 0 && jobs.stats().pending == 0; }));
      began = minute();
      const std::uint64_t before = jobs.stats().succeeded;
      jobs.trigger("slow");
      ASSERT_TRUE(becomes([&] { return jobs.stats().succeeded > before; }));
      blocks = true;
      jobs.trigger("slow");
      ASSERT_TRUE(becomes([&] { return blocked != 0; }));
    }
    for (int i = 0; i < 5; ++i) jobs.trigger("fast-" + std::to_string(i));
    EXPECT_TRUE(becomes([&] { return fast == 5; }));
  }
}

// --- Block strategies

TEST_F(JobStatements, WithSerialARunWaitsBehindTheOneThatIsRunning) {
  define({.name = "j", .handler = "keep", .overlap = jobs::Overlap::Serial});
  trigger("j");
  trigger("j");
  ASSERT_EQ(kept.size(), 1U);
  kept[0].end({});
  world.run_for(10ms);
  EXPECT_EQ(kept.size(), 2U);
}

TEST_F(JobStatements, WithDiscardARunOfABusyJobIsRejected) {
  define({.name = "j", .handler = "keep", .overlap = jobs::Overlap::Discard});
  trigger("j");
  trigger("j");
  EXPECT_EQ(kept.size(), 1U);
  EXPECT_THAT(bands("j"), ElementsAre("manual due", "manual discarded"));
}

TEST_F(JobStatements, WithCoverARunReplacesTheOneThatIsRunning) {
  define({.name = "j", .handler = "keep", .overlap = jobs::Overlap::Cover});
  trigger("j");
  trigger("j");
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_TRUE(kept[0].is_stop_requested());
  kept[0].end(Status{StatusCode::Cancelled, "asked to stop"});
  world.run_for(10ms);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_FALSE(kept[1].is_stop_requested());
  EXPECT_THAT(bands("j"), ElementsAre("manual killed", "manual due"));
}

TEST_F(JobStatements, WithConcurrentRunsAreSideBySide) {
  define({.name = "j", .handler = "keep", .overlap = jobs::Overlap::Concurrent, .concurrency = 2});
  for (int i = 0; i < 3; ++i) trigger("j");
  EXPECT_EQ(kept.size(), 2U) << "Orth has no cap";
}

// --- Limitations of Orth that do not hold here

TEST_F(JobStatements, SchedulesAreNotLimitedToSeconds) {
  define({.name = "j", .handler = "note", .schedule = {.when = "every 100ms"}});
  world.run_for(1s);
  called.clear();
  world.run_for(1s);
  EXPECT_THAT(called.size(), testing::AllOf(testing::Ge(9U), testing::Le(11U)));
}

TEST_F(JobStatements, WithinASecondThePriorityDecides) {
  const WallTime due = in(3s);
  for (int i = 0; i < 5; ++i)
    define({.name = "low-" + std::to_string(i), .handler = "note", .schedule = {.when = once(due)}, .priority = Priority{1}});
  define({.name = "high", .handler = "note", .schedule = {.when = once(due)}, .priority = Priority{60}});
  world.run_for(5s);
  ASSERT_EQ(called.size(), 6U);
  EXPECT_EQ(called[0].job, "high");
}

/// Orth loses what is in its ring when the process ends.
TEST_F(JobStatements, WhatIsInTheRingSurvivesACrash) {
  const WallTime due = in(4s);
  define({.name = "j", .handler = "note", .schedule = {.when = once(due)}});
  world.run_for(1s);
  ASSERT_THAT(bands("j"), ElementsAre("ring due"));
  world.crash();
  world.run_for(5s);
  ASSERT_EQ(called.size(), 1U);
  EXPECT_LT(called[0].at, due + 1ms);
}

}  // namespace
}  // namespace rondo::swarm
