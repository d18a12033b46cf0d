// The line of progress.
#include "terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "output/render.h"

namespace rondo::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Progress, TheLineSaysHowFarAndHowFast) {
  EXPECT_EQ(Progress::line("routes", 500, 1000, 1s), "routes [###############...............]  50%  500 of 1000 rows  500/s");
  EXPECT_THAT(Progress::line("routes", 0, 0, 0ns), HasSubstr("100%"));
  EXPECT_THAT(Progress::line("day", 1, 2, 1s, 79, "records"), HasSubstr(" 1 of 2 records  1/s"));
}

TEST(Progress, TheLineFitsAndShowsTheEndOfALongName) {
  const std::string name = "/a/folder/with/many/more/b\xc3\xa4h.json";
  for (std::size_t columns = 1; columns < 120; ++columns) {
    EXPECT_LE(characters(Progress::line(name, 500, 1000, 1s, columns)), columns);
  }
  EXPECT_THAT(Progress::line(name, 500, 1000, 1s, 71), AllOf(StartsWith("b\xc3\xa4h.json [###"), HasSubstr("of 1000 rows  500/s")));
  EXPECT_EQ(Progress::line("a\x1b[2J", 0, 1, 1s, 12), "a\\x1b[2J [..");
}

}  // namespace
}  // namespace rondo::cli
