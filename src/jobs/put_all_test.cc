// Jobs::put_all(): many jobs in one transaction, in any order of parents and children; a dry run answers the same and stores nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs/put_jobs.h"
#include "jobs/remote_runs.h"
#include "jobs/testing/passing_job_store.h"
#include "jobs/testing/testbed.h"
#include "rondo/base/clock.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using Running = JobEdit::Running;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobEdit edit(const std::string& name, std::vector<std::string> parents = {}, Running running = Running::Started) {
  return {.job = {.name = name, .handler = "ok", .parents = std::move(parents)}, .running = running};
}

/// Counts the reads of children.
class CountingStore final : public test::PassingJobStore {
 public:
  using PassingJobStore::PassingJobStore;
  Result<std::vector<StoredJob>> children(std::string_view parent) override {
    ++children_reads;
    return PassingJobStore::children(parent);
  }
  std::size_t children_reads = 0;
};

/// A store of which one function throws, once.
class ThrowingStore final : public test::PassingJobStore {
 public:
  ThrowingStore(JobStore& store, std::string function) : PassingJobStore(store), function_(std::move(function)) {}
  Status claim() override { return throw_if("claim"), PassingJobStore::claim(); }
  Result<std::vector<JobRun>> unfinished(std::int64_t after, std::size_t max) override {
    return throw_if("unfinished"), PassingJobStore::unfinished(after, max);
  }

 private:
  void throw_if(std::string_view function) {
    if (function != function_) return;
    function_.clear();
    throw std::runtime_error("boom");
  }
  std::string function_;
};

class PutAllTest : public test::JobsTestbed {
 protected:
  PutAllTest() {
    open();
    jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
    jobs->start();
  }
  Result<std::vector<StoredJob>> put(const std::vector<JobEdit>& edits, bool is_dry = false) {
    return answer<std::vector<StoredJob>>([&](auto done) { jobs->put_all(edits, is_dry, done); });
  }
  std::string refusal(const std::vector<JobEdit>& edits, bool is_dry = false) {
    const auto stored = put(edits, is_dry);
    return stored ? "accepted" : stored.error().to_string();
  }
  /// "name", "name (stopped)".
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto all = answer<std::vector<StoredJob>>([&](auto done) { jobs->list("", 1000, done); });
    for (const StoredJob& one : all.value()) names.push_back(one.job.name + (one.is_running ? "" : " (stopped)"));
    return names;
  }
};

TEST_F(PutAllTest, AParentMayBeBehindItsChildren) {
  const auto put_together = put({edit("leaf", {"left", "right"}), edit("left", {"top"}), edit("right", {"top"}), edit("top")});
  ASSERT_TRUE(put_together.has_value()) << put_together.error().to_string();
  EXPECT_EQ(put_together->front().job.name, "leaf") << "the answer has the order of the call";
  trigger("top");
  EXPECT_TRUE(becomes([this] { return runs("leaf") == std::vector<std::string>{"succeeded"}; }));
}

TEST_F(PutAllTest, OneWrongJobLeavesAllOthersOut) {
  ASSERT_TRUE(put({edit("there", {}, Running::Stopped)}).has_value());
  const std::vector<JobEdit> good{edit("a"), edit("there")};
  struct {
    JobEdit bad;
    std::string why;
  } const cases[]{
      {edit("b", {"nowhere"}), "job 'b': parents: there is no job 'nowhere'"},
      {{.job = {.name = "b", .handler = "ok", .required_facts = {"weather:good"}}}, "weather"},
      {{.job = {.name = "b", .handler = "ok", .schedule = {.when = "cron 0 2 * * *", .zone = "Mars/Base"}}}, "Mars/Base"},
      {{.job = {.name = "b", .handler = ""}}, "job 'b'"},
      {edit("a"), "job 'a' is there twice"},
  };
  for (const auto& [bad, why] : cases) {
    std::vector<JobEdit> edits = good;
    edits.push_back(bad);
    for (const bool is_dry : {true, false}) EXPECT_THAT(refusal(edits, is_dry), HasSubstr(why));
    EXPECT_THAT(names(), ElementsAre("there (stopped)"));
  }
}

TEST_F(PutAllTest, ACycleThroughStoredJobsIsRefused) {
  ASSERT_TRUE(put({edit("a"), edit("b", {"a"})}).has_value());
  EXPECT_THAT(refusal({edit("c", {"b"}), edit("a", {"c"})}), HasSubstr("a cycle"));
  EXPECT_THAT(names(), ElementsAre("a", "b"));
}

