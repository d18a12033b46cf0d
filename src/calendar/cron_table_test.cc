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

/// Returns as many instants as the row has.
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
    const auto zone = zones.find(cron->zone().empty() ? row[2] : cron->zone());
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

TEST(CronTable, AStepThatReachesNoSecondValueIsWarnedOf) {
  const auto warning = [](const char* text, CronDialect dialect) { return Cron::parse(text, dialect)->warning(); };
  for (const CronDialect dialect : {CronDialect::Unix, CronDialect::Robfig}) {
    EXPECT_EQ(warning("*/90 * * * *", dialect), "the step 90 of the minute reaches no second value, so '*/90' is only 0");
    EXPECT_EQ(warning("0 */24 * * *", dialect), "the step 24 of the hour reaches no second value, so '*/24' is only 0");
    EXPECT_EQ(warning("5,10-20/11 * * * *", dialect), "the step 11 of the minute reaches no second value, so '10-20/11' is only 10");
    EXPECT_EQ(warning("*/59 0-23/23 */30 */11 */6", dialect), "");
    EXPECT_EQ(warning("@hourly", dialect), "");
  }
  EXPECT_EQ(warning("0 50/20 * * * *", CronDialect::Spring), "the step 20 of the minute reaches no second value, so '50/20' is only 50");
  EXPECT_EQ(warning("0 0 0 ? * 2/7", CronDialect::Quartz), "the step 7 of the day of the week reaches no second value, so '2/7' is only 2");
  EXPECT_EQ(warning("0 0 22-2/2 ? * FRI-MON/2", CronDialect::Quartz), "");
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
