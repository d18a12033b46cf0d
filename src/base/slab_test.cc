// Slab: places never move, freed ones are used again, and what is live is counted.
#include "base/slab.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace rondo {
namespace {

TEST(Slab, PlacesNeverMove) {
  Slab<int> slab;
  std::vector<const int*> addresses;
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t slot = slab.take();
    slab[slot] = i;
    addresses.push_back(&slab[slot]);
  }
  for (std::uint32_t slot = 0; slot < 5000; ++slot) {
    ASSERT_EQ(&slab[slot], addresses[slot]);
    ASSERT_EQ(slab[slot], static_cast<int>(slot));
  }
}

TEST(Slab, FreedPlacesAreUsedAgainLastFreedFirst) {
  Slab<int> slab;
  for (int i = 0; i < 3; ++i) slab.take();
  slab.give_back(0);
  slab.give_back(2);
  EXPECT_EQ(slab.live(), 1U);
  EXPECT_EQ(slab.take(), 2U);
  EXPECT_EQ(slab.take(), 0U);
  EXPECT_EQ(slab.take(), 3U);
  EXPECT_EQ(slab.live(), 4U);
  EXPECT_EQ(slab.limit(), 4U);
}

TEST(Slab, ManyFreedPlacesAreTakenAgainBeforeNewOnes) {
  Slab<std::uint32_t> slab;
  for (std::uint32_t i = 0; i < 100'000; ++i) slab.take();
  const std::size_t bytes = slab.bytes();
  for (std::uint32_t i = 0; i < 100'000; ++i) slab.give_back(i);
  std::set<std::uint32_t> taken;
  for (std::uint32_t i = 0; i < 100'000; ++i) taken.insert(slab.take());
  EXPECT_EQ(taken.size(), 100'000U);
  EXPECT_EQ(slab.limit(), 100'000U);
  EXPECT_EQ(slab.bytes(), bytes);
}

}  // namespace
}  // namespace rondo
