// The heartbeat of a real rondod as its service manager receives it, and the report of a turn that does not end.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

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

// A configuration that is a pipe blocks the turn that reads it again until a process writes into it.
TEST_F(WatchdogRondod, ATurnThatDoesNotEndIsToldWhileItLastsAndCounted) {
  ASSERT_NO_FATAL_FAILURE(start("[scheduler]\nstall_ms = 1000\nstall_stack = true\n"));
  const auto logs = [this](const char* words) { return becomes([&] { return log_text().find(words) != std::string::npos; }); };
  std::filesystem::remove(file("toml"));
  ASSERT_EQ(::mkfifo(file("toml").c_str(), 0600), 0);
  signal(SIGHUP);
  EXPECT_TRUE(logs("error turn still running source=signals ms=")) << log_text();
  EXPECT_THAT(log_text(), AllOf(HasSubstr("stack=\""), HasSubstr("Daemon::on_signal"))) << "who holds it up";
  EXPECT_TRUE(hears("STATUS=stuck in a turn of signals"));
  EXPECT_THAT(log_text(), Not(HasSubstr("has ended"))) << "it goes on";
  configure("");  // Writes to the pipe.
  EXPECT_TRUE(logs("warn the stalled turn has ended ms=")) << log_text();
  EXPECT_TRUE(hears("STATUS=serving"));
  EXPECT_TRUE(call("health").at("healthy").as_bool());
  EXPECT_GE(call("stats").at("scheduler").at("stalls").to_number<int>(), 1);
}

}  // namespace
}  // namespace rondo::daemon