/// Each order of single edits would pass through a state with two roots.
TEST_F(PutAllTest, AFamilyMovesBelowAnotherRootTogether) {
  ASSERT_TRUE(put({edit("old"), edit("new"), edit("x", {"old"}), edit("y", {"old"}), edit("z", {"x", "y"})}).has_value());
  EXPECT_THAT(refusal({edit("x", {"new"})}), HasSubstr("more than one root"));
  EXPECT_EQ(refusal({edit("x", {"new"}), edit("y", {"new"})}), "accepted");
}

TEST_F(PutAllTest, ADryRunAnswersTheSameAndStoresNothing) {
  JobEdit hourly = edit("hourly");
  hourly.job.schedule.when = "cron 0 * * * *";
  const auto dry = put({hourly, edit("child", {"hourly"})}, true);
  ASSERT_TRUE(dry.has_value()) << dry.error().to_string();
  EXPECT_TRUE(dry->front().is_running);
  EXPECT_TRUE(dry->front().next.has_value());
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(refusal({hourly}), "accepted");
  EXPECT_THAT(names(), ElementsAre("hourly"));
}

TEST_F(PutAllTest, AJobIsStartedAndStoppedAsTheEditSays) {
  ASSERT_TRUE(put({edit("a", {}, Running::Kept), edit("b", {}, Running::IfNew), edit("c", {}, Running::Stopped)}).has_value());
  EXPECT_THAT(names(), ElementsAre("a (stopped)", "b", "c (stopped)"));
  ASSERT_TRUE(stopped("b").ok());
  ASSERT_TRUE(put({edit("a", {}, Running::Started), edit("b", {}, Running::IfNew), edit("c", {}, Running::Kept)}).has_value());
  EXPECT_THAT(names(), ElementsAre("a", "b (stopped)", "c (stopped)"));
  JobEdit stop = edit("a", {}, Running::Stopped);
  stop.job.stop_note = "moved";
  const auto ended = put({stop});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->front().job.stop_note, "moved");
  EXPECT_THAT(names(), ElementsAre("a (stopped)", "b (stopped)", "c (stopped)"));
}

TEST_F(PutAllTest, AStopSkipsTheRunsThatHaveNotBegun) {
  jobs->wait_for_handlers("absent", [](std::string_view) { return std::string{"away"}; });
  JobEdit often = edit("often");
  often.job.handler = "absent";
  often.job.schedule.when = "every 20ms";
  ASSERT_TRUE(put({often}).has_value());
  ASSERT_TRUE(becomes([this] { return jobs->stats().fired > 0; }));
  often.running = Running::Stopped;
  ASSERT_TRUE(put({often}).has_value());
  EXPECT_TRUE(all_ended());
  EXPECT_THAT(runs("often"), testing::Contains(HasSubstr("skipped")));
}

TEST_F(PutAllTest, MoreJobsThanTheLimitAreRefused) {
  std::vector<JobEdit> edits;
  for (std::size_t i = 0; i < limits::kJobsOfPut; ++i) edits.push_back(edit("job" + std::to_string(i)));
  EXPECT_EQ(refusal(edits), "accepted");
  edits.push_back(edit("one more"));
  EXPECT_THAT(refusal(edits), AllOf(HasSubstr("501 jobs"), HasSubstr("at most 500")));
}

TEST_F(PutAllTest, AFamilyAboveItsLimitIsRefused) {
  std::vector<JobEdit> edits{edit("root")};
  for (std::size_t i = 0; i < limits::kJobsOfFamily; ++i) edits.push_back(edit("child" + std::to_string(i), {"root"}));
  EXPECT_EQ(refusal(edits), "accepted");
  // In the order of the names it is behind the children that one query returns.
  EXPECT_THAT(refusal({edit("zebra", {"root"})}), HasSubstr("more than 200 jobs below it"));
  EXPECT_THAT(refusal({edit("apple", {"root"})}), HasSubstr("more than 200 jobs below it"));
}

