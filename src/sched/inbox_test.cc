// Items that other threads leave for several sources: which sources are woken, which turns end, that no item is lost, and that items
// gather only where they arrive in close succession.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/pause.h"
#include "rondo/base/limits.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

/// Work for some sources, which the inbox wakes.
class TestInbox final : public Inbox {
 public:
  ~TestInbox() override = default;
  void serve(test::WorkSource& source) { sources_[source.priority().level()] = &source; }
  /// Any thread.
  void leave(Scheduler& scheduler, unsigned priority) {
    if (leave_and_tell_nobody(scheduler, priority)) scheduler.check_inboxes();
  }
  /// Leaves an item without a wake. Returns true if the scheduler must be woken.
  bool leave_and_tell_nobody(const Scheduler& scheduler, unsigned priority) {
    const std::lock_guard<std::mutex> guard(lock_);
    ++left_[priority];
    ++came_;
    return mark(Priority{priority}, scheduler);
  }
  std::uint64_t hand_outs = 0;
  std::function<void()> on_hand_out;
  std::uint64_t told_more = 0;  // Added to the number of items that hand-out reports.

 private:
  std::uint64_t hand_out() noexcept override {
    const std::lock_guard<std::mutex> guard(lock_);
    clear();
    ++hand_outs;
    if (on_hand_out) on_hand_out();
    for (unsigned level = 0; level < limits::kPriorities; ++level) {
      if (left_[level] == 0) continue;
      sources_[level]->left += std::exchange(left_[level], 0);
      sources_[level]->wake();
    }
    return std::exchange(came_, 0) + told_more;
  }
  bool is_for(const Source& source) const noexcept override { return sources_[source.priority().level()] == &source; }

  std::mutex lock_;
  std::array<std::uint64_t, limits::kPriorities> left_{};
  std::uint64_t came_ = 0;
  std::array<test::WorkSource*, limits::kPriorities> sources_{};
};

/// Handles items one at a time, calls 'between' after each, and checks whether to continue.
class Polite final : public test::WorkSource {
 public:
  using WorkSource::WorkSource;
  Turn run(const Budget& budget) override {
    Turn turn;
    while (left > 0 && turn.items < budget.items) {
      --left;
      ++turn.items;
      between(turn.items);
      if (should_yield()) break;
    }
    turns.push_back(turn.items);
    turn.backlog = left > 0 ? Backlog::More : Backlog::Empty;
    return turn;
  }
  std::function<void(std::uint32_t)> between;
  std::vector<std::uint32_t> turns;
};

struct InboxTest : testing::Test {
  test::Simulation simulation;
  Scheduler& scheduler = simulation.scheduler;
  TestInbox inbox;
};

TEST_F(InboxTest, WhatIsLeftWakesThoseItIsForInTheOrderOfPriorities) {
  for (const unsigned level : {2U, 7U, 4U}) inbox.serve(simulation.add("s" + std::to_string(level), level));
  scheduler.add(inbox);
  for (const unsigned level : {2U, 7U, 2U}) inbox.leave(scheduler, level);
  scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "s7 s2");
  EXPECT_EQ(inbox.hand_outs, 1U);
  EXPECT_EQ(scheduler.stats().remote_wakes, 2U) << "a burst for one source counts once";
  scheduler.remove(inbox);
  inbox.leave(scheduler, 4);
  scheduler.run_until_idle();
  EXPECT_EQ(inbox.hand_outs, 1U);
  scheduler.add(inbox);
  scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "s7 s2 s4") << "what was left before it was added is handed out then";
}

TEST_F(InboxTest, NobodyReliesOnALessUrgentPosterToTellTheScheduler) {
  for (const unsigned level : {2U, 7U}) inbox.serve(simulation.add("s" + std::to_string(level), level));
  scheduler.add(inbox);
  EXPECT_FALSE(inbox.leave_and_tell_nobody(scheduler, 2)) << "it is awake";
  scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "s2");
  EXPECT_NE(scheduler.before_foreign_wait(), Instant{});
  EXPECT_TRUE(inbox.leave_and_tell_nobody(scheduler, 2));
  EXPECT_FALSE(inbox.leave_and_tell_nobody(scheduler, 2));
  EXPECT_TRUE(inbox.leave_and_tell_nobody(scheduler, 7));
  scheduler.run_until_idle();
  EXPECT_EQ(simulation.order, "s2 s7 s2");
  scheduler.remove(inbox);
}

TEST_F(InboxTest, OnlyWhatIsForAHigherPriorityEndsATurn) {
  auto& urgent = simulation.add("urgent", 7);
  auto& lower = simulation.add("lower", 1);
  Polite polite("polite", 3, 10);
  for (auto* source : {&urgent, &lower, static_cast<test::WorkSource*>(&polite)}) inbox.serve(*source);
  scheduler.add(inbox);
  polite.between = [&](std::uint32_t done) {
    if (done == 2) inbox.leave(scheduler, 1);
    if (done == 3) inbox.leave(scheduler, 3);
    if (done == 5) inbox.leave(scheduler, 7);
  };
  scheduler.add(polite);
  EXPECT_TRUE(scheduler.turn());
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{5})) << "although something else had been left before";
  EXPECT_EQ(inbox.hand_outs, 0U) << "seen, and not taken";
  EXPECT_TRUE(scheduler.turn());
  EXPECT_EQ(simulation.order, "urgent");
}

