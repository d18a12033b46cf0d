// Checks of parameters by a worker that the test plays: what it refuses is not stored; without its answer the job is stored; and it cannot
// answer for another worker.
#include "jobs/workers/testing/workers_testbed.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WorkerChecks : public WorkersTest {
 protected:
  using Answer = std::optional<Result<std::vector<StoredJob>>>;

  WorkerChecks() {
    close();
    options = {.silent = 1h, .away = 1h, .check_wait = 1h};
    open();
  }

  /// Puts a job whose parameters a worker may check. The answer comes later.
  std::shared_ptr<Answer> check(const std::string& name, std::string parameters = {}) {
    auto got = std::make_shared<Answer>();
    std::vector<JobEdit> edits;
    edits.push_back({.job = {.name = name, .handler = "command/backup", .parameters = std::move(parameters)}});
    jobs->put_checked(std::move(edits), false, [got](Result<std::vector<StoredJob>> result) { *got = std::move(result); });
    return got;
  }
  bool is_asked(PlayedWorker& of, std::size_t times) {
    return becomes([&] { return of.checks.size() == times; });
  }
  static std::int64_t last_request(const PlayedWorker& of) { return of.checks.back().at("request").to_number<std::int64_t>(); }
  static json::array checked(std::int64_t request, std::string_view code, std::string_view message = {}) {
    return event("checked", request, {field("code", code), field("message", message)});
  }
  /// Why the job was stored unchecked; empty if it was checked.
  std::string unchecked(const Answer& got) {
    EXPECT_TRUE(becomes([&] { return got.has_value(); }));
    EXPECT_TRUE(got && got->has_value()) << (got ? got->error().to_string() : "no answer");
    return got && got->has_value() ? (*got)->at(0).unchecked : "no answer";
  }
  bool is_stored(const std::string& name) {
    return answer<StoredJob>([&](auto done) { jobs->find(name, done); }).has_value();
  }
};

TEST_F(WorkerChecks, AJobIsStoredIfItsWorkerAcceptsTheParametersAndNotIfItRefusesThem) {
  PlayedWorker& other = worker("host0", {field("clean", "1")});
  PlayedWorker& host = worker("host1", kBackup);
  const auto good = check("good", "a \"quoted\"\ntext \x01");
  ASSERT_TRUE(is_asked(host, 1));
  EXPECT_EQ(host.checks[0].at("command"), "backup");
  EXPECT_EQ(host.checks[0].at("job"), "good");
  EXPECT_EQ(host.checks[0].at("parameters"), "a \"quoted\"\\x0atext \\x01");
  EXPECT_FALSE(is_stored("good")) << "the worker has not answered";
  EXPECT_EQ(report(host, {checked(last_request(host), "ok")}), 0);
  EXPECT_EQ(unchecked(*good), "");
  const auto bad = check("bad");
  ASSERT_TRUE(is_asked(host, 2));
  EXPECT_EQ(report(host, {checked(last_request(host), "invalid-argument", "the command has no parameter 'pth'")}), 0);
  ASSERT_TRUE(becomes([&] { return bad->has_value(); }));
  EXPECT_EQ((*bad)->error().to_string(),
            "invalid-argument: job 'bad': worker 'host1' refuses the parameters: the command has no parameter 'pth'");
  EXPECT_FALSE(is_stored("bad"));
  EXPECT_THAT(other.checks, IsEmpty()) << "it does not offer the command";
}

TEST_F(WorkerChecks, WithoutAWorkerForTheCommandOrWithOneThatCannotCheckAJobIsStored) {
  EXPECT_EQ(unchecked(*check("early")), "no worker offers command backup");
  PlayedWorker& host = worker("host1", kBackup);
  const auto job = check("late");
  ASSERT_TRUE(is_asked(host, 1));
  report(host, {checked(last_request(host), "not-found", "it has no such command")});
  EXPECT_EQ(unchecked(*job), "worker 'host1' cannot check them: it has no such command");
  const auto odd = check("odd");
  ASSERT_TRUE(is_asked(host, 2));
  report(host, {checked(last_request(host), "no code", "")});
  EXPECT_EQ(unchecked(*odd), "worker 'host1' cannot check them: it gave no reason");
}

