// `rondo worker` with real commands: those that fork, ignore SIGTERM, print gigabytes, never end, are not found or not allowed.
#include <algorithm>

#include "worker_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(WorkerOnLinux, ACommandRunsWithItsArgumentsAndItsOutputIsTheLogOfTheRun) {
  start_server();
  start_worker("[command.echo]\nprogram = \"/bin/echo\"\narguments = [\"hello\", \"{run}\"]\n");
  const std::int64_t id = run("echo");
  EXPECT_EQ(end("echo", id), "succeeded");
  EXPECT_EQ(log_of(id), "hello " + std::to_string(id) + "\n");
}

TEST_F(WorkerOnLinux, ParametersReachTheProgramByteForByte) {
  start_server();
  start_worker(
      "[command.say]\nprogram = \"/usr/bin/printf\"\narguments = [\"%s|\", \"{text}\", \"x{text}\"]\n[command.say.parameters.text]\n");
  const std::string text = "a 'b' \"c\"\n$(touch x) `y` \\ ; & | \x01 \u00e9";
  const std::int64_t id = run("say", boost::json::serialize(boost::json::object{{"text", text}}));
  EXPECT_EQ(end("say", id), "succeeded");
  EXPECT_EQ(log_of(id), text + "|x" + text + "|");
}

TEST_F(WorkerOnLinux, ExitCodeProgressResultAndEnvironmentAreReported) {
  start_server();
  start_worker(command("work",
                       "env | sort\npwd\necho 'rondo: progress 40 disk 2'\nwhile [ ! -e " + path("go") +
                           " ]; do sleep 0.01; done\necho 'rondo: result 12 files'\n",
                       "directory = \"/tmp\"\nenvironment = { A = \"1\" }") +
               command("bad", "echo the disk is full >&2\nexit 3\n"));
  const std::int64_t id = run("work");
  expect_placed();
  ASSERT_TRUE(becomes([&] {
    const auto answer = call("job-log", {{"run", id}});
    return unescape_text(std::string{answer.at("data").as_string()}).find("disk 2") != std::string::npos;
  }));
  std::ofstream(folder / "go") << "now";
  EXPECT_EQ(end("work", id), "succeeded 12 files");
  EXPECT_THAT(log_of(id), AllOf(StartsWith("A=1\n"), HasSubstr("RONDO_RUN=" + std::to_string(id)), HasSubstr("\n/tmp\n"),
                                testing::Not(HasSubstr("RONDO=")), testing::Not(HasSubstr("HOME="))));
  EXPECT_EQ(end("bad", run("bad")), "failed exit code 3: the disk is full");
}

TEST_F(WorkerOnLinux, WhatIsNotAllowedNotFoundOrNotExecutableFailsWithItsReason) {
  start_server();
  const std::int64_t surplus = run("gone", "surplus");  // Stored unchecked: its worker is not connected.
  start_worker(
      "[command.gone]\nprogram = \"/nowhere/program\"\n[command.text]\nprogram = \"/etc/passwd\"\n"
      "[command.lost]\nprogram = \"/bin/true\"\ndirectory = \"/nowhere\"\n");
  EXPECT_THAT(end("gone", surplus), HasSubstr("has no parameters"));
  EXPECT_THAT(end("gone", run("gone")), AllOf(StartsWith("failed"), HasSubstr("cannot execute the program"), HasSubstr("No such file")));
  EXPECT_THAT(end("text", run("text")),
              AllOf(StartsWith("failed"), HasSubstr("cannot execute the program"), HasSubstr("ermission denied")));
  EXPECT_THAT(end("lost", run("lost")), HasSubstr("cannot enter the directory"));
  // A command that no worker offers waits, and a shell is not one.
  const std::int64_t id = run("sh", "rm -rf /");
  EXPECT_THAT(end("lost", run("lost")), HasSubstr("cannot enter the directory")) << "a later run has ended meanwhile";
  EXPECT_EQ(state("job-of-sh", id), "due");
}

TEST_F(WorkerOnLinux, ATimeoutEndsTheWholeGroupAlsoIfItIgnoresSigterm) {
  start_server();
  start_worker(command("stubborn",
                       "trap '' TERM\necho $$ >> " + path("ids") + "\n(trap '' TERM; echo $BASHPID >> " + path("ids") +
                           "; while :; do sleep 1; done) &\nwhile :; do sleep 1; done\n",
                       "grace_s = 1"));
  // Both shells set their traps in this time, also if a busy machine stops them meanwhile.
  EXPECT_THAT(end("stubborn", run("stubborn", "", {{"timeout_ms", 5000}})), AllOf(StartsWith("timed-out"), HasSubstr("signal 9")));
  const std::vector<pid_t> ids = ids_in("ids");
  ASSERT_THAT(ids, SizeIs(2));
  for (const pid_t id : ids) EXPECT_TRUE(becomes([id] { return !lives(id); })) << id;
}

