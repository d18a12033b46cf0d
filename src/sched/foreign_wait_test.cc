// A foreign event loop waits in place of the scheduler. Its descriptor is readable exactly when there is work. No wake of another thread
// between the last turn and the wait is lost, under each policy. The foreign loop is poll(2).
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/sched/mailbox.h"
#include "rondo/sched/scheduler.h"

namespace rondo {
namespace {

bool is_readable(int fd, int milliseconds) {
  pollfd question{fd, POLLIN, 0};
  return ::poll(&question, 1, milliseconds) == 1;
}

struct Case {
  const char* name;
  PolicyOptions policy;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

struct Loop {
  explicit Loop(const PolicyOptions& options) : scheduler(clock, *reactor, std::move(make_policy(options).value())) {}
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler;
};

class SchedulerForeignWait : public testing::TestWithParam<Case> {
 protected:
  Loop loop{GetParam().policy};
};

TEST_P(SchedulerForeignWait, SaysWhenThereIsSomethingToDoAlready) {
  Mailbox<int> mailbox("m", Priority{3}, [](int&&) {});
  loop.scheduler.add(mailbox);
  loop.scheduler.run_until_idle();
  EXPECT_GT(loop.scheduler.before_foreign_wait(), loop.clock.now());
  EXPECT_FALSE(is_readable(loop.reactor->wait_descriptor(), 0));
  mailbox.wake();
  EXPECT_EQ(loop.scheduler.before_foreign_wait(), Instant{});
}

TEST_P(SchedulerForeignWait, TellsTheNextTimer) {
  TimerSource timer("t", Priority{3}, [] {});
  loop.scheduler.add(timer);
  const Instant due = loop.clock.now() + 20ms;
  timer.arm_at(due);
  loop.scheduler.run_until_idle();
  EXPECT_LE(loop.scheduler.before_foreign_wait(), due + 2ms);
}

TEST_P(SchedulerForeignWait, IsEndedByAStopOfAnotherThreadAndTurnsGoOnWorking) {
  int received = 0;
  Mailbox<int> mailbox("m", Priority{3}, [&](int&&) { ++received; });
  loop.scheduler.add(mailbox);
  loop.scheduler.run_until_idle();
  EXPECT_GT(loop.scheduler.before_foreign_wait(), loop.clock.now());
  std::thread([&] { loop.scheduler.stop(); }).join();
  EXPECT_TRUE(is_readable(loop.reactor->wait_descriptor(), 0));
  EXPECT_TRUE(loop.scheduler.stopping());
  ASSERT_TRUE(mailbox.post(1).ok());
  loop.scheduler.run_until_idle();
  EXPECT_EQ(received, 1);
  EXPECT_GT(loop.scheduler.before_foreign_wait(), loop.clock.now());
}

TEST_P(SchedulerForeignWait, LosesNoWakeOfAnotherThread) {
  constexpr int kMessages = 5'000;
  int received = 0;
  Mailbox<int> mailbox("m", Priority{3}, [&](int&&) { ++received; });
  loop.scheduler.add(mailbox);
  std::atomic<int> allowed{1};
  std::thread poster([&] {
    for (int i = 0; i < kMessages; ++i) {
      while (allowed.load() <= i) std::this_thread::yield();
      ASSERT_TRUE(mailbox.post(int{i}).ok());
    }
  });
  while (received < kMessages) {
    loop.scheduler.run_until_idle();
    allowed.store(received + 1);  // The next wake arrives just as this thread begins to wait.
    const Instant until = loop.scheduler.before_foreign_wait();
    if (until == Instant{}) continue;
    ASSERT_TRUE(received == kMessages || is_readable(loop.reactor->wait_descriptor(), 30'000)) << "lost after " << received;
  }
  poster.join();
}

INSTANTIATE_TEST_SUITE_P(Policy, SchedulerForeignWait,
                         testing::Values(Case{"BudgetedFrames", BudgetedFrames{}},
                                         Case{"ConsumedTime", BudgetedFrames{.tie = Tie::ConsumedTime}},
                                         Case{"StrictPriority", StrictPriority{}}, Case{"StrictlyOrdered", StrictlyOrdered{}},
                                         Case{"QuotedRoundRobin", QuotedRoundRobin{.quota = 2}}),
                         [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
}  // namespace rondo