TEST_F(WorkerChecks, AWorkerThatLeavesLeavesTheJobUnchecked) {
  PlayedWorker& host = worker("host1", kBackup);
  const auto job = check("nightly");
  ASSERT_TRUE(is_asked(host, 1));
  host.orders.reset();
  EXPECT_EQ(unchecked(*job), "worker 'host1' has left");
  EXPECT_TRUE(is_stored("nightly"));
}

TEST_F(WorkerChecks, AWorkerThatDoesNotAnswerLeavesTheJobUnchecked) {
  close();
  options.check_wait = 1ms;
  open();
  PlayedWorker& host = worker("host1", kBackup);
  EXPECT_EQ(unchecked(*check("first")), "worker 'host1' did not answer");
  EXPECT_EQ(unchecked(*check("second")), "worker 'host1' did not answer an earlier check: it may be of a version without checks");
  ASSERT_TRUE(is_asked(host, 1));
  EXPECT_EQ(report(host, {checked(last_request(host), "invalid-argument", "late")}), 1) << "the job is stored";
  EXPECT_TRUE(is_stored("first"));
  check("third");
  EXPECT_TRUE(is_asked(host, 2)) << "it answers checks";
}

TEST_F(WorkerChecks, AWorkerThatDoesNotReportGetsNoCheck) {
  close();
  options.check_wait = options.silent = 1ms;
  open();
  PlayedWorker& host = worker("host1", kBackup);
  EXPECT_EQ(unchecked(*check("first")), "worker 'host1' did not answer") << "the watch that ends it finds that the worker is silent";
  EXPECT_EQ(unchecked(*check("second")), "worker 'host1' does not report");
  ASSERT_TRUE(is_asked(host, 1));
}

TEST_F(WorkerChecks, AtTheLimitOfUnansweredChecksAJobIsStoredUnchecked) {
  PlayedWorker& host = worker("host1", kBackup);
  std::vector<std::shared_ptr<Answer>> waits;
  for (std::size_t i = 0; i < limits::kWorkerChecks; ++i) waits.push_back(check("job" + std::to_string(i)));
  EXPECT_EQ(unchecked(*check("more")), "worker 'host1' has 8 other checks to answer");
  ASSERT_TRUE(is_asked(host, limits::kWorkerChecks));
  PlayedWorker& second = worker("host2", kBackup);
  check("other");
  EXPECT_TRUE(is_asked(second, 1)) << "it has room";
  report(host, {checked(last_request(host), "ok")});
  EXPECT_EQ(unchecked(*waits.back()), "");
  check("again");
  EXPECT_TRUE(is_asked(host, limits::kWorkerChecks + 1));
}

TEST_F(WorkerChecks, AWorkerAnswersItsOwnChecksOnceAndInFewWords) {
  PlayedWorker& host = worker("host1", kBackup);
  PlayedWorker& liar = worker("liar", {field("other", "1")});
  const auto job = check("nightly");
  ASSERT_TRUE(is_asked(host, 1));
  const std::int64_t request = last_request(host);
  EXPECT_EQ(report(liar, {checked(request, "invalid-argument", "of a liar"), checked(request + 7, "ok"),
                          json::array{"checked", "-1", "SET", json::array{}}, json::array{"checked", "x", "SET", json::array{}}}),
            4);
  EXPECT_EQ(report(host, {checked(request, "invalid-argument", std::string(50'000, 'y')), checked(request, "ok")}), 1);
  ASSERT_TRUE(becomes([&] { return job->has_value(); }));
  const std::string refused = (*job)->error().to_string();
  EXPECT_THAT(refused, HasSubstr("worker 'host1' refuses the parameters: yyy"));
  EXPECT_LT(refused.size(), limits::kRunNote + 200);
  EXPECT_FALSE(is_stored("nightly"));
  EXPECT_EQ(workers->stats().refused, 5U);
}

TEST_F(WorkerChecks, ACheckUnderWayEndsWithTheProgram) {
  PlayedWorker& host = worker("host1", kBackup);
  const auto job = check("nightly");
  ASSERT_TRUE(is_asked(host, 1));
  played.clear();
  close();
  EXPECT_EQ(job.use_count(), 1) << "nothing waits for the answer any more";
  EXPECT_FALSE(job->has_value());
}

}  // namespace
}  // namespace rondo::jobs
