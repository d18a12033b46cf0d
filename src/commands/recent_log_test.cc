// RecentLog: keeps the newest lines, within its limits of number and length.
#include "commands/recent_log.h"
#include "rondo/commands/limits.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo::commands {
namespace {

TEST(RecentLog, KeepsTheNewestLinesWithinItsLimits) {
  RecentLog log;
  EXPECT_TRUE(log.lines().empty());
  const std::size_t more = 20;
  for (std::size_t i = 0; i < limits::kLogLinesKept + more; ++i) log.add("line " + std::to_string(i) + "\n");
  const std::vector<std::string> lines = log.lines();
  ASSERT_EQ(lines.size(), limits::kLogLinesKept);
  EXPECT_EQ(lines.front(), "line " + std::to_string(more));
  EXPECT_EQ(lines.back(), "line " + std::to_string(limits::kLogLinesKept + more - 1));
  EXPECT_EQ(log.counts().forgotten, more);
  EXPECT_EQ(log.counts().cut, 0U);
  log.add(std::string(10 * limits::kLogLineBytesKept, 'x'));
  EXPECT_EQ(log.counts().cut, 1U);
  EXPECT_EQ(log.lines().back().size(), limits::kLogLineBytesKept);
}

TEST(RecentLog, HidesAPasswordThatTheCutGoesThrough) {
  RecentLog log;
  const std::string address = " redis://user:password@host";
  log.add(std::string(limits::kLogLineBytesKept - address.size() / 2, 'x') + address);
  EXPECT_EQ(log.lines().front().find("pas"), std::string::npos) << log.lines().front();
  EXPECT_NE(log.lines().front().find("redis://user"), std::string::npos);
}

}  // namespace
}  // namespace rondo::commands
