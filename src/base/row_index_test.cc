// RowIndex against a plain model: every operation of a long random run must return the model's answer, also when hashes collide.
#include "base/row_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace rondo {
namespace {

TEST(RowIndex, AgreesWithAMapOverRandomInsertsAndErases) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    // Few distinct hashes, so that equal tags and long runs occur.
    std::vector<std::uint64_t> hashes;
    for (int i = 0; i < 300; ++i) hashes.push_back(random() & 0xFF0000000000003FULL);
    std::map<std::uint32_t, std::uint64_t> model;  // slot -> hash
    RowIndex index;
    for (int step = 0; step < 5000; ++step) {
      const auto slot = static_cast<std::uint32_t>(random() % hashes.size());
      const std::uint64_t hash = hashes[slot];
      const std::uint32_t found = index.find(hash, [&](std::uint32_t s) { return s == slot; });
      ASSERT_EQ(found, model.contains(slot) ? slot : RowIndex::kNone);
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

TEST(RowIndex, AnEmptiedLargeIndexGivesItsMemoryBack) {
  RowIndex index;
  const std::size_t empty = index.bytes();
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    hashes.push_back(random());
    index.insert(hashes.back(), i);
  }
  EXPECT_GT(index.bytes(), empty + 100000 * 8);
  for (std::uint32_t i = 0; i < 100000; ++i) index.erase(hashes[i], i);
  EXPECT_LT(index.bytes(), empty + 4096);  // The lists of segments keep their capacity.
}

}  // namespace
}  // namespace rondo
