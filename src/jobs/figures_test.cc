// The figures of a Jobs and of its StoreThread in simulated time: how long runs and commits took, and what misfire rules decided. Durations
// are those by which the test advances the clock; misfires are compared with the rows of the store.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "jobs/jobs_view.h"
#include "jobs/store_thread.h"
#include "jobs/testing/simulated_jobs.h"

namespace rondo::jobs {
namespace {

TEST(JobsFigures, ARunIsAsLongAsItsLastAttempt) {
  std::unique_ptr<test::SimulatedJobs> program;
  int attempts = 0;
  program = std::make_unique<test::SimulatedJobs>(1, JobsOptions{}, [&](Jobs& jobs) {
    jobs.handle_in_turn("work", [&](const JobContext&) {
      program->world.clock().advance(++attempts == 1 ? 10ms : 40ms);
      return attempts == 1 ? Status{StatusCode::Unavailable, "not yet"} : Status{};
    });
  });
  program->define({.name = "j", .handler = "work", .retries = 1, .backoff = 2s});
  ASSERT_TRUE(program->answer<JobRun>([&](auto done) { program->jobs().trigger("j", done); }).has_value());
  program->world.run_for(10s);
  const JobsStats& stats = program->jobs().stats();
  ASSERT_EQ(stats.retried, 1U);
  ASSERT_EQ(stats.succeeded, 1U);
  EXPECT_EQ(stats.run_ns.count(), 1U);
  EXPECT_EQ(stats.run_ns.sum(), 40'000'000U);
}

TEST(JobsFigures, TheOldestDueRunIsTheOneThatWaitsLongest) {
  test::SimulatedJobs program{1, {}, [](Jobs& jobs) {
                                jobs.handle_in_turn("ok", [](const JobContext&) { return Status{}; });
                                jobs.wait_for_handlers("absent", [](std::string_view) { return "no worker offers it"; });
                              }};
  program.define({.name = "waits", .handler = "absent"});
  program.define({.name = "runs", .handler = "ok", .schedule = {.when = "every 10s"}});
  const auto trigger = [&] { ASSERT_TRUE(program.answer<JobRun>([&](auto done) { program.jobs().trigger("waits", done); }).has_value()); };
  const JobsStats& stats = program.jobs().stats();
  EXPECT_EQ(stats.oldest_due, std::nullopt) << "the runs to come are not due";
  for (int i = 0; i < 2; ++i) {
    trigger();
    program.world.run_for(60s);
    EXPECT_EQ(stats.oldest_due, program.runs("waits").front().due);
  }
  program.jobs().handle_in_turn("absent", [](const JobContext&) { return Status{}; });
  program.world.run_for(60s);
  EXPECT_EQ(stats.oldest_due, std::nullopt);
  EXPECT_EQ(stats.of_band.at(static_cast<std::size_t>(Band::Manual)).succeeded, 2U);
  EXPECT_EQ(stats.of_band.at(static_cast<std::size_t>(Band::Ring)).succeeded, stats.succeeded - 2);
}

TEST(JobsFigures, MisfiresAreThoseOfTheRows) {
  test::SimulatedJobs program{1, {}, [](Jobs& jobs) { jobs.handle_in_turn("ok", [](const JobContext&) { return Status{}; }); }};
  program.define({.name = "last", .handler = "ok", .schedule = {.when = "every 10s"}, .misfire = Misfire::FireLast, .misfire_runs = 2});
  program.define({.name = "never", .handler = "ok", .schedule = {.when = "every 10s"}, .misfire = Misfire::DoNothing});
  program.define({.name = "below", .handler = "ok", .parents = {"last"}});
  program.world.run_for(30s);
  EXPECT_EQ(program.jobs().stats().misfired + program.jobs().stats().misfire_skipped, 0U);
  program.world.crash(100s);
  program.world.run_for(120s);
  std::uint64_t fired = 0;
  std::uint64_t skipped = 0;
  for (const std::string name : {"last", "never"}) {
    for (const JobRun& run : program.runs(name)) {
      if (run.band != Band::Misfire) continue;
      const bool is_skipped = run.state == RunState::Skipped;
      fired += is_skipped ? 0 : 1;
      skipped += run.missed + (is_skipped ? 1 : 0);
    }
  }
  EXPECT_EQ(fired, 2U);
  EXPECT_GT(skipped, 10U) << "ten instants of 'never', and some of 'last'";
  EXPECT_EQ(program.jobs().stats().misfired, fired);
  EXPECT_EQ(program.jobs().stats().misfire_skipped, skipped);
}

TEST(JobsFigures, ACommitIsAsLongAsItsTransaction) {
  const TemporaryFolder folder;
  const std::shared_ptr<JobStore> store = make_sqlite_job_store((folder / "jobs.db").string()).value();
  sim::World world{1};
  std::shared_ptr<StoreThread> works;
  int answers = 0;
  world.start([&](Runtime& runtime) {
    works = std::make_shared<StoreThread>(
        runtime.scheduler(), store, PlannerOptions{}, [](Duration) {}, [](const auto&, const auto&) {});
    const auto submit = [&](const std::string& name, Duration takes, Commit commit, bool succeeds = true) {
      works->submit<bool>(
          name,
          [&world, takes, succeeds](JobStore&, Planner&) -> Result<bool> {
            world.clock().advance(takes);
            return succeeds ? Result<bool>{true} : failure(StatusCode::Unavailable, "no disk");
          },
          [&answers](const Result<bool>&) { ++answers; }, commit);
    };
    submit("read", 1ms, Commit::Alone);
    submit("write", 3ms, Commit::Writes);
    submit("fail", 100ms, Commit::Writes, false);
    submit("note", 5ms, Commit::Together);
    submit("note", 7ms, Commit::Together);
    return works;
  });
  world.run_for(10s);
  ASSERT_EQ(answers, 5);
  EXPECT_EQ(works->commits().sum(), 15'000'000U) << "without what reads, and what failed";
  EXPECT_EQ(works->commits().max(), 12'000'000U) << "notes that wait beside each other are one transaction";
  EXPECT_EQ(works->commits().count(), 2U);
}

}  // namespace
}  // namespace rondo::jobs
