// Slab: places are reused, the last freed first, and their addresses are stable.
#include "base/slab.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rondo {
namespace {

TEST(Slab, SlotsAreUsedAgainAndNeverMove) {
  Slab<int> slab;
  std::vector<int*> places;
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t slot = slab.take();
    ASSERT_EQ(slot, static_cast<std::uint32_t>(i));
    slab[slot] = i;
    places.push_back(&slab[slot]);
  }
  for (std::uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(&slab[i], places[i]);
  slab.give_back(17);
  EXPECT_EQ(slab.live(), 4999U);
  EXPECT_EQ(slab.take(), 17U);
  EXPECT_EQ(slab.limit(), 5000U);
}

}  // namespace
}  // namespace rondo
