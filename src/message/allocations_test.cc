// A message allocates nothing: the test counts allocations. Agents also end when allocations fail. The replaced operator new serves the
// whole binary. A sanitizer has its own operator new, so the file is empty under one.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "message/limits.h"
#include "rondo/base/clock.h"
#include "rondo/message/agent_threads.h"
#include "rondo/message/agents.h"
#include "rondo/message/limits.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
std::atomic<bool> memory_has_ended{false};
// Per thread: how many allocations succeed before one fails, and whether all later ones fail too.
thread_local long others_before = -1;
thread_local bool all_after = false;

bool fails() {
  if (memory_has_ended.load(std::memory_order_relaxed)) return true;
  if (others_before < 0 || others_before-- > 0) return false;
  if (all_after) others_before = 0;
  return true;
}
}  // namespace

// Not inlined: otherwise the compiler would see a mismatched pair of malloc and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (fails()) throw std::bad_alloc();
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (fails()) throw std::bad_alloc();
  const auto line = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(line, (size + line - 1) / line * line)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace rondo {
namespace {

struct Small {
  std::array<std::uint64_t, 8> words{};
};
struct Bounded {
  int key = 0;
};
struct Bang {};

struct Loop {
  explicit Loop(AgentsOptions options = {}, const PolicyOptions& policy = StrictPriority{})
      : scheduler(clock, *reactor, std::move(make_policy(policy).value())),
        agents(std::make_unique<Agents>(scheduler, std::move(options))) {}
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler;
  std::unique_ptr<Agents> agents;
};

class Counter final : public Agent {
 public:
  Counter(AgentGroup& group, const Topic<Small>& topic, Priority priority = Priority::p3) : Agent(group, "counter", priority) {
    coalesce<&Bounded::key, Bounded>(16);
    receive<&Counter::small>();
    receive<&Counter::bounded>();
    receive<&Counter::bang>();
    EXPECT_TRUE(subscribe<&Counter::small>(topic).ok());
  }
  std::uint64_t handled = 0;
  TimedMessage timer;
  void begin() { timer = send_every(address(), Small{}, 1ms); }

 private:
  void on_start() override { self_ = address(); }
  void on_finish() override { std::make_unique<std::string>(1000, 'x'); }
  void small(const Small&) {
    if (++handled % 4 != 0) return;
    EXPECT_TRUE(self_.post(Bounded{static_cast<int>(handled % 8)}).ok());
  }
  void bounded(const Bounded&) { ++handled; }
  void bang(const Bang&) { throw 1; }
  Address self_;
};

TEST(MessageAllocations, PostingPublishingTimersAndHandlersAllocateNothing) {
  Loop loop;
  const Topic<Small> topic = loop.agents->topic<Small>("small");
  Counter* counter = nullptr;
  ASSERT_TRUE(loop.agents
                  ->add([&](AgentGroup& group) {
                    counter = &group.make<Counter>(topic);
                    return Status{};
                  })
                  .has_value());
  loop.scheduler.run_until_idle();
  counter->begin();
  const Address to = counter->address();
  const auto burst = [&] {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(to.post(Small{}).ok());
      ASSERT_TRUE(to.post(Bounded{i % 4}).ok());
      ASSERT_EQ(topic.publish(Small{}).delivered, 1U);
    }
    loop.scheduler.run_until_idle();
    loop.scheduler.wait(loop.clock.now() + 2ms);
    loop.scheduler.run_until_idle();
  };
  burst();  // The places have been allocated by now.
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 10; ++i) burst();
  EXPECT_EQ(allocations.load() - before, 0U);
  EXPECT_GT(counter->handled, 20'000U);
  const std::size_t places = loop.agents->figures_of_queues().at(0).places;
  EXPECT_GT(places, 0U);
  EXPECT_EQ(places % limits::kMessagePlacesChunk, 0U);
}

TEST(MessageAllocations, WithoutMemoryAgentsAreRemovedAndEnd) {
  int told = 0;
  Loop loop({.on_fault = [&](const MessageFault&) { ++told; }});
  bool done = false;
  const std::function<void()> tell = [&] { done = true; };
  const Topic<Small> topic = loop.agents->topic<Small>("small");
  const Result<GroupId> group = loop.agents->add([&](AgentGroup& made) {
    made.make<Counter>(topic);
    return Status{};
  });
  const Result<GroupId> other = loop.agents->add([&](AgentGroup& made) {
    made.make<Counter>(topic);
    return Status{};
  });
  ASSERT_TRUE(group.has_value() && other.has_value());
  loop.scheduler.run_until_idle();
  EXPECT_EQ(topic.publish(Small{}).delivered, 2U);
  std::function<void()> mine = tell;
  memory_has_ended.store(true);
  const bool removed = loop.agents->remove(*group, Removal::AfterQueues, std::move(mine)).ok();
  loop.scheduler.run_until_idle();
  const bool was_done = done;
  loop.agents.reset();
  memory_has_ended.store(false);
  EXPECT_TRUE(removed);
  EXPECT_TRUE(was_done);
  EXPECT_EQ(told, 2) << "on_finish of both had no memory";
}

/// With waiting messages, armed timers and handlers that throw, on two threads, which run without memory until they are stopped.
TEST(MessageAllocations, WithoutMemoryThreadsStopAndTheirAgentsEnd) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> told{0};
    auto threads = std::make_unique<AgentThreads>(AgentThreadsOptions{.agents = {.on_fault = [&](const MessageFault&) { ++told; }}});
    const Topic<Small> topic = threads->agents().topic<Small>("small");
    std::array<Address, 2> addresses;
    const auto group = threads->agents().add([&](AgentGroup& made) {
      addresses[0] = made.make<Counter>(topic, Priority::p3).address();
      addresses[1] = made.make<Counter>(topic, Priority::p6).address();
      return Status{};
    });
    ASSERT_TRUE(group.has_value());
    for (int i = 0; i < 1000; ++i) {
      for (const Address& to : addresses) {
        ASSERT_TRUE(to.post(Small{}).ok());
        if (i % 100 == 0) {
          ASSERT_TRUE(to.post(Bang{}).ok());
        }
      }
    }
    const bool both_run = round % 2 == 0;  // Otherwise memory ends while they begin.
    const auto has_served = [](const MessageFigures& queue) { return queue.served > 0; };
    while (both_run && !std::ranges::all_of(threads->agents().figures_of_queues(), has_served)) std::this_thread::yield();
    memory_has_ended.store(true);
    threads->stop();
    threads.reset();
    memory_has_ended.store(false);
    if (both_run) {
      EXPECT_GE(told.load(), 2) << "on_finish of both had no memory";
    }
    EXPECT_EQ(addresses[0].post(Small{}).code(), StatusCode::NotFound);
  }
}

