// The operation of `rondo worker`: its file is read again at SIGHUP, `rondo workers` shows it, and a command runs as another user.
#include <pwd.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "rondod_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class WorkerOperationOnLinux : public RondodWithWorker {
 protected:
  boost::json::array workers() const { return boost::json::parse(must("--json workers")).at("rows").as_array(); }
  bool offers(const std::string& name) const {
    const boost::json::array rows = workers();
    return !rows.empty() && rows[0].at("commands").as_object().contains(name);
  }
  bool worker_says(const std::string& text) const {
    return becomes([&] { return read(folder / "worker.err").find(text) != std::string::npos; });
  }
  /// Changes the file of the worker, which is not told.
  void write_config(const std::string& commands, const std::string& settings = "places = 8\n") const {
    std::ofstream(folder / "worker.toml") << "[worker]\nname = \"host1\"\nstate = \"" << (folder / "state").string() << "\"\n"
                                          << settings << commands;
  }
  void hang_up() const { ::kill(worker, SIGHUP); }
  std::string slow() const { return command("slow", "while [ ! -e " + path("go") + " ]; do sleep 0.01; done\n", "concurrency = 2"); }
};

TEST_F(WorkerOperationOnLinux, ACheckOfTheFileFindsWhatTheStartRefusesAndChangesNothing) {
  const auto call = [this](const std::string& more) {
    const std::string words = "--config " + path("worker.toml") + more + " > " + path("out") + " 2> " + path("err");
    return WEXITSTATUS(std::system(("timeout 60 " + std::string{std::getenv("RONDO")} + " worker " + words).c_str()));
  };
  const auto check = [&call] { return call(" --check-config"); };
  write_config(command("good", "true\n"));
  EXPECT_EQ(check(), 0) << read(folder / "err");
  EXPECT_FALSE(std::filesystem::exists(folder / "state"));
  EXPECT_THAT(read(folder / "err"), testing::IsEmpty());
  write_config(
      "[command.later]\nprogram = \"/no/such\"\n[command.place]\nprogram = \"/bin/true\"\ndirectory = \"/bin/true\"\n"
      "[command.folder]\nprogram = \"/bin\"\n[command.text]\nprogram = \"" +
      path("worker.toml") + "\"\n");
  EXPECT_EQ(check(), 0) << "they may come later";
  EXPECT_THAT(read(folder / "err"), AllOf(HasSubstr("[command.later] program: /no/such: No such file"),
                                          HasSubstr("[command.place] directory: /bin/true: is no folder"),
                                          HasSubstr("[command.folder] program: /bin: is no program"),
                                          HasSubstr("[command.text] program: " + path("worker.toml") + ": Permission denied")));
  write_config(command("good", "true\n", "user = \"no-such-user\""));
  EXPECT_EQ(check(), 78);
  EXPECT_THAT(read(folder / "err"),
              AllOf(HasSubstr(path("worker.toml") + ": [command.good] user"), HasSubstr("there is no user 'no-such-user'")));
  EXPECT_EQ(call(""), 78) << "as the check";
  write_config(command("good", "true\n"));
  std::ofstream(folder / "state") << "a file";
  EXPECT_EQ(check(), 78);
  EXPECT_THAT(read(folder / "err"), AllOf(HasSubstr(path("worker.toml") + ": [worker] state"), HasSubstr("is no folder")));
  EXPECT_EQ(call(""), 78) << "as the check";
}

