// Jobs on a real clock and real threads: firing, overlap, retries, timeouts, kills, and what a restart takes up.
#include "rondo/jobs/jobs.h"
#include "jobs/jobs_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "jobs/testing/passing_job_store.h"
#include "jobs/testing/testbed.h"
#include "orch/parked.h"
#include "rondo/jobs/limits.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class JobsTest : public test::JobsTestbed {
 protected:
  JobsTest() : JobsTestbed({.cycle = 100ms}) { open(); }
  bool ends(std::size_t runs) {
    return becomes([this, runs] {
      const JobsStats& stats = jobs->stats();
      return stats.succeeded + stats.failed + stats.killed + stats.not_run >= runs && stats.pending == 0;
    });
  }
};

/// A handler that waits until it is let go, or asked to stop.
class Gate {
 public:
  Jobs::Handler handler() {
    return [this](const JobContext& context) {
      std::unique_lock lock(mutex_);
      ++inside_;
      most_ = std::max(most_, inside_);
      began_.push_back(context.run);
      changed_.wait(lock, context.stop, [this] { return open_ > 0; });
      --inside_;
      if (open_ == 0) return Status{StatusCode::Cancelled, "asked to stop"};
      --open_;
      return Status{};
    };
  }
  void let(int runs) {
    const std::lock_guard lock(mutex_);
    open_ += runs;
    changed_.notify_all();
  }
  int inside() const {
    const std::lock_guard lock(mutex_);
    return inside_;
  }
  int most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  std::vector<std::int64_t> began() const {
    const std::lock_guard lock(mutex_);
    return began_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  int open_ = 0;
  int inside_ = 0;
  int most_ = 0;
  std::vector<std::int64_t> began_;
};

TEST_F(JobsTest, AJobFiresAtEachOfItsInstantsAndEachRunHasARow) {
  std::vector<WallTime> scheduled;
  jobs->handle_in_turn("note", [&scheduled](const JobContext& context) {
    scheduled.push_back(context.scheduled);
    return Status{};
  });
  jobs->start();
  define({.name = "often", .handler = "note", .schedule = {.when = "every 50ms"}});
  ASSERT_TRUE(becomes([&scheduled] { return scheduled.size() >= 20; }));
  for (std::size_t i = 1; i < scheduled.size(); ++i) EXPECT_EQ(scheduled[i] - scheduled[i - 1], 50ms);
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->stop("often", "enough", done); }).has_value());
  ASSERT_TRUE(becomes([this] { return jobs->stats().pending == 0; }));
  const std::size_t fired = scheduled.size();
  std::size_t succeeded = 0;
  for (const std::string& run : runs("often")) {
    EXPECT_THAT(run, testing::AnyOf("succeeded", "skipped the job was stopped"));
    if (run == "succeeded") ++succeeded;
  }
  EXPECT_EQ(succeeded, fired);
  EXPECT_EQ(scheduled.size(), fired) << "a stopped job does not fire what is in the ring";
}

TEST_F(JobsTest, NoRunFiresBeforeItsTime) {
  std::vector<Duration> early;
  jobs->handle_in_turn("note", [&](const JobContext& context) {
    const Duration late = runtime->clock().wall_now() - context.scheduled;
    if (late < Duration{0}) early.push_back(late);
    return Status{};
  });
  jobs->start();
  define({.name = "often", .handler = "note", .schedule = {.when = "every 10ms"}});
  ASSERT_TRUE(becomes([this] { return jobs->stats().succeeded >= 100; }));
  EXPECT_THAT(early, testing::IsEmpty());
}

TEST_F(JobsTest, SerialRunsWaitForEachOtherAndWhySaysForWhich) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate"});
  const JobRun first = trigger("one");
  const JobRun second = trigger("one");
  const JobRun third = trigger("one");
  ASSERT_TRUE(becomes([&] { return gate.inside() == 1 && jobs->stats().fired == 3; }));
  ASSERT_TRUE(becomes([&] { return parked_rows(*runtime, "JOB_RUN_8", 10).size() == 2; }));
  const Why why = runtime->why("JOB_RUN_8", "one#" + std::to_string(third.id));
  ASSERT_EQ(why.chain.size(), 2U);
  EXPECT_EQ(why.chain[0].state, WhyLink::State::Parked);
  EXPECT_EQ(why.chain[1].key, "one#" + std::to_string(first.id));
  gate.let(3);
  ASSERT_TRUE(ends(3));
  EXPECT_EQ(gate.most(), 1);
  EXPECT_THAT(gate.began(), ElementsAre(first.id, second.id, third.id));
  EXPECT_THAT(runs("one"), ElementsAre("succeeded", "succeeded", "succeeded"));
}

