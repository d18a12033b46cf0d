// The order in which routes are written: each once, changes first, lanes in turns, of new routes the shortest prefix first.
#include "fpm/write_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  for (std::uint32_t route = 0; route < 5; ++route) order.add(route, kBgp, 24, at(0));
  order.add(10, kBgp6, 24, at(0));
  order.add(20, kBulk, 24, at(0));
  order.add(11, kBgp6, 24, at(0));
  EXPECT_THAT(take(order), ElementsAre(0, 10, 20, 1, 11, 2, 3, 4));
}

TEST(WriteOrder, ChangesGoFirstAndDoNotStopTheOthers) {
  WriteOrder order;
  for (std::uint32_t route = 0; route < 2; ++route) order.add(route, kBgp, 24, at(0));
  for (std::uint32_t route = 10; route < 18; ++route) order.add(route, kChanged, 24, at(0));
  EXPECT_THAT(take(order), ElementsAre(10, 11, 12, 0, 13, 14, 15, 1, 16, 17));
}

TEST(WriteOrder, AWaitingRouteKeepsItsPlaceUnlessItChanges) {
  WriteOrder order;
  for (std::uint32_t route = 0; route < 3; ++route) order.add(route, kBulk, 24, at(1));
  order.add(2, kBgp, 24, at(2));
  EXPECT_EQ(order.size(), 3U);
  order.add(2, kChanged, 24, at(3));
  EXPECT_EQ(order.size(), 3U);
  EXPECT_EQ(order.front(), 2U);
  EXPECT_EQ(order.front_since(), at(1)) << "it has waited since then";
  EXPECT_THAT(take(order), ElementsAre(2, 0, 1));
}

TEST(WriteOrder, OfNewRoutesTheShortestPrefixIsFirst) {
  WriteOrder order;
  order.add(0, kBgp, 24, at(0));
  order.add(1, kBgp, 8, at(0));
  order.add(2, kBgp, 24, at(0));
  order.add(3, kBgp, 0, at(0));
  order.add(4, kBgp6, 48, at(0));
  order.add(5, kBgp6, 32, at(0));
  EXPECT_THAT(take(order), ElementsAre(3, 5, 1, 4, 0, 2));
}

TEST(WriteOrder, ChangesAndRoutesOfTheBookKeepTheirOrder) {
  WriteOrder order;
  order.add(0, kBulk, 24, at(0));
  order.add(1, kBulk, 8, at(0));
  order.add(2, kChanged, 24, at(0));
  order.add(3, kChanged, 8, at(0));
  EXPECT_THAT(take(order), ElementsAre(2, 3, 0, 1));
}

/// Goal: a long prefix does not wait without end behind shorter ones that come all the time. Method: each route that comes out is followed
/// by a new /8 and a new /16.
TEST(WriteOrder, EachLengthHasItsTurn) {
  constexpr std::uint32_t kTaken = 4 * (WriteOrder::kShortestInTurn + 1);
  WriteOrder order;
  order.add(0, kBgp, 32, at(0));
  order.add(1, kBgp, 24, at(0));
  std::vector<std::uint32_t> routes;
  for (std::uint32_t next = 2; routes.size() < kTaken; order.pop()) {
    order.add(next++, kBgp, 8, at(0));
    order.add(next++, kBgp, 16, at(0));
    routes.push_back(order.front());
  }
  EXPECT_EQ(std::ranges::count(routes, 0U), 1) << "the /32";
  EXPECT_EQ(std::ranges::count(routes, 1U), 1) << "the /24";
  EXPECT_EQ(std::ranges::count_if(routes, [](std::uint32_t route) { return route >= 2 && route % 2 == 1; }), 1) << "one /16";
}

/// Goal: each added route comes out once, and none waits longer than its lane and the number of lanes allow. Method: random additions and
/// removals beside a set of what waits.
TEST(WriteOrder, EachRouteComesOutOnceAndInBoundedTime) {
  std::mt19937 random{3};
  WriteOrder order;
  std::set<std::uint32_t> waiting;
  constexpr std::uint32_t kRoutes = 60;
  constexpr std::uint32_t kLengths = 5;
  std::vector<unsigned> waits(kRoutes);
  const int rounds = plain_or_sanitized(20'000, 2'000);
  for (int round = 0; round < rounds; ++round) {
    if (random() % 2 == 0) {
      const auto route = static_cast<std::uint32_t>(random() % kRoutes);
      const auto protocol = static_cast<std::uint8_t>(random() % 3);
      order.add(route,
                random() % 3 == 0   ? kChanged
                : random() % 3 == 0 ? kBulk
                                    : WriteOrder::lane_of(protocol, random() % 2 == 0),
                24, at(0));
      if (waiting.insert(route).second) waits[route] = 0;
    } else if (!order.empty()) {
      const std::uint32_t route = order.front();
      order.pop();
      ASSERT_EQ(waiting.erase(route), 1U) << round;
      for (const std::uint32_t other : waiting)
        ASSERT_LT(++waits[other], kRoutes * 7 * (WriteOrder::kChangesInTurn + 1) * kLengths) << round;
    }
    ASSERT_EQ(order.size(), waiting.size());
    for (std::uint32_t route = 0; route < kRoutes; ++route) ASSERT_EQ(order.contains(route), waiting.contains(route));
  }
  for (const std::uint32_t route : take(order)) EXPECT_EQ(waiting.erase(route), 1U);
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace rondo::fpm
