// A turn allocates nothing: the test counts allocations. The replaced operator new counts for the whole binary. A sanitizer has its own
// operator new, so the file is empty under one.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "rondo/sched/mailbox.h"
#include "sim/test_source.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Not inlined: otherwise the compiler would see a mismatched pair of malloc and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto line = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(line, (size + line - 1) / line * line)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace rondo {
namespace {

TEST(Allocations, TurnsTimersAndWakesAllocateNothing) {
  const SystemClock clock;
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(clock, *reactor, test::policy());
  std::vector<std::unique_ptr<test::WorkSource>> sources;
  for (unsigned i = 0; i < 100; ++i) {
    sources.push_back(std::make_unique<test::WorkSource>("s", i % 64));
    sources.back()->on_collect = []() -> Result<Backlog> { return Backlog::More; };
    scheduler.add(*sources.back());
  }
  TimerSource timer("timer", Priority{5}, [] {});
  scheduler.add(timer);
  timer.arm_every(1ms, clock.now());
  scheduler.run_until_idle();
  const std::uint64_t before = allocations.load();
  for (int round = 0; round < 50; ++round) {
    for (const auto& source : sources) {
      source->left = 300;
      source->wake();
      source->wake_from_any_thread();
    }
    scheduler.run_until_idle();
    scheduler.wait(clock.now() + 200us);
  }
  EXPECT_EQ(allocations.load() - before, 0U);
  EXPECT_GT(timer.stats().turns, 1U);
}

TEST(Allocations, NoPolicyAllocatesInATurnNorInAFrame) {
  const SystemClock clock;
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  for (const PolicyOptions& options :
       std::initializer_list<PolicyOptions>{BudgetedFrames{.lowest = 1us, .highest = 5us}, BudgetedFrames{.tie = Tie::ConsumedTime},
                                            StrictlyOrdered{}, QuotedRoundRobin{.quota = 3}}) {
    Scheduler scheduler(clock, *reactor, test::policy(options));
    std::vector<std::unique_ptr<test::WorkSource>> sources;
    for (unsigned i = 0; i < 200; ++i) {
      sources.push_back(std::make_unique<test::WorkSource>("s", i % 64));
      scheduler.add(*sources.back());
    }
    scheduler.run_until_idle();  // The reactor's first poll.
    const std::uint64_t before = allocations.load();
    for (int round = 0; round < 20; ++round) {
      for (const auto& source : sources) {
        source->left = 30;
        source->wake();
      }
      scheduler.run_until_idle();
    }
    EXPECT_EQ(allocations.load() - before, 0U) << scheduler.policy().describe();
    EXPECT_GT(scheduler.stats().turns, 3999U);
  }
}

TEST(Allocations, AMailboxInItsStrideAllocatesNothing) {
  const SystemClock clock;
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(clock, *reactor, test::policy());
  std::uint64_t sum = 0;
  Mailbox<std::uint64_t> mailbox("m", Priority{5}, [&](std::uint64_t&& value) { sum += value; });
  scheduler.add(mailbox);
  const auto burst = [&] {
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(mailbox.post(1).ok());
    scheduler.run_until_idle();
  };
  burst();
  burst();  // Both buffers have grown by now.
  const std::uint64_t before = allocations.load();
  burst();
  burst();
  EXPECT_EQ(allocations.load() - before, 0U);
  EXPECT_EQ(sum, 4000U);
}

}  // namespace
}  // namespace rondo

#endif