TEST_F(JobsTest, WithDiscardARunEndsWhileAnotherIsRunning) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate", .overlap = Overlap::Discard});
  const JobRun first = trigger("one");
  ASSERT_TRUE(becomes([&] { return gate.inside() == 1; }));
  trigger("one");
  ASSERT_TRUE(becomes([&] { return jobs->stats().not_run == 1; }));
  gate.let(1);
  ASSERT_TRUE(ends(2));
  EXPECT_THAT(runs("one"), ElementsAre("succeeded", "discarded another run was running: " + std::to_string(first.id)));
}

TEST_F(JobsTest, WithCoverTheNewestRunStopsTheOthers) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate", .overlap = Overlap::Cover});
  trigger("one");
  ASSERT_TRUE(becomes([&] { return gate.inside() == 1; }));
  const JobRun second = trigger("one");
  ASSERT_TRUE(becomes([&] { return gate.began().size() == 2; }));
  EXPECT_EQ(gate.most(), 1) << "the newer one begins when the older one has ended";
  gate.let(1);
  ASSERT_TRUE(ends(2));
  EXPECT_THAT(runs("one"), ElementsAre(HasSubstr("killed covered by the run " + std::to_string(second.id)), "succeeded"));
}

TEST_F(JobsTest, WithCoverTheNewestRunRemainsOfThoseOfOneTurn) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate", .overlap = Overlap::Cover});
  std::size_t made = 0;
  for (int i = 0; i < 12; ++i) jobs->trigger("one", [&made](const Result<JobRun>& run) { made += run ? 1U : 0U; });
  ASSERT_TRUE(becomes([&] { return made == 12 && jobs->stats().pending == 1 && gate.inside() == 1; }));
  gate.let(1);
  ASSERT_TRUE(ends(12));
  std::vector<std::string> found = runs("one");
  EXPECT_EQ(found.back(), "succeeded");
  found.pop_back();
  EXPECT_THAT(found, Each(HasSubstr("killed covered by the run ")));
  EXPECT_EQ(jobs->stats().failed, 0U);
}

TEST_F(JobsTest, RunsThatWereTriggeredTogetherBeginInTheOrderOfTheirNumbers) {
  std::vector<std::int64_t> begun;
  jobs->handle_in_turn("note", [&begun](const JobContext& context) {
    begun.push_back(context.run);
    return Status{};
  });
  jobs->start();
  define({.name = "one", .handler = "note"});
  for (int i = 0; i < 20; ++i) jobs->trigger("one");
  ASSERT_TRUE(ends(20));
  EXPECT_TRUE(std::ranges::is_sorted(begun)) << testing::PrintToString(begun);
}

TEST_F(JobsTest, TheEndOfAHandlerInTurnIsBehindItsBegin) {
  jobs->handle_in_turn("slow", [this](const JobContext&) {
    const Instant until = runtime->clock().now() + 30ms;
    while (runtime->clock().now() < until) continue;  // The work.
    return Status{};
  });
  jobs->start();
  define({.name = "one", .handler = "slow"});
  trigger("one");
  ASSERT_TRUE(ends(1));
  const auto rows = answer<std::vector<JobRun>>([&](auto done) { jobs->runs("one", INT64_MAX, 1, done); });
  ASSERT_TRUE(rows.has_value() && rows->size() == 1);
  EXPECT_GE(*rows->front().ended - *rows->front().begun, 30ms);
}

TEST_F(JobsTest, ConcurrentRunsHaveACap) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate", .overlap = Overlap::Concurrent, .concurrency = 3});
  for (int i = 0; i < 7; ++i) trigger("one");
  ASSERT_TRUE(becomes([&] { return gate.inside() == 3 && jobs->stats().fired == 7; }));
  gate.let(7);
  ASSERT_TRUE(ends(7));
  EXPECT_EQ(gate.most(), 3);
}