/// An order by arrival allocates room for each source that joins.
TEST(MessageAllocations, AQueueThatFoundNoMemoryAtItsFirstTurnIsTriedAgain) {
  Loop loop({}, StrictlyOrdered{});
  const Topic<Small> topic = loop.agents->topic<Small>("small");
  Counter* counter = nullptr;
  ASSERT_TRUE(loop.agents
                  ->add([&](AgentGroup& group) {
                    counter = &group.make<Counter>(topic);
                    return Status{};
                  })
                  .has_value());
  ASSERT_TRUE(counter->address().post(Small{}).ok());
  memory_has_ended.store(true);
  loop.scheduler.run_until_idle();
  const std::uint64_t before = counter->handled;
  memory_has_ended.store(false);
  EXPECT_EQ(before, 0U) << "it has no turns yet";
  const Instant deadline = loop.clock.now() + 60s;
  while (counter->handled == 0 && loop.clock.now() < deadline) {
    loop.scheduler.wait(loop.clock.now() + 1s);
    loop.scheduler.run_until_idle();
  }
  EXPECT_EQ(counter->handled, 1U);
}

TEST(MessageAllocations, WithoutMemoryAGroupIsNotAddedAndAThrowingHandlerIsSurvived) {
  Loop loop;
  const Topic<Small> topic = loop.agents->topic<Small>("small");
  const Result<Address> to = loop.agents->make<Counter>(topic);
  ASSERT_TRUE(to.has_value());
  loop.scheduler.run_until_idle();
  ASSERT_TRUE(to->post(Bang{}).ok());
  memory_has_ended.store(true);
  loop.scheduler.run_until_idle();
  const Result<Address> refused = loop.agents->make<Counter>(topic);
  memory_has_ended.store(false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(loop.agents->groups(), 1U);
  EXPECT_EQ(loop.agents->figures_of_agents().size(), 1U);
  EXPECT_EQ(loop.agents->figures_of_agents().at(0).faults, 1U);
}

struct Told {
  std::shared_ptr<int> what;
};

class Listener final : public Agent {
 public:
  Listener(AgentGroup& group, const Topic<Told>& topic, std::size_t most, int& handled)
      : Agent(group, "listener", Priority::p3), handled_(handled) {
    limit<Told>({.most = most});
    EXPECT_TRUE(subscribe<&Listener::told>(topic).ok());
  }

 private:
  void told(const Told&) { ++handled_; }
  int& handled_;
};

TEST(MessageAllocations, WithoutMemoryAPublishedMessageThatOneRefusesReachesTheNextAndIsNotLost) {
  Loop loop;
  const Topic<Told> topic = loop.agents->topic<Told>("told");
  int of_the_first = 0;
  int of_the_next = 0;
  ASSERT_TRUE(loop.agents->make<Listener>(topic, std::size_t{1}, of_the_first).has_value());
  ASSERT_TRUE(loop.agents->make<Listener>(topic, std::size_t{2}, of_the_next).has_value());
  const auto what = std::make_shared<int>();
  ASSERT_EQ(topic.publish({what}).delivered, 2U);
  const std::uint64_t before = allocations.load();
  Delivery second;
  bool has_thrown = false;
  memory_has_ended.store(true);
  try {
    second = topic.publish({what});
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  memory_has_ended.store(false);
  EXPECT_FALSE(has_thrown);
  EXPECT_EQ(allocations.load(), before);
  EXPECT_EQ(second.delivered, 1U);
  EXPECT_EQ(second.refused, 1U);
  loop.scheduler.run_until_idle();
  EXPECT_EQ(of_the_first, 1);
  EXPECT_EQ(of_the_next, 2);
  EXPECT_EQ(what.use_count(), 1);
}

class Taker final : public Agent {
 public:
  Taker(AgentGroup& group, Priority priority, int& handled) : Agent(group, "taker, whose name is not short", priority), handled_(handled) {
    limit<Small>({.most = 10});
    receive<&Taker::small>();
    receive<&Taker::bang>();
  }

 private:
  void small(const Small&) { ++handled_; }
  void bang(const Bang&) {}
  int& handled_;
};

/// Adds an agent while allocation 'number' fails, or also all later ones. Returns true if that many allocations were made.
bool add_without_memory(Agents& agents, long number, bool and_all_after, int& handled) {
  others_before = number;
  all_after = and_all_after;
  const Result<Address> added = agents.make<Taker>(Priority::p3, handled);
  const bool failed = and_all_after ? others_before == 0 : others_before < 0;
  others_before = -1;
  if (!added.has_value()) {
    EXPECT_TRUE(failed);
    EXPECT_EQ(added.error().code(), StatusCode::ResourceExhausted) << "allocation " << number << ": " << added.error().to_string();
  }
  EXPECT_EQ(agents.groups(), added.has_value() ? 1U : 0U) << "allocation " << number;
  EXPECT_EQ(agents.figures_of_agents().size(), added.has_value() ? 1U : 0U) << "allocation " << number;
  return failed;
}

TEST(MessageAllocations, WhicheverAllocationFailsAGroupIsNotAddedAndTheErrorIsReturned) {
  for (const bool and_all_after : {false, true}) {
    long number = 0;
    for (bool failed = true; failed; ++number) {
      Loop loop;
      loop.scheduler.run_until_idle();
      int handled = 0;
      failed = add_without_memory(*loop.agents, number, and_all_after, handled);
      const Result<Address> again = loop.agents->make<Taker>(Priority::p3, handled);
      ASSERT_TRUE(again.has_value()) << "memory is back after allocation " << number;
      ASSERT_TRUE(again->post(Small{}).ok());
      loop.scheduler.run_until_idle();
      EXPECT_EQ(handled, 1) << "allocation " << number;
    }
    EXPECT_GT(number, 10);
  }
}

TEST(MessageAllocations, WhicheverAllocationFailsAPriorityWithoutAThreadGetsOneLater) {
  for (const bool and_all_after : {false, true}) {
    long number = 0;
    for (bool failed = true; failed; ++number) {
      int handled = 0;
      AgentThreads threads;
      failed = add_without_memory(threads.agents(), number, and_all_after, handled);
      Address to;
      const Result<GroupId> again = threads.agents().add([&](AgentGroup& group) {
        to = group.make<Taker>(Priority::p3, handled).address();
        return Status{};
      });
      ASSERT_TRUE(again.has_value()) << "memory is back after allocation " << number;
      EXPECT_EQ(threads.size(), 1U) << "allocation " << number;
      ASSERT_TRUE(to.post(Small{}).ok());
      std::promise<void> gone;
      ASSERT_TRUE(threads.agents().remove(*again, Removal::AfterQueues, [&] { gone.set_value(); }).ok());
      gone.get_future().wait();
      EXPECT_EQ(handled, 1) << "allocation " << number;
    }
    EXPECT_GT(number, 20);
  }
}

TEST(MessageAllocations, AQueueForWhichThereWasNoMemoryIsTriedAgain) {
  for (long number = 0; number < 5; ++number) {
    Loop loop(AgentsOptions{}, StrictlyOrdered{});  // The order by arrival allocates memory for each source.
    int quarantined = 0;
    loop.scheduler.on_quarantine([&](const Source&, const Status&) { ++quarantined; });
    loop.scheduler.run_until_idle();
    int handled = 0;
    const Result<Address> to = loop.agents->make<Taker>(Priority::p3, handled);
    ASSERT_TRUE(to.has_value() && to->post(Small{}).ok());
    others_before = number;
    all_after = true;
    loop.scheduler.run_until_idle();
    const bool failed = others_before == 0;
    others_before = -1;
    EXPECT_EQ(quarantined, 0);
    if (number == 0) {
      EXPECT_TRUE(failed);
      EXPECT_EQ(handled, 0);
      EXPECT_EQ(loop.agents->queue_retries(), 1U);
    }
    const std::uint64_t turns = loop.scheduler.stats().turns;
    for (const Instant end = loop.clock.now() + 2 * limits::kAgentQueueRetry; handled == 0 && loop.clock.now() < end;) {
      loop.scheduler.wait(end);
      loop.scheduler.run_until_idle();
    }
    EXPECT_EQ(handled, 1) << "what was posted meanwhile is not lost";
    EXPECT_LE(loop.scheduler.stats().turns - turns, 3U) << "it does not try without a pause";
  }
}

}  // namespace
}  // namespace rondo

#endif