TEST_F(WorkerOnLinux, TheCommandsOwnTimeoutCountsAndAKillEndsARun) {
  start_server();
  start_worker(command("slow", "sleep 1000\n", "timeout_s = 1") + command("endless", "echo $$ >> " + path("ids") + "\nexec sleep 1000\n"));
  EXPECT_THAT(end("slow", run("slow")), AllOf(StartsWith("timed-out"), HasSubstr("the timeout of 1000 ms")));
  const std::int64_t id = run("endless");
  ASSERT_TRUE(becomes([&] { return !ids_in("ids").empty(); }));
  call("job-kill", {{"run", id}});
  EXPECT_THAT(end("endless", id), AllOf(StartsWith("killed"), HasSubstr("signal 15")));
}

TEST_F(WorkerOnLinux, WhatACommandLeavesInItsGroupIsKilledAtItsEnd) {
  start_server();
  start_worker(command("forks", "for i in 1 2 3 4 5; do (echo $BASHPID >> " + path("ids") +
                                    "; exec sleep 1000) & done\nwhile [ $(wc -l < " + path("ids") + ") -lt 5 ]; do sleep 0.01; done\n"));
  EXPECT_EQ(end("forks", run("forks")), "succeeded processes that the command left in the background were killed at its end");
  const std::vector<pid_t> ids = ids_in("ids");
  ASSERT_THAT(ids, SizeIs(5));
  for (const pid_t id : ids) EXPECT_TRUE(becomes([id] { return !lives(id); })) << id;
}

TEST_F(WorkerOnLinux, ACommandWhoseBackgroundHasEndedOrLeftTheGroupLeavesNothing) {
  start_server();
  // The first process of the group has become `sleep`, which never reaps the one in the background.
  start_worker(command("ended", "(echo $BASHPID > " + path("id") + ") &\nexec sh -c 'while [ ! -s " + path("id") +
                                    " ] || grep -q \"^State:.[^Z]\" /proc/$(cat " + path("id") +
                                    ")/status; do sleep 0.01; done; echo \"rondo: result 12 files\"'\n") +
               command("left", "setsid sh -c 'echo $$ > " + path("left.id") + "; exec sleep 1000' &\nwhile [ ! -s " + path("left.id") +
                                   " ]; do sleep 0.01; done\n"));
  EXPECT_EQ(end("ended", run("ended")), "succeeded 12 files");
  EXPECT_EQ(end("left", run("left")), "succeeded");
  for (const pid_t id : children_of(worker)) ::kill(id, SIGKILL);
}