TEST_F(JobsTest, AFullPoolLosesNothingAndTheHighestPriorityGoesFirst) {
  close();
  options.fast = {.threads = 1, .runs_max = 1};
  open();
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  for (const char* const name : {"first", "low", "high"}) {
    define({.name = name,
            .handler = "gate",
            .priority = Priority{name[0] == 'h' ? 20U : 8U},
            .overlap = Overlap::Concurrent,
            .concurrency = 20});
  }
  const JobRun first = trigger("first");
  ASSERT_TRUE(becomes([&] { return gate.inside() == 1; }));
  std::vector<std::int64_t> low;
  for (int i = 0; i < 10; ++i) low.push_back(trigger("low").id);
  const JobRun high = trigger("high");
  ASSERT_TRUE(becomes([&] { return jobs->stats().fired == 12; }));
  runtime->scheduler().run_until_idle();  // All of them wait for the pool.
  gate.let(12);
  ASSERT_TRUE(ends(12));
  std::vector<std::int64_t> expected{first.id, high.id};
  expected.insert(expected.end(), low.begin(), low.end());
  EXPECT_EQ(gate.began(), expected);
}

TEST_F(JobsTest, AFailedRunIsRetriedWithTheSameIdAndThenFails) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> attempts;
  jobs->handle_in_turn("fail", [&attempts](const JobContext& context) {
    attempts.emplace_back(context.run, context.attempt);
    return Status{StatusCode::Unavailable, "no server"};
  });
  jobs->start();
  define({.name = "one", .handler = "fail", .retries = 2, .backoff = 1ms});
  const JobRun run = trigger("one");
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(attempts, ElementsAre(std::pair{run.id, 0U}, std::pair{run.id, 1U}, std::pair{run.id, 2U}));
  EXPECT_THAT(runs("one"), ElementsAre("failed unavailable: no server"));
}

TEST_F(JobsTest, TheWaitBeforeARetryHasALimit) {
  jobs->handle_in_turn("fail", [](const JobContext&) { return Status{StatusCode::Unavailable, "no server"}; });
  jobs->start();
  define({.name = "one", .handler = "fail", .retries = 1, .backoff = 2 * limits::kJobBackoff});
  const WallTime before = runtime->clock().wall_now();
  trigger("one");
  ASSERT_TRUE(becomes([&] { return jobs->stats().retried == 1; }));
  const WallTime after = runtime->clock().wall_now();
  JobRun run;
  ASSERT_TRUE(becomes([&] {
    const auto found = answer<std::vector<JobRun>>([&](auto done) { jobs->runs("one", INT64_MAX, 1, done); });
    if (found.has_value() && !found->empty()) run = found->front();
    return run.attempt == 1;
  }));
  EXPECT_GE(run.due, before + limits::kJobBackoff);
  EXPECT_LE(run.due, after + limits::kJobBackoff);
}

TEST_F(JobsTest, AnExceptionIsAFailureOfItsRun) {
  jobs->handle("throw", [](const JobContext&) -> Status { throw std::runtime_error("oh"); });
  jobs->start();
  define({.name = "one", .handler = "throw"});
  trigger("one");
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(runs("one"), ElementsAre("failed the handler threw: oh"));
}

TEST_F(JobsTest, ARunThatExceedsItsTimeoutIsAskedToStop) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate", .timeout = 20ms});
  trigger("one");
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(runs("one"), ElementsAre(HasSubstr("timed-out the timeout of 20 ms has passed")));
}

TEST_F(JobsTest, AKillEndsARunThatWaitsAndAsksOneThatRuns) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate"});
  const JobRun first = trigger("one");
  const JobRun second = trigger("one");
  ASSERT_TRUE(becomes([&] { return gate.inside() == 1 && jobs->stats().fired == 2; }));
  EXPECT_TRUE(jobs->kill(second.id).ok());
  EXPECT_TRUE(jobs->kill(first.id).ok());
  ASSERT_TRUE(ends(2));
  EXPECT_THAT(runs("one"), ElementsAre(HasSubstr("killed killed by a user"), HasSubstr("killed killed by a user")));
  EXPECT_EQ(gate.began().size(), 1U);
  EXPECT_EQ(jobs->kill(first.id).code(), StatusCode::NotFound);
}

TEST_F(JobsTest, AJobWithoutAHandlerSaysWhichOneIsMissing) {
  jobs->start();
  define({.name = "one", .handler = "none"});
  trigger("one");
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(runs("one"), ElementsAre("failed this program has no handler 'none'"));
}

