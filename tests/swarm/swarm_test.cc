// The lives that rondo-sim lives, as tests: the same seed is the same life, others are others; and seeds that once found something, by
// name.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "life.h"

namespace rondo::swarm {
namespace {

std::uint64_t hash_of(std::string_view program, std::uint64_t seed) {
  const std::unique_ptr<Life> life = make_life(program, seed);
  live(*life, 2000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
  EXPECT_GE(life->world().turns(), 1000U);
  return life->world().hash();
}

/// Found in the switch agent: the order in which it gave orders was that of the addresses of its objects.
TEST(Swarm, ALifeIsTheSameEveryTimeWhereverItsObjectsLie) {
  for (const std::string_view program : programs()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const std::uint64_t first = hash_of(program, seed);
      const std::unique_ptr<Life> other = make_life(program, seed + 1000);  // Its objects are in the way.
      live(*other, 500);
      EXPECT_EQ(hash_of(program, seed), first) << program << " seed " << seed;
    }
  }
}

TEST(Swarm, DifferentSeedsAreDifferentLives) {
  std::set<std::uint64_t> hashes;
  for (const std::string_view program : programs()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) hashes.insert(hash_of(program, seed));
  }
  EXPECT_EQ(hashes.size(), 20 * programs().size());
}

}  // namespace
}  // namespace rondo::swarm