TEST_F(WorkerOperationOnLinux, RondoWorkersShowsWhoIsConnectedAndWhatItRuns) {
  start_rondod();
  EXPECT_TRUE(workers().empty());
  start_worker(slow() + command("other", "true\n"));
  ASSERT_TRUE(becomes([this] { return offers("slow"); }));
  must("job add work --manual --handler command/slow");
  must("job trigger work");
  ASSERT_TRUE(becomes([this] { return workers()[0].at("runs").to_number<int>() == 1; }));
  const boost::json::object row = workers()[0].as_object();
  EXPECT_EQ(row.at("worker").as_string(), "host1");
  EXPECT_TRUE(row.at("connected").as_bool());
  EXPECT_THAT(std::string{row.at("since").as_string()}, StartsWith("20"));
  EXPECT_EQ(row.at("places").as_int64(), 8);
  EXPECT_EQ(row.at("free").as_int64(), 7);
  EXPECT_EQ(row.at("running").at(0).at("job").as_string(), "work");
  EXPECT_THAT(must("workers"), AllOf(HasSubstr("host1"), HasSubstr("other:1 slow:2")));
  kill_worker(SIGKILL);
  ASSERT_TRUE(becomes([this] { return !workers()[0].at("connected").as_bool(); })) << "its run is still there";
  EXPECT_TRUE(workers()[0].at("since").is_null());
  const std::string log = read(folder / "rondod.err");
  EXPECT_THAT(log, HasSubstr("write command=worker-orders"));
  EXPECT_THAT(log, Not(HasSubstr("worker-report"))) << "it would fill the log";
}

TEST_F(WorkerOperationOnLinux, AStateThatCannotBeWrittenIsVisibleAtTheDaemonUntilItCan) {
  start_rondod();
  start_worker(command("good", "true\n"));
  ASSERT_TRUE(becomes([this] { return offers("good"); }));
  must("job add work --manual --handler command/good");
  // As on a full disk: no file can be made.
  std::filesystem::rename(folder / "state" / "runs", folder / "state" / "gone");
  must("job trigger work");
  ASSERT_TRUE(becomes([this] { return workers()[0].as_object().contains("trouble"); }));
  EXPECT_THAT(must("workers"), HasSubstr("cannot write '"));
  EXPECT_TRUE(becomes([this] { return rondo("--json health").out.find("worker 'host1': cannot write '") != std::string::npos; }));
  EXPECT_TRUE(worker_says("the state cannot be written; no run is taken until it can"));
  const std::string waits = "waits for room at the handler command/good";
  EXPECT_TRUE(becomes([&] { return must("why JOB_RUN_8 'work#1'").find(waits) != std::string::npos; }));
  std::filesystem::rename(folder / "state" / "gone", folder / "state" / "runs");
  EXPECT_TRUE(comes_to("work", "succeeded")) << "it begins by itself";
  EXPECT_EQ(runs_of("work")[0].at("attempt").as_int64(), 1);
  ASSERT_TRUE(becomes([this] { return !workers()[0].as_object().contains("trouble"); }));
  EXPECT_TRUE(becomes([this] {
    const Ended health = rondo("--json health");
    return health.code == 0 && health.out.find("host1") == std::string::npos;
  })) << rondo("--json health").out;
  EXPECT_TRUE(worker_says("the state can be written again"));
}

TEST_F(WorkerOperationOnLinux, AWorkerOnAFullDiskTakesNoRunUntilThereIsRoom) {
  std::filesystem::create_directory(folder / "state");
  if (::mount("none", path("state").c_str(), "tmpfs", 0, "size=1m,mode=0700") != 0) GTEST_SKIP() << "only root can mount a small disk";
  struct Mount {  // It ends also with a test that fails.
    std::string at;
    ~Mount() { ::umount2(at.c_str(), MNT_DETACH); }
  } const mount{path("state")};
  start_rondod();
  start_worker(command("good", "echo some output\n"));
  ASSERT_TRUE(becomes([this] { return offers("good"); }));
  must("job add work --manual --handler command/good");
  {
    std::ofstream filler(folder / "state" / "filler");
    while (filler) filler << std::string(512, 'x') << std::flush;
  }
  must("job trigger work");
  ASSERT_TRUE(becomes([this] { return workers()[0].as_object().contains("trouble"); }));
  EXPECT_THAT(must("workers"), HasSubstr("No space left on device"));
  EXPECT_TRUE(comes_to("work", "due"));
  std::filesystem::remove(folder / "state" / "filler");
  EXPECT_TRUE(comes_to("work", "succeeded"));
  EXPECT_EQ(runs_of("work")[0].at("attempt").as_int64(), 1);
  kill_worker(SIGKILL);
}

