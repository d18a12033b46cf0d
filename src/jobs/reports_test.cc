// What a program hears without asking: ends of runs, errors of calls without a 'done', and whether an earlier process may have begun a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jobs/testing/testbed.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JobReportsTest : public JobsTestbed {
 protected:
  JobReportsTest() { open_with_handlers(); }
  void open_with_handlers() {
    open();
    runtime->on_reject([this](std::string_view, const Change&, const Status& why) { reports.push_back(why.to_string()); });
    jobs->handle("ok", [](const JobContext&) { return Status{}; });
    jobs->handle("wrong", [](const JobContext&) { return Status{StatusCode::Unavailable, "no disk"}; });
  }
  std::vector<std::string> reports;
};

TEST_F(JobReportsTest, ARunThatFailedForGoodIsReported) {
  jobs->start();
  define({.name = "a", .handler = "ok"});
  define({.name = "b", .handler = "wrong", .retries = 1, .backoff = 1ms});
  trigger("a");
  const std::string id = std::to_string(trigger("b").id);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(reports, ElementsAre("internal: the run b#" + id + " ended as failed: unavailable: no disk"));
}

TEST_F(JobReportsTest, AListenerHearsOfEachEndInPlaceOfTheReports) {
  std::vector<std::string> ended;
  jobs->on_end([&](const JobRun& run) {
    ended.push_back(run.job + " " + std::string{to_string(run.state)} + (run.ended >= run.begun ? "" : " before its begin"));
    if (run.job == "a") throw std::runtime_error("no pager");
  });
  jobs->start();
  define({.name = "a", .handler = "ok"});
  define({.name = "b", .handler = "wrong", .retries = 1, .backoff = 1ms});
  const std::string id = std::to_string(trigger("a").id);
  ASSERT_TRUE(all_ended());
  trigger("b");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(ended, ElementsAre("a succeeded", "b failed"));
  EXPECT_THAT(reports, ElementsAre("internal: the listener of Jobs::on_end() for run " + id + " threw: no pager"));
}

TEST_F(JobReportsTest, AListenerHearsOfEachAttemptThatIsDue) {
  std::vector<std::string> due;
  jobs->on_due([&](const JobRun& run) {
    due.push_back(run.job + " " + std::to_string(run.attempt));
    if (run.job == "a") throw std::runtime_error("no pager");
  });
  jobs->start();
  define({.name = "a", .handler = "ok"});
  define({.name = "b", .handler = "absent"});
  define({.name = "c", .handler = "wrong", .retries = 1, .backoff = 1ms});
  trigger("a");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(reports, ElementsAre("internal: the listener of Jobs::on_due() threw: no pager"));
  EXPECT_THAT(runs("a"), ElementsAre("succeeded"));
  trigger("b");
  trigger("c");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(due, ElementsAre("a 0", "b 0", "c 0", "c 1"));
}

TEST_F(JobReportsTest, AnErrorThatNobodyTakesIsReported) {
  jobs->start();
  jobs->define({.name = "a", .handler = "ok", .schedule = {.when = "cron 30 2 * *"}});
  jobs->trigger("none");
  jobs->stop("none", {});
  ASSERT_TRUE(becomes([this] { return reports.size() == 3; }));
  EXPECT_THAT(reports, ElementsAre(HasSubstr("a call of Jobs without 'done' failed: job 'a': schedule.when: cron expression"),
                                   HasSubstr("no job 'none'"), HasSubstr("no job 'none'")));
}

TEST_F(JobReportsTest, AnErrorThatADoneTakesIsNotReported) {
  jobs->start();
  EXPECT_FALSE(stopped("none").ok());
  EXPECT_FALSE(defined({.name = "a", .handler = "ok", .schedule = {.when = "each day"}}).ok());
  EXPECT_THAT(reports, IsEmpty());
}

TEST_F(JobReportsTest, BeforeTheStartNothingIsPlannedAndHealthSaysSo) {
  define({.name = "a", .handler = "ok"});
  EXPECT_EQ(jobs->health().to_string(), "failed-precondition: Jobs::start() was not called: nothing is planned");
  jobs->start();
  EXPECT_TRUE(becomes([this] { return jobs->health().ok(); }));
}

