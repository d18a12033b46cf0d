// rondod, its worker and the command line together: what a user sees of each run, from the job that waits to the end of the run, also when
// a program is killed. A run ends once, with its own result.
#include <algorithm>
#include <set>

#include "rondo/calendar/rfc3339.h"
#include "rondod_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class JobsOnLinux : public RondodWithWorker {
 protected:
  /// A command that notes its run and attempt, shows progress, waits for the file "go", and has a result.
  std::string gated() const {
    return command("gated",
                   "echo $RONDO_RUN.$RONDO_ATTEMPT >> " + path("begun") + "\necho 'rondo: progress 40 disk 2'\nwhile [ ! -e " + path("go") +
                       " ]; do sleep 0.01; done\necho $RONDO_RUN.$RONDO_ATTEMPT >> " + path("done") + "\necho 'rondo: result all'\n",
                   "concurrency = 8");
  }
  /// When the newest run of a job began, in milliseconds.
  std::int64_t begun_of(const std::string& job) const {
    const auto begun = calendar::parse_rfc3339(runs_of(job).at(0).at("begun").as_string().c_str());
    return begun ? begun->nanoseconds() / 1'000'000 : 0;
  }
  void let_go() const { std::ofstream(folder / "go") << "now"; }
  std::vector<std::string> lines_of(const std::string& name) const {
    std::istringstream text(read(folder / name));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  bool begun(std::size_t runs) const {
    return becomes([&] { return lines_of("begun").size() >= runs; });
  }
  /// Adds a job that is only triggered, and runs it once.
  void run_once(const std::string& job, const std::string& settings) const {
    must("job add " + job + " --manual " + settings);
    must("job trigger " + job);
  }
  /// Expects that the only run of the job has ended in this state. Returns its note.
  std::string expect_end(const std::string& job, std::string_view state, std::int64_t attempts = 1) const {
    EXPECT_TRUE(becomes([&] { return !runs_of(job).at(0).at("ended").is_null(); }));
    const boost::json::array runs = runs_of(job);
    EXPECT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs[0].at("state").as_string(), state) << boost::json::serialize(runs);
    EXPECT_EQ(runs[0].at("attempt").as_int64(), attempts);
    EXPECT_FALSE(runs[0].at("ended").is_null());
    const boost::json::value* const note = runs[0].as_object().if_contains("note");
    return note == nullptr ? std::string{} : std::string{note->as_string()};
  }
};

/// Each was stored without a word, and each run failed.
TEST_F(JobsOnLinux, ParametersAreCheckedByTheWorkerWhenAJobIsAdded) {
  const std::string add = "job add backup --manual --handler command/backup --parameters ";
  options.check_wait = 1h;
  start_server();
  EXPECT_THAT(must(add + "'{\"pth\":1}' --dry-run"), HasSubstr("no worker offers command backup; its parameters were not checked"));
  start_worker(command("backup", "true\n", "arguments = [\"{path}\"]\n[command.backup.parameters.path]"));
  ASSERT_TRUE(is_worker_connected());
  const Ended wrong = rondo(add + "'{\"pth\":1}'");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.out, HasSubstr("job 'backup': worker 'host1' refuses the parameters: the command has no parameter 'pth'"));
  EXPECT_THAT(rondo(add + "'{\"path\":\"-x\"}' --dry-run").out, HasSubstr("begins with '-'"));
  EXPECT_THAT(rondo("job show backup").out, HasSubstr("no job 'backup'"));
  EXPECT_THAT(must(add + "'{\"path\":\"/srv\"}'"), Not(HasSubstr("warning")));
  EXPECT_THAT(rondo("job edit backup --parameters ''").out, HasSubstr("the job does not give the parameter 'path'"));
  std::ofstream(folder / "jobs.json") << R"([{"name":"good","handler":"none"},{"name":"bad","handler":"command/backup"}])";
  EXPECT_THAT(rondo("job import " + path("jobs.json")).out, HasSubstr("the job does not give the parameter 'path'"));
  EXPECT_THAT(rondo("job show bad").out, HasSubstr("no job 'bad'"));
  must("job trigger backup");
  EXPECT_TRUE(comes_to("backup", "succeeded"));
  // An edit of something else is possible while the worker is away.
  kill_worker(SIGKILL);
  ASSERT_TRUE(becomes([this] { return workers_connected() == 0; }));
  EXPECT_THAT(must("job edit backup --every 1h"), HasSubstr("its parameters were not checked"));
}