TEST_F(JobsTest, ADelayIsMeasuredFromTheEndOfARun) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate", .schedule = {.when = "after 30ms"}});
  ASSERT_TRUE(becomes([&] { return gate.inside() == 1; }));
  EXPECT_EQ(jobs->stats().planned, 1U) << "no second run while the first one runs";
  gate.let(3);
  ASSERT_TRUE(becomes([&] { return jobs->stats().succeeded == 3; }));
  const auto found = answer<std::vector<JobRun>>([&](auto done) { jobs->runs("one", INT64_MAX, 10, done); }).value();
  for (std::size_t i = found.size() - 1; i > 0; --i) {
    ASSERT_TRUE(found[i].ended.has_value());
    EXPECT_GE(found[i - 1].scheduled - *found[i].ended, 29ms);
  }
}

/// It began at once, before the program had added its handler.
TEST_F(JobsTest, WhatIsTriggeredBeforeTheStartRunsAfterIt) {
  define({.name = "early", .handler = "late"});
  trigger("early");
  run_a_while();
  EXPECT_THAT(runs("early"), ElementsAre("due"));
  jobs->handle_in_turn("late", [](const JobContext&) { return Status{}; });
  jobs->start();
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(runs("early"), ElementsAre("succeeded"));
}

/// Each run waited for the next cycle.
TEST_F(JobsTest, ADelayThatIsShorterThanACycleIsKept) {
  close();
  options.cycle = 2500ms;
  open();
  jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
  jobs->start();
  define({.name = "short", .handler = "ok", .schedule = {.when = "after 10ms"}});
  EXPECT_TRUE(becomes([&] { return jobs->stats().succeeded >= 40; })) << jobs->stats().succeeded;
}

TEST_F(JobsTest, ADefinitionThatIsTheSameChangesNothing) {
  jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
  jobs->start();
  const Job job{.name = "one", .handler = "ok", .schedule = {.when = "every 1h"}};
  const StoredJob first = define(job);
  const StoredJob again = define(job);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.next, first.next);
  EXPECT_TRUE(again.is_running);
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->stop("one", "not now", done); }).has_value());
  EXPECT_FALSE(define(job).is_running) << "a program that starts again does not start a job that an operator stopped";
}

TEST_F(JobsTest, AWrongJobIsRefusedWithItsNameAndField) {
  jobs->start();
  const auto refused =
      answer<StoredJob>([&](auto done) { jobs->put({.name = "one", .handler = "h", .schedule = {.when = "cron 99 * * * *"}}, done); });
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().to_string(), testing::AllOf(HasSubstr("job 'one'"), HasSubstr("schedule.when")));
}

TEST_F(JobsTest, ARunWithoutAnEndRunsAgainAfterARestartWithTheSameId) {
  jobs->start();
  std::int64_t left = 0;
  {
    // Another process planned a run, and crashed before it ended.
    auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    const StoredJob job = store->put({.name = "one", .handler = "note"}, std::nullopt).value();
    std::vector<JobRun> runs{
        {.job_id = job.id, .scheduled = WallTime::from_nanoseconds(1), .due = WallTime::from_nanoseconds(1), .band = Band::Manual}};
    ASSERT_TRUE(store->add_runs(runs).ok());
    left = runs[0].id;
  }
  close();
  open();
  std::vector<std::int64_t> ran;
  jobs->handle_in_turn("note", [&ran](const JobContext& context) {
    ran.push_back(context.run);
    return Status{};
  });
  jobs->start();
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(ran, ElementsAre(left));
  EXPECT_EQ(jobs->stats().recovered, 1U);
}

TEST_F(JobsTest, ADefinitionThatIsNotStoredIsInHealthUntilItIs) {
  jobs->handle_in_turn("note", [](const JobContext&) { return Status{}; });
  jobs->start();
  ASSERT_TRUE(becomes([this] { return jobs->health().ok(); }));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "jobs.db").c_str(), &other), SQLITE_OK);
  while (sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_BUSY) runtime->scheduler().run_for(1ms);
  const Job job{.name = "often", .handler = "note", .schedule = {.when = "every 1h"}};
  bool refused = false;
  runtime->on_reject([&refused](std::string_view, const Change&, const Status&) { refused = true; });
  jobs->define(job);
  const bool was_refused = becomes([&refused] { return refused; });
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  ASSERT_TRUE(was_refused);
  const auto says = [this] { return jobs->health().to_string().find("job 'often' is not as it was defined") != std::string::npos; };
  EXPECT_TRUE(becomes(says)) << jobs->health().to_string();
  jobs->define(job);
  EXPECT_TRUE(becomes([this] { return jobs->health().ok(); })) << jobs->health().to_string();
}

