// The counts of failed runs in a row. Method: ends of runs without a store.
#include "rondod/jobs/failing_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

jobs::JobRun run_of(const std::string& job, jobs::RunState state) {
  jobs::JobRun run;
  run.job = job;
  run.state = state;
  run.note = "no " + job;
  return run;
}

TEST(FailingJobs, AreReportedFromTheThirdFailureInARow) {
  FailingJobs failing;
  for (int i = 0; i < 2; ++i) failing.ended(run_of("a", jobs::RunState::Failed));
  failing.ended(run_of("a", jobs::RunState::Succeeded));
  for (int i = 0; i < 2; ++i) failing.ended(run_of("a", jobs::RunState::TimedOut));
  failing.ended(run_of("a", jobs::RunState::Skipped));
  EXPECT_THAT(failing.words(), IsEmpty());
  failing.ended(run_of("a", jobs::RunState::Failed));
  for (int i = 0; i < 5; ++i) failing.ended(run_of("b", jobs::RunState::Failed));
  EXPECT_THAT(failing.words(), ElementsAre(AllOf(HasSubstr("2 jobs have failed"), HasSubstr("(the most: b, 5 runs, the last one: no b)"))));
  EXPECT_EQ(failing.next(), "a");
  EXPECT_EQ(failing.next(), "b");
  EXPECT_EQ(failing.next(), "a");
  failing.forget("a");
  EXPECT_THAT(failing.words(), ElementsAre(HasSubstr("1 job has failed")));
}

TEST(FailingJobs, CountWhatEarlierProcessesRan) {
  using jobs::RunState;
  FailingJobs failing;
  const auto runs_of = [](const std::string& job, std::initializer_list<RunState> states) {
    std::vector<jobs::JobRun> runs;
    for (const RunState state : states) runs.push_back(run_of(job, state));
    return runs;
  };
  failing.stored("a", runs_of("a", {RunState::Due, RunState::Failed, RunState::TimedOut, RunState::Succeeded, RunState::Failed}));
  failing.stored("b", runs_of("b", {RunState::Succeeded, RunState::Failed, RunState::Failed, RunState::Failed}));
  EXPECT_THAT(failing.words(), IsEmpty());
  failing.ended(run_of("a", RunState::Failed));
  EXPECT_THAT(failing.words(),
              ElementsAre(HasSubstr("1 job has failed 3 times in a row or more (the most: a, 3 runs, the last one: no a)")));
  failing.stored("a", runs_of("a", {RunState::Failed, RunState::Failed}));
  EXPECT_THAT(failing.words(), ElementsAre(HasSubstr("a, 3 runs")));
  failing.ended(run_of("a", RunState::Succeeded));
  EXPECT_THAT(failing.words(), IsEmpty());
}

TEST(FailingJobs, AreBounded) {
  FailingJobs failing;
  for (std::size_t i = 0; i < limits::kFailingJobs + 10; ++i) {
    for (int j = 0; j < 3; ++j) failing.ended(run_of("job" + std::to_string(i), jobs::RunState::Failed));
  }
  EXPECT_THAT(failing.words(), ElementsAre(HasSubstr(std::to_string(limits::kFailingJobs) + " jobs have failed")));
}

TEST(FailingJobs, WhoseRunsAreEachStoppedByTheNextOneAreReportedToo) {
  using jobs::RunState;
  FailingJobs failing;
  jobs::JobRun by_a_user = run_of("a", RunState::Killed);
  by_a_user.is_killed = true;
  for (int i = 0; i < 5; ++i) failing.ended(by_a_user);
  for (int i = 0; i < 2; ++i) failing.ended(run_of("a", RunState::Killed));
  EXPECT_THAT(failing.words(), IsEmpty());
  failing.ended(run_of("a", RunState::Killed));
  EXPECT_THAT(failing.words(),
              ElementsAre("1 job has had a run stopped by the next one 3 times in a row or more (the most: a, 3 runs): 'rondo "
                          "job runs a' lists its runs"));
  failing.ended(run_of("a", RunState::Failed));
  EXPECT_THAT(failing.words(), IsEmpty()) << "a run has ended by itself";
  failing.stored("b", {run_of("b", RunState::Due), run_of("b", RunState::Killed), run_of("b", RunState::Killed),
                       run_of("b", RunState::Killed), run_of("b", RunState::Succeeded), run_of("b", RunState::Killed)});
  EXPECT_THAT(failing.words(), ElementsAre(HasSubstr("(the most: b, 3 runs)")));
  failing.ended(run_of("b", RunState::Succeeded));
  EXPECT_THAT(failing.words(), IsEmpty());
}

}  // namespace
}  // namespace rondo::daemon
