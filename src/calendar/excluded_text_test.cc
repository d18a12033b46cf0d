// Excluded days as text: each form, and refusals with their column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "calendar/civil.h"
#include "rondo/calendar/excluded_days.h"
#include "rondo/calendar/limits.h"

namespace rondo::calendar {
namespace {

using testing::HasSubstr;

ExcludedDays days(std::string_view text) {
  const auto parsed = ExcludedDays::parse(text);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().to_string();
  return parsed.value_or(ExcludedDays{});
}

std::string refusal(std::string_view text) {
  const auto parsed = ExcludedDays::parse(text);
  return parsed ? "accepted" : parsed.error().to_string();
}

TEST(ExcludedText, WeekdaysDatesAndDaysOfEachYear) {
  const ExcludedDays of = days(" 2026-12-24, SAT,sun , 05-01 ");
  EXPECT_TRUE(of.contains(2026, 12, 24));  // A Thursday.
  EXPECT_FALSE(of.contains(2026, 12, 23));
  EXPECT_FALSE(of.contains(2025, 12, 24));
  EXPECT_TRUE(of.contains(2026, 12, 26)) << "a Saturday";
  EXPECT_TRUE(of.contains(2026, 12, 27)) << "a Sunday";
  EXPECT_TRUE(of.contains(2026, 5, 1));
  EXPECT_TRUE(of.contains(2029, 5, 1));
  EXPECT_FALSE(of.contains(2029, 5, 2));
}

TEST(ExcludedText, RangesHaveBothEnds) {
  const ExcludedDays dates = days("2027-12-30..2028-01-02");
  EXPECT_FALSE(dates.contains(2027, 12, 29));
  EXPECT_TRUE(dates.contains(2027, 12, 30));
  EXPECT_TRUE(dates.contains(2028, 1, 2));
  EXPECT_FALSE(dates.contains(2028, 1, 3));
  const ExcludedDays yearly = days("12-24..01-01");
  for (const CivilDate& day : {CivilDate{2026, 12, 24}, CivilDate{2026, 12, 31}, CivilDate{2030, 1, 1}})
    EXPECT_TRUE(yearly.contains(day.year, day.month, day.day));
  for (const CivilDate& day : {CivilDate{2026, 12, 23}, CivilDate{2030, 1, 2}, CivilDate{2030, 6, 1}})
    EXPECT_FALSE(yearly.contains(day.year, day.month, day.day));
  const ExcludedDays leap = days("02-28..03-01");
  EXPECT_TRUE(leap.contains(2028, 2, 29));
  EXPECT_FALSE(leap.contains(2028, 3, 2));
  EXPECT_TRUE(days("2026-05-01..2026-05-01").contains(2026, 5, 1));
}

TEST(ExcludedText, AnEmptyTextExcludesNothing) {
  EXPECT_TRUE(days("").empty());
  EXPECT_TRUE(days("  ").empty());
}

TEST(ExcludedText, RefusalsNameColumnAndReason) {
  EXPECT_THAT(refusal("SAT, 2026-02-30"), HasSubstr("column 6: there is no day 2026-02-30"));
  EXPECT_THAT(refusal("02-30"), HasSubstr("column 1: no year has the day 02-30"));
  EXPECT_THAT(refusal("SAT,"), HasSubstr("column 5: a day is missing"));
  EXPECT_THAT(refusal("SAT,,SUN"), HasSubstr("column 5: a day is missing"));
  EXPECT_THAT(refusal("SAT SUN"), HasSubstr("column 1: none of SUN to SAT"));
  EXPECT_THAT(refusal("SATURDAY"), HasSubstr("column 1: none of"));
  EXPECT_THAT(refusal("2026-1-2"), HasSubstr("column 1: none of"));
  EXPECT_THAT(refusal("0000-01-02"), HasSubstr("column 1: none of"));
  EXPECT_THAT(refusal("2026-01-02..01-05"), HasSubstr("only one end of the range has a year"));
  EXPECT_THAT(refusal("2026-01-02..2026-01-01"), HasSubstr("ends before it begins"));
  EXPECT_THAT(refusal("2026-01-02..2026-02-30"), HasSubstr("there is no day 2026-02-30"));
  EXPECT_THAT(refusal("2026-01-02..2026-01-05..2026-01-07"), HasSubstr("none of"));
}

TEST(ExcludedText, AreLimitedInBytesAndDates) {
  EXPECT_THAT(refusal(std::string(limits::kExcludedBytes + 1, ' ')), HasSubstr("more than 16384 bytes"));
  EXPECT_EQ(refusal(std::string(limits::kExcludedBytes, ' ')), "accepted");
  EXPECT_THAT(refusal("1700-01-01..2200-01-01"), HasSubstr("at most 10000 dates"));
}

}  // namespace
}  // namespace rondo::calendar
