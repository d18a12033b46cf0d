// The order in which routes are written: each once, changes first, lanes in turns.
#include "fpm/write_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "base/testing/sanitized.h"

namespace rondo::fpm {
namespace {

using testing::ElementsAre;

constexpr WriteOrder::Lane kChanged = WriteOrder::kChanged;
constexpr WriteOrder::Lane kBulk = WriteOrder::kBulk;
const WriteOrder::Lane kBgp = WriteOrder::lane_of(186, false);
const WriteOrder::Lane kBgp6 = WriteOrder::lane_of(186, true);

Instant at(int seconds) { return Instant{} + std::chrono::seconds{seconds}; }

std::vector<std::uint32_t> take(WriteOrder& order, std::size_t most = SIZE_MAX) {
  std::vector<std::uint32_t> routes;
  for (; !order.empty() && routes.size() < most; order.pop()) routes.push_back(order.front());
  return routes;
}

TEST(WriteOrder, LanesTakeTurns) {
  WriteOrder order;
  for (std::uint32_t route = 0; route < 5; ++route) order.add(route, kBgp, at(0));
  order.add(10, kBgp6, at(0));
  order.add(20, kBulk, at(0));
  order.add(11, kBgp6, at(0));
  EXPECT_THAT(take(order), ElementsAre(0, 10, 20, 1, 11, 2, 3, 4));
}

TEST(WriteOrder, ChangesGoFirstAndDoNotStopTheOthers) {
  WriteOrder order;
  for (std::uint32_t route = 0; route < 2; ++route) order.add(route, kBgp, at(0));
  for (std::uint32_t route = 10; route < 18; ++route) order.add(route, kChanged, at(0));
  EXPECT_THAT(take(order), ElementsAre(10, 11, 12, 0, 13, 14, 15, 1, 16, 17));
}

TEST(WriteOrder, AWaitingRouteKeepsItsPlaceUnlessItChanges) {
  WriteOrder order;
  for (std::uint32_t route = 0; route < 3; ++route) order.add(route, kBulk, at(1));
  order.add(2, kBgp, at(2));
  EXPECT_EQ(order.size(), 3U);
  order.add(2, kChanged, at(3));
  EXPECT_EQ(order.size(), 3U);
  EXPECT_EQ(order.front(), 2U);
  EXPECT_EQ(order.front_since(), at(1)) << "it has waited since then";
  EXPECT_THAT(take(order), ElementsAre(2, 0, 1));
}

/// Goal: each added route comes out once, and none waits longer than its lane and the number of lanes allow. Method: random additions and
/// removals beside a set of what waits.
TEST(WriteOrder, EachRouteComesOutOnceAndInBoundedTime) {
  std::mt19937 random{3};
  WriteOrder order;
  std::set<std::uint32_t> waiting;
  constexpr std::uint32_t kRoutes = 60;
  std::vector<unsigned> waits(kRoutes);
  const int rounds = plain_or_sanitized(20'000, 2'000);
  for (int round = 0; round < rounds; ++round) {
    if (random() % 2 == 0) {
      const auto route = static_cast<std::uint32_t>(random() % kRoutes);
      const auto protocol = static_cast<std::uint8_t>(random() % 3);
      order.add(route, random() % 3 == 0 ? kChanged : random() % 3 == 0 ? kBulk : WriteOrder::lane_of(protocol, random() % 2 == 0), at(0));
      if (waiting.insert(route).second) waits[route] = 0;
    } else if (!order.empty()) {
      const std::uint32_t route = order.front();
      order.pop();
      ASSERT_EQ(waiting.erase(route), 1U) << round;
      for (const std::uint32_t other : waiting) ASSERT_LT(++waits[other], kRoutes * 7 * (WriteOrder::kChangesInTurn + 1)) << round;
    }
    ASSERT_EQ(order.size(), waiting.size());
    for (std::uint32_t route = 0; route < kRoutes; ++route) ASSERT_EQ(order.contains(route), waiting.contains(route));
  }
  for (const std::uint32_t route : take(order)) EXPECT_EQ(waiting.erase(route), 1U);
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace rondo::fpm