TEST_F(JobsTest, WhileTheDatabaseIsLockedNothingFiresAndThenNoInstantIsMissing) {
  std::size_t ran = 0;
  jobs->handle_in_turn("note", [&ran](const JobContext&) {
    ++ran;
    return Status{};
  });
  jobs->start();
  define({.name = "often", .handler = "note", .schedule = {.when = "every 20ms"}});
  ASSERT_TRUE(becomes([&ran] { return ran >= 5; }));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "jobs.db").c_str(), &other), SQLITE_OK);
  // The database may be in use at this moment.
  while (sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_BUSY) runtime->scheduler().run_for(1ms);
  ASSERT_TRUE(becomes([this] { return !jobs->health().ok(); }));
  EXPECT_EQ(jobs->health().code(), StatusCode::Unavailable) << jobs->health().to_string();
  EXPECT_THAT(jobs->health().to_string(), HasSubstr("locked"));
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const std::size_t before = ran;
  ASSERT_TRUE(becomes([&] { return jobs->health().ok() && ran >= before + 300; }));
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->stop("often", {}, done); }).has_value());
  ASSERT_TRUE(becomes([this] { return jobs->stats().pending == 0; }));
  auto found = answer<std::vector<JobRun>>([&](auto done) { jobs->runs("often", INT64_MAX, 10'000, done); }).value();
  std::ranges::sort(found, {}, &JobRun::scheduled);
  for (std::size_t i = 1; i < found.size(); ++i) {
    EXPECT_EQ(static_cast<std::uint64_t>((found[i].scheduled - found[i - 1].scheduled) / 20ms), 1 + found[i].missed);
  }
}

TEST_F(JobsTest, AnOrderlyEndStoresTheEndsThatItHas) {
  int ran = 0;
  jobs->handle_in_turn("note", [&ran](const JobContext&) {
    ++ran;
    return Status{};
  });
  jobs->start();
  define({.name = "often", .handler = "note", .schedule = {.when = "every 10ms"}});
  ASSERT_TRUE(becomes([&ran] { return ran >= 50; }));
  close();
  const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
  int succeeded = 0;
  const std::vector<JobRun> stored = store->runs("often", INT64_MAX, 10'000).value();
  for (const JobRun& run : stored) succeeded += run.state == RunState::Succeeded ? 1 : 0;
  EXPECT_EQ(succeeded, ran);
}

TEST_F(JobsTest, AtTheLimitOfLiveRunsNoMoreArePlanned) {
  close();
  {
    const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    const StoredJob job = store->put({.name = "many", .handler = "none", .schedule = {.when = "every 10ms"}}, std::nullopt).value();
    ASSERT_TRUE(store->set_running("many", true, std::nullopt, {}).ok());
    constexpr std::int64_t kPeriod = 10'000'000;
    const std::int64_t in_an_hour = (SystemClock{}.wall_now().nanoseconds() + 3'600'000'000'000) / kPeriod * kPeriod;
    std::vector<Plan> plans{{.job_id = job.id}};
    for (std::size_t i = 0; i < limits::kLiveRuns; ++i) {
      const WallTime at = WallTime::from_nanoseconds(in_an_hour + static_cast<std::int64_t>(i) * kPeriod);
      plans[0].runs.push_back({.job_id = job.id, .scheduled = at, .due = at});
    }
    ASSERT_TRUE(store->plan(plans).ok());
  }
  open();
  jobs->handle_in_turn("none", [](const JobContext&) { return Status{}; });
  jobs->start();
  define({.name = "often", .handler = "none", .schedule = {.when = "every 10ms"}});
  ASSERT_TRUE(becomes([this] { return !jobs->health().ok(); }));
  EXPECT_THAT(jobs->health().to_string(),
              HasSubstr("100000 runs wait, so no more are planned until some have ended; 100000 of them are of job 'many'"));
  EXPECT_EQ(jobs->stats().pending, limits::kLiveRuns);
  EXPECT_EQ(jobs->stats().planned, 0U);
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->remove("many", done); }).has_value());
  EXPECT_TRUE(becomes([this] { return jobs->health().ok() && jobs->stats().planned > 0; })) << "it goes on when there is room";
}

