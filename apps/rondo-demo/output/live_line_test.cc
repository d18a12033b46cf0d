// The redrawn line stays one line, whatever the terminal's width.
#include "rondo-demo/output/live_line.h"

#include <gtest/gtest.h>

namespace rondo::demo {
namespace {

TEST(LiveLine, IsNeverAsWideAsTheTerminal) {
  EXPECT_EQ(redrawn("0123456789", 80), "\r0123456789\x1b[K");
  EXPECT_EQ(redrawn("0123456789", 10), "\r012345678\x1b[K");
  EXPECT_EQ(redrawn("0123456789", 1), "\r0\x1b[K");
  EXPECT_EQ(redrawn("", 80), "\r\x1b[K");
}

}  // namespace
}  // namespace rondo::demo
