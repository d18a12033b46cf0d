// The jitter of an instant belongs to it: until it is over the instant is still to come, whatever happens to the job or to the process
// meanwhile. Method: simulated time, with an hourly job whose run is due several minutes after its instant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jobs/planner.h"
#include "jobs/testing/simulated_jobs.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class JitterTest : public ::testing::Test {
 protected:
  static constexpr Duration kHour = 3600s;
  Job hourly() const {
    return {.name = "j", .handler = "ok", .schedule = {.when = "every 1h", .jitter = 30 * 60s}, .misfire = Misfire::DoNothing};
  }
  /// Runs to two minutes after an instant of the job that is due later.
  void run_into_a_jitter() {
    stored = program.define(hourly());
    Planner planner({});
    const auto* const compiled = *planner.compiled(stored.job, stored.id);
    firing = *next_after(*compiled, program.now());
    while (firing.due < firing.scheduled + 4 * 60s) firing = *next_after(*compiled, firing.scheduled);
    program.run_until(firing.scheduled + 2 * 60s);
    ASSERT_LT(program.now(), firing.due);
  }
  /// The rows of the instant after it is due.
  std::vector<JobRun> rows_of_instant() {
    program.run_until(firing.due + 60s);
    std::vector<JobRun> rows = program.runs("j");
    std::erase_if(rows, [this](const JobRun& run) { return run.scheduled != firing.scheduled; });
    return rows;
  }
  void expect_its_run() {
    const std::vector<JobRun> rows = rows_of_instant();
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].state, RunState::Succeeded) << rows[0].note;
    EXPECT_EQ(calendar::format_rfc3339(rows[0].due), calendar::format_rfc3339(firing.due));
    EXPECT_GE(*rows[0].begun, firing.due);
    EXPECT_LT(*rows[0].begun, firing.due + 1s);
  }

  SimulatedJobs program{1, {}, [](Jobs& jobs) { jobs.handle_in_turn("ok", [](const JobContext&) { return Status{}; }); }};
  StoredJob stored;
  calendar::Firing firing{};
};

TEST_F(JitterTest, AStopAndAStartWithinItKeepTheInstant) {
  run_into_a_jitter();
  program.stop("j");
  program.world.run_for(1s);
  for (const JobRun& run : program.runs("j")) EXPECT_NE(run.scheduled, firing.scheduled) << run.note;
  program.start("j");
  expect_its_run();
}

TEST_F(JitterTest, AStopWithinItWithdrawsTheInstant) {
  run_into_a_jitter();
  program.stop("j");
  EXPECT_THAT(rows_of_instant(), IsEmpty());
}

TEST_F(JitterTest, AnEditOfTheScheduleWithinItPlansTheInstantByTheNewOne) {
  run_into_a_jitter();
  Job edited = stored.job;
  edited.schedule.excluded = "2001-01-01";
  program.define(edited);
  expect_its_run();
}

TEST_F(JitterTest, AnEditWithoutJitterMakesNoPastInstantDue) {
  run_into_a_jitter();
  Job edited = stored.job;
  edited.schedule = {.when = "every 1min"};
  const WallTime before = program.now();
  program.define(edited);
  program.world.run_for(150s);
  for (const JobRun& run : program.runs("j")) {
    EXPECT_TRUE(run.scheduled < firing.scheduled || run.scheduled > before) << calendar::format_rfc3339(run.scheduled);
    EXPECT_EQ(run.state, RunState::Succeeded);
  }
}

TEST_F(JitterTest, AProcessThatWasDownAtTheInstantFindsItInTime) {
  stored = program.define(hourly());
  Planner planner({});
  const auto* const compiled = *planner.compiled(stored.job, stored.id);
  firing = *next_after(*compiled, program.now());
  while (firing.due < firing.scheduled + 4 * 60s) firing = *next_after(*compiled, firing.scheduled);
  program.run_until(firing.scheduled + -60s);
  program.world.crash(3 * 60s);
  expect_its_run();
}

TEST(Jitter, TheLatenessOfAnInstantCountsFromItsDueTime) {
  Planner planner({});
  const Job job{.name = "j", .handler = "h", .schedule = {.when = "cron * * * * *", .jitter = 10 * 60s}, .misfire = Misfire::FireAll};
  const auto* const compiled = *planner.compiled(job, 3);
  const WallTime next = calendar::parse_rfc3339("2026-01-01T10:00:00Z").value();
  const WallTime now = calendar::parse_rfc3339("2026-01-01T11:00:00.5Z").value();
  const Plan plan = plan_job({.id = 3, .job = job, .is_running = true, .next = next}, *compiled, now, {});
  std::size_t instants = 0;
  for (auto firing = next_after(*compiled, next + Duration{-1}); firing && firing->scheduled <= now;
       firing = next_after(*compiled, firing->scheduled)) {
    ++instants;
    const auto run = std::ranges::find(plan.runs, firing->scheduled, &JobRun::scheduled);
    ASSERT_NE(run, plan.runs.end());
    const bool is_missed = now - firing->due > 10s;
    EXPECT_EQ(run->band, is_missed ? Band::Misfire : now - firing->due > 5s ? Band::Direct : Band::Ring);
    EXPECT_EQ(run->due, is_missed ? now : firing->due);
  }
  EXPECT_EQ(plan.runs.size(), instants);
}

TEST(Jitter, AfterALongOutageTheNewestMissedInstantsRun) {
  Planner planner({});
  const Job job{
      .name = "j", .handler = "h", .schedule = {.when = "every 1s", .jitter = 1s}, .misfire = Misfire::FireLast, .misfire_runs = 3};
  const auto* const compiled = *planner.compiled(job, 3);
  const WallTime now = calendar::parse_rfc3339("2026-01-01T11:00:00.5Z").value();
  const Plan plan = plan_job({.id = 3, .job = job, .is_running = true, .next = now + -10h + 500ms}, *compiled, now, {});
  // The newest three that are more than 10 s late.
  std::vector<WallTime> late;
  for (auto firing = next_after(*compiled, now + -20s); firing && firing->scheduled <= now;
       firing = next_after(*compiled, firing->scheduled)) {
    if (now - firing->due > 10s) late.push_back(firing->scheduled);
  }
  std::vector<WallTime> found;
  for (const JobRun& run : plan.runs) {
    if (run.band == Band::Misfire) found.push_back(run.scheduled);
  }
  EXPECT_THAT(found, ElementsAre(late.end()[-3], late.end()[-2], late.end()[-1]));
}

}  // namespace
}  // namespace rondo::jobs::test