/// As of a job whose worker is away.
TEST_F(JobsTest, AJobOfWhichTooManyRunsWaitDoesNotStopTheOthers) {
  close();
  {
    const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    const WallTime now = SystemClock{}.wall_now();
    const StoredJob job = store->put({.name = "away", .handler = "command/away", .schedule = {.when = "every 10ms"}}, now).value();
    ASSERT_TRUE(store->set_running("away", true, now, {}).ok());
    std::vector<Plan> plans{{.job_id = job.id, .next = now}};
    for (std::size_t i = 0; i <= limits::kLiveRunsOfJob; ++i) {
      const WallTime at = WallTime::from_nanoseconds(now.nanoseconds() - static_cast<std::int64_t>(i) * 1'000'000);
      plans[0].runs.push_back({.job_id = job.id, .scheduled = at, .due = at});
    }
    ASSERT_TRUE(store->plan(plans).ok());
  }
  open();
  jobs->wait_for_handlers("command/", [](std::string_view) { return "no worker"; });
  int vital = 0;
  jobs->handle_in_turn("note", [&vital](const JobContext&) {
    ++vital;
    return Status{};
  });
  jobs->start();
  define({.name = "vital", .handler = "note", .schedule = {.when = "every 100ms"}});
  EXPECT_TRUE(becomes([&] { return vital > 3; }));
  EXPECT_TRUE(becomes([this] { return !jobs->health().ok(); }));
  EXPECT_THAT(jobs->health().to_string(), HasSubstr("job 'away': 2001 of its runs wait"));
  const auto found = answer<StoredJob>([&](auto done) { jobs->find("away", done); });
  EXPECT_TRUE(found->next.has_value()) << "it is planned again when there is room";
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->stop("away", {}, done); }).has_value());
  EXPECT_TRUE(becomes([this] { return jobs->health().ok(); }));
}

