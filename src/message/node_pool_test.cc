// The memory of waiting messages.
#include "message/node_pool.h"
#include "rondo/message/limits.h"

#include <gtest/gtest.h>

namespace rondo::message {
namespace {

constexpr std::size_t kChunk = limits::kMessagePlacesChunk;

TEST(NodePool, ChunksAreMadeAsNeededAndNoneBeyondTheLimit) {
  NodePool pool(kChunk + 3);
  Node* last = nullptr;
  for (std::size_t i = 0; i < kChunk + 3; ++i) ASSERT_NE(last = pool.take(), nullptr);
  EXPECT_EQ(pool.made(), kChunk + 3);
  EXPECT_EQ(pool.take(), nullptr);
  pool.give_back(*last);
  EXPECT_EQ(pool.take(), last);
  EXPECT_EQ(pool.made(), kChunk + 3);
}

}  // namespace
}  // namespace rondo::message