TEST_F(JobReportsTest, HealthNamesAStartedJobWithoutItsHandler) {
  jobs->start();
  define({.name = "lost", .handler = "went", .schedule = {.when = "cron 0 0 1 1 *"}});
  const auto health = [this] { return jobs->health().to_string(); };
  EXPECT_THAT(health(), HasSubstr("job 'lost' is started, and this program has no handler 'went'"));
  close();
  open_with_handlers();
  jobs->start();
  EXPECT_TRUE(becomes([&] { return health().find("no handler 'went'") != std::string::npos; })) << "the stored jobs are read at the start";
  EXPECT_TRUE(answer<StoredJob>([this](auto done) { jobs->stop("lost", "", std::move(done)); }).has_value());
  EXPECT_TRUE(jobs->health().ok()) << health();
  EXPECT_TRUE(answer<StoredJob>([this](auto done) { jobs->start("lost", std::move(done)); }).has_value());
  EXPECT_FALSE(jobs->health().ok());
  jobs->handle("went", [](const JobContext&) { return Status{}; });
  EXPECT_TRUE(jobs->health().ok()) << health();
  jobs->remove_handler("went");
  EXPECT_TRUE(becomes([&] { return health().find("no handler 'went'") != std::string::npos; }));
  jobs->wait_for_handlers("we", [](std::string_view) { return "no worker offers it"; });
  EXPECT_TRUE(jobs->health().ok()) << "its runs wait: " << health();
}

TEST_F(JobReportsTest, HealthNamesAnotherJobWhenTheNamedOnesAreRepaired) {
  std::vector<JobEdit> edits;
  for (std::size_t i = 0; i <= limits::kTroublesNamed; ++i) {
    const std::string name = std::to_string(i);
    edits.push_back({{.name = name, .handler = "h" + name, .schedule = {.when = "cron 0 0 1 1 *"}}, JobEdit::Running::Started});
  }
  jobs->start();
  ASSERT_TRUE(answer<std::vector<StoredJob>>([&](auto done) { jobs->put_all(edits, false, std::move(done)); }).has_value());
  for (std::size_t i = 0; i < limits::kTroublesNamed; ++i)
    jobs->handle("h" + std::to_string(i), [](const JobContext&) { return Status{}; });
  const std::string last = "no handler 'h" + std::to_string(limits::kTroublesNamed) + "'";
  EXPECT_TRUE(becomes([&] { return jobs->health().to_string().find(last) != std::string::npos; })) << jobs->health().to_string();
}

TEST_F(JobReportsTest, TheDestructorNamesAHandlerThatDoesNotStop) {
  options.end_notice = 10ms;
  close();
  std::atomic<bool> is_begun = false;
  std::atomic<bool> is_reported = false;
  open_with_handlers();
  runtime->on_reject([&](std::string_view, const Change&, const Status& why) {
    reports.push_back(why.to_string());
    is_reported = true;
    is_reported.notify_all();
  });
  jobs->handle("deaf", [&](const JobContext&) {
    is_begun = true;
    is_reported.wait(false);
    return Status{};
  });
  jobs->start();
  define({.name = "a", .handler = "deaf"});
  const std::string id = std::to_string(trigger("a").id);
  ASSERT_TRUE(becomes([&] { return is_begun.load(); }));
  jobs.reset();
  EXPECT_THAT(reports, ElementsAre("deadline-exceeded: Jobs::~Jobs() waits for handlers that were asked to stop 10 ms ago and have not "
                                   "returned: a#" +
                                   id));
}

TEST_F(JobReportsTest, AnAttemptKnowsWhetherAnEarlierProcessMayHaveBegunIt) {
  std::vector<bool> begun;
  const auto note = [&begun](const JobContext& context) {
    begun.push_back(context.is_recovered);
    return begun.size() == 1 ? Status{StatusCode::Unavailable, "again"} : Status{};
  };
  jobs->handle_in_turn("note", note);
  define({.name = "a", .handler = "note", .retries = 2, .backoff = 1ms});
  trigger("a");  // Jobs did not start: the run stays without an end.
  close();
  open_with_handlers();
  jobs->handle_in_turn("note", note);
  jobs->start();
  ASSERT_TRUE(becomes([&] { return begun.size() == 2; }));
  trigger("a");
  ASSERT_TRUE(becomes([&] { return begun.size() == 3; }));
  EXPECT_THAT(begun, ElementsAre(true, false, false)) << "the second one is a further attempt, the third one a new run";
}