/// The check of each job read its whole family: 200 jobs with 16 parents each took 8 s, and no job was planned meanwhile.
TEST_F(PutAllTest, TheFamilyOfManyEditsIsReadOnce) {
  std::vector<JobEdit> edits{edit("root")};
  for (std::size_t i = 0; i < limits::kJobsOfFamily; ++i) {
    std::vector<std::string> parents;
    for (std::size_t parent = i < limits::kJobParents ? 0 : i - limits::kJobParents; parent < i; ++parent)
      parents.push_back("job" + std::to_string(parent));
    edits.push_back(edit("job" + std::to_string(i), parents.empty() ? std::vector<std::string>{"root"} : parents));
  }
  auto inner = make_sqlite_job_store((folder / "counted.db").string()).value();
  CountingStore store{*inner};
  Planner planner{PlannerOptions{}};
  const auto made = put_jobs(store, planner, edits, SystemClock{}.wall_now(), false);
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
  EXPECT_LE(store.children_reads, edits.size());
  const std::size_t before = store.children_reads;
  ASSERT_TRUE(put_jobs(store, planner, edits, SystemClock{}.wall_now(), false).has_value());
  EXPECT_EQ(store.children_reads, before) << "no family changes";
}

/// It ended the source of the store's answers: nothing was planned any more, and health was good.
TEST_F(PutAllTest, AnAnswerThatThrowsIsReportedAndJobsGoOn) {
  std::vector<std::string> reports;
  runtime->on_reject([&](std::string_view, const Change&, const Status& why) { reports.push_back(why.to_string()); });
  jobs->define({.name = "a", .handler = "ok", .schedule = {.when = "every 20ms"}}, [](const auto&) { throw std::runtime_error("mine"); });
  ASSERT_TRUE(becomes([&] { return !reports.empty(); }));
  EXPECT_THAT(reports, ElementsAre("internal: the 'done' of Jobs::define() of job 'a' threw: mine"));
  EXPECT_TRUE(becomes([this] { return jobs->stats().succeeded > 0; }));
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

/// 95 of 100 runs fired at instants of the schedule before, when a program edited its job before start().
TEST_F(PutAllTest, RunsThatAnEarlierProcessPlannedFollowAnEditBeforeTheStart) {
  JobEdit root = edit("root");
  root.job.schedule.when = "every 100ms";
  ASSERT_TRUE(put({root, edit("child", {"root"})}).has_value());
  ASSERT_TRUE(becomes([this] { return jobs->stats().pending > 60; }));
  close();
  open();
  jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
  root.job.schedule.when = "every 300ms";
  jobs->put_all({root}, false);
  jobs->start();
  ASSERT_TRUE(becomes([this] { return RemoteRuns(*jobs).is_recovered() && jobs->stats().succeeded > 8; }));
  const WallTime from = SystemClock{}.wall_now();
  for (const char* const name : {"root", "child"}) {
    std::size_t checked = 0;
    for (const JobRun& run : rows(name)) {
      if (run.scheduled < from) continue;
      EXPECT_EQ(run.scheduled.nanoseconds() % (300ms / 1ns), 0) << name << " " << run.scheduled.nanoseconds();
      ++checked;
    }
    EXPECT_GT(checked, 5U) << name;
  }
}

TEST_F(PutAllTest, ALockFileThatIsASymbolicLinkIsRefusedAndItsTargetStaysAsItIs) {
  const std::string other = path() + "-other";
  const std::string target = path() + "-target";
  std::filesystem::create_symlink(target, other + "-lock");
  const std::shared_ptr<JobStore> store = std::move(*make_sqlite_job_store(other));
  EXPECT_THAT(store->claim().to_string(), AllOf(HasSubstr(other + "-lock"), HasSubstr("it is a symbolic link")));
  EXPECT_FALSE(std::filesystem::exists(target));
}

/// Two programs on one database ran its runs twice.
TEST_F(PutAllTest, OneSchedulerAtATimeRunsTheJobsOfADatabase) {
  define({.name = "a", .handler = "ok", .schedule = {.when = "every 20ms"}});
  ASSERT_TRUE(becomes([this] { return jobs->stats().succeeded > 0; }));
  Runtime other;
  std::size_t calls = 0;
  auto second = std::make_unique<Jobs>(other, make_sqlite_job_store(path()).value(), options);
  second->handle_in_turn("ok", [&calls](const JobContext&) { return ++calls, Status{}; });
  second->start();
  const auto other_becomes = [&](const std::function<bool()>& condition) {
    const Instant deadline = other.clock().now() + kPatience;
    while (!condition() && other.clock().now() < deadline) other.scheduler().run_for(1ms);
    return condition();
  };
  ASSERT_TRUE(other_becomes([&] { return !second->health().ok(); }));
  EXPECT_THAT(second->health().to_string(), HasSubstr("another process runs the jobs of '" + path() + "'"));
  // A run that it began would run beside those of the first one, and once more when it takes over.
  std::optional<Status> refused;
  second->trigger("a", [&refused](const Result<JobRun>& run) { refused = run ? Status{} : run.error(); });
  ASSERT_TRUE(other_becomes([&refused] { return refused.has_value(); }));
  EXPECT_EQ(refused->code(), StatusCode::AlreadyExists) << refused->to_string();
  EXPECT_EQ(calls, 0U);
  close();
  EXPECT_TRUE(other_becomes([&] { return calls > 0 && second->health().ok(); })) << "it takes over";
}

TEST(JobEdits, AreNamedByTheirCall) {
  const auto call = [](const std::vector<JobEdit>& edits, const char* verb) { return call_of_work(verb + to_json(edits)); };
  EXPECT_EQ(call({edit("a", {}, Running::IfNew)}, "put "), "Jobs::define() of job 'a'");
  EXPECT_EQ(call({edit("a", {}, Running::Kept)}, "put "), "Jobs::put() of job 'a'");
  EXPECT_EQ(call({edit("a"), edit("b"), edit("c")}, "put "), "Jobs::put_all() of job 'a' and 2 more");
  EXPECT_EQ(call({edit("a")}, "check "), "Jobs::put_all() of job 'a'");
  EXPECT_EQ(call_of_work("trigger a"), "'trigger a'");
}

TEST(JobEdits, AreReadAsTheyWereWritten) {
  const std::vector<JobEdit> edits{edit("a", {}, Running::Kept), edit("b \"x\"", {"a"}, Running::Stopped)};
  const auto read = edits_from_json(to_json(edits));
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].job, edits[0].job);
  EXPECT_EQ((*read)[1].job, edits[1].job);
  EXPECT_EQ((*read)[1].running, Running::Stopped);
  for (const std::string bad : {"", "{}", "[1]", R"([["{}"]])", R"([["{}",9]])", R"([["no job",0]])"})
    EXPECT_FALSE(edits_from_json(bad).has_value()) << bad;
}

