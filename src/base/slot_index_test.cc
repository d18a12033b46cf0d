// SlotIndex and Slab against plain models: every operation of a long random run must give the model's answer.
#include "base/slot_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "base/slab.h"

namespace rondo {
namespace {

TEST(SlotIndex, AgreesWithAMapOverRandomInsertsAndErases) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    // Few distinct hashes, so that equal tags and long runs occur.
    std::vector<std::uint64_t> hashes;
    for (int i = 0; i < 300; ++i) hashes.push_back(random() & 0xFF0000000000003FULL);
    std::map<std::uint32_t, std::uint64_t> model;  // slot -> hash
    SlotIndex index;
    for (int step = 0; step < 5000; ++step) {
      const auto slot = static_cast<std::uint32_t>(random() % hashes.size());
      const std::uint64_t hash = hashes[slot];
      const std::uint32_t found = index.find(hash, [&](std::uint32_t s) { return s == slot; });
      ASSERT_EQ(found, model.contains(slot) ? slot : SlotIndex::kNone);
      if (model.contains(slot)) {
        index.erase(hash, slot);
        model.erase(slot);
      } else {
        index.insert(hash, slot);
        model.emplace(slot, hash);
      }
      ASSERT_EQ(index.size(), model.size());
    }
    for (const auto& [slot, hash] : model) {
      const std::uint32_t wanted = slot;
      EXPECT_EQ(index.find(hash, [wanted](std::uint32_t s) { return s == wanted; }), wanted);
    }
  }
}

TEST(SlotIndex, AnEmptiedLargeIndexGivesItsMemoryBack) {
  SlotIndex index;
  const std::size_t empty = index.bytes();
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    hashes.push_back(random());
    index.insert(hashes.back(), i);
  }
  EXPECT_GT(index.bytes(), empty + 100000 * 8);
  for (std::uint32_t i = 0; i < 100000; ++i) index.erase(hashes[i], i);
  EXPECT_EQ(index.bytes(), empty);
}

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
