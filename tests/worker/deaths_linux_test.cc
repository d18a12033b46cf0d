// kill -9 of the worker, of the server and of both: no run is lost, none runs twice at a time at a worker, and no command stays behind.
#include <algorithm>
#include <set>

#include "rondo/base/clock.h"
#include "rondo/calendar/rfc3339.h"
#include "worker_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

/// A command that notes its begin, waits for the file "go", and notes its end.
class WorkerDeathsOnLinux : public WorkerOnLinux {
 protected:
  std::string gated() const {
    return command("gated",
                   "echo $$ >> " + path("ids") + "\nwhile [ ! -e " + path("go") + " ]; do sleep 0.01; done\necho done >> " + path("done") +
                       "\necho 'rondo: result all'\n",
                   "concurrency = 8");
  }
  void let_go() const { std::ofstream(folder / "go") << "now"; }
  bool begun(std::size_t runs) {
    return becomes([&] { return ids_in("ids").size() >= runs; });
  }
  std::size_t done() const {
    const std::string text = read(folder / "done");
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }
};

TEST_F(WorkerDeathsOnLinux, ARunThatGoesOnWhileTheServerIsRestartedIsNotStartedTwice) {
  start_server();
  start_worker(gated());
  const std::int64_t id = run("gated");
  ASSERT_TRUE(begun(1));
  ::usleep(50'000);  // The start is confirmed, or not: both must do.
  kill_server();
  start_server();
  expect_placed();
  let_go();
  EXPECT_EQ(end("gated", id), "succeeded all");
  EXPECT_EQ(done(), 1U);
  EXPECT_THAT(ids_in("ids"), SizeIs(1));
}

/// The new database gives the numbers of the old one again. The command of the old run ends, and its end and log are not those of the new
/// one.
TEST_F(WorkerDeathsOnLinux, ARunThatIsUnderWayWhenTheDatabaseIsReplacedIsNotTheNewOne) {
  start_server();
  start_worker(gated() + command("says", "echo says $RONDO_SCHEDULED\n", "concurrency = 8"));
  const std::int64_t said = run("says");
  ASSERT_EQ(end("says", said), "succeeded");
  const std::int64_t old = run("gated");
  ASSERT_TRUE(begun(1));
  kill_server();
  for (const char* name : {"jobs.db", "jobs.db-wal", "jobs.db-shm"}) std::filesystem::remove(folder / name);
  start_server();
  ASSERT_TRUE(becomes([this] { return !call("workers").at("rows").as_array().empty(); }));
  ASSERT_TRUE(becomes([&] { return !lives(ids_in("ids").at(0)); })) << "the command of a run that is in no database any more";
  const auto no_run = client->call("job-log", {{"run", old}});
  EXPECT_THAT(no_run.error().to_string(), HasSubstr("there is no run " + std::to_string(old)));
  ASSERT_EQ(run("gated"), said);
  ASSERT_TRUE(begun(2));
  EXPECT_EQ(log_of(said), "") << "nothing of the run that had this number";
  ASSERT_EQ(run("says"), old);
  EXPECT_EQ(end("says", old), "succeeded");
  EXPECT_THAT(log_of(old), StartsWith("says "));
  let_go();
  EXPECT_EQ(end("gated", said), "succeeded all");
  EXPECT_EQ(log_of(said), "rondo: result all\n");
  EXPECT_EQ(done(), 1U);
}

TEST_F(WorkerDeathsOnLinux, ANewRunWithTheNumberOfAnOldOneWaitsForTheEndOfItsCommand) {
  start_server();
  start_worker(command(
      "stubborn", "trap '' TERM\necho $$ >> " + path("ids") + "\necho I am $$\nwhile [ ! -e " + path("go") + " ]; do sleep 0.01; done\n",
      "concurrency = 8"));
  const std::int64_t old = run("stubborn");
  ASSERT_TRUE(begun(1));
  kill_server();
  for (const char* name : {"jobs.db", "jobs.db-wal", "jobs.db-shm"}) std::filesystem::remove(folder / name);
  start_server();
  ASSERT_EQ(run("stubborn"), old);
  ASSERT_TRUE(becomes(
      [this] { return read(folder / "worker.err").find("a command of an earlier run with the number 1 is") != std::string::npos; }));
  EXPECT_THAT(ids_in("ids"), SizeIs(1));
  let_go();
  EXPECT_EQ(end("stubborn", old), "succeeded");
  ASSERT_THAT(ids_in("ids"), SizeIs(2));
  EXPECT_EQ(log_of(old), "I am " + std::to_string(ids_in("ids").at(1)) + "\n");
  EXPECT_TRUE(becomes([this] { return std::filesystem::is_empty(folder / "state" / "runs"); }));
}

/// The stop, or the timeout, was dealt with before the end of the command was seen, and the run was tried again.
TEST_F(WorkerDeathsOnLinux, ACommandThatEndedInTimeHasSucceededAlsoIfTheWorkerOrTheServerStoodStillMeanwhile) {
  start_server();
  start_worker(gated());
  for (const pid_t stopped : {worker, server}) {
    SCOPED_TRACE(stopped == worker ? "the worker" : "the server");
    std::filesystem::remove(folder / "go");
    const std::size_t before = ids_in("ids").size();
    const std::int64_t id = run("gated", {}, {{"timeout_ms", 5000}, {"retries", 1}});
    ASSERT_TRUE(begun(before + 1));
    const Instant since = SystemClock{}.now();
    ASSERT_TRUE(becomes([&] { return state("job-of-gated", id).starts_with("running"); }));
    ::kill(stopped, SIGSTOP);
    let_go();
    ASSERT_TRUE(becomes([&] { return done() == before + 1 && SystemClock{}.now() - since > 6s; }));
    ::kill(stopped, SIGCONT);
    EXPECT_EQ(end("gated", id), "succeeded all");
    EXPECT_THAT(ids_in("ids"), SizeIs(before + 1)) << "one attempt";
  }
}

TEST_F(WorkerDeathsOnLinux, AnEndWhileTheServerIsAwayIsReportedLater) {
  start_server();
  start_worker(gated());
  const std::int64_t id = run("gated");
  ASSERT_TRUE(begun(1));
  kill_server();
  let_go();
  ASSERT_TRUE(becomes(
      [&] { return read(folder / "state" / "runs" / (std::to_string(id) + ".json")).find("\"ended\":true") != std::string::npos; }));
  const WallTime before = SystemClock{}.wall_now();
  ::usleep(3'000'000);  // The time that must not count.
  start_server();
  EXPECT_EQ(end("gated", id), "succeeded all");
  const boost::json::value row = call("job-runs", {{"name", "job-of-gated"}}).at("rows").at(0);
  const auto ended = calendar::parse_rfc3339(row.at("ended").as_string().c_str());
  ASSERT_TRUE(ended.has_value());
  EXPECT_LE(*ended, before + 2500ms) << "when the command ended, and not when the server heard of it";
  EXPECT_THAT(ids_in("ids"), SizeIs(1));
  EXPECT_TRUE(becomes([this] { return std::filesystem::is_empty(folder / "state" / "runs"); }));
}

/// The server answered first, the worker dropped its record, and the run began again with the same RONDO_RUN.
TEST_F(WorkerDeathsOnLinux, AnEndThatTheServerCouldNotStoreSurvivesTheDeathOfBoth) {
  start_server();
  start_worker(gated());
  const std::int64_t id = run("gated");
  ASSERT_TRUE(begun(1));
  std::ofstream(folder / "full") << "now";
  let_go();
  ASSERT_TRUE(
      becomes([this] { return read(folder / "worker.err").find("the server has not stored the end of a run") != std::string::npos; }));
  // It was "due", and a kill was answered by "has ended already".
  const boost::json::value row = call("job-runs", {{"name", "job-of-gated"}}).at("rows").at(0);
  EXPECT_EQ(row.at("state"), "running");
  EXPECT_TRUE(row.at("begun").is_string());
  EXPECT_THAT(std::string{row.at("activity").as_string()}, HasSubstr("has ended as succeeded: all"));
  EXPECT_THAT(client->call("job-kill", {{"run", id}}).error().to_string(),
              HasSubstr("has ended as succeeded: all; its end is being stored, and the last try failed: the disk is full"));
  EXPECT_EQ(log_of(id), "rondo: result all\n");
  kill_server();
  EXPECT_TRUE(std::filesystem::exists(folder / "state" / "runs" / (std::to_string(id) + ".json")));
  start_server();
  expect_placed(0);
  kill_worker(SIGKILL);
  kill_server();
  std::filesystem::remove(folder / "full");
  start_server();
  start_worker();
  EXPECT_EQ(end("gated", id), "succeeded all");
  EXPECT_EQ(done(), 1U);
  EXPECT_THAT(ids_in("ids"), SizeIs(1));
  EXPECT_TRUE(becomes([this] { return std::filesystem::is_empty(folder / "state" / "runs"); }));
}

/// The check of the disk succeeded, so the end was not written again, and the next worker reported the run as failed.
TEST_F(WorkerDeathsOnLinux, AnEndThatCouldNotBeWrittenIsWrittenAgainAndSurvivesTheDeathOfBoth) {
  start_server();
  // A folder in place of the draft of the record.
  start_worker(command("blocks", "mkdir " + path("state/runs/") + "$RONDO_RUN.json.new\necho done >> " + path("done") + "\n"));
  std::ofstream(folder / "full") << "now";
  const std::int64_t id = run("blocks", "", {{"retries", 1}, {"backoff_ms", 1}});
  const std::filesystem::path record = folder / "state" / "runs" / (std::to_string(id) + ".json");
  ASSERT_TRUE(becomes([this] { return read(folder / "worker.err").find("the end of a run is not on the disk") != std::string::npos; }));
  EXPECT_TRUE(becomes([this] { return call("workers").at("rows").at(0).as_object().contains("trouble"); })) << "it takes no run";
  EXPECT_THAT(read(record), HasSubstr("\"ended\":false"));
  std::filesystem::remove(record.string() + ".new");
  ASSERT_TRUE(becomes([&] { return read(record).find("\"ended\":true") != std::string::npos; }));
  EXPECT_TRUE(becomes([this] { return !call("workers").at("rows").at(0).as_object().contains("trouble"); }));
  kill_worker(SIGKILL);
  kill_server();
  std::filesystem::remove(folder / "full");
  start_server();
  start_worker();
  EXPECT_EQ(end("blocks", id), "succeeded");
  EXPECT_EQ(done(), 1U);
}

/// A run that was under way to a worker that ended waited for it for a minute, and then its attempt failed.
TEST_F(WorkerDeathsOnLinux, AWorkerThatEndsUnderLoadLeavesNoRunBehind) {
  start_server();
  start_worker(command("quick", "trap '' TERM\nsleep 0.01\necho $RONDO_RUN >> " + path("done") + "\n", "concurrency = 4"));
  // A command gets its SIGTERM perhaps before its trap.
  const boost::json::object more{{"overlap", "concurrent"}, {"concurrency", 64}, {"retries", 8}, {"backoff_ms", 1}};
  std::vector<std::int64_t> ids{run("quick", "", more)};
  for (int end = 0; end < 8; ++end) {
    ASSERT_TRUE(becomes([this] { return !call("workers").at("rows").as_array().empty(); })) << "it is connected";
    for (int i = 0; i < 10; ++i) ids.push_back(trigger("job-of-quick"));
    EXPECT_EQ(kill_worker(SIGTERM), 0);
    EXPECT_EQ(workers_runs(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder / "state" / "runs"));
    // A server that is slow still shows the old one, and the next SIGTERM would meet a worker that has not begun.
    ASSERT_TRUE(becomes([this] { return call("workers").at("rows").as_array().empty(); }));
    start_worker();
  }
  for (const std::int64_t id : ids) EXPECT_EQ(end("quick", id), "succeeded");
}

/// It counted as failed, and was carried out again.
TEST_F(WorkerDeathsOnLinux, ACommandThatSucceedsWhileItsWorkerEndsHasSucceeded) {
  start_server();
  start_worker(
      command("careful", "trap 'echo rondo: result saved; exit 0' TERM\necho $$ >> " + path("ids") + "\nwhile :; do sleep 0.01; done\n"));
  const std::int64_t id = run("careful");
  ASSERT_TRUE(begun(1));
  EXPECT_EQ(kill_worker(SIGTERM), 0);
  EXPECT_EQ(end("careful", id), "succeeded saved");
}

TEST_F(WorkerDeathsOnLinux, KillingTheServerOftenUnderLoadLosesNoRunAndRunsNoneTwiceAtATime) {
  start_server();
  start_worker(command("quick",
                       "mkdir " + path("lock-") + "$RONDO_RUN || echo $RONDO_RUN >> " + path("twice") + "\nsleep 0.02\nrmdir " +
                           path("lock-") + "$RONDO_RUN\necho $RONDO_RUN >> " + path("done") + "\n",
                       "concurrency = 4"));
  std::vector<std::int64_t> ids{run("quick", "", {{"overlap", "concurrent"}, {"concurrency", 64}})};
  for (int kill = 0; kill < 8; ++kill) {
    for (int i = 0; i < 10; ++i) ids.push_back(trigger("job-of-quick"));
    ::usleep(static_cast<useconds_t>(20'000 + 13'000 * kill));
    kill_server();
    start_server();
  }
  for (const std::int64_t id : ids) EXPECT_EQ(end("quick", id), "succeeded");
  EXPECT_EQ(read(folder / "twice"), "");
  std::set<pid_t> ran;
  for (const pid_t id : ids_in("done")) ran.insert(id);
  EXPECT_EQ(ran.size(), ids.size());
}

TEST_F(WorkerDeathsOnLinux, TheCommandsOfAKilledWorkerAreKilledAndTheirRunsRetried) {
  start_server();
  start_worker(command("parent", "echo $$ >> " + path("ids") + "\n(echo $BASHPID >> " + path("children") + "; exec sleep 1000) &\n" +
                                     "if [ $RONDO_ATTEMPT = 1 ]; then exit 0; fi\nsleep 1000\n"));
  const std::int64_t id = run("parent", "", {{"retries", 1}, {"backoff_ms", 10}});
  ASSERT_TRUE(begun(1) && becomes([this] { return ids_in("children").size() == 1; }));
  const pid_t program = ids_in("ids")[0];
  const pid_t child = ids_in("children")[0];
  EXPECT_EQ(kill_worker(SIGKILL), -SIGKILL);
  EXPECT_TRUE(becomes([&] { return !lives(program); })) << "the kernel kills the program with its worker";
  EXPECT_TRUE(lives(child)) << "what the program has started is for the next worker";
  start_worker();
  EXPECT_TRUE(becomes([&] { return !lives(child); }));
  EXPECT_THAT(end("parent", id), StartsWith("succeeded"));
  EXPECT_THAT(ids_in("ids"), SizeIs(2));
}

TEST_F(WorkerDeathsOnLinux, BothAreKilledAndTheRunEndsWithTheReason) {
  start_server();
  start_worker(gated());
  const std::int64_t id = run("gated");
  ASSERT_TRUE(begun(1));
  kill_worker(SIGKILL);
  kill_server();
  start_server();
  start_worker();
  EXPECT_THAT(end("gated", id), AllOf(StartsWith("failed"), HasSubstr("the worker died while the command ran")));
  EXPECT_EQ(done(), 0U);
}

TEST_F(WorkerDeathsOnLinux, AWorkerThatDoesNotComeBackFailsItsRuns) {
  options.away = std::chrono::seconds{1};
  start_server();
  start_worker(gated());
  const std::int64_t id = run("gated");
  ASSERT_TRUE(begun(1));
  kill_worker(SIGKILL);
  EXPECT_THAT(end("gated", id), AllOf(StartsWith("failed"), HasSubstr("the worker 'host1' has been away for 1 s")));
  start_worker();
  expect_placed(0);
  let_go();
  EXPECT_EQ(end("gated", run("gated")), "succeeded all");
}

TEST_F(WorkerDeathsOnLinux, ASecondWorkerOnTheSameStateIsRefused) {
  start_server();
  start_worker(gated());
  ASSERT_TRUE(becomes([this] { return !call("workers").at("rows").as_array().empty(); }));
  const pid_t first = std::exchange(worker, 0);
  start_worker();
  int status = 0;
  ::waitpid(std::exchange(worker, 0), &status, 0);
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_THAT(read(folder / "worker.err"), HasSubstr("another process has it open"));
  worker = first;
}

}  // namespace
}  // namespace rondo::jobs
