// Goal: what a run does at present, and for what it waits, can be read at each stage. Method: runs that are held at a stage, on a real
// clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <utility>

#include "jobs/jobs_view.h"
#include "jobs/remote_runs.h"
#include "jobs/testing/testbed.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using testing::HasSubstr;
using Stage = RunActivity::Stage;

class ActivityTest : public test::JobsTestbed {
 protected:
  ActivityTest() { open(); }
  RunActivity activity(std::int64_t run) { return JobsView(*jobs).activity(run).value_or(RunActivity{.text = "no such run"}); }
  bool reaches(std::int64_t run, Stage stage) {
    return becomes([=, this] {
      const auto now = JobsView(*jobs).activity(run);
      return now && now->stage == stage;
    });
  }
  WhyLink why(const std::string& job, std::int64_t run) { return runtime->why("JOB_RUN_8", job + "#" + std::to_string(run)).chain.at(0); }
};

TEST_F(ActivityTest, ARunInAPoolIsRunningSinceItsHandlerBegan) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  jobs->handle("gate", [opened](const JobContext&) { return opened.wait(), Status{}; });
  jobs->start();
  define({.name = "one", .handler = "gate"});
  const WallTime before = runtime->clock().wall_now();
  const std::int64_t run = trigger("one").id;
  ASSERT_TRUE(reaches(run, Stage::Running));
  EXPECT_EQ(activity(run).place, "pool fast");
  ASSERT_TRUE(activity(run).begun.has_value());
  EXPECT_GE(*activity(run).begun, before);
  EXPECT_LE(*activity(run).begun, runtime->clock().wall_now());
  EXPECT_EQ(JobsView(*jobs).under_way("one"), std::vector{run});
  EXPECT_EQ(why("one", run).state, WhyLink::State::InFlight);
  EXPECT_THAT(why("one", run).note, HasSubstr("runs since 20"));
  // The next one of the job waits for it, and one of another job with it for the same pool.
  const std::int64_t second = trigger("one").id;
  ASSERT_TRUE(becomes([&] { return activity(second).text == "waits for run " + std::to_string(run) + " of the job"; }))
      << activity(second).text;
  EXPECT_EQ(activity(second).stage, Stage::Waiting);
  gate.set_value();
  ASSERT_TRUE(all_ended());
  EXPECT_FALSE(JobsView(*jobs).activity(run).has_value());
}

TEST_F(ActivityTest, ARunInTheQueueOfItsPoolWaitsForAThread) {
  close();
  runtime = std::make_unique<Runtime>();
  JobsOptions one_thread = options;
  one_thread.fast = {.threads = 1, .runs_max = 2};
  jobs = std::make_unique<Jobs>(*runtime, make_sqlite_job_store(path()).value(), one_thread);
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  jobs->handle("gate", [opened](const JobContext&) { return opened.wait(), Status{}; });
  jobs->start();
  define({.name = "many", .handler = "gate", .overlap = Overlap::Concurrent, .concurrency = 9});
  const std::int64_t first = trigger("many").id;
  ASSERT_TRUE(reaches(first, Stage::Running));
  const std::int64_t second = trigger("many").id;
  const std::int64_t third = trigger("many").id;
  ASSERT_TRUE(becomes([&] { return activity(second).text == "waits for a thread of its pool"; })) << activity(second).text;
  ASSERT_TRUE(becomes([&] { return activity(third).text == "waits for a place in its pool"; })) << activity(third).text;
  EXPECT_EQ(activity(third).place, "pool fast");
  gate.set_value();
  ASSERT_TRUE(all_ended());
}

TEST_F(ActivityTest, WhyNamesTheTimeOfARunThatIsNotDueYet) {
  jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
  jobs->start();
  const std::string at = calendar::format_rfc3339(runtime->clock().wall_now() + 4s);
  define({.name = "soon", .handler = "ok", .schedule = {.when = "at " + at}});
  ASSERT_TRUE(becomes([this] { return jobs->stats().planned == 1; }));
  const std::int64_t run = rows("soon").at(0).id;
  EXPECT_EQ(activity(run).stage, Stage::Planned);
  EXPECT_EQ(activity(run).text, "waits for its time, " + at);
  // Its instant is the next one, although it is planned and the store has none after it.
  const StoredJob stored = answer<StoredJob>([&](auto done) { jobs->find("soon", done); }).value_or(StoredJob{});
  EXPECT_FALSE(stored.next.has_value());
  ASSERT_TRUE(JobsView(*jobs).next_of(stored).has_value());
  EXPECT_EQ(calendar::format_rfc3339(*JobsView(*jobs).next_of(stored)), at);
  EXPECT_EQ(why("soon", run).plane, PlaneState::Waiting);
  EXPECT_EQ(why("soon", run).note, "waits for its time, " + at);
}

