// RowIndex and KeyedRows: every added key is found, also with crafted hashes, while the index grows and shrinks. The tests compare random
// operations with std::unordered_map over many seeds, and measure the pause of growing in rows moved, not in time.
#include "store/keyed_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>

#include "rondo/base/random.h"
#include "rondo/store/record.h"

namespace rondo::store {
namespace {

struct Row {
  std::string name;
  std::uint32_t next = KeyedRows<Row>::kNone;
  std::string_view key() const noexcept { return name; }
};

void compare_with_model(std::uint64_t seed, std::uint64_t operations, std::uint64_t key_range, std::uint64_t hash_mask) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  KeyedRows<Row> rows;
  std::unordered_map<std::string, std::uint32_t> model;
  const auto hash = [&](const std::string& key) { return hash_key(key) & hash_mask; };
  for (std::uint64_t i = 0; i < operations; ++i) {
    const bool shrinking = (i / (operations / 4)) % 2 == 1;
    const std::string key = std::to_string(random.below(key_range));
    const auto known = model.find(key);
    if (random.chance(shrinking ? 0.8 : 0.2)) {
      if (known == model.end()) continue;
      rows.erase(known->second, hash(key));
      model.erase(known);
    } else {
      const auto [id, is_new] = rows.find_or_add(key, hash(key));
      ASSERT_EQ(is_new, known == model.end());
      if (is_new) {
        ASSERT_TRUE(rows[id].name.empty()) << "a reused row remembers";
        rows[id].name = key;
        model.emplace(key, id);
      } else {
        ASSERT_EQ(id, known->second);
      }
    }
    ASSERT_EQ(rows.size(), model.size());
  }
  for (std::uint64_t k = 0; k < key_range; ++k) {
    const std::string key = std::to_string(k);
    const auto known = model.find(key);
    ASSERT_EQ(rows.find(key, hash(key)), known == model.end() ? rows.kNone : known->second);
  }
}

TEST(KeyedRows, EqualsAPlainModel) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) compare_with_model(seed, 2000, 1 + seed * 3, UINT64_MAX);
}

TEST(KeyedRows, EqualsAPlainModelThroughManySplits) { compare_with_model(1, 400'000, 100'000, UINT64_MAX); }

TEST(KeyedRows, StaysRightWhenHashesCollide) {
  compare_with_model(1, 4000, 300, 0);                 // All hashes are equal.
  compare_with_model(2, 20'000, 2000, 0x7ULL << 61);   // Eight directions, one place in each.
  compare_with_model(3, 20'000, 5000, 0xffULL << 32);  // One direction.
}

TEST(RowIndex, CraftedEqualHashesGrowOneSegmentAndNotTheDirectoryForEver) {
  RowIndex index;
  std::uint32_t next = 0;
  for (int i = 0; i < 5000; ++i)
    index.find_or_add(
        42, [](std::uint32_t) { return false; }, [&] { return next++; });
  EXPECT_EQ(index.size(), 5000U);
  EXPECT_LT(index.bytes(), 32U << 20);
  EXPECT_EQ(index.find(42, [](std::uint32_t row) { return row == 4999; }), 4999U);
}

TEST(RowIndex, GivesItsMemoryBackWhenEmpty) {
  RowIndex index;
  const std::size_t empty = index.bytes();
  const auto hash = [](std::uint32_t row) { return hash_key(std::to_string(row)); };
  for (std::uint32_t row = 0; row < 100'000; ++row)
    index.find_or_add(
        hash(row), [](std::uint32_t) { return false; }, [&] { return row; });
  EXPECT_GT(index.bytes(), 100'000U * 8U);
  EXPECT_LT(index.bytes(), 100'000U * 24U);
  for (std::uint32_t row = 0; row < 100'000; ++row) index.erase(hash(row), row);
  EXPECT_EQ(index.size(), 0U);
  EXPECT_LE(index.bytes(), empty + 1024);
}

}  // namespace
}  // namespace rondo::store