// A start is requested before the first message is posted, and must not follow it.
TEST_F(InboxTest, AWakeBeforeSomethingWasLeftIsSeenBeforeThatHasATurn) {
  auto& low = simulation.add("low", 1);
  auto& high = simulation.add("high", 7);
  inbox.serve(low);
  scheduler.add(inbox);
  scheduler.run_until_idle();
  for (const bool at_a_poll : {true, false}) {
    simulation.order.clear();
    // Simulates that another thread did both just before its inbox was read.
    inbox.on_hand_out = [&] {
      high.left = 1;
      high.wake_from_any_thread();
    };
    inbox.leave(scheduler, 1);
    if (at_a_poll) scheduler.poll();
    scheduler.run_until_idle(1);
    EXPECT_EQ(simulation.order, "high");
    scheduler.run_until_idle();
    EXPECT_EQ(simulation.order, "high low");
  }
}

TEST(Inboxes, UnderAnOrderByArrivalWhatIsForOthersOfItsPriorityEndsATurnAndItsOwnDoesNot) {
  test::Simulation simulation(StrictPriority{.tie = Tie::Arrival});
  TestInbox own;
  TestInbox others;
  auto& other = simulation.add("other", 3);
  Polite polite("polite", 3, 10);
  own.serve(polite);
  others.serve(other);
  simulation.scheduler.add(own);
  simulation.scheduler.add(others);
  polite.between = [&](std::uint32_t done) {
    if (done == 2) own.leave(simulation.scheduler, 3);
    if (done == 4) others.leave(simulation.scheduler, 3);
  };
  simulation.scheduler.add(polite);
  EXPECT_TRUE(simulation.scheduler.turn());
  EXPECT_EQ(polite.turns, (std::vector<std::uint32_t>{4}));
  simulation.scheduler.remove(own);
}

TEST_F(InboxTest, InSimulatedTimeNothingIsLetGather) {
  inbox.serve(simulation.add("s", 3));
  inbox.told_more = 1'000'000;
  scheduler.add(inbox);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    inbox.leave(scheduler, 3);
    EXPECT_TRUE(scheduler.turn());
    EXPECT_EQ(inbox.hand_outs, i);
  }
}

struct RealTime : testing::Test {
  /// Hands out once, as if 'came' items had come since the time before. Returns how long after that an urgent item ends a turn. The clock
  /// is read after the turn's last item, so the result is never less than the documented time.
  Duration time_until_an_urgent_one_ends_a_turn(std::uint64_t came) {
    TestInbox inbox;
    test::WorkSource urgent("urgent", 7);
    Polite polite("polite", 3, 100'000'000);
    scheduler.add(inbox);
    scheduler.add(urgent);
    inbox.serve(urgent);
    inbox.leave(scheduler, 7);
    scheduler.run_until_idle();
    inbox.told_more = came - 1;
    inbox.leave(scheduler, 7);
    scheduler.poll();
    const Instant handed_out = scheduler.now();
    urgent.left = 0;
    scheduler.run_until_idle();
    Instant last;
    polite.between = [&](std::uint32_t done) {
      if (done == 1) inbox.leave(scheduler, 7);
      last = clock.now();
    };
    scheduler.add(polite);
    scheduler.turn();
    items = polite.turns.front();
    return clock.now() - handed_out;
  }
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler{clock, *reactor, test::policy(StrictPriority{.batch = 100'000'000, .turn = 100s})};
  std::uint32_t items = 0;
};

TEST_F(RealTime, AnUrgentOneEndsATurnAtOnceWhereOneComesAtATime) {
  time_until_an_urgent_one_ends_a_turn(1);
  EXPECT_EQ(items, 1U);
}

TEST_F(RealTime, AnUrgentOneAmongManyEndsATurnWithinTheTimeInWhichTheyGather) {
  if (!has_other_processors()) GTEST_SKIP() << "one processor: nobody can come while it is waited for";
  // As if a billion items had come: that counts as dense however slow this machine is.
  EXPECT_GE(time_until_an_urgent_one_ends_a_turn(1'000'000'000), limits::kPollAfter);
}

TEST_F(RealTime, NothingIsLostWhenTheLoopFallsAsleepStorm) {
  constexpr std::uint64_t kRounds = 20'000;
  TestInbox inbox;
  test::WorkSource low("low", 2);
  test::WorkSource high("high", 5);
  std::atomic<std::uint64_t> answered{0};
  for (test::WorkSource* source : {&low, &high}) {
    inbox.serve(*source);
    scheduler.add(*source);
    source->on_run = [&, source] {
      if (answered.fetch_add(source->left, std::memory_order_release) + source->left == 2 * kRounds) scheduler.stop();
      answered.notify_one();
    };
  }
  scheduler.add(inbox);
  std::thread player([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      inbox.leave(scheduler, 2);
      inbox.leave(scheduler, 5);
      for (std::uint64_t seen = answered.load(); seen != 2 * round; seen = answered.load()) answered.wait(seen);
    }
  });
  scheduler.run();
  player.join();
  EXPECT_EQ(answered.load(), 2 * kRounds);
  EXPECT_EQ(scheduler.stats().sweep_rescues, 0U);
}

}  // namespace
}  // namespace rondo