TEST_F(WorkerOperationOnLinux, RunsThatWaitForAWorkerAreANoteOfTheHealthUntilItComes) {
  start_rondod();
  must("job add work --manual --handler command/good --concurrency 2 --overlap concurrent");
  EXPECT_THAT(must("--json health"), Not(HasSubstr("command good")));
  must("job trigger work");
  must("job trigger work");
  const std::string note = "no worker offers command good: 2 runs wait since 20";
  ASSERT_TRUE(becomes([&] { return must("health").find(note) != std::string::npos; })) << must("health");
  EXPECT_THAT(must("--json job show work"), HasSubstr(note));
  start_worker(command("good", "true\n"));
  ASSERT_TRUE(comes_to("work", "succeeded"));
  ASSERT_TRUE(becomes([&] { return must("--json health").find("command good") == std::string::npos; }));
  EXPECT_THAT(must("--json job show work"), Not(HasSubstr("warning")));
}

TEST_F(WorkerOperationOnLinux, TheLogOfAnEditHasTheSizeOfTheDefinitionAndNoParameter) {
  start_rondod();
  must("job add work --manual --handler none --parameters hunter2 2> /dev/null");
  must("job edit work --parameters hunter22 2> /dev/null");
  must("job remove work --yes");
  const std::string log = read(folder / "rondod.err");
  EXPECT_THAT(log, Not(HasSubstr("hunter2")));
  std::size_t puts = 0;
  for (std::size_t at = log.find("command=job-put"); at != std::string::npos; at = log.find("command=job-put", at + 1)) ++puts;
  EXPECT_EQ(puts, 2U) << log;
  EXPECT_THAT(log, HasSubstr("write command=job-put what=\"work ("));
  EXPECT_THAT(log, AllOf(HasSubstr(" bytes)\" before="), HasSubstr("parameters=\\\"(8 bytes)\\\"")));
}