TEST_F(PutAllTest, APageOfLargeJobsEndsAtItsLimitOfBytes) {
  constexpr std::size_t kSmall = 30;
  constexpr std::size_t kJobs = 60;
  std::vector<JobEdit> edits;
  for (std::size_t i = 0; i < kJobs; ++i) {
    edits.push_back(edit("j" + std::to_string(100 + i), {}, Running::Stopped));
    if (i >= kSmall) edits.back().job.parameters = std::string(60'000, 'p');
  }
  ASSERT_TRUE(put(edits).has_value());
  std::vector<std::string> listed;
  std::size_t pages = 0;
  for (bool is_last = false; !is_last; ++pages) {
    const std::string after = listed.empty() ? "" : listed.back();
    const auto page = answer<std::vector<StoredJob>>([&](auto done) { jobs->list(after, 200, done); });
    ASSERT_TRUE(page.has_value()) << page.error().to_string();
    std::size_t bytes = 0;
    for (const StoredJob& one : *page) {
      EXPECT_LT(bytes, limits::kJobsPageBytes) << "no job is behind the end";
      bytes += one.job.parameters.size();
      listed.push_back(one.job.name);
    }
    is_last = Jobs::is_last_page(*page, 200);
    ASSERT_TRUE(is_last || !page->empty());
  }
  EXPECT_EQ(listed.size(), kJobs);
  EXPECT_TRUE(std::ranges::is_sorted(listed, std::ranges::less_equal{}));
  EXPECT_EQ(pages, 2U);
}

// The store's thread writes the definitions and reads the jobs of the start in one batch. An exception of the second must not fail the
// first.
TEST_F(PutAllTest, AnExceptionAtTheStartFailsNoDefinition) {
  for (const char* const function : {"claim", "unfinished"}) {
    close();
    runtime = std::make_unique<Runtime>();
    const auto sqlite = make_sqlite_job_store(path()).value();
    jobs = std::make_unique<Jobs>(*runtime, std::make_unique<ThrowingStore>(*sqlite, function), options);
    jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
    std::vector<std::string> answers;
    for (const char* const name : {"a", "b"}) {
      jobs->define({.name = name, .handler = "ok"},
                   [&](const Result<StoredJob>& stored) { answers.push_back(stored ? stored->job.name : stored.error().to_string()); });
    }
    jobs->start();
    EXPECT_TRUE(becomes([&] { return answers.size() == 2; }));
    EXPECT_THAT(answers, ElementsAre("a", "b")) << function;
    trigger("a");
    EXPECT_TRUE(becomes([this] { return !runs("a").empty() && runs("a").front() == "succeeded"; })) << function;
    close();
  }
}

}  // namespace
}  // namespace rondo::jobs
