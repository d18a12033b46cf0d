// A run of which an attempt has failed is failed, whatever ends its further attempts. The job matrix has this for all schedules and ends of
// a process. Method: simulated time, and attempts that the test lets fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobs/remote_runs.h"
#include "jobs/testing/simulated_jobs.h"

namespace rondo::jobs::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class FailedAttempts : public ::testing::Test {
 protected:
  ~FailedAttempts() override {
    for (const auto& [id, run] : open) run.leave();
  }
  /// The handler "slow": an attempt fails after 4 s, and earlier if it is asked to stop.
  void prepare(Jobs& jobs) {
    for (const auto& [id, run] : open) run.leave();
    open.clear();
    jobs.handle_async("slow", {.begin = [this](const AsyncRun& run) {
                        open.insert_or_assign(run.run(), run);
                        program.world.after(4s, [this, id = run.run(), attempt = run.attempt()] { fail(id, attempt, "exit status 9"); });
                        run.on_stop([this, id = run.run(), attempt = run.attempt()] { fail(id, attempt, "signal 15"); });
                      }});
    jobs.on_end([this](const JobRun& run) { ended.push_back(run); });
  }
  void fail(std::int64_t run, std::uint32_t attempt, const std::string& why) {
    const auto found = open.find(run);
    if (found == open.end() || found->second.attempt() != attempt) return;
    const AsyncRun ending = open.extract(found).mapped();
    ending.end({StatusCode::Internal, why});
  }
  /// A job whose run waits 2 s for its second attempt, or 'into' more.
  std::int64_t tried(Duration into = 1s) {
    program.define({.name = "j", .handler = "slow", .retries = 1, .backoff = 2s});
    const auto run = program.answer<JobRun>([&](auto done) { program.jobs().trigger("j", done); });
    program.world.run_for(4s + into);
    EXPECT_EQ(RemoteRuns(program.jobs()).find(run->id)->attempt, 1U);
    return run->id;
  }
  JobRun row(std::int64_t run) { return program.store().run(run).value(); }

  std::map<std::int64_t, AsyncRun> open;  // By run.
  std::vector<JobRun> ended;
  SimulatedJobs program{1, {}, [this](Jobs& jobs) { prepare(jobs); }};
};

TEST_F(FailedAttempts, AJobThatAlwaysFailsEndsAsFailedWithEachOverlap) {
  for (const Overlap overlap : {Overlap::Serial, Overlap::Discard, Overlap::Cover, Overlap::Concurrent}) {
    SCOPED_TRACE(to_string(overlap));
    const std::string name{to_string(overlap)};
    ended.clear();
    const std::uint64_t failed = program.jobs().stats().failed;
    program.define({.name = name, .handler = "slow", .schedule = {.when = "every 5s"}, .overlap = overlap, .retries = 1, .backoff = 2s});
    program.world.run_for(60s);
    // With Discard the second attempt of each run, and with Cover also that of the run before it, meets a newer run.
    EXPECT_THAT(ended, SizeIs(testing::Ge(5U)));
    const auto is_tried = [](const JobRun& run) { return run.attempt > 0; };
    const auto tried = static_cast<std::size_t>(std::ranges::count_if(ended, is_tried));
    EXPECT_GE(tried, 4U);
    for (const JobRun& run : ended) {
      if (!is_tried(run)) continue;
      EXPECT_EQ(run.state, RunState::Failed) << run.note;
      EXPECT_THAT(run.note, HasSubstr("exit status 9"));
    }
    EXPECT_EQ(program.jobs().stats().failed, failed + tried);
    program.stop(name);
    EXPECT_TRUE(program.answer<StoredJob>([&](auto done) { program.jobs().remove(name, done); }).has_value());
  }
}

TEST_F(FailedAttempts, AStopOfTheJobLeavesARunFailedThatWaitsForItsNextAttempt) {
  program.define({.name = "often", .handler = "slow", .schedule = {.when = "every 20s"}, .retries = 1, .backoff = 2s});
  while (ended.empty() && program.runs("often").empty()) program.world.run_for(1s);
  const std::int64_t run = program.runs("often").front().id;
  while (RemoteRuns(program.jobs()).find(run)->attempt == 0) program.world.run_for(100ms);
  program.stop("often");
  program.world.run_for(100ms);
  EXPECT_EQ(row(run).state, RunState::Failed);
  EXPECT_EQ(row(run).note, "the job was stopped; attempt 1 failed: exit status 9");
}

TEST_F(FailedAttempts, AKillLeavesARunFailedBetweenAttemptsInTheSecondOneAndAfterARestart) {
  const std::int64_t waits = tried();
  ASSERT_TRUE(program.jobs().kill(waits).ok());
  program.world.run_for(100ms);
  EXPECT_EQ(row(waits).state, RunState::Failed);
  EXPECT_EQ(row(waits).note, "killed by a user; attempt 1 failed: exit status 9");
  EXPECT_TRUE(row(waits).is_killed);

  const std::int64_t runs = tried(3s);
  ASSERT_TRUE(program.jobs().kill(runs).ok());
  program.world.run_for(100ms);
  EXPECT_EQ(row(runs).state, RunState::Failed) << "a killed attempt is not tried again either";
  EXPECT_EQ(row(runs).note, "killed by a user; signal 15; attempt 1 failed: exit status 9");

  const std::int64_t killed = tried();
  ASSERT_TRUE(program.store().note_killed(killed).ok());
  program.world.crash(1s);
  program.world.run_for(1s);
  EXPECT_EQ(row(killed).state, RunState::Failed);
  EXPECT_EQ(row(killed).note, "killed by a user; attempt 1 failed: exit status 9");
}

TEST_F(FailedAttempts, WithoutAFailedAttemptARunEndsAsWhatEndedIt) {
  program.define({.name = "j", .handler = "slow", .overlap = Overlap::Cover, .retries = 1, .backoff = 2s});
  for (int i = 0; i < 2; ++i) {
    program.jobs().trigger("j");
    program.world.run_for(1s);
  }
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].state, RunState::Killed);
  EXPECT_TRUE(is_covered(ended[0]));
  const std::int64_t second = program.runs("j").back().id;
  ASSERT_TRUE(program.jobs().kill(second).ok());
  program.world.run_for(100ms);
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_EQ(ended[1].state, RunState::Killed);
  EXPECT_FALSE(is_covered(ended[1])) << "a user has stopped it";
}

}  // namespace
}  // namespace rondo::jobs::test
