// `rondo job log` and `rondo job runs` with real programs: a reader waits for the begin of its run, follows it over its attempts, and a run
// whose worker was killed says so.
#include <poll.h>

#include <algorithm>

#include "rondod_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JobLogOnLinux : public RondodWithWorker {
 protected:
  std::int64_t run_of(const std::string& job) const {
    return boost::json::parse(must("--json job trigger " + job)).at("run").to_number<std::int64_t>();
  }
  /// Fails until its last attempt.
  std::string flaky(int attempts) const {
    return command("flaky", "echo output $RONDO_ATTEMPT\n[ $RONDO_ATTEMPT = " + std::to_string(attempts - 1) + " ]\n");
  }
  static std::string expected(int attempts) {
    std::string log = "output 0\n";
    for (int attempt = 1; attempt < attempts; ++attempt)
      log += "--- attempt " + std::to_string(attempt + 1) + ", worker host1 ---\noutput " + std::to_string(attempt) + "\n";
    return log;
  }
};

TEST_F(JobLogOnLinux, AReaderWaitsForTheBeginAndFollowsTheRunOverItsAttempts) {
  constexpr int kAttempts = 6;
  start_rondod();
  must("job add work --manual --handler command/flaky --retries 10 --backoff 1ms 2> /dev/null");
  const std::int64_t run = run_of("work");
  // Written before the thread forks: a child that inherits the open file would keep it from being executed.
  const std::string commands = flaky(kAttempts);
  Ended followed;
  std::thread reader([&] { followed = rondo("job log --follow " + std::to_string(run)); });
  start_worker(commands);
  reader.join();
  EXPECT_EQ(followed.code, 0);
  const std::size_t begin = followed.out.find("output 0\n");  // After what it waited for.
  ASSERT_NE(begin, std::string::npos) << followed.out;
  EXPECT_EQ(followed.out.substr(begin), expected(kAttempts));
  // All attempts are kept.
  EXPECT_EQ(must("job log " + std::to_string(run)), expected(kAttempts));
  EXPECT_EQ(must("job log --follow " + std::to_string(run)), expected(kAttempts));
}

TEST_F(JobLogOnLinux, AReaderOfARunThatIsKilledBeforeItBeginsEnds) {
  start_rondod();
  must("job add work --manual --handler command/flaky 2> /dev/null");
  const std::int64_t run = run_of("work");
  Ended followed;
  std::thread reader([&] { followed = rondo("job log --follow " + std::to_string(run)); });
  EXPECT_EQ(must("job kill " + std::to_string(run)), "run " + std::to_string(run) + ": killed, its handler was not running\n");
  reader.join();
  EXPECT_EQ(followed.code, 1);
  EXPECT_THAT(followed.out, AllOf(HasSubstr("no connected worker has a log of the run"), HasSubstr("as killed: killed by a user")));
  const Ended again = rondo("job kill " + std::to_string(run));
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.out, HasSubstr("has ended already, as killed at 20"));
}

/// It ended with 0 and without a word, or not while the command ignored the order to stop.
TEST_F(JobLogOnLinux, AReaderOfARunWhoseJobIsRemovedEndsWithASentence) {
  start_rondod();
  start_worker(command("slow", "echo begun\nsleep 1000\n") +
               command("deaf", "trap '' TERM\necho begun\nwhile [ ! -e " + path("go") + " ]; do sleep 0.01; done\n", "grace_s = 60"));
  for (const std::string name : {"slow", "deaf"}) {
    must("job add " + name + " --manual --handler command/" + name + " 2> /dev/null");
    const std::string run = std::to_string(run_of(name));
    ASSERT_TRUE(becomes([&] { return rondo("job log " + run).out == "begun\n"; }));
    const std::string printed = path("printed-" + name);
    Ended followed;
    std::thread reader([&] { followed = rondo("job log --follow " + run + " > " + printed); });
    EXPECT_TRUE(becomes([&] { return read(printed) == "begun\n"; })) << "the reader is there before the job is removed";
    must("job remove --yes " + name);
    reader.join();
    EXPECT_EQ(followed.code, 1) << read(printed);
    EXPECT_THAT(read(printed), testing::AnyOf(HasSubstr("was removed with its job"), HasSubstr("its job was removed")));
  }
  std::ofstream(folder / "go") << "now";
}

