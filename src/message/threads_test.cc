// Agents and threads: producers against workers, a thread for each priority, wake-ups, figures read while agents are added and removed,
// ends at any moment. The assertions hold for any timing of the threads. Also for the thread sanitizer (./test tsan).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/testing/sanitized.h"
#include "rondo/base/clock.h"
#include "rondo/message/agent_threads.h"
#include "rondo/message/agents.h"

namespace rondo {
namespace {

constexpr int kProducers = 3;
constexpr int kEach = 20'000;

struct Work {
  int producer = 0;
  int number = 0;
};
struct Stop {};

/// A scheduler with its reactor, run by the test.
struct Loop {
  explicit Loop(const PolicyOptions& policy = StrictPriority{}) : scheduler(clock, *reactor, std::move(make_policy(policy).value())) {}
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler;
  Agents agents{scheduler};
};

/// Checks that each producer's messages arrive in order, and stops when all have arrived.
class Sink final : public Agent {
 public:
  Sink(AgentGroup& group, Priority priority, std::atomic<int>& total, int wanted, std::function<void()> done)
      : Agent(group, "sink", priority), total_(total), wanted_(wanted), done_(std::move(done)) {
    receive<&Sink::work>();
  }
  std::array<int, kProducers> next{};
  int out_of_order = 0;

 private:
  void work(const Work& work) {
    int& expected = next[static_cast<std::size_t>(work.producer)];
    if (work.number < expected) ++out_of_order;
    expected = work.number + 1;
    if (total_.fetch_add(1) + 1 == wanted_) done_();
  }
  std::atomic<int>& total_;
  const int wanted_;
  const std::function<void()> done_;
};

void must(const Status& status) { ASSERT_TRUE(status.ok()) << status.to_string(); }

void take_all_of_the_producers(Loop& loop) {
  std::atomic<int> total{0};
  std::vector<Sink*> sinks;
  ASSERT_TRUE(loop.agents
                  .add([&](AgentGroup& group) {
                    for (unsigned level = 0; level < 4; ++level) {
                      sinks.push_back(&group.make<Sink>(Priority{level}, total, kProducers * kEach, [&] { loop.scheduler.stop(); }));
                    }
                    return Status{};
                  })
                  .has_value());
  std::vector<Address> addresses;
  for (const Sink* sink : sinks) addresses.push_back(sink->address());
  std::vector<std::thread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int number = 0; number < kEach; ++number) must(addresses[static_cast<std::size_t>(number % 4)].post(Work{producer, number}));
    });
  }
  loop.scheduler.run();
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(total.load(), kProducers * kEach);
  for (const Sink* sink : sinks) EXPECT_EQ(sink->out_of_order, 0);
}

// Budgets that are used up often.
const PolicyOptions kPolicies[] = {
    StrictPriority{},
    StrictlyOrdered{},
    QuotedRoundRobin{.quota = 3},
    QuotedRoundRobin{.quota = 5, .unit = QuotaUnit::Microseconds},
    BudgetedFrames{.lowest = 5us, .highest = 5us},
    BudgetedFrames{.lowest = 5us, .highest = 500us, .tie = Tie::ConsumedTime},
};

TEST(AgentsThreads, SeveralProducersLoseNothingAndKeepTheirOrderUnderEachPolicy) {
  for (const PolicyOptions& policy : kPolicies) {
    Loop loop(policy);
    SCOPED_TRACE(loop.scheduler.policy().describe());
    take_all_of_the_producers(loop);
  }
}

TEST(AgentsThreads, ThePolicyMayChangeWhileSeveralProducersPost) {
  Loop loop;
  std::size_t changes = 0;
  TimerSource changer("changer", Priority::p5,
                      [&] { loop.scheduler.set_policy(std::move(make_policy(kPolicies[++changes % std::size(kPolicies)]).value())); });
  loop.scheduler.add(changer);
  changer.arm_every(1us, loop.clock.now());
  take_all_of_the_producers(loop);
  EXPECT_GT(changes, 2U);
}

