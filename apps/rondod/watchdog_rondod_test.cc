// The heartbeat of a real rondod, as a service manager hears it.
#include <gmock/gmock.h>

#include "rondod/rondod_kit.h"

namespace rondo::daemon {
namespace {

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
  for (int beat = 0; beat < 5; ++beat) EXPECT_EQ(told(20'000), "WATCHDOG=1") << log_text();
  signal(SIGSTOP);
  while (!told(0).empty()) continue;  // Said before.
  EXPECT_EQ(told(300), "") << "three times what it was asked for";
  signal(SIGCONT);
  EXPECT_EQ(told(20'000), "WATCHDOG=1") << log_text();
}

TEST_F(WatchdogRondod, AHeartbeatAskedOfAnotherProcessIsNotGiven) {
  ::setenv("WATCHDOG_USEC", "10000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  ASSERT_NO_FATAL_FAILURE(start(""));
  EXPECT_EQ(told(200), "");
}

}  // namespace
}  // namespace rondo::daemon