TEST_F(JobsOnLinux, AWorkerThatDoesNotAnswerACheckKeepsNoJobAway) {
  start_rondod();
  start_worker(command("backup", "true\n"));
  ASSERT_TRUE(is_worker_connected());
  const std::string add = "job add backup --manual --handler command/backup";
  // A check that the machine delays beyond its limit is made again.
  EXPECT_TRUE(
      becomes([&] { return rondo(add + " --parameters x --dry-run").out.find("the command has no parameters") != std::string::npos; }));
  ::kill(worker, SIGSTOP);
  EXPECT_THAT(must(add), HasSubstr("its parameters were not checked: worker 'host1' did not answer"));
  ::kill(worker, SIGCONT);
  must("job trigger backup");
  EXPECT_TRUE(comes_to("backup", "succeeded"));
}

TEST_F(JobsOnLinux, ARunWaitsForAFactOfAPortAndRondoWhyNamesIt) {
  start_rondod();
  EXPECT_THAT(rondo("job add wrong --handler none --manual --requires prot:eth1").out, HasSubstr("unknown kind of fact"));
  run_once("waits", "--handler none --requires port:eth1,carrier:eth1");
  ASSERT_TRUE(becomes([this] { return must("why JOB_RUN_8 'waits#1'").find("parked") != std::string::npos; }));
  EXPECT_THAT(must("why JOB_RUN_8 'waits#1'"), AllOf(HasSubstr("waits for port eth1, carrier eth1"), HasSubstr("PORT_TABLE eth1")));
  EXPECT_EQ(runs_of("waits")[0].at("state").as_string(), "due");
  must("set PORT_TABLE eth1 admin_status=up");
  EXPECT_EQ(expect_end("waits", "succeeded"), "");
}

TEST_F(JobsOnLinux, ARunWaitsForAWorkerAndRondoWhyNamesTheCommand) {
  start_rondod();
  run_once("waits", "--handler command/gated");
  ASSERT_TRUE(becomes([this] { return must("why JOB_RUN_8 'waits#1'").find("parked") != std::string::npos; }));
  EXPECT_THAT(must("why JOB_RUN_8 'waits#1'"), HasSubstr("no worker offers command gated"));
  let_go();
  start_worker(gated());
  EXPECT_EQ(expect_end("waits", "succeeded"), "all");
}

TEST_F(JobsOnLinux, ProgressOfARunIsShownWhileItIsUnderWay) {
  start_rondod();
  start_worker(gated());
  run_once("work", "--handler command/gated");
  ASSERT_TRUE(becomes([this] { return must("job runs work").find("running, 40 %: disk 2") != std::string::npos; }));
  const boost::json::object progress = runs_of("work")[0].at("progress").as_object();
  EXPECT_EQ(progress.at("percent").as_int64(), 40);
  EXPECT_EQ(progress.at("text").as_string(), "disk 2");
  EXPECT_THAT(must("job show work"), HasSubstr("disk 2"));
  EXPECT_EQ(must("job edit work"), "nothing changes\n") << "what is under way is no part of the definition";
  let_go();
  EXPECT_EQ(expect_end("work", "succeeded"), "all");
  EXPECT_FALSE(runs_of("work")[0].as_object().contains("progress"));
  EXPECT_FALSE(boost::json::parse(must("--json job show work")).as_object().contains("under_way"));
}