/// A program that ends without it runs such work again.
TEST_F(JobReportsTest, AfterADrainWhatHasReturnedIsNotRunAgain) {
  std::atomic<int> begun = 0;
  std::atomic<bool> may_return = false;
  const auto slow = [&](const JobContext&) {
    ++begun;
    while (!may_return) std::this_thread::yield();
    return Status{};
  };
  jobs->handle("slow", slow);
  jobs->start();
  define({.name = "a", .handler = "slow"});
  trigger("a");
  trigger("a");  // Waits for the first one.
  ASSERT_TRUE(becomes([&] { return begun == 1; }));
  std::optional<Status> drained;
  jobs->drain(30s, [&drained](const Status& status) { drained = status; });
  run_a_while(20ms);
  EXPECT_FALSE(drained.has_value());
  may_return = true;
  ASSERT_TRUE(becomes([&] { return drained.has_value(); }));
  EXPECT_TRUE(drained->ok()) << drained->to_string();
  EXPECT_EQ(begun, 1) << "the second run does not begin any more";
  close();
  open_with_handlers();
  jobs->handle("slow", slow);
  jobs->start();
  ASSERT_TRUE(becomes([&] { return begun == 2; }));
  ASSERT_TRUE(all_ended());
  EXPECT_EQ(begun, 2);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded", "succeeded"));
}

TEST_F(JobReportsTest, ADrainThatLastsTooLongSaysWhatIsOpen) {
  std::vector<AsyncRun> open_runs;
  jobs->handle_async("never", {.begin = [&](const AsyncRun& run) { open_runs.push_back(run); }});
  jobs->start();
  define({.name = "a", .handler = "never"});
  trigger("a");
  ASSERT_TRUE(becomes([&] { return open_runs.size() == 1; }));
  std::optional<Status> drained;
  jobs->drain(10ms, [&drained](const Status& status) { drained = status; });
  ASSERT_TRUE(becomes([&] { return drained.has_value(); }));
  EXPECT_EQ(drained->to_string(), "deadline-exceeded: 1 attempts are under way, and 0 ends are not stored");
  open_runs.front().leave();
}

TEST_F(JobReportsTest, ADrainDoesNotWaitForAttemptsThatWereLetGo) {
  std::vector<AsyncRun> open_runs;
  jobs->handle_async("elsewhere", {.begin = [&](const AsyncRun& run) { open_runs.push_back(run); }});
  jobs->start();
  define({.name = "a", .handler = "elsewhere", .overlap = Overlap::Concurrent, .concurrency = 2});
  trigger("a");
  trigger("a");
  ASSERT_TRUE(becomes([&] { return open_runs.size() == 2; }));
  open_runs[0].leave();
  std::optional<Status> drained;
  jobs->drain(30s, [&drained](const Status& status) { drained = status; });
  run_a_while(20ms);
  EXPECT_FALSE(drained.has_value());
  open_runs[1].leave();
  ASSERT_TRUE(becomes([&] { return drained.has_value(); }));
  EXPECT_TRUE(drained->ok()) << drained->to_string();
}

TEST_F(JobReportsTest, ARunThatWasTriggeredBeforeTheStartIsNotOneOfAnEarlierProcess) {
  std::optional<bool> is_recovered;
  jobs->handle_in_turn("note", [&](const JobContext& context) {
    is_recovered = context.is_recovered;
    return Status{};
  });
  define({.name = "a", .handler = "note"});
  trigger("a");
  jobs->start();
  ASSERT_TRUE(becomes([&] { return is_recovered.has_value(); }));
  EXPECT_FALSE(*is_recovered);
}

TEST_F(JobReportsTest, AJobThatRequiresItsOwnSuccessIsRefused) {
  EXPECT_EQ(defined({.name = "a", .handler = "ok", .required_facts = {"job-succeeded:a"}}).to_string(),
            "invalid-argument: job 'a': required_facts: the job would wait for its own success");
}

}  // namespace
}  // namespace rondo::jobs::test
