// The heartbeat of a real rondod as its service manager receives it, and the report of a turn that does not end.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WatchdogRondod : public RondodProcess {
 protected:
  void TearDown() override {
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
    RondodProcess::TearDown();
  }
};

TEST_F(WatchdogRondod, TheServiceManagerHearsThatItLives) {
  ::setenv("WATCHDOG_USEC", "100000", 1);
  ASSERT_NO_FATAL_FAILURE(start(""));
  for (int beat = 0; beat < 5; ++beat) EXPECT_TRUE(hears("WATCHDOG=1")) << log_text();
  ASSERT_NO_FATAL_FAILURE(stop());
  while (!told(0).empty()) continue;  // Discards earlier messages.
  EXPECT_EQ(told(300), "") << "three times what it was asked for";
  signal(SIGCONT);
  EXPECT_TRUE(hears("WATCHDOG=1")) << log_text();
}

TEST_F(WatchdogRondod, AHeartbeatAskedOfAnotherProcessIsNotGiven) {
  ::setenv("WATCHDOG_USEC", "10000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  ASSERT_NO_FATAL_FAILURE(start(""));
  EXPECT_EQ(told(200), "");
}

// The turn that reads the configuration again waits for the end of a lease on the file.
TEST_F(WatchdogRondod, ATurnThatDoesNotEndIsToldWhileItLastsAndCounted) {
  ASSERT_NO_FATAL_FAILURE(start("[scheduler]\nstall_ms = 1000\nstall_stack = true\n"));
  const auto logs = [this](const char* words) { return becomes([&] { return log_text().find(words) != std::string::npos; }); };
  std::signal(SIGIO, SIG_IGN);  // By which the kernel asks for the end of the lease. It waits for 45 s.
  const UniqueFd lease{::open(file("toml").c_str(), O_RDWR | O_CLOEXEC)};
  ASSERT_EQ(::fcntl(lease.get(), F_SETLEASE, F_WRLCK), 0) << std::strerror(errno);
  signal(SIGHUP);
  EXPECT_TRUE(logs("error turn still running source=signals ms=")) << log_text();
  EXPECT_THAT(log_text(), AllOf(HasSubstr("stack=\""), HasSubstr("Daemon::read_config_again"))) << "who holds it up";
  EXPECT_TRUE(hears("STATUS=stuck in a turn of signals"));
  EXPECT_THAT(log_text(), Not(HasSubstr("has ended"))) << "it goes on";
  EXPECT_EQ(::fcntl(lease.get(), F_SETLEASE, F_UNLCK), 0);
  EXPECT_TRUE(logs("warn the stalled turn has ended ms=")) << log_text();
  EXPECT_TRUE(hears("STATUS=serving"));
  EXPECT_TRUE(call("health").at("healthy").as_bool());
  EXPECT_GE(call("stats").at("scheduler").at("stalls").to_number<int>(), 1);
}

}  // namespace
}  // namespace rondo::daemon