/// Answers each Work with one to the other agent: each message meets a receiver that is falling asleep.
class Player final : public Agent {
 public:
  Player(AgentGroup& group, Priority priority, int rounds, std::promise<void>& done)
      : Agent(group, "player", priority), rounds_(rounds), done_(done) {
    receive<&Player::work>();
  }
  Address other;

 private:
  void work(const Work& work) {
    // The sweep found no lost wake either.
    EXPECT_EQ(scheduler().stats().sweep_rescues, 0U) << "at message " << work.number;
    if (work.number == rounds_) return done_.set_value();
    EXPECT_TRUE(other.post(Work{0, work.number + 1}).ok());
  }
  const int rounds_;
  std::promise<void>& done_;
};

TEST(AgentsThreads, AWakeUpJustAsTheReceiverGoesToSleepIsNotLost) {
  AgentThreads threads;
  std::promise<void> done;
  std::future<void> ended = done.get_future();
  Player* one = nullptr;
  Player* two = nullptr;
  ASSERT_TRUE(threads.agents()
                  .add([&](AgentGroup& group) {
                    one = &group.make<Player>(Priority::p1, 20'000, done);
                    two = &group.make<Player>(Priority::p2, 20'000, done);
                    one->other = two->address();
                    two->other = one->address();
                    return Status{};
                  })
                  .has_value());
  EXPECT_EQ(threads.size(), 2U);
  must(one->address().post(Work{0, 0}));
  EXPECT_EQ(ended.wait_for(std::chrono::seconds{60}), std::future_status::ready);
}

/// Records what it handles in a list that all agents of one thread share.
class Scribe final : public Agent {
 public:
  Scribe(AgentGroup& group, std::vector<int>& list, std::promise<void>& done)
      : Agent(group, "scribe", Priority::p2), list_(list), done_(done) {
    receive<&Scribe::work>();
  }

 private:
  void work(const Work& work) {
    list_.push_back(work.number);
    if (work.number == kEach) done_.set_value();
  }
  std::vector<int>& list_;
  std::promise<void>& done_;
};

TEST(AgentsThreads, OnTheThreadOfAPriorityMessagesAreHandledInTheOrderOfArrivalOverAllAgents) {
  std::vector<int> list;
  std::promise<void> done;
  std::vector<Address> addresses;
  AgentThreads threads;
  for (int i = 0; i < 3; ++i) addresses.push_back(threads.agents().make<Scribe>(list, done).value());
  for (int number = 0; number <= kEach; ++number) must(addresses[static_cast<std::size_t>(number * 7 % 3)].post(Work{0, number}));
  done.get_future().wait();
  EXPECT_EQ(threads.size(), 1U);
  ASSERT_EQ(list.size(), static_cast<std::size_t>(kEach) + 1);
  EXPECT_TRUE(std::ranges::is_sorted(list));
}

class Native final : public Agent {
 public:
  Native(AgentGroup& group, Priority priority, std::promise<std::thread::id>& where, std::atomic<int>& starts)
      : Agent(group, "native", priority), where_(where), starts_(starts) {
    receive<&Native::work>();
  }
  int order = -1;

 private:
  void on_start() override {
    order = starts_.fetch_add(1);
    started_ = std::this_thread::get_id();
  }
  void on_finish() override {}
  void work(const Work&) {
    EXPECT_EQ(std::this_thread::get_id(), started_);
    where_.set_value(started_);
  }
  std::promise<std::thread::id>& where_;
  std::atomic<int>& starts_;
  std::thread::id started_;
};

TEST(AgentsThreads, APriorityHasAThreadAndAGroupStartsFromTheHighestDownOverThreads) {
  for (int round = 0; round < 20; ++round) {
    AgentThreads threads({.settings = [](Priority) { return AgentThreadSettings{.nice = 1}; }, .name = "test"});
    EXPECT_EQ(threads.size(), 0U);
    std::array<std::promise<std::thread::id>, 3> where;
    std::array<Native*, 3> agents{};
    std::atomic<int> starts{0};
    ASSERT_TRUE(threads.agents()
                    .add([&](AgentGroup& group) {
                      for (unsigned i = 0; i < 3; ++i) agents[i] = &group.make<Native>(Priority{i}, where[i], starts);
                      return Status{};
                    })
                    .has_value());
    std::vector<std::thread::id> ids;
    for (unsigned i = 0; i < 3; ++i) {
      must(agents[i]->address().post(Work{}));
      ids.push_back(where[i].get_future().get());
    }
    EXPECT_NE(ids[0], ids[1]);
    EXPECT_NE(ids[1], ids[2]);
    EXPECT_NE(ids[0], std::this_thread::get_id());
    EXPECT_EQ(agents[2]->order, 0);
    EXPECT_EQ(agents[1]->order, 1);
    EXPECT_EQ(agents[0]->order, 2);
  }
}

#if defined(__SANITIZE_THREAD__)
// The sanitizer delays the signal that requests the name until the turn makes a call that the sanitizer intercepts.
constexpr bool kNamesStalls = false;
#else
constexpr bool kNamesStalls = true;
#endif

TEST(AgentsThreads, AWatchdogTellsOfAHandlerThatDoesNotReturn) {
  std::promise<void> told;
  std::atomic<bool> is_told{false};
  AgentThreads threads({.settings = [&](Priority) {
    return AgentThreadSettings{.watchdog = StallWatchdogOptions{.limit = 20ms, .on_stall = [&](const Stall& stall) {
                                                                  if ((!stall.source.empty() || !kNamesStalls) && !is_told.exchange(true))
                                                                    told.set_value();
                                                                }}};
  }});
  class Stuck final : public Agent {
   public:
    Stuck(AgentGroup& group, std::future<void> until, std::promise<void>& done)
        : Agent(group, "stuck", Priority::p1), until_(std::move(until)), done_(done) {
      receive<&Stuck::work>();
    }

   private:
    void work(const Work&) {
      until_.wait();
      done_.set_value();
    }
    std::future<void> until_;
    std::promise<void>& done_;
  };
  std::promise<void> done;
  const Result<Address> to = threads.agents().make<Stuck>(told.get_future(), done);
  ASSERT_TRUE(to.has_value()) << to.error().to_string();
  ASSERT_TRUE(to->post(Work{}).ok());
  done.get_future().wait();
  EXPECT_TRUE(is_told.load());
  threads.stop();
}

TEST(AgentsThreads, ACpuThatDoesNotExistFailsTheGroupWhole) {
  AgentThreads threads({.settings = [](Priority priority) {
    return AgentThreadSettings{.cpus = priority == Priority::p1 ? std::vector<unsigned>{4000} : std::vector<unsigned>{}};
  }});
  std::promise<std::thread::id> unused;
  std::atomic<int> starts{0};
  const Result<GroupId> added = threads.agents().add([&](AgentGroup& group) {
    group.make<Native>(Priority::p2, unused, starts);
    group.make<Native>(Priority::p1, unused, starts);
    return Status{};
  });
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code(), StatusCode::InvalidArgument) << added.error().to_string();
  EXPECT_EQ(threads.agents().groups(), 0U);
  EXPECT_EQ(starts.load(), 0);
}

TEST(AgentsThreads, FiguresAreReadWhileAgentsComeAndGo) {
  AgentThreads threads;
  std::atomic<bool> ended{false};
  std::uint64_t before = 0;
  std::thread reader([&] {
    while (!ended.load()) {
      for (const MessageFigures& one : threads.agents().figures_of_agents()) {
        ASSERT_EQ(one.name, "sink");
        ASSERT_LE(one.queued, 100U);
        ASSERT_LE(one.served, 100U);
      }
      std::uint64_t now = 0;
      for (const MessageFigures& one : threads.agents().figures_of_queues()) {
        ASSERT_LE(one.queued, 100'000U);
        now += one.served;
      }
      ASSERT_GE(now, before) << "an agent was counted twice while it went";
      before = now;
    }
  });
  std::atomic<int> total{0};
  for (int round = 0; round < 300; ++round) {
    Address to;
    const Result<GroupId> added = threads.agents().add([&](AgentGroup& group) {
      to = group.make<Sink>(Priority{static_cast<unsigned>(round % 3)}, total, -1, [] {}).address();
      return Status{};
    });
    ASSERT_TRUE(added.has_value());
    for (int i = 0; i < 100; ++i) must(to.post(Work{0, i}));
    std::promise<void> gone;
    must(threads.agents().remove(*added, Removal::AfterQueues, [&] { gone.set_value(); }));
    gone.get_future().wait();
  }
  ended.store(true);
  reader.join();
  EXPECT_EQ(total.load(), 300 * 100);
  std::uint64_t served = 0;
  for (const MessageFigures& queue : threads.agents().figures_of_queues()) served += queue.served;
  EXPECT_EQ(served, 300U * 100U) << "what agents counted that have gone is kept with their queue";
}

TEST(AgentsThreads, TheEndMayComeAtAnyMomentWhileOthersPost) {
  for (int round = 0; round < 60; ++round) {
    std::vector<std::thread> producers;
    std::atomic<int> total{0};
    std::atomic<int> posted{0};
    {
      AgentThreads threads;
      Address to;
      ASSERT_TRUE(threads.agents()
                      .add([&](AgentGroup& group) {
                        to = group.make<Sink>(Priority::p3, total, -1, [] {}).address();
                        return Status{};
                      })
                      .has_value());
      for (int producer = 0; producer < 2; ++producer) {
        producers.emplace_back([to, producer, &posted] {
          for (int number = 0;; ++number) {
            const Status status = to.post(Work{producer, number});
            if (status.code() == StatusCode::NotFound) return;  // The agent has gone.
            if (status.ok()) posted.fetch_add(1);
          }
        });
      }
      while (posted.load() < 100 * round) std::this_thread::yield();
    }
    for (std::thread& producer : producers) producer.join();
    EXPECT_LE(total.load(), posted.load());
  }
}

TEST(AgentsThreads, LimitsHoldWhileTheReceiverWorks) {
  class Bounded final : public Agent {
   public:
    Bounded(AgentGroup& group, Overflow overflow, std::promise<void>& done) : Agent(group, "bounded", Priority::p3), done_(done) {
      limit<Work>({.most = 10, .overflow = overflow});
      receive<&Bounded::work>();
      receive<&Bounded::stop>();
    }
    int handled = 0;
    int last = -1;
    bool ordered = true;

   private:
    void work(const Work& work) {
      ++handled;
      ordered = ordered && work.number > last;
      last = work.number;
    }
    void stop(const Stop&) { done_.set_value(); }
    std::promise<void>& done_;
  };
  for (const Overflow overflow : {Overflow::Reject, Overflow::DropNewest, Overflow::DropOldest}) {
    AgentThreads threads;
    std::promise<void> done;
    Bounded* agent = nullptr;
    ASSERT_TRUE(threads.agents()
                    .add([&](AgentGroup& group) {
                      agent = &group.make<Bounded>(overflow, done);
                      return Status{};
                    })
                    .has_value());
    const Address to = agent->address();
    int accepted = 0;
    for (int number = 0; number < kEach; ++number) accepted += to.post(Work{0, number}).ok() ? 1 : 0;
    must(to.post(Stop{}));
    done.get_future().wait();
    const MessageFigures figures = threads.agents().figures_of_agents().at(0);
    EXPECT_TRUE(agent->ordered);
    EXPECT_EQ(agent->handled + static_cast<int>(figures.dropped), accepted);
    EXPECT_EQ(accepted + static_cast<int>(figures.refused), kEach);
    if (overflow == Overflow::DropOldest) {
      EXPECT_EQ(agent->last, kEach - 1) << "the newest is kept";
    }
  }
}

/// Counts what it handles; if set, stops all agents with the first message.
class Taker final : public Agent {
 public:
  Taker(AgentGroup& group, Priority priority, std::function<void(int)> on_work = {})
      : Agent(group, "taker", priority), on_work_(std::move(on_work)) {
    receive<&Taker::work>();
  }
  int handled = 0;

 private:
  void work(const Work& work) {
    ++handled;
    if (on_work_) on_work_(work.number);
  }
  const std::function<void(int)> on_work_;
};

/// Spends some nanoseconds.
void pass(int steps) {
  for (int i = 0; i < steps; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Sees the value within nanoseconds if both threads run.
void wait_for(const std::atomic<int>& number, int wanted) {
  for (int looks = 0; number.load(std::memory_order_acquire) < wanted; ++looks) {
    if (looks > 2000) std::this_thread::yield();
  }
}

// A post stores the message, then reads whether the lane has a scheduler to wake. Adding the lane stores the scheduler, then reads whether
// it has messages. Without a lock, each of two simultaneous calls may miss the other.
TEST(AgentsThreads, TheFirstMessageToANewQueueIsNotLeftLying) {
  constexpr int kRounds = plain_or_sanitized(10'000, 2000);
  const SystemClock clock;
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  Address to;
  bool accepted = false;
  std::thread poster([&] {
    for (int round = 1; round <= kRounds; ++round) {
      wait_for(begun, round);
      pass(round % 64 * 8);
      accepted = to.post(Work{}).ok();
      ended.store(round, std::memory_order_release);
    }
  });
  int left_lying = 0;
  for (int round = 1; round <= kRounds; ++round) {
    Scheduler scheduler(clock, *reactor, std::move(make_policy(StrictPriority{}).value()));
    Agents agents(scheduler, {.messages_max = 16});
    Taker* taker = nullptr;
    ASSERT_TRUE(agents
                    .add([&](AgentGroup& group) {
                      taker = &group.make<Taker>(Priority::p3);
                      return Status{};
                    })
                    .has_value());
    to = taker->address();
    begun.store(round, std::memory_order_release);
    pass(round / 64 % 64 * 8);
    scheduler.run_until_idle();
    wait_for(ended, round);
    scheduler.run_until_idle();
    if (accepted && taker->handled == 0) ++left_lying;
    to = Address{};
  }
  poster.join();
  EXPECT_EQ(left_lying, 0) << "of " << kRounds;
}

TEST(AgentsThreads, AgentsThatCouldNotBeAddedLeaveTheFiguresOfOthersAlone) {
  Loop loop;
  std::atomic<bool> ended{false};
  std::atomic<int> refused{0};
  std::thread other([&] {
    while (!ended.load()) {
      const Result<GroupId> added = loop.agents.add([](AgentGroup& group) -> Status {
        for (int i = 0; i < 64; ++i) group.make<Taker>(Priority::p3);
        return {StatusCode::PermissionDenied, "no"};
      });
      refused.fetch_add(added.has_value() ? 0 : 1);
    }
  });
  std::uint64_t accepted = 0;
  std::uint64_t served = 0;
  for (int round = 0; served == accepted && (round < 50'000 || refused.load() < 100); ++round) {
    Address to;
    const Result<GroupId> added = loop.agents.add([&](AgentGroup& group) {
      to = group.make<Taker>(Priority::p3).address();
      return Status{};
    });
    loop.scheduler.run_until_idle();
    for (int i = 0; i < 3; ++i) accepted += to.post(Work{}).ok() ? 1U : 0U;
    must(loop.agents.remove(added.value(), Removal::AfterQueues));
    loop.scheduler.run_until_idle();
    served = loop.agents.figures_of_queues().at(0).served;
  }
  EXPECT_EQ(served, accepted);
  ended.store(true);
  other.join();
}

/// Posts to itself as other threads do, and retries some messages.
class Talker final : public Agent {
 public:
  Talker(AgentGroup& group, std::atomic<int>& handled)
      : Agent(group, "talker", Priority::p3, {.reaction = Reaction::Retry, .retry_delay = Duration{0}, .retries_max = 1}),
        handled_(handled) {
    limit<Work>({.most = 10'000});
    receive<&Talker::work>();
    receive<&Talker::stop>();
  }

 private:
  static constexpr int kRounds = 50'000;
  void stop(const Stop&) {
    if (++round_ == kRounds) return scheduler().stop();
    for (int number = 0; number < 8; ++number) must(address().post(Work{0, number}));
    must(address().post(Stop{}));
  }
  void work(const Work& work) {
    if (++attempts_ % 16 == 0) throw attempts_;
    if (work.producer == 1) handled_.fetch_add(1);
  }
  int round_ = 0;
  int attempts_ = 0;
  std::atomic<int>& handled_;
};

// Whenever another thread posts: a message that an agent posts to itself, or retries, leaves the limit of its type when it leaves the
// queue.
TEST(AgentsThreads, OwnMessagesOfALimitedTypeHaveOnePlaceAmongThoseOfOthers) {
  Loop loop;
  std::atomic<int> handled{0};
  const Address to = loop.agents.make<Talker>(handled).value();
  must(to.post(Stop{}));
  std::atomic<bool> ended{false};
  std::thread other([&] {
    for (int number = 0; !ended.load();) {
      if (number - handled.load() < 1000) must(to.post(Work{1, number++}));
    }
  });
  loop.scheduler.run();
  ended.store(true);
  other.join();
}

/// Starts when the test allows it.
class Starter final : public Agent {
 public:
  Starter(AgentGroup& group, std::shared_future<void> may_start)
      : Agent(group, "starter", Priority::p5), may_start_(std::move(may_start)) {}

 private:
  void on_start() override { may_start_.wait(); }
  std::shared_future<void> may_start_;
};

/// Has a bounded number of messages.
class Bounded final : public Agent {
 public:
  Bounded(AgentGroup& group, std::function<void(int)> on_work) : Agent(group, "bounded", Priority::p3), on_work_(std::move(on_work)) {
    limit<Work>({.most = 10});
    receive<&Bounded::work>();
  }

 private:
  void work(const Work& work) { on_work_(work.number); }
  const std::function<void(int)> on_work_;
};

/// A running agent of p3, and one whose group waits on the thread of p5 for its start, so that its messages wait separately. Messages 0, 2
/// and 5 are for the first agent, 1, 3 and 4 for the second. All of them arrive before any has its turn.
struct Early {
  Early() {
    Address runs = threads.agents().make<Taker>(Priority::p3, [this](int number) { work(number); }).value();
    const auto make_late = [this](AgentGroup& group) {
      group.make<Starter>(may_start.get_future().share());
      late = group.make<Bounded>([this](int number) { work(number); }).address();
      return Status{};
    };
    id = threads.agents().add(make_late).value();
    for (int number = 0; number < 6; ++number) must((number == 0 || number == 2 || number == 5 ? runs : late).post(Work{0, number}));
  }
  void work(int number) {
    if (number == 0) begin.get_future().wait();
    order.push_back(number);
    in_handler(number);
  }
  /// Calls 'what' in the handler of each message, from the first on.
  void go(std::function<void(int)> what) {
    in_handler = std::move(what);
    begin.set_value();
  }

  std::promise<void> may_start;
  std::promise<void> begin;
  std::vector<int> order;
  std::function<void(int)> in_handler;
  Address late;
  GroupId id{};
  AgentThreads threads;  // Declared last: the threads end before the members that they use.
};

TEST(AgentsThreads, WhatCameBeforeAStartOnAnotherThreadIsHandledInItsOrder) {
  std::promise<void> all;
  Early early;
  early.go([&](int number) {
    if (number == 5) early.may_start.set_value();
    if (number == 4) all.set_value();
  });
  all.get_future().wait();
  EXPECT_EQ(early.order, (std::vector{0, 2, 5, 1, 3, 4}));
}

// Messages that arrive before its start wait separately, and messages after the removal are dropped at their turn: both leave the limit,
// oldest first.
TEST(AgentsThreads, AnAgentThatIsRemovedBeforeItsStartLosesItsMessagesInTheirOrder) {
  std::promise<void> gone;
  Early early;
  early.go([&](int number) {
    if (number != 2) return;
    EXPECT_TRUE(early.threads.agents().remove(early.id, Removal::AtOnce, [&] { gone.set_value(); }).ok());
    early.may_start.set_value();
  });
  gone.get_future().wait();
  EXPECT_EQ(early.late.post(Work{0, 6}).code(), StatusCode::NotFound);
  const auto of_p3 = [&] {
    for (const MessageFigures& queue : early.threads.agents().figures_of_queues()) {
      if (queue.priority == Priority::p3) return queue;
    }
    return MessageFigures{};
  };
  while (of_p3().queued != 0) std::this_thread::yield();
  EXPECT_EQ(of_p3().dropped, 3U);
}

TEST(AgentsThreads, StopEndsEachThreadAfterTheMessageThatItHandles) {
  auto threads = std::make_unique<AgentThreads>();
  std::atomic<int> handled{0};
  std::promise<void> ready;
  std::promise<void> posted;
  std::shared_future<void> all_posted = posted.get_future().share();
  Address to;
  Status own;
  ASSERT_TRUE(threads->agents()
                  .add([&](AgentGroup& group) {
                    to = group
                             .make<Taker>(Priority::p3,
                                          [&, all_posted](int number) {
                                            handled.fetch_add(1);
                                            if (number != 0) return;
                                            ready.set_value();
                                            all_posted.wait();
                                            threads->stop();
                                            own = to.post(Work{0, 100});
                                          })
                             .address();
                    return Status{};
                  })
                  .has_value());
  must(to.post(Work{0, 0}));
  ready.get_future().wait();
  for (int i = 1; i < 100; ++i) must(to.post(Work{0, i}));
  posted.set_value();
  threads->wait();
  for (const Priority priority : {Priority::p3, Priority::p5}) {
    const Result<Address> late = threads->agents().make<Taker>(priority);
    ASSERT_FALSE(late.has_value()) << "no thread begins any more, and none that has begun goes on";
    EXPECT_EQ(late.error().code(), StatusCode::FailedPrecondition);
    EXPECT_NE(late.error().message().find("were stopped"), std::string_view::npos) << late.error().to_string();
  }
  const Status refused = to.post(Work{0, 101});
  EXPECT_EQ(refused.code(), StatusCode::NotFound);
  EXPECT_NE(refused.message().find("was stopped"), std::string_view::npos) << refused.to_string();
  EXPECT_EQ(threads->size(), 1U);
  // The handler that stopped them may not have returned yet.
  const auto queued = [&threads] { return threads->agents().figures_of_queues().at(0).queued; };
  while (queued() == 100) std::this_thread::yield();
  EXPECT_EQ(queued(), 99U) << "what waits is dropped at the end";
  threads.reset();
  EXPECT_EQ(handled.load(), 1);
  EXPECT_EQ(own.code(), StatusCode::NotFound) << "of an agent, too";
}

}  // namespace
}  // namespace rondo
