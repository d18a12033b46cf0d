// A stuck, busy or idle scheduler on real threads, as the watchdog detects it.
#include "rondo/sched/stall_watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "sim/test_source.h"

// With C linkage, so that a stack shows this name.
extern "C" __attribute__((noinline)) void rondo_test_turn_that_waits(std::atomic<bool>& released) {
  released.wait(false);
  asm volatile("" ::: "memory");  // Prevents a tail call.
}

namespace rondo {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class StallWatchdogTest : public testing::Test {
 protected:
  /// Runs the scheduler on its own thread, with a watchdog and one source.
  void run(StallWatchdogOptions options, std::function<void()> turn) {
    scheduler_.add(source_);
    source_.on_run = std::move(turn);
    source_.on_collect = [] { return Backlog::More; };  // One turn a wake.
    thread_ = std::thread([this, options = std::move(options)] {
      auto watchdog = StallWatchdog::start(scheduler_, options);
      EXPECT_TRUE(watchdog.has_value()) << watchdog.error().to_string();
      source_.wake_from_any_thread();
      scheduler_.run();
      stalls_ = (*watchdog)->stalls();
    });
  }
  void note(const std::function<void()>& what) {
    const std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }
  template <class Condition>
  void wait_until(Condition condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }
  /// True if so many heartbeats come without a stall. A busy machine may stop a thread for longer than the limit, but it does not do so
  /// three times in a row.
  bool beats_without_a_stall(int beats) {
    for (int tries = 0; tries < 3; ++tries) {
      std::unique_lock lock(mutex_);
      told_.clear();
      const int enough = heartbeats_ + beats;
      changed_.wait(lock, [&] { return heartbeats_ >= enough; });
      if (told_.empty()) return true;
    }
    return false;
  }
  void release() {
    released_ = true;
    released_.notify_all();
  }
  void stop() {
    scheduler_.stop();
    thread_.join();
    scheduler_.remove(source_);
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, test::policy()};
  test::WorkSource source_{"slow-orch", 5};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  std::atomic<bool> released_{false};
  std::vector<Stall> told_;
  std::vector<Duration> ended_;
  int heartbeats_ = 0;
  std::uint64_t stalls_ = 0;
};

TEST_F(StallWatchdogTest, NamesTheSourceWhoseTurnDoesNotEndWithItsStack) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer holds a signal back until the turn makes a call that it knows";
#endif
  run({.limit = 100ms,
       .stack = true,
       .on_stall = [this](const Stall& stall) { note([&] { told_.push_back(stall); }); },
       .on_end = [this](Duration lasted) { note([&] { ended_.push_back(lasted); }); }},
      [this] { rondo_test_turn_that_waits(released_); });
  wait_until([this] { return told_.size() >= 2; });
  release();
  wait_until([this] { return !ended_.empty(); });
  stop();
  EXPECT_EQ(told_[0].source, "slow-orch");
  EXPECT_GT(told_[0].lasted, 100ms);
  EXPECT_THAT(told_[0].stack, Not(IsEmpty()));
  EXPECT_THAT(told_[0].stack, Contains(HasSubstr("rondo_test_turn_that_waits")));
  EXPECT_GE(told_[1].lasted, 2 * told_[0].lasted) << "told again when it has lasted twice as long";
  EXPECT_GE(ended_[0], told_[1].lasted);
  EXPECT_EQ(stalls_, 1U);
}

TEST_F(StallWatchdogTest, TheHeartBeatsWhileBusyAndWhileIdleAndNotWhileStuck) {
  std::atomic<bool> busy{true};
  std::atomic<bool> sticks{false};
  int before_the_end = 0;
  run({.limit = 500ms,
       .heartbeat = 5ms,
       .on_stall =
           [this, &before_the_end](const Stall&) {
             note([&] {
               told_.emplace_back();
               before_the_end = heartbeats_;
             });
           },
       .on_end =
           [this, &before_the_end](Duration lasted) {
             note([&] {
               ended_.push_back(lasted);
               EXPECT_EQ(heartbeats_, before_the_end) << "a heartbeat of one that is stuck";
             });
           },
       .on_heartbeat = [this] { note([&] { ++heartbeats_; }); }},
      [this, &sticks] {
        if (sticks) released_.wait(false);
      });
  // Idle.
  EXPECT_TRUE(beats_without_a_stall(20));
  // Busy: turn after turn, for several times the limit.
  std::thread ringer([this, &busy] {
    while (busy) source_.wake_from_any_thread();
  });
  EXPECT_TRUE(beats_without_a_stall(20));
  // Stuck.
  note([this] {
    told_.clear();
    ended_.clear();
  });
  sticks = true;
  wait_until([this] { return told_.size() >= 2; });
  sticks = busy = false;
  ringer.join();
  release();
  wait_until([this] { return !ended_.empty(); });
  const int now = heartbeats_;
  wait_until([this, now] { return heartbeats_ > now; });
  stop();
}

TEST_F(StallWatchdogTest, ALoopThatNobodyRunsIsNotStuck) {
  // The watchdog starts after run_until_idle(), because it cannot distinguish a thread that gets no CPU from one that is stuck.
  for (const bool has_run : {false, true}) {
    SCOPED_TRACE(has_run);
    if (has_run) scheduler_.run_until_idle();
    heartbeats_ = 0;
    const auto watchdog =
        StallWatchdog::start(scheduler_, {.limit = 4ms,
                                          .heartbeat = 1ms,
                                          .on_stall = [this](const Stall& stall) { note([&] { told_.push_back(stall); }); },
                                          .on_heartbeat = [this] { note([&] { ++heartbeats_; }); }});
    ASSERT_TRUE(watchdog.has_value()) << watchdog.error().to_string();
    wait_until([this] { return heartbeats_ >= 50; });
    EXPECT_THAT(told_, IsEmpty());
  }
}

TEST_F(StallWatchdogTest, ASignalThatSomebodyElseUsesIsRefused) {
  const int signal = SIGRTMAX - 3;
  ASSERT_NE(::signal(signal, [](int) {}), SIG_ERR);
  const auto refused = StallWatchdog::start(scheduler_, {.signal = signal});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::AlreadyExists);
  EXPECT_THAT(std::string{refused.error().message()}, HasSubstr("signal " + std::to_string(signal)));
  ::signal(signal, SIG_DFL);
  const auto wrong = StallWatchdog::start(scheduler_, {.limit = Duration{0}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code(), StatusCode::InvalidArgument);
}

TEST_F(StallWatchdogTest, ItsSignalFromSomebodyElseMeansNothing) {
  const int signal = SIGRTMAX - 4;
  const auto watchdog = StallWatchdog::start(scheduler_, {.signal = signal});
  ASSERT_TRUE(watchdog.has_value()) << watchdog.error().to_string();
  ASSERT_EQ(::raise(signal), 0);                           // As `kill` sends it, without a question.
  ASSERT_EQ(::sigqueue(::getpid(), signal, sigval{}), 0);  // With an empty question.
  scheduler_.run_until_idle();
  EXPECT_EQ((*watchdog)->stalls(), 0U);
}

}  // namespace
}  // namespace rondo
