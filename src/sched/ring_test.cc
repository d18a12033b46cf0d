// Ring: every item is taken once and in order; room and wake-ups are exact. In the tests with two threads both sides fall asleep
// repeatedly, and a lost wake-up makes the test hang. Also for the thread sanitizer.
#include "sched/ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>

namespace rondo {
namespace {

TEST(Ring, RoundsItsCapacityUpToAPowerOfTwo) {
  EXPECT_EQ(Ring<int>(0).capacity(), 2U);
  EXPECT_EQ(Ring<int>(5).capacity(), 8U);
  EXPECT_EQ(Ring<int>(64).capacity(), 64U);
}

TEST(Ring, NothingIsSeenBeforeItIsPublishedAndThenAllOfIt) {
  Ring<int> ring(4);
  for (int i = 0; i < 3; ++i) ring.put(int{i});
  EXPECT_EQ(ring.available(), 0U);
  EXPECT_FALSE(ring.publish()) << "nobody waits";
  EXPECT_EQ(ring.available(), 3U);
  EXPECT_EQ(ring.peek(1), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ring.take(), i);
}

TEST(Ring, SlotsAreFreeWhenTheyAreGivenBackAndNotBefore) {
  Ring<int> ring(4);
  for (int i = 0; i < 4; ++i) ring.put(int{i});
  EXPECT_FALSE(ring.publish());
  EXPECT_EQ(ring.room(), 0U);
  ASSERT_EQ(ring.available(), 4U);
  ring.take();
  EXPECT_EQ(ring.room(), 0U);
  EXPECT_FALSE(ring.release(1));
  EXPECT_EQ(ring.room(), 1U);
  EXPECT_EQ(ring.size(), 3U);
}

TEST(Ring, TakenSlotsKeepNothingAlive) {
  Ring<std::shared_ptr<int>> ring(2);
  const auto item = std::make_shared<int>(1);
  ring.put(std::shared_ptr<int>{item});
  EXPECT_FALSE(ring.publish());
  ASSERT_EQ(ring.available(), 1U);
  ring.take().reset();
  EXPECT_EQ(item.use_count(), 1);
}

TEST(Ring, WhoeverWaitsIsToBeWokenOnce) {
  Ring<int> ring(4);
  EXPECT_TRUE(ring.wait_for_items());
  ring.put(1);
  EXPECT_TRUE(ring.publish());
  ring.put(2);
  EXPECT_FALSE(ring.publish()) << "the wake-up stands for any number of items";
  EXPECT_FALSE(ring.wait_for_items()) << "there is something";
}

TEST(Ring, NobodyIsWokenForNothing) {
  Ring<int> ring(4);
  EXPECT_TRUE(ring.wait_for_items());
  EXPECT_FALSE(ring.publish()) << "nothing was put";
  ring.put(1);
  EXPECT_TRUE(ring.publish()) << "it still waits";
}

TEST(Ring, WaiterForRoomIsWokenWhenThereIsAsMuchAsItWants) {
  Ring<int> ring(4);
  for (int i = 0; i < 4; ++i) ring.put(int{i});
  EXPECT_FALSE(ring.publish());
  EXPECT_TRUE(ring.wait_for_room(2));
  ASSERT_EQ(ring.available(), 4U);
  ring.take();
  EXPECT_FALSE(ring.release(2));
  ring.take();
  EXPECT_TRUE(ring.release(2));
  ring.take();
  EXPECT_FALSE(ring.release(2)) << "told once";
  EXPECT_FALSE(ring.wait_for_room(3)) << "there is room";
}

/// A thread's sleep and wake: a futex through the standard library.
class Sleeper {
 public:
  void doze() {
    while (rung_.exchange(0, std::memory_order_acquire) == 0) rung_.wait(0, std::memory_order_relaxed);
  }
  void wake() {
    rung_.store(1, std::memory_order_release);
    rung_.notify_one();
  }

 private:
  std::atomic<int> rung_{0};
};

/// Both sides sleep whenever they can. Batches of random sizes; the ring is small, so both often find it full or empty.
void run_two_threads(std::size_t capacity, std::uint64_t count, std::uint32_t seed) {
  Ring<std::uint64_t> ring(capacity);
  Sleeper producer;
  Sleeper consumer;
  std::thread puts([&] {
    std::mt19937 random(seed);
    std::uint64_t next = 1;
    while (next <= count) {
      const std::size_t wanted = 1 + random() % ring.capacity();
      for (std::size_t room = ring.room(wanted); room > 0 && next <= count; --room) ring.put(std::uint64_t{next++});
      if (ring.publish()) consumer.wake();
      while (next <= count && ring.room() == 0) {
        if (ring.wait_for_room(1 + capacity / 2)) producer.doze();
      }
    }
  });
  std::mt19937 random(seed + 1);
  std::uint64_t expected = 1;
  while (expected <= count) {
    if (ring.available() == 0) {
      if (ring.wait_for_items()) consumer.doze();
      continue;
    }
    for (std::size_t most = 1 + random() % ring.capacity(); most > 0 && ring.available() > 0; --most) {
      ASSERT_EQ(ring.take(), expected);
      ++expected;
    }
    if (ring.release(1 + capacity / 2)) producer.wake();
  }
  puts.join();
  EXPECT_EQ(ring.size(), 0U);
}

TEST(Ring, NoItemAndNoWakeUpIsLostBetweenTwoThreads) {
  for (const std::size_t capacity : {2U, 4U, 64U}) run_two_threads(capacity, 20'000, static_cast<std::uint32_t>(capacity));
}

}  // namespace
}  // namespace rondo
