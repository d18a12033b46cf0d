// The end of agents at every point of their life, with a thread for each priority: waiting messages, armed timers, messages parked for a
// retry, threads that sleep or run a handler. The end takes less than a second, usually about a millisecond, and leaves no thread running.
// Only this test reads a clock to pass, because that second is the documented bound.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/testing/sanitized.h"
#include "rondo/base/clock.h"
#include "rondo/message/agent_threads.h"

namespace rondo {
namespace {

constexpr Duration kEnds = plain_or_sanitized(1s, 10s);

/// Counts the existing objects.
template <int Kind>
struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted(Counted&&) noexcept { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) noexcept = default;
  ~Counted() { --alive; }
  static inline std::atomic<int> alive{0};
};
using Messages = Counted<0>;
using Relays = Counted<1>;

struct Job {
  int left = 0;
  Messages counted;
};
struct LargeJob {
  int left = 0;
  char bytes[500] = {};
  Messages counted;
};

/// Called at each message, on its thread.
using AtMessage = std::function<void(int number)>;

/// Passes its jobs to the next priority and has timers of its own; some jobs fail and are parked.
class Relay final : public Agent {
 public:
  Relay(AgentGroup& group, Priority priority, std::atomic<int>& handled, AtMessage& at_message)
      : Agent(group, "relay", priority, {.reaction = Reaction::Retry, .retry_delay = 2ms}), handled_(handled), at_message_(at_message) {
    receive<&Relay::job>();
    receive<&Relay::large>();
  }
  Address next;

 private:
  void on_start() override {
    soon_ = send_every(next, Job{}, 1ms);
    late_ = send_later(next, LargeJob{}, 1000s);
  }
  void job(const Job& job) {
    at_message_(handled_.fetch_add(1) + 1);
    if (job.left > 0 && job.left % 5 == 0 && ++failed_ % 2 == 1) throw std::runtime_error("again");
    if (job.left > 0) static_cast<void>(next.post(LargeJob{job.left - 1, {}, {}}));  // The next agent may have gone.
  }
  void large(const LargeJob& job) {
    at_message_(handled_.fetch_add(1) + 1);
    if (job.left > 0) static_cast<void>(next.post(Job{job.left - 1, {}}));
  }
  Relays counted_;
  std::atomic<int>& handled_;
  AtMessage& at_message_;
  int failed_ = 0;
  TimedMessage soon_;
  TimedMessage late_;
};

/// Three relays in a ring, each on its own thread.
class Ring {
 public:
  explicit Ring(AtMessage at_message) : at_message_(std::move(at_message)) {
    const auto made = threads->agents().add([this](AgentGroup& group) {
      for (const Priority priority : {Priority::p1, Priority::p4, Priority::p6}) {
        relays_.push_back(&group.make<Relay>(priority, handled_, at_message_));
      }
      for (std::size_t i = 0; i < 3; ++i) relays_[i]->next = relays_[(i + 1) % 3]->address();
      for (const Relay* relay : relays_) addresses.push_back(relay->address());
      return Status{};
    });
    EXPECT_TRUE(made.has_value());
  }
  /// Returns how long the end took.
  Duration end() {
    const Instant begin = clock_.now();
    threads->stop();
    threads.reset();
    return clock_.now() - begin;
  }
  int handled() const { return handled_.load(); }

  std::unique_ptr<AgentThreads> threads = std::make_unique<AgentThreads>();
  std::vector<Address> addresses;  // The lowest priority's first.

 private:
  SystemClock clock_;
  std::atomic<int> handled_{0};
  AtMessage at_message_;
  std::vector<Relay*> relays_;
};

void expect_nothing_is_left() {
  EXPECT_EQ(Messages::alive.load(), 0);
  EXPECT_EQ(Relays::alive.load(), 0);
}

TEST(AgentsShutdown, AfterAnyMessageItEndsWithinASecondAndLeavesNothing) {
  Duration longest{0};
  for (int point = 1; point <= 60; ++point) {
    SCOPED_TRACE("after message " + std::to_string(point));
    AgentThreads* threads = nullptr;
    std::latch known(1);
    Ring ring([&](int number) {
      known.wait();
      if (number == point) threads->stop();
    });
    threads = ring.threads.get();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(ring.addresses[0].post(Job{20, {}}).ok());
    known.count_down();
    threads->wait();
    EXPECT_GE(ring.handled(), point);
    const Duration took = ring.end();
    longest = std::max(longest, took);
    EXPECT_LT(took, kEnds);
    expect_nothing_is_left();
    EXPECT_FALSE(ring.addresses[0].post(Job{}).ok()) << "the address lives, the agent does not";
  }
  testing::Test::RecordProperty("longest_end_us", std::to_string(longest / 1us));
}

TEST(AgentsShutdown, BeforeAnythingHasRunItEndsWithinASecond) {
  for (int round = 0; round < 20; ++round) {
    Ring ring([](int) {});
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(ring.addresses[0].post(Job{20, {}}).ok());
    EXPECT_LT(ring.end(), kEnds);
    expect_nothing_is_left();
  }
}

/// Their timers of one millisecond wake them.
TEST(AgentsShutdown, WhileThreadsSleepBetweenTimersItEndsWithinASecond) {
  for (int round = 0; round < 20; ++round) {
    std::latch some(10);
    Ring ring([&](int number) {
      if (number <= 10) some.count_down();
    });
    some.wait();
    EXPECT_LT(ring.end(), kEnds);
    expect_nothing_is_left();
  }
}

/// Every thread is in a handler, with a thousand messages behind it. The handlers return after the stop.
TEST(AgentsShutdown, WhileEveryThreadIsInAHandlerItEndsWithinASecondOfTheirEnd) {
  for (int round = 0; round < 20; ++round) {
    std::latch entered(3);
    std::latch go(1);
    Ring ring([&](int number) {
      if (number > 3) return;
      entered.count_down();
      go.wait();
    });
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(ring.addresses[static_cast<std::size_t>(i % 3)].post(Job{0, {}}).ok());
    entered.wait();
    ring.threads->stop();
    go.count_down();
    EXPECT_LT(ring.end(), kEnds);
    EXPECT_EQ(ring.handled(), 3) << "each ends after the message under way";
    expect_nothing_is_left();
  }
}

/// Calls 'at_end' when it finishes.
class Leaver final : public Agent {
 public:
  Leaver(AgentGroup& group, std::latch& started, std::function<void()> at_end)
      : Agent(group, "leaver", Priority::p3), started_(started), at_end_(std::move(at_end)) {}

 private:
  void on_start() override { started_.count_down(); }
  void on_finish() override { at_end_(); }
  std::latch& started_;
  const std::function<void()> at_end_;
};

TEST(AgentsShutdown, TheLastWordsOfAnAgentMayAskForItsAgents) {
  std::size_t groups = 0;
  std::latch started(1);
  {
    AgentThreads threads;
    ASSERT_TRUE(threads.agents().make<Leaver>(started, [&] { groups = threads.agents().groups(); }).has_value());
    started.wait();
  }
  EXPECT_EQ(groups, 1U);
}

}  // namespace
}  // namespace rondo
