// The memory of waiting messages.
#include "message/places.h"

#include <gtest/gtest.h>

namespace rondo::message {
namespace {

constexpr std::size_t kChunk = limits::kMessagePlacesChunk;

TEST(Places, ChunksAreMadeAsNeededAndNoneBeyondTheLimit) {
  Places places(kChunk + 3);
  for (std::size_t i = 0; i < kChunk + 3; ++i) ASSERT_NE(places.take(), nullptr);
  EXPECT_EQ(places.made(), kChunk + 3);
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

}  // namespace
}  // namespace rondo::message