TEST_F(WorkerOnLinux, AsProcessOneItReapsWhatCommandsLeaveAndNoEndOfItsOwnIsLost) {
  if (::geteuid() != 0 || std::system("unshare --pid --fork --mount-proc true") != 0) GTEST_SKIP() << "no process namespace is permitted";
  is_process_one = true;
  start_server();
  start_worker(command("leaves",
                       "left=" + path("left.id") +
                           ".$$\n: > $left\nfor i in 1 2 3; do setsid sh -c \"echo >> $left; exec sleep 0.1\" & done\n" +
                           "while [ $(wc -l < $left) -lt 3 ]; do sleep 0.01; done\nexit 3\n",
                       "concurrency = 8"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(end("leaves", run("leaves")), "failed exit code 3");
  const std::vector<pid_t> one = children_of(worker);
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_TRUE(becomes([&] { return children_of(one[0]).empty(); })) << children_of(one[0], 'Z').size() << " zombies";
}

TEST_F(WorkerOnLinux, TheUserOfACommandImpliesWhatCronSetsAndWhereItBegins) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can run commands as another user";
  const std::string shell = "program = \"/bin/sh\"\narguments = [\"-c\", \"env; pwd\"]\n";
  start_server();
  start_worker("[command.root]\n" + shell + "user = \"root\"\n[command.homeless]\n" + shell + "user = \"nobody\"\n[command.own]\n" + shell +
               "user = \"root\"\nenvironment = { HOME = \"/usr\", SHELL = \"/bin/bash\" }\n[command.there]\n" + shell +
               "user = \"root\"\ndirectory = \"/tmp\"\n[command.nobody]\n" + shell);
  const auto output = [this](const std::string& command) {
    const std::int64_t id = run(command);
    EXPECT_EQ(end(command, id), "succeeded");
    return "\n" + log_of(id);
  };
  EXPECT_THAT(output("root"), AllOf(HasSubstr("\nHOME=/root\n"), HasSubstr("\nLOGNAME=root\n"), HasSubstr("\nUSER=root\n"),
                                    HasSubstr("\nSHELL=/bin/sh\n"), testing::EndsWith("\n/root\n")));
  EXPECT_THAT(output("homeless"), AllOf(HasSubstr("\nHOME=/nonexistent\n"), HasSubstr("\nUSER=nobody\n"), testing::EndsWith("\n/\n")));
  EXPECT_THAT(output("own"), AllOf(HasSubstr("\nHOME=/usr\n"), HasSubstr("\nSHELL=/bin/bash\n"), testing::EndsWith("\n/usr\n")));
  EXPECT_THAT(output("there"), AllOf(HasSubstr("\nHOME=/root\n"), testing::EndsWith("\n/tmp\n")));
  EXPECT_THAT(output("nobody"), AllOf(testing::Not(HasSubstr("\nUSER=")), testing::EndsWith("\n/\n"))) << "a command without a user";
}

TEST_F(WorkerOnLinux, ACommandThatPrintsGigabytesLeavesABoundedLog) {
  start_server();
  start_worker(command("prints", "head -c 1000000000 /dev/zero\necho\necho the end\n", "log_bytes = 100000") +
               command("quick", "echo quick\n"));
  const std::int64_t id = run("prints");
  EXPECT_EQ(end("quick", run("quick")), "succeeded");  // Beside it.
  EXPECT_EQ(end("prints", id), "succeeded");
  const std::string log = log_of(id);
  EXPECT_LE(log.size(), 100'000U);
  EXPECT_TRUE(log.ends_with("\nthe end\n"));
}

TEST_F(WorkerOnLinux, ALogIsFollowedWhileItsCommandRuns) {
  start_server();
  start_worker(command("slow", "echo one\nwhile [ ! -e " + path("go") + " ]; do sleep 0.01; done\necho two\n"));
  const std::int64_t id = run("slow");
  std::string log;
  std::int64_t from = 0;
  for (bool ended = false; !ended && !HasFailure();) {
    const auto piece = call("job-log", {{"run", id}, {"from", from}, {"wait", true}});
    log += unescape_text(std::string{piece.at("data").as_string()});
    from = piece.at("next").to_number<std::int64_t>();
    ended = piece.at("ended").as_bool();
    if (log == "one\n") std::ofstream(folder / "go") << "now";
  }
  EXPECT_EQ(log, "one\ntwo\n");
}

TEST_F(WorkerOnLinux, AsManyRunsAsPlacesAndNeverMore) {
  start_server();
  // The first three wait for each other, so that all places are taken, however slow the machine is.
  const std::string three = "while [ \"$(grep -c + " + path("count") + ")\" -lt 3 ]; do sleep 0.01; done\n";
  start_worker(
      command("job", "echo + >> " + path("count") + "\n" + three + "sleep 0.05\necho - >> " + path("count") + "\n", "concurrency = 3"));
  boost::json::object more{{"overlap", "concurrent"}, {"concurrency", 64}};
  std::vector<std::int64_t> ids{run("job", "", more)};
  for (int i = 0; i < 29; ++i) ids.push_back(trigger("job-of-job"));
  for (const std::int64_t id : ids) EXPECT_EQ(end("job", id), "succeeded");
  int now = 0;
  int most = 0;
  for (const char c : read(folder / "count")) {
    now += c == '+' ? 1 : c == '-' ? -1 : 0;
    most = std::max(most, now);
  }
  EXPECT_EQ(now, 0);
  EXPECT_EQ(most, 3);
}

TEST_F(WorkerOnLinux, AWorkerThatIsStoppedEndsItsCommandsAndReportsThat) {
  start_server();
  start_worker(command("endless", "echo $$ >> " + path("ids") + "\nexec sleep 1000\n"));
  const std::int64_t id = run("endless");
  ASSERT_TRUE(becomes([&] { return !ids_in("ids").empty(); }));
  EXPECT_EQ(kill_worker(SIGTERM), 0);
  EXPECT_THAT(end("endless", id), AllOf(StartsWith("failed"), HasSubstr("the worker was stopped")));
  EXPECT_FALSE(lives(ids_in("ids")[0]));
}

}  // namespace
}  // namespace rondo::jobs