/// It ended with 0 and without a word.
TEST_F(JobLogOnLinux, ALogWhoseFileIsGoneIsAnError) {
  start_rondod();
  start_worker(command("slow", "echo begun\nwhile [ ! -e " + path("go") + " ]; do sleep 0.01; done\n"));
  must("job add work --manual --handler command/slow 2> /dev/null");
  const std::string run = std::to_string(run_of("work"));
  ASSERT_TRUE(becomes([&] { return rondo("job log " + run).out == "begun\n"; }));
  for (const auto& file : std::filesystem::directory_iterator(folder / "state" / "logs")) std::filesystem::remove(file);
  const Ended lost = rondo("job log " + run);
  EXPECT_EQ(lost.code, 1) << lost.out;
  EXPECT_THAT(lost.out, HasSubstr("no connected worker has a log of the run " + run));
  std::ofstream(folder / "go") << "now";
  ASSERT_TRUE(comes_to("work", "succeeded"));
  const Ended ended = rondo("job log --follow " + run);
  EXPECT_EQ(ended.code, 1) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("no connected worker has a log of the run " + run));
}

TEST_F(JobLogOnLinux, ARunWhoseWorkerWasKilledSaysSoUntilItIsBack) {
  start_rondod();
  start_worker(command("slow", "echo begun\nsleep 1000\n"));
  must("job add work --manual --handler command/slow 2> /dev/null");
  const std::string run = std::to_string(run_of("work"));
  ASSERT_TRUE(becomes([&] { return rondo("job log " + run).out == "begun\n"; }));
  kill_worker(SIGKILL);
  const std::string away = "worker host1 has been away since 20";
  ASSERT_TRUE(becomes([&] { return must("job runs work").find(away) != std::string::npos; })) << must("job runs work");
  EXPECT_THAT(must("job show work"), HasSubstr(away));
  EXPECT_THAT(must("why JOB_RUN_8 work#" + run), AllOf(HasSubstr(away), HasSubstr("unless it comes back, the attempt fails at 20")));
  EXPECT_THAT(must("job kill " + run), AllOf(HasSubstr("asked to stop"), HasSubstr(away)));
  start_worker();
  ASSERT_TRUE(comes_to("work", "killed"));
  EXPECT_THAT(must("why JOB_RUN_8 work#" + run), HasSubstr("JOB_RUN_8 work#" + run + ": ended: it ended at 20"));
}

class ReadersOfAnotherUserOnLinux : public JobLogOnLinux {
 protected:
  static constexpr unsigned kOther = 65'534;
  /// In a child: 40 readers of the other user, more than all places. Each asks again and again. The first refusal is written to 'out'.
  [[noreturn]] void read_as_other(std::int64_t run, int out) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setgid(kOther) != 0 || ::setuid(kOther) != 0) ::_exit(1);
    std::vector<std::thread> readers;
    for (int i = 0; i < 40; ++i) {
      readers.emplace_back([&] {
        const auto connected = AdminClient::connect(socket());
        if (!connected) return;
        for (;;) {
          const auto answer = (*connected)->call("job-log", {{"run", run}, {"from", 6}, {"wait", true}});
          const std::string why = answer ? "" : answer.error().to_string() + "\n";
          if (!why.empty() && ::write(out, why.data(), why.size()) < 0) return;
        }
      });
    }
    for (std::thread& reader : readers) reader.join();
    ::_exit(0);
  }
};

/// Readers of one user took all places for as long as they liked: root could read no log.
TEST_F(ReadersOfAnotherUserOnLinux, LeavePlacesForTheOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all | std::filesystem::perms::others_exec);
  start_rondod();
  start_worker(command("slow", "echo begun\nsleep 1000\n"));
  must("job add slow --manual --handler command/slow 2> /dev/null");
  const std::int64_t run = run_of("slow");
  const std::string log = "job log " + std::to_string(run);
  ASSERT_TRUE(becomes([&] { return rondo(log).out == "begun\n"; }));
  std::filesystem::permissions(socket(), std::filesystem::perms::others_read | std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t other = ::fork();
  if (other == 0) read_as_other(run, ends[1]);
  ::close(ends[1]);
  pollfd answer{.fd = ends[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&answer, 1, 30'000), 1) << "no reader of the other user is refused";
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::string refused(200, '\0');
  refused.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], refused.data(), refused.size()), 0)));
  EXPECT_THAT(refused, HasSubstr("16 readers of logs of user 65534 wait for workers"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(must(log), "begun\n");
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace rondo::jobs
