// Expressions of every dialect against tables of expected instants and of refusals. The instants (tests/fixtures/cron/instants.txt) were
// not computed by this code: tests/fixtures/cron/oracle.py states the rules a second time and asks Python's zoneinfo, and systemd-analyze
// for the dialect systemd. The refusals follow the rules of the dialects.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "rondo/calendar/cron.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/calendar/zone.h"

namespace rondo::calendar {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t begin = cell.find_first_not_of(' ');
    const std::size_t end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

/// The rows of a table below tests/fixtures/cron with 'count' cells each.
std::vector<std::vector<std::string>> rows_of(const std::string& file, std::size_t count) {
  std::ifstream in("tests/fixtures/cron/" + file);
  EXPECT_TRUE(in.good()) << file;
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    rows.push_back(cells_of(line));
    EXPECT_EQ(rows.back().size(), count) << line;
  }
  return rows;
}

/// As many instants as the row has.
std::string instants(const Cron& cron, const Zone& zone, DstRule rule, WallTime from, const std::string& expected) {
  std::stringstream words(expected);
  std::string text;
  for (std::string word; words >> word;) {
    const std::optional<WallTime> next = cron.next(zone, rule, from);
    text += (text.empty() ? "" : " ") + (next ? format_rfc3339(*next) : "NEVER");
    if (!next) break;
    from = *next;
  }
  return text;
}

TEST(CronTable, EachRowOfExpectedInstantsHolds) {
  ZoneDirectory zones;
  const auto rows = rows_of("instants.txt", 6);
  EXPECT_GE(rows.size(), 600U);
  for (const auto& row : rows) {
    const std::string shown = row[0] + " | " + row[1] + " | " + row[2] + " | " + row[3] + " | " + row[4];
    const auto cron = Cron::parse(row[1], *dialect_of(row[0]));
    if (!cron && row[5] == "NEVER") {
      EXPECT_TRUE(cron.error().never_fires) << shown << ": " << cron.error().to_string();
      continue;
    }
    ASSERT_TRUE(cron.has_value()) << shown << ": " << cron.error().to_string();
    const auto zone = zones.find(row[2]);
    ASSERT_TRUE(zone.has_value()) << shown;
    EXPECT_EQ(instants(*cron, **zone, *dst_rule_of(row[3]), *parse_rfc3339(row[4]), row[5]), row[5]) << shown;
  }
}

TEST(CronTable, EachRefusalNamesItsColumnAndReason) {
  const auto rows = rows_of("refusals.txt", 4);
  EXPECT_GE(rows.size(), 100U);
  for (const auto& row : rows) {
    const std::string text = row[1].size() > 1 && row[1].front() == '"' ? row[1].substr(1, row[1].size() - 2) : row[1];
    const auto cron = row[0] == "any" ? Cron::parse(text) : Cron::parse(text, *dialect_of(row[0]));
    ASSERT_FALSE(cron.has_value()) << row[0] << " | " << row[1] << " was accepted: " << cron->explain();
    EXPECT_EQ(std::to_string(cron.error().column), row[2]) << row[0] << " | " << row[1] << ": " << cron.error().to_string();
    EXPECT_NE(cron.error().reason.find(row[3]), std::string::npos) << row[0] << " | " << row[1] << ": " << cron.error().to_string();
  }
}

TEST(CronTable, EachFormIsDetected) {
  for (const auto& row : rows_of("detected.txt", 2)) {
    const auto cron = Cron::parse(row[0]);
    ASSERT_TRUE(cron.has_value()) << row[0] << ": " << cron.error().to_string();
    EXPECT_EQ(to_string(cron->dialect()), row[1]) << row[0];
  }
}

TEST(CronTable, EachExpressionIsExplainedInWords) {
  for (const auto& row : rows_of("explained.txt", 3)) {
    const auto cron = Cron::parse(row[1], *dialect_of(row[0]));
    ASSERT_TRUE(cron.has_value()) << row[1] << ": " << cron.error().to_string();
    EXPECT_EQ(cron->explain(), row[2]) << row[0] << " | " << row[1];
  }
}

}  // namespace
}  // namespace rondo::calendar
