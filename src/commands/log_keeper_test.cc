// LogKeeper: keeps the newest lines, within its limits of number and length.
#include "rondo/commands/log_keeper.h"
#include "rondo/commands/limits.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo::commands {
namespace {

TEST(LogKeeper, KeepsTheNewestLinesWithinItsLimits) {
  LogKeeper keeper;
  EXPECT_TRUE(keeper.lines().empty());
  const std::size_t more = 20;
  for (std::size_t i = 0; i < limits::kLogLinesKept + more; ++i) keeper.add("line " + std::to_string(i) + "\n");
  const std::vector<std::string> lines = keeper.lines();
  ASSERT_EQ(lines.size(), limits::kLogLinesKept);
  EXPECT_EQ(lines.front(), "line " + std::to_string(more));
  EXPECT_EQ(lines.back(), "line " + std::to_string(limits::kLogLinesKept + more - 1));
  EXPECT_EQ(keeper.counts().forgotten, more);
  EXPECT_EQ(keeper.counts().cut, 0U);
  keeper.add(std::string(10 * limits::kLogLineBytesKept, 'x'));
  EXPECT_EQ(keeper.counts().cut, 1U);
  EXPECT_EQ(keeper.lines().back().size(), limits::kLogLineBytesKept);
}

TEST(LogKeeper, HidesAPasswordThatTheCutGoesThrough) {
  LogKeeper keeper;
  const std::string address = " redis://user:password@host";
  keeper.add(std::string(limits::kLogLineBytesKept - address.size() / 2, 'x') + address);
  EXPECT_EQ(keeper.lines().front().find("pas"), std::string::npos) << keeper.lines().front();
  EXPECT_NE(keeper.lines().front().find("redis://user"), std::string::npos);
}

}  // namespace
}  // namespace rondo::commands
