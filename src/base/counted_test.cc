// Counts in messages are singular for one, and plural for none and more.
#include "base/counted.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "route"), "0 routes");
  EXPECT_EQ(counted(1, "route"), "1 route");
  EXPECT_EQ(counted(18'500, "route"), "18500 routes");
  EXPECT_EQ(counted(1, "entry waits", "entries wait"), "1 entry waits");
  EXPECT_EQ(counted(2, "entry waits", "entries wait"), "2 entries wait");
}

}  // namespace
}  // namespace rondo