/// The one ended with 75, "try again", and the other one with 0.
TEST_F(WorkerOperationOnLinux, ADoctorOfAFileThatIsNoDatabaseOfJobsEndsAsWithABadFile) {
  std::ofstream(folder / "text") << std::string(10'000, 'x');
  EXPECT_EQ(rondo("job doctor " + path("text")).code, 1) << "it may be a damaged one";
  const Ended null = rondo("job doctor /dev/null");
  EXPECT_EQ(null.code, 78);
  EXPECT_THAT(null.out, HasSubstr("'/dev/null' is no regular file"));
  ASSERT_TRUE(make_sqlite_job_store(path("jobs.db")).has_value());
  EXPECT_EQ(rondo("job doctor " + path("jobs.db")).code, 0);
  std::fstream file(path("jobs.db"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(68);  // Offset of the application's id.
  file << "them";
  file.close();
  const Ended other = rondo("job doctor " + path("jobs.db"));
  EXPECT_EQ(other.code, 78);
  EXPECT_THAT(other.out, HasSubstr("is a database of another program"));
}

TEST_F(WorkerOperationOnLinux, ASecondWorkerWithTheSameNameLogsThatReason) {
  start_rondod();
  start_worker(command("good", "true\n"));
  ASSERT_TRUE(becomes([this] { return offers("good"); }));
  const pid_t first = std::exchange(worker, 0);
  std::ofstream(folder / "worker.toml") << "[worker]\nname = \"host1\"\nstate = \"" << (folder / "second").string() << "\"\n"
                                        << command("good", "true\n");
  start_worker();
  EXPECT_TRUE(worker_says("the server has another worker with this name; commands go on"));
  EXPECT_TRUE(worker_says("a worker with the name 'host1' is connected"));
  EXPECT_THAT(read(folder / "worker.err"), Not(HasSubstr("no server")));
  kill_worker(SIGKILL);
  worker = first;
}

TEST_F(WorkerOperationOnLinux, AFileThatIsNoRecordDoesNotStopAStartAndIsLogged) {
  std::filesystem::create_directories(folder / "state" / "runs");
  ASSERT_EQ(::mkfifo(path("state/runs/7.json").c_str(), 0600), 0);
  start_rondod();
  start_worker(command("good", "true\n"));
  ASSERT_TRUE(becomes([this] { return offers("good"); }));
  EXPECT_TRUE(worker_says("a file among the records of runs is left out"));
  EXPECT_THAT(read(folder / "worker.err"), HasSubstr("renamed=" + path("state/runs/7.json.damaged")));
}

TEST_F(WorkerOperationOnLinux, SighupReadsTheCommandsAgainWhileRunsGoOn) {
  start_rondod();
  start_worker(slow());
  must("job add old --manual --handler command/slow");
  must("job trigger old");
  ASSERT_TRUE(becomes([this] { return !workers().empty() && workers()[0].at("runs").to_number<int>() == 1; }));
  must("job add new --manual --handler command/fresh");
  must("job trigger new");
  const std::string since{workers()[0].at("since").as_string()};
  write_config(command("fresh", "echo 'rondo: result new'\n"), "places = 3\nlogs = 7\n");
  hang_up();
  ASSERT_TRUE(comes_to("new", "succeeded"));
  EXPECT_FALSE(offers("slow"));
  EXPECT_EQ(workers()[0].at("places").as_int64(), 3);
  EXPECT_EQ(workers()[0].at("since").as_string(), since) << "the connection stays";
  EXPECT_TRUE(worker_says("a changed setting needs a restart key=worker.logs"));
  EXPECT_EQ(runs_of("old")[0].at("state").as_string(), "running");
  std::ofstream(folder / "go") << "now";
  EXPECT_TRUE(comes_to("old", "succeeded"));
  must("job trigger old");
  ASSERT_TRUE(becomes([this] { return must("why JOB_RUN_8 'old#3'").find("no worker offers command slow") != std::string::npos; }));
}

TEST_F(WorkerOperationOnLinux, ABadFileAtSighupKeepsTheOldCommands) {
  start_rondod();
  start_worker(command("good", "true\n"));
  ASSERT_TRUE(becomes([this] { return offers("good"); }));
  write_config("[command.good]\nprogram = \"/bin/true\"\nconcurency = 2\n");
  hang_up();
  EXPECT_TRUE(worker_says("cannot read the configuration, keeping the current one"));
  EXPECT_THAT(read(folder / "worker.err"), HasSubstr("did you mean 'concurrency'"));
  write_config("[command.good]\nprogram = \"/bin/true\"\nuser = \"no-such-user\"\n");
  hang_up();
  EXPECT_TRUE(worker_says(path("worker.toml") + ": [command.good] user: "));
  EXPECT_TRUE(worker_says("there is no user 'no-such-user'"));
  must("job add work --manual --handler command/good");
  must("job trigger work");
  EXPECT_TRUE(comes_to("work", "succeeded"));
}

TEST_F(WorkerOperationOnLinux, ACommandRunsAsItsUserWithoutTheRightsOfTheWorker) {
  const passwd* const nobody = ::getpwnam("nobody");
  if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "only root can run commands as the user nobody";
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all | std::filesystem::perms::others_exec);
  std::ofstream(folder / "secret") << "of root";
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::owner_read);
  start_rondod();
  start_worker(command("who",
                       "echo \"uid=$(id -u) gid=$(id -g) groups=$(id -G)\"\ncat " + path("secret") + " && exit 9\n" +
                           "grep NoNewPrivs /proc/self/status\nkill -0 $PPID && exit 8\necho 'rondo: result alone'\n",
                       "user = \"nobody\""));
  std::filesystem::permissions(folder / "who", std::filesystem::perms::others_read | std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  must("job add who --manual --handler command/who");
  must("job trigger who");
  ASSERT_TRUE(becomes([this] { return !runs_of("who")[0].at("ended").is_null(); }));
  const std::string log = must("job log 1");
  EXPECT_EQ(runs_of("who")[0].at("state").as_string(), "succeeded") << log << boost::json::serialize(runs_of("who"));
  const std::string ids = "uid=" + std::to_string(nobody->pw_uid) + " gid=" + std::to_string(nobody->pw_gid);
  EXPECT_THAT(log, AllOf(HasSubstr(ids + " groups=" + std::to_string(nobody->pw_gid) + "\n"), HasSubstr("Permission denied"),
                         HasSubstr("NoNewPrivs:\t1"), Not(HasSubstr("of root"))));
}

}  // namespace
}  // namespace rondo::jobs