/// 3,000 of them waited.
TEST_F(JobsTest, OfOneJobNoMoreRunsAreTriggeredThanMayWait) {
  jobs->wait_for_handlers("command/", [](std::string_view) { return "no worker"; });
  jobs->start();
  for (const char* const name : {"away", "other"}) {
    ASSERT_TRUE(answer<StoredJob>([&](auto done) {
                  jobs->put({.name = name, .handler = "command/away", .schedule = {.when = "every 1h"}}, done);
                }).has_value());
  }
  std::size_t added = 0;
  std::vector<Status> refused;
  constexpr std::size_t kCalls = limits::kLiveRunsOfJob + 100;
  for (std::size_t i = 0; i < kCalls; ++i)
    jobs->trigger("away", [&](const Result<JobRun>& run) { run ? static_cast<void>(++added) : refused.push_back(run.error()); });
  ASSERT_TRUE(becomes([&] { return added + refused.size() == kCalls; }));
  EXPECT_EQ(added, limits::kLiveRunsOfJob);
  ASSERT_EQ(refused.size(), 100U);
  EXPECT_EQ(refused[0].to_string(),
            "resource-exhausted: 2000 runs of job 'away' wait already, and with 1 more there would be more than 2000");
  const WallTime now = runtime->clock().wall_now();
  const auto backfilled = [&](const char* name, std::size_t max) {
    const auto made =
        answer<std::vector<JobRun>>([&](auto done) { jobs->backfill(name, {.from = now + -2h, .to = now, .max = max}, done); });
    return made ? Status{} : made.error();
  };
  EXPECT_EQ(backfilled("away", 1).code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(backfilled("other", 100).ok());
  const std::int64_t first = rows("away", 3).back().id;
  ASSERT_TRUE(jobs->kill(first).ok());
  ASSERT_TRUE(becomes([&] { return !JobsView(*jobs).activity(first).has_value(); }));
  EXPECT_GT(trigger("away").id, 0) << "there is room again";
}

/// The end of its attempt is not stored, so it may go on at its worker.
TEST_F(JobsTest, AfterARestartARunThatAWorkerHasIsBeforeAnOlderOneThatWaitsForARetry) {
  close();
  std::int64_t at_worker = 0;
  {
    const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    const StoredJob job = store->put({.name = "serial", .handler = "keep", .retries = 3}, std::nullopt).value();
    const WallTime now = SystemClock{}.wall_now();
    std::vector<JobRun> both(2, {.job_id = job.id, .job = "serial", .scheduled = now, .due = now, .band = Band::Manual});
    ASSERT_TRUE(store->add_runs(both).ok());
    for (const JobRun& run : both) ASSERT_TRUE(store->note_worker(run.id, "w").ok());
    ASSERT_TRUE(store->finish(std::vector<RunEnd>{{.id = both[0].id, .state = RunState::Due, .due = now, .attempt = 1}}).ok());
    at_worker = both[1].id;
  }
  open();
  std::vector<AsyncRun> begun;
  jobs->handle_async("keep", {.begin = [&begun](const AsyncRun& run) { begun.push_back(run); }});
  jobs->start();
  ASSERT_TRUE(becomes([&] { return begun.size() == 1; }));
  EXPECT_EQ(begun[0].run(), at_worker);
  begun[0].end({});
  ASSERT_TRUE(becomes([&] { return begun.size() == 2; }));
  EXPECT_LT(begun[1].run(), at_worker);
  begun[1].end({});
  EXPECT_TRUE(becomes([this] { return jobs->stats().pending == 0; }));
}

/// Forty jobs with the limit of runs would use up most places.
TEST_F(JobsTest, TheMoreRunsWaitTheFewerOfOneJobMay) {
  close();
  constexpr int kAway = 45;
  {
    const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    const WallTime now = SystemClock{}.wall_now();
    for (int j = 0; j < kAway; ++j) {
      const std::string name = "away" + std::to_string(100 + j);
      const StoredJob job = store->put({.name = name, .handler = "command/away", .schedule = {.when = "every 10ms"}}, now).value();
      ASSERT_TRUE(store->set_running(name, true, now, {}).ok());
      std::vector<Plan> plans{{.job_id = job.id, .next = now}};
      for (std::size_t i = 1; i < limits::kLiveRunsOfJob; ++i) {
        const WallTime at = WallTime::from_nanoseconds(now.nanoseconds() - static_cast<std::int64_t>(i) * 1'000'000);
        plans[0].runs.push_back({.job_id = job.id, .scheduled = at, .due = at});
      }
      ASSERT_TRUE(store->plan(plans).ok());
    }
  }
  open();
  jobs->wait_for_handlers("command/", [](std::string_view) { return "no worker"; });
  int vital = 0;
  jobs->handle_in_turn("note", [&vital](const JobContext&) {
    ++vital;
    return Status{};
  });
  jobs->start();
  define({.name = "vital", .handler = "note", .schedule = {.when = "every 100ms"}});
  EXPECT_TRUE(becomes([&] { return vital > 3; }));
  ASSERT_TRUE(becomes([this] { return !jobs->health().ok(); }));
  EXPECT_THAT(jobs->health().to_string(), HasSubstr("job 'away100': 1999 of its runs wait"));
  EXPECT_THAT(jobs->health().to_string(), HasSubstr("and 40 more jobs are not planned"));
  EXPECT_LT(jobs->stats().pending, limits::kLiveRuns);
}

TEST_F(JobsTest, JobsThatCannotBePlannedDoNotKeepTheOthersFromTheirTurn) {
  close();
  {
    const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    const WallTime now = SystemClock{}.wall_now();
    for (std::size_t j = 0; j <= limits::kJobsOfCycle; ++j) {
      const std::string name = "lost" + std::to_string(j);
      ASSERT_TRUE(store->put({.name = name, .handler = "note", .schedule = {.when = "every 1s", .zone = "Europe/Nowhere"}}, now));
      ASSERT_TRUE(store->set_running(name, true, now, {}).ok());
    }
  }
  open();
  int vital = 0;
  jobs->handle_in_turn("note", [&vital](const JobContext&) {
    ++vital;
    return Status{};
  });
  jobs->start();
  define({.name = "vital", .handler = "note", .schedule = {.when = "every 100ms"}});
  EXPECT_TRUE(becomes([&] { return vital > 3; }));
  ASSERT_TRUE(becomes([this] { return !jobs->health().ok(); }));
  EXPECT_THAT(jobs->health().to_string(), testing::AllOf(HasSubstr("Europe/Nowhere"), HasSubstr("and 1996 more jobs are not planned")));
}

/// Has old runs without end, and counts the pages of them that are removed and the cycles of the planner.
struct FullOfOldRuns final : test::PassingJobStore {
  FullOfOldRuns(JobStore& store, std::atomic<int>& pages, std::atomic<int>& cycles)
      : PassingJobStore(store), pages_(pages), cycles_(cycles) {}
  Result<bool> forget(WallTime, std::size_t) override {
    ++pages_;
    return true;
  }
  Result<std::vector<StoredJob>> due(WallTime until, DuePlace after, std::size_t max) override {
    ++cycles_;
    return store().due(until, after, max);
  }

 private:
  std::atomic<int>& pages_;
  std::atomic<int>& cycles_;
};

TEST_F(JobsTest, OldRunsAreRemovedFasterThanTenThousandASecondCome) {
  close();
  const auto file = make_sqlite_job_store((folder / "jobs.db").string()).value();
  std::atomic<int> pages = 0;
  std::atomic<int> cycles = 0;
  options.cycle = 2500ms;
  runtime = std::make_unique<Runtime>();
  jobs = std::make_unique<Jobs>(*runtime, std::make_unique<FullOfOldRuns>(*file, pages, cycles), options);
  jobs->start();
  ASSERT_TRUE(becomes([&] { return pages >= 20; }));
  EXPECT_EQ(cycles, 1) << "20 pages of 1,000 runs in a cycle";
  runtime->scheduler().run_for(50ms);
  EXPECT_EQ(pages, 20) << "the next ones follow in the next cycle";
  close();
}

TEST_F(JobsTest, OfAJobThatRunsOftenTheNewestRunsAreKept) {
  close();
  auto store = make_sqlite_job_store((folder / "jobs.db").string()).value();
  const StoredJob job = store->put({.name = "often", .handler = "h"}, std::nullopt).value();
  std::vector<JobRun> old(500);
  for (JobRun& run : old) run = {.job_id = job.id, .band = Band::Manual, .state = RunState::Skipped, .ended = SystemClock{}.wall_now()};
  ASSERT_TRUE(store->add_runs(old).ok());
  store.reset();
  options.kept_runs = 100;
  runtime = std::make_unique<Runtime>();
  jobs = std::make_unique<Jobs>(*runtime, make_sqlite_job_store((folder / "jobs.db").string()).value(), options);
  jobs->start();
  EXPECT_TRUE(becomes([this] { return runs("often").size() == 100; }));
  close();
}

TEST_F(JobsTest, ANoteThatIsNotUtf8IsRefusedAndTheJobStaysAsItIs) {
  jobs->start();
  define({.name = "j", .handler = "h"});
  const auto stopped = answer<StoredJob>([&](auto done) {
    jobs->stop("j",
               "Gesch\xe4"
               "ft",
               done);
  });
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code(), StatusCode::InvalidArgument);
  const auto found = answer<StoredJob>([&](auto done) { jobs->find("j", done); });
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->is_running);
}