TEST_F(ActivityTest, WhyNamesTheTimeOfTheNextAttempt) {
  jobs->handle_in_turn("fail", [](const JobContext&) { return Status{StatusCode::Unavailable, "no server"}; });
  jobs->start();
  define({.name = "again", .handler = "fail", .retries = 2, .backoff = 100s});
  const std::int64_t run = trigger("again").id;
  ASSERT_TRUE(becomes([&] { return rows("again").at(0).attempt == 1 && activity(run).stage == Stage::Planned; }));
  const std::string at = calendar::format_rfc3339(rows("again").at(0).due);
  EXPECT_EQ(activity(run).text, "waits for attempt 2 at " + at);
  EXPECT_EQ(why("again", run).plane, PlaneState::Waiting);
  EXPECT_EQ(why("again", run).note, "waits for attempt 2 at " + at);
  // A key of another job with this number is no run.
  EXPECT_EQ(why("other", run).plane, PlaneState::Unknown);
}

TEST_F(ActivityTest, ARunThatIsKilledBetweenTwoAttemptsKeepsWhatItsLastAttemptLeft) {
  const auto fail = [](const JobContext&) { return Status{StatusCode::Unavailable, "no server"}; };
  jobs->handle_in_turn("fail", fail);
  jobs->start();
  define({.name = "again", .handler = "fail", .retries = 2, .backoff = 100s});
  const std::int64_t run = trigger("again").id;
  const std::int64_t second = trigger("again").id;
  const auto wait = [&](std::int64_t of) {
    return becomes([&] {
      const auto now = JobsView(*jobs).activity(of);
      return now && now->stage == Stage::Planned && !JobsView(*jobs).retry_note(of).empty();
    });
  };
  ASSERT_TRUE(wait(run) && wait(second));
  const JobRun before = rows("again").at(1);
  EXPECT_EQ(before.note, "attempt 1 failed: unavailable: no server");
  EXPECT_EQ(JobsView(*jobs).retry_note(run), before.note + "; next attempt at " + calendar::format_rfc3339(before.due));
  EXPECT_EQ(JobsView(*jobs).retried("again"), (std::vector{run, second}));
  ASSERT_TRUE(before.begun.has_value());
  const WallTime killed = runtime->clock().wall_now();
  ASSERT_TRUE(jobs->kill(run).ok());
  ASSERT_TRUE(becomes([&] { return rows("again").at(1).state == RunState::Failed; }));
  EXPECT_GE(rows("again").at(1).ended, killed + -100ms) << "the run ends with the kill; a turn has the time of its begin";
  EXPECT_EQ(rows("again").at(1).begun, before.begun);
  EXPECT_THAT(rows("again").at(1).note, HasSubstr("; attempt 1 failed: unavailable: no server"));
  EXPECT_EQ(JobsView(*jobs).retry_note(run), "");
  // The same after a restart.
  close();
  open();
  jobs->handle_in_turn("fail", fail);
  jobs->start();
  ASSERT_TRUE(wait(second));
  ASSERT_TRUE(jobs->kill(second).ok());
  ASSERT_TRUE(all_ended());
  EXPECT_TRUE(rows("again").at(0).begun.has_value());
  EXPECT_THAT(rows("again").at(0).note, HasSubstr("; attempt 1 failed: unavailable: no server"));
}

TEST_F(ActivityTest, WhySaysHowARunEnded) {
  jobs->handle_in_turn("fail", [](const JobContext&) { return Status{StatusCode::Unavailable, "no server"}; });
  jobs->start();
  define({.name = "one", .handler = "fail"});
  const std::int64_t run = trigger("one").id;
  ASSERT_TRUE(all_ended());
  const std::string at = calendar::format_rfc3339(rows("one").at(0).ended.value_or(WallTime{}));
  EXPECT_EQ(why("one", run).note, "it ended at " + at + " as failed: unavailable: no server");
  EXPECT_EQ(why("one", 4711).note, "no such run waits or runs: see 'rondo job runs one'");
  EXPECT_THAT(why("two", run).note, HasSubstr("no such run")) << "the run is of another job";
  for (std::size_t i = 0; i < limits::kEndedRuns; ++i) trigger("one");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(why("one", run).note, HasSubstr("no such run"));
}