TEST_F(JobsOnLinux, EachWayOfAnEndIsTheResultOfTheRun) {
  start_rondod();
  start_worker(gated() + command("bad", "echo the disk is full\nexit 3\n") + command("slow", "exec sleep 1000\n", "grace_s = 1"));
  run_once("fails", "--handler command/bad --retries 1 --backoff 10ms");
  run_once("late", "--handler command/slow --attempt-timeout 100ms");
  run_once("killed", "--handler command/slow");
  EXPECT_THAT(expect_end("fails", "failed", 2), HasSubstr("exit code 3: the disk is full"));
  EXPECT_THAT(expect_end("late", "timed-out"), HasSubstr("100 ms"));
  ASSERT_TRUE(becomes([this] { return runs_of("killed")[0].as_object().contains("progress"); }));
  must("job kill " + boost::json::serialize(runs_of("killed")[0].at("run")));
  EXPECT_THAT(expect_end("killed", "killed"), HasSubstr("killed by a user"));
}

TEST_F(JobsOnLinux, ARunWhoseWorkerWasKilledEndsOnceAfterItsRetry) {
  start_rondod();
  start_worker(gated());
  run_once("work", "--handler command/gated --retries 1 --backoff 10ms");
  run_once("once", "--handler command/gated");
  ASSERT_TRUE(begun(2));
  kill_worker(SIGKILL);
  start_worker();
  ASSERT_TRUE(begun(3));
  let_go();
  EXPECT_EQ(expect_end("work", "succeeded", 2), "all");
  EXPECT_THAT(expect_end("once", "failed"), HasSubstr("the worker died while the command ran"));
  EXPECT_THAT(lines_of("done"), SizeIs(1));
}

TEST_F(JobsOnLinux, ARunGoesOnWhileRondodIsKilledAndEndsOnce) {
  start_rondod();
  start_worker(gated());
  run_once("work", "--handler command/gated --retries 3");
  run_once("other", "--handler command/gated");
  ASSERT_TRUE(begun(2));
  // What the worker has written down.
  const boost::json::value record = boost::json::parse(read(folder / "state/runs/1.json"));
  const auto began = record.at("begun_ms").to_number<std::int64_t>();
  kill_server();
  start_rondod();
  ASSERT_TRUE(becomes([this] { return must("job runs work").find("running, ") != std::string::npos; }));
  EXPECT_THAT(must("job runs work"), HasSubstr("worker host1"));
  EXPECT_EQ(begun_of("work"), began);
  let_go();
  EXPECT_EQ(expect_end("work", "succeeded"), "all");
  EXPECT_EQ(expect_end("other", "succeeded"), "all");
  EXPECT_EQ(begun_of("work"), began) << "the begin is that of the command, not of the link";
  EXPECT_THAT(lines_of("begun"), SizeIs(2)) << "no command was started twice";
  EXPECT_THAT(lines_of("done"), SizeIs(2));
}

TEST_F(JobsOnLinux, KillsOfBothInTheMiddleOfManyRunsLoseNone) {
  start_rondod();
  start_worker(command("quick", "echo $RONDO_RUN >> " + path("done") + "\nsleep 0.01\n", "concurrency = 4"));
  must("job add many --manual --handler command/quick --retries 8 --backoff 10ms --overlap concurrent --concurrency 16");
  constexpr std::size_t kRuns = 24;
  for (std::size_t i = 0; i < kRuns; ++i) {
    trigger("many");
    if (i % 6 == 4) {
      kill_server();
      start_rondod();
    }
    if (i % 6 == 1) {
      kill_worker(SIGKILL);
      start_worker();
    }
  }
  EXPECT_TRUE(becomes([this] { return succeeded("many") == kRuns; })) << must("job runs many");
  std::set<std::string> ran;
  for (const std::string& run : lines_of("done")) ran.insert(run);
  EXPECT_THAT(runs_of("many"), SizeIs(kRuns));
  EXPECT_THAT(ran, SizeIs(kRuns)) << "each run was carried out";
}

}  // namespace
}  // namespace rondo::jobs