TEST_F(JobsTest, ASecondJobsOfARuntimeIsRefusedAndTheFirstOneGoesOn) {
  jobs->handle_in_turn("note", [](const JobContext&) { return Status{}; });
  jobs->start();
  const auto open_second = [this] { return Jobs::open(*runtime, std::move(*make_sqlite_job_store((folder / "second.db").string()))); };
  const auto second = open_second();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::AlreadyExists);
  EXPECT_THAT(second.error().to_string(), HasSubstr("a runtime has one Jobs"));
  define({.name = "one", .handler = "note"});
  trigger("one");
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(runs("one"), ElementsAre("succeeded"));
  jobs.reset();
  EXPECT_FALSE(open_second().has_value()) << "its rows and facts stay in the runtime";
}

TEST_F(JobsTest, ARemovedJobLeavesNothingBehind) {
  Gate gate;
  jobs->handle("gate", gate.handler());
  jobs->start();
  define({.name = "one", .handler = "gate"});
  trigger("one");
  trigger("one");
  ASSERT_TRUE(becomes([&] { return gate.inside() == 1 && jobs->stats().fired == 2; }));
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->remove("one", done); }).has_value());
  EXPECT_EQ(jobs->stats().pending, 0U);
  ASSERT_TRUE(becomes([&] { return gate.inside() == 0 && jobs->stats().running == 0; })) << "its handler was asked to stop";
  EXPECT_THAT(runs("one"), testing::IsEmpty());
}

}  // namespace
}  // namespace rondo::jobs