TEST_F(ActivityTest, TheRunsThatWaitForAnAbsentHandlerAreCounted) {
  jobs->wait_for_handlers("away/", [](std::string_view) { return "no worker"; });
  jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
  jobs->start();
  define({.name = "one", .handler = "away/x"});
  define({.name = "two", .handler = "away/x"});
  EXPECT_EQ(JobsView(*jobs).handler_trouble("away/x"), "no worker");
  trigger("one");
  const std::int64_t second = trigger("one").id;
  trigger("two");
  const std::string since = calendar::format_rfc3339(rows("one").at(1).due);
  EXPECT_TRUE(becomes([&] { return JobsView(*jobs).handler_trouble("away/x") == "no worker: 3 runs wait since " + since; }))
      << JobsView(*jobs).handler_trouble("away/x");
  EXPECT_EQ(JobsView(*jobs).awaited_handlers(), std::vector<std::string>{"away/x"});
  EXPECT_TRUE(JobsView(*jobs).awaited_handlers(0ms, kPatience).empty());
  EXPECT_TRUE(becomes([this] { return JobsView(*jobs).awaited_handlers(100ms, 50ms).size() == 1; }));
  ASSERT_TRUE(jobs->kill(second).ok());
  EXPECT_EQ(JobsView(*jobs).handler_trouble("away/x"), "no worker: 2 runs wait since " + since);
  // A job that is edited has a handler that is here, and its run does not wait for the former one.
  define({.name = "two", .handler = "ok"});
  EXPECT_TRUE(becomes([&] { return JobsView(*jobs).handler_trouble("away/x") == "no worker: 1 run waits since " + since; }));
  jobs->handle_in_turn("away/x", [](const JobContext&) { return Status{}; });
  ASSERT_TRUE(all_ended());
  EXPECT_TRUE(JobsView(*jobs).awaited_handlers().empty());
}

TEST_F(ActivityTest, ARunWithoutItsHandlerOrAFactNamesIt) {
  jobs->wait_for_handlers("away/", [](std::string_view) { return "no worker"; });
  jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
  jobs->start();
  define({.name = "one", .handler = "away/x"});
  define({.name = "two", .handler = "ok", .required_facts = {"job-succeeded:one"}});
  const std::int64_t one = trigger("one").id;
  const std::int64_t two = trigger("two").id;
  ASSERT_TRUE(reaches(one, Stage::Waiting));
  ASSERT_TRUE(reaches(two, Stage::Waiting));
  EXPECT_EQ(activity(one).text, "waits: no worker");
  EXPECT_EQ(activity(two).text, "waits for job-succeeded:one");
}

TEST_F(ActivityTest, ARunThatWaitsForRoomSaysWhatItsHandlerSaysOfIt) {
  std::string why = "the printer is off";
  const auto none = [](std::int64_t) { return false; };
  RemoteRuns(*jobs).handle(
      "print", {.basic = {.begin = [](const AsyncRun&) {}, .has_room = none}, .why_no_room = [&why](std::int64_t) { return why; }});
  RemoteRuns(*jobs).handle("throws", {.basic = {.begin = [](const AsyncRun&) {}, .has_room = none},
                                      .why_no_room = [](std::int64_t) -> std::string { throw 7; }});
  jobs->start();
  define({.name = "one", .handler = "print"});
  define({.name = "two", .handler = "throws"});
  const std::int64_t one = trigger("one").id;
  const std::int64_t two = trigger("two").id;
  ASSERT_TRUE(reaches(one, Stage::Waiting));
  ASSERT_TRUE(reaches(two, Stage::Waiting));
  EXPECT_TRUE(becomes([&] { return activity(one).text == "waits for room at the handler print: the printer is off"; }))
      << activity(one).text;
  why.clear();
  EXPECT_EQ(activity(one).text, "waits for room at the handler print");
  EXPECT_TRUE(becomes([&] { return activity(two).text.starts_with("waits for room at the handler throws: "); })) << activity(two).text;
}

TEST_F(ActivityTest, WorkThatWasUnderWayBeforeARestartKeepsItsBeginAndItsPlace) {
  std::vector<AsyncRun> begun;
  const WallTime since = runtime->clock().wall_now() + -3600s;
  jobs->handle_async("away", {.begin = [&begun](AsyncRun run) { begun.push_back(std::move(run)); }});
  jobs->start();
  define({.name = "copy", .handler = "away"});
  const std::int64_t run = trigger("copy").id;
  ASSERT_TRUE(reaches(run, Stage::Running));
  EXPECT_EQ(activity(run).place, "");
  begun[0].placed_at("worker web-1");
  begun[0].began_at(since);
  EXPECT_EQ(activity(run).place, "worker web-1");
  EXPECT_EQ(activity(run).begun, since);
  begun[0].end({});
  ASSERT_TRUE(all_ended());
  ASSERT_TRUE(rows("copy").at(0).begun.has_value());
  EXPECT_EQ(calendar::format_rfc3339(*rows("copy").at(0).begun), calendar::format_rfc3339(since));
  begun.clear();
}

TEST_F(ActivityTest, RunsOfAnUnknownJobAreAnError) {
  jobs->start();
  define({.name = "known", .handler = "ok"});
  const auto list = [this](const char* name) {
    return answer<std::vector<JobRun>>([&](auto done) { jobs->runs(name, INT64_MAX, 10, done); });
  };
  EXPECT_TRUE(list("known").has_value());
  ASSERT_FALSE(list("none").has_value());
  EXPECT_EQ(list("none").error().code(), StatusCode::NotFound);
}

}  // namespace
}  // namespace rondo::jobs
