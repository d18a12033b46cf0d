// Wakes and messages from other threads, on the real clock and reactor. Also for the thread sanitizer. No wake is lost, no item is handled
// twice or out of order. The sweep, which would hide a loss after half a second, must have nothing to rescue.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/sched/mailbox.h"
#include "rondo/sched/timer.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

class Threads : public testing::Test {
 protected:
  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = std::move(make_epoll_reactor().value());
  Scheduler scheduler_{clock_, *reactor_, test::policy()};
};

/// Passes a number back and forth: the loop falls asleep before each message.
TEST_F(Threads, NoWakeIsLostWhenTheLoopFallsAsleepStorm) {
  constexpr int kRounds = 20'000;
  std::atomic<int> answered{0};
  Mailbox<int> mailbox("ping", Priority{5}, [&](int&& value) {
    answered.store(value, std::memory_order_release);
    answered.notify_one();
    if (value == kRounds) scheduler_.stop();
  });
  scheduler_.add(mailbox);
  std::thread player([&] {
    for (int round = 1; round <= kRounds; ++round) {
      int message = round;
      ASSERT_TRUE(mailbox.post(std::move(message)).ok());
      for (int seen = answered.load(std::memory_order_acquire); seen != round; seen = answered.load(std::memory_order_acquire)) {
        answered.wait(seen, std::memory_order_acquire);
      }
    }
  });
  scheduler_.run();
  player.join();
  EXPECT_EQ(answered.load(), kRounds);
  EXPECT_EQ(scheduler_.stats().sweep_rescues, 0U);
}

TEST_F(Threads, MessagesOfManyThreadsArriveOnceAndInOrderOfEachThread) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 20'000;
  std::vector<std::uint64_t> last(kThreads, 0);
  std::uint64_t received = 0;
  Mailbox<std::pair<std::uint64_t, std::uint64_t>> mailbox(
      "many", Priority{5},
      [&](std::pair<std::uint64_t, std::uint64_t>&& message) {
        EXPECT_EQ(message.second, last[message.first] + 1);
        last[message.first] = message.second;
        if (++received == kThreads * kEach) scheduler_.stop();
      },
      kThreads * kEach);
  scheduler_.add(mailbox);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 1; i <= kEach; ++i) ASSERT_TRUE(mailbox.post({thread, i}).ok());
    });
  }
  scheduler_.run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(received, kThreads * kEach);
  EXPECT_EQ(scheduler_.stats().sweep_rescues, 0U);
}

/// Several threads wake several sources simultaneously; the turn after a wake must see the work done before it.
TEST_F(Threads, WorkDoneBeforeAWakeIsSeenByACollectAfterIt) {
  struct Counted final : Source {
    explicit Counted(std::string name) : Source(std::move(name), Priority{5}) {}
    Result<Backlog> collect() override { return work.load(std::memory_order_relaxed) > done ? Backlog::More : Backlog::Empty; }
    Turn run(const Budget&) override {
      done = work.load(std::memory_order_relaxed);
      return {};
    }
    std::atomic<std::uint64_t> work{0};
    std::uint64_t done = 0;
  };
  constexpr int kThreads = 3;
  constexpr std::uint64_t kEach = 20'000;
  std::vector<std::unique_ptr<Counted>> sources;
  for (int i = 0; i < 5; ++i) {
    sources.push_back(std::make_unique<Counted>("s" + std::to_string(i)));
    scheduler_.add(*sources.back());
  }
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(static_cast<std::uint64_t>(thread) + 1);
      for (std::uint64_t i = 0; i < kEach; ++i) {
        Counted& source = *sources[random.below(sources.size())];
        source.work.fetch_add(1, std::memory_order_relaxed);
        source.wake_from_any_thread();
      }
      if (running.fetch_sub(1) == 1) scheduler_.stop();
    });
  }
  scheduler_.run();
  for (std::thread& thread : threads) thread.join();
  scheduler_.run_until_idle();
  std::uint64_t done = 0;
  for (const auto& source : sources) {
    EXPECT_EQ(source->done, source->work.load());
    done += source->done;
  }
  EXPECT_EQ(done, kThreads * kEach);
}

