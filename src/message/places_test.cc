// The memory in which messages wait, and the lock that guards it.
#include "message/places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "message/short_lock.h"

namespace rondo::message {
namespace {

constexpr std::size_t kChunk = limits::kMessagePlacesChunk;

TEST(Places, AChunkIsOrderedOnceBeforeItIsNeededAndUsedThen) {
  Places places(3 * kChunk);
  std::size_t taken = 0;
  EXPECT_FALSE(places.takes_order());
  while (!places.takes_order()) {
    ASSERT_NE(places.take(), nullptr);
    ASSERT_LE(++taken, kChunk) << "it was needed before it was ordered";
  }
  EXPECT_LT(taken, kChunk);
  EXPECT_FALSE(places.takes_order()) << "somebody makes it";
  std::unique_ptr<Node[]> spare = Places::make_spare();
  Node* const first = spare.get();
  places.keep(spare);
  EXPECT_EQ(spare, nullptr);
  for (; taken < kChunk; ++taken) ASSERT_NE(places.take(), nullptr);
  EXPECT_EQ(places.take(), first);
}

TEST(Places, WithoutASpareChunkOneIsMadeAndNoneBeyondTheLimit) {
  Places places(kChunk + 3);
  std::size_t orders = 0;
  for (std::size_t i = 0; i < kChunk + 3; ++i) {
    ASSERT_NE(places.take(), nullptr);
    if (places.takes_order()) ++orders;
  }
  EXPECT_EQ(orders, 1U) << "of a chunk that will never be needed";
  EXPECT_EQ(places.take(), nullptr);
}

TEST(Places, WhoGivesBackNeedNotAgainSoon) {
  Places places(4 * limits::kMessagePlacesKept);
  PlacesInHand hand;
  while (!hand.has_too_many()) hand.keep(*places.take());
  hand.give_back_to(places);
  std::size_t more = 0;
  for (; !hand.has_too_many(); ++more) hand.keep(*places.take());
  EXPECT_GE(more, limits::kMessagePlacesKept / 2);
  while (hand.take() != nullptr) ++more;
  EXPECT_LE(more, 3 * limits::kMessagePlacesKept);
}

TEST(ShortLock, OneAtATimeHoldsItAlsoWhereTheOthersFallAsleep) {
  constexpr std::uint64_t kEach = 20'000;
  ShortLock lock;
  std::uint64_t held = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < kEach; ++n) {
        const std::lock_guard<ShortLock> guard(lock);
        const std::uint64_t before = held;
        // Long enough that those who wait stop looking.
        for (unsigned turns = n % 256 == 0 ? 200 : 0; turns > 0; --turns) std::this_thread::yield();
        held = before + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(held, 4 * kEach);
}

}  // namespace
}  // namespace rondo::message