TEST_F(Threads, SourcesMayBeRemovedAndAddedWhileTheyAreWoken) {
  test::WorkSource source("s", 5);
  source.on_collect = []() -> Result<Backlog> { return Backlog::More; };
  std::atomic<bool> finish{false};
  std::thread waker([&] {
    while (!finish.load(std::memory_order_relaxed)) source.wake_from_any_thread();
  });
  for (int i = 0; i < 20'000; ++i) {
    scheduler_.add(source);
    scheduler_.run_until_idle(3);
    scheduler_.remove(source);
  }
  finish.store(true, std::memory_order_relaxed);
  waker.join();
  scheduler_.add(source);
  scheduler_.run_until_idle();
  source.wake_from_any_thread();
  EXPECT_GE(scheduler_.run_until_idle(), 1U) << "its place in the list of woken sources is free again";
}

TEST_F(Threads, StopEndsARunThatSleeps) {
  std::thread stopper([this] { scheduler_.stop(); });
  scheduler_.run();
  stopper.join();
  EXPECT_TRUE(scheduler_.stopping());
}

TEST_F(Threads, ABurstOfPostsWakesTheMailboxOnce) {
  int handled = 0;
  Mailbox<int> mailbox("burst", Priority{5}, [&](int&&) { ++handled; });
  scheduler_.add(mailbox);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(mailbox.post(int{i}).ok());
  scheduler_.run_until_idle();
  EXPECT_EQ(handled, 1000);
  EXPECT_EQ(scheduler_.stats().remote_wakes, 1U);
  EXPECT_GE(mailbox.stats().turns, 8U) << "128 messages a turn at most";
}

TEST_F(Threads, MessagesPostedBeforeTheMailboxIsAddedAreHandled) {
  int handled = 0;
  Mailbox<int> mailbox("early", Priority{5}, [&](int&&) { ++handled; });
  ASSERT_TRUE(mailbox.post(1).ok());
  scheduler_.add(mailbox);
  scheduler_.run_until_idle();
  EXPECT_EQ(handled, 1);
}

TEST_F(Threads, AFullMailboxRefusesCountsAndLeavesTheMessageWithTheCaller) {
  std::vector<std::string> handled;
  Mailbox<std::string> mailbox(
      "small", Priority{5}, [&](std::string&& text) { handled.push_back(std::move(text)); }, 2);
  scheduler_.add(mailbox);
  ASSERT_TRUE(mailbox.post("a").ok());
  ASSERT_TRUE(mailbox.post("b").ok());
  std::string third = "a message too long for the small string buffer";
  const Status refused = mailbox.post(std::move(third));
  EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(refused.message(), "mailbox 'small' is full");
  EXPECT_EQ(third, "a message too long for the small string buffer");
  EXPECT_EQ(mailbox.turned_away(), 1U);
  scheduler_.run_until_idle();
  EXPECT_EQ(handled, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(mailbox.post(std::move(third)).ok());
}

TEST_F(Threads, AMailboxHoldsTheLimitOfMessagesAndNotOneMore) {
  Mailbox<char> mailbox("large", Priority{5}, [](char&&) {});
  for (std::size_t i = 0; i < limits::kMailboxMessages; ++i) ASSERT_TRUE(mailbox.post('m').ok()) << i;
  EXPECT_EQ(mailbox.post('m').code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(mailbox.depth(), limits::kMailboxMessages);
  EXPECT_EQ(mailbox.turned_away(), 1U);
}

TEST_F(Threads, ATurnOfAMailboxEndsWhenItsTimeIsOver) {
  test::Simulation simulation;
  int handled = 0;
  Mailbox<int> mailbox("slow", Priority{limits::kPriorities - 1}, [&](int&&) {  // No source is more urgent.
    ++handled;
    simulation.world.clock().advance(limits::kTurnTime);
  });
  simulation.scheduler.add(mailbox);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(mailbox.post(int{i}).ok());
  EXPECT_TRUE(simulation.scheduler.turn());
  EXPECT_EQ(handled, static_cast<int>(limits::kItemsPerStep));
  EXPECT_EQ(simulation.scheduler.stats().timed_out_turns, 1U);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(handled, 20);
}

TEST_F(Threads, AHandlerMayPostToItsOwnMailbox) {
  int handled = 0;
  Mailbox<int>* self = nullptr;
  Mailbox<int> mailbox("self", Priority{5}, [&](int&& value) {
    ++handled;
    if (value > 0) {
      EXPECT_TRUE(self->post(value - 1).ok());
    }
  });
  self = &mailbox;
  scheduler_.add(mailbox);
  ASSERT_TRUE(mailbox.post(300).ok());
  scheduler_.run_until_idle();
  EXPECT_EQ(handled, 301);
}

/// Calls 'call' while another thread runs 'scheduler', inside its wait or a turn.
void call_while_it_runs(Scheduler& scheduler, const std::function<void()>& call) {
  std::atomic<bool> runs{false};
  test::WorkSource first("first", 5, 1);
  first.on_run = [&runs] {
    runs.store(true);
    runs.notify_one();
  };
  scheduler.add(first);
  std::jthread loop([&scheduler] { scheduler.run(); });
  runs.wait(false);
  call();
  scheduler.stop();
}

TEST_F(Threads, CallsOfTheSchedulersThreadEndTheProcessWithTheirNameElsewhere) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // A forked child may not run this scheduler.
  test::WorkSource source("table", 5);
  test::WorkSource other("other", 5);
  TimerSource timer("clock", Priority{5}, [] {});
  scheduler_.add(source);
  scheduler_.add(timer);
  const auto elsewhere = [this](const std::function<void()>& call) { call_while_it_runs(scheduler_, call); };
  EXPECT_DEATH(elsewhere([&] { source.wake(); }), "Source::wake of source 'table' was called on another thread than the scheduler's");
  EXPECT_DEATH(elsewhere([&] { scheduler_.add(other); }), "Scheduler::add of source 'other'");
  EXPECT_DEATH(elsewhere([&] { scheduler_.remove(source); }), "Scheduler::remove .or the destructor. of source 'table'");
  EXPECT_DEATH(elsewhere([&] { static_cast<void>(reactor_->watch(0, Interest::Read, source)); }), "Reactor::watch of source 'table'");
  EXPECT_DEATH(elsewhere([&] { timer.arm_at(Instant{}); }), "TimerSource::arm_at or arm_every of source 'clock'");
  EXPECT_DEATH(elsewhere([&] { timer.disarm(); }), "TimerSource::disarm .or the destructor. of source 'clock'");
}

// A source that another thread adds between two turns of the owner would be seen by chance.
TEST_F(Threads, OfAnotherThreadTheyEndTheProcessAlsoWhileNoneGivesTurns) {
  test::WorkSource source("table", 5);
  TimerSource timer("clock", Priority{5}, [] {});
  scheduler_.add(timer);
  const auto elsewhere = [](const std::function<void()>& call) { std::jthread(call).join(); };
  EXPECT_DEATH(elsewhere([&] { scheduler_.add(source); }), "Scheduler::add of source 'table' was called on another thread");
  EXPECT_DEATH(elsewhere([&] { timer.arm_at(Instant{}); }), "TimerSource::arm_at or arm_every of source 'clock'");
  EXPECT_DEATH(elsewhere([&] { static_cast<void>(reactor_->watch(0, Interest::Read, timer)); }), "Reactor::watch of source 'clock'");
}

TEST_F(Threads, TheThreadThatMadeTheSchedulerPreparesItAndAnyThreadMayEndItsSources) {
  test::WorkSource source("table", 5);
  TimerSource timer("clock", Priority{5}, [] {});
  scheduler_.add(source);
  scheduler_.add(timer);
  timer.arm_at(Instant{});
  std::jthread([&] { scheduler_.run_until_idle(); }).join();
  source.wake();
  timer.disarm();
  scheduler_.remove(source);
  EXPECT_EQ(source.scheduler(), nullptr);
}

// The death test runs the call in a child of this process, which made the scheduler.
TEST_F(Threads, AForkedChildIsToldThatItHasNoThreads) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  EXPECT_DEATH(scheduler_.run(), "was called in a child process, made by fork.. or daemon.3. after the Runtime was opened in process " +
                                     std::to_string(::getpid()) + ".*open the Runtime after the fork");
  EXPECT_DEATH(scheduler_.before_foreign_wait(), "made by fork");
}

}  // namespace
}  // namespace rondo
