// Schedules: rates, delays, one shot, validity, excluded days and jitter; next_firing() is a function of its arguments alone.
#include "rondo/calendar/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "rondo/calendar/limits.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::calendar {
namespace {

WallTime at(const std::string& text) { return *parse_rfc3339(text); }

std::string next(const Schedule& schedule, WallTime after, const Zone& zone = Zone::utc()) {
  EXPECT_TRUE(check(schedule).ok()) << check(schedule).to_string();
  const std::optional<Firing> firing = next_firing(schedule, zone, after);
  return firing ? format_rfc3339(firing->scheduled) : "NEVER";
}

Schedule of(decltype(Schedule::when) when) {
  Schedule schedule;
  schedule.when = std::move(when);
  return schedule;
}

Schedule cron(const std::string& text) { return of(*Cron::parse(text)); }

TEST(Schedule, AFixedRateKeepsItsPhaseHoweverLateTheQuestionComes) {
  const Schedule rate = of(FixedRate{10ms, at("2026-01-01T00:00:00.003Z")});
  EXPECT_EQ(next(rate, at("2026-01-01T00:00:00Z")), "2026-01-01T00:00:00.003Z");
  EXPECT_EQ(next(rate, at("2026-01-01T00:00:00.003Z")), "2026-01-01T00:00:00.013Z");
  EXPECT_EQ(next(rate, at("2027-06-01T11:59:59.999Z")), "2027-06-01T12:00:00.003Z");
  // Instants before the anchor belong to the rate too; a validity begins it.
  EXPECT_EQ(next(rate, at("2025-12-31T23:59:59.990Z")), "2025-12-31T23:59:59.993Z");
}

TEST(Schedule, PeriodsBelowTenMillisecondsAreRefused) {
  EXPECT_FALSE(check(of(FixedRate{9ms, WallTime{}})).ok());
  EXPECT_FALSE(check(of(FixedDelay{limits::kSchedulePeriodLeast - 1ns})).ok());
  EXPECT_FALSE(check(of(FixedRate{-1s, WallTime{}})).ok());
  EXPECT_TRUE(check(of(FixedRate{10ms, WallTime{}})).ok());
  EXPECT_TRUE(check(of(FixedDelay{10ms})).ok());
}

TEST(Schedule, AFixedDelayCountsFromTheEndOfThePreviousRun) {
  const Schedule delay = of(FixedDelay{1500ms});
  EXPECT_EQ(next(delay, at("2026-01-01T00:00:00.250Z")), "2026-01-01T00:00:01.750Z");
}

TEST(Schedule, APeriodOfRobfigPassesExcludedDays) {
  Schedule every = of(*Cron::parse("@every 5h"));
  ASSERT_TRUE(every.excluded.add(2026, 1, 2).ok());
  EXPECT_EQ(next(every, at("2026-01-01T22:00:00Z")), "2026-01-03T01:00:00Z");
  ZoneDirectory zones;
  EXPECT_EQ(next_firing(every, **zones.find("Asia/Tokyo"), at("2026-01-01T14:00:00Z"))->scheduled, at("2026-01-02T15:00:00Z"));
  for (int day = 0; day < 7; ++day) ASSERT_TRUE(every.excluded.add_weekday(day).ok());
  EXPECT_EQ(next(every, at("2026-01-01T22:00:00Z")), "NEVER");
}

TEST(Schedule, OneShotFiresOnceAndTriggerOnlyNever) {
  const Schedule shot = of(OneShot{at("2026-05-01T12:00:00.500Z")});
  EXPECT_EQ(next(shot, at("2026-01-01T00:00:00Z")), "2026-05-01T12:00:00.500Z");
  EXPECT_EQ(next(shot, at("2026-05-01T12:00:00.500Z")), "NEVER");
  EXPECT_EQ(next(of(TriggerOnly{}), at("2026-01-01T00:00:00Z")), "NEVER");
}

TEST(Schedule, ValidityBeginsWithItsFirstInstantAndEndsBeforeItsLast) {
  Schedule daily = cron("0 12 * * *");
  daily.from = at("2026-03-02T12:00:00Z");
  daily.until = at("2026-03-04T12:00:00Z");
  EXPECT_EQ(next(daily, at("2026-01-01T00:00:00Z")), "2026-03-02T12:00:00Z");
  EXPECT_EQ(next(daily, at("2026-03-02T12:00:00Z")), "2026-03-03T12:00:00Z");
  EXPECT_EQ(next(daily, at("2026-03-03T12:00:00Z")), "NEVER");
  Schedule rate = of(FixedRate{1s, at("2026-01-01T00:00:00.500Z")});
  rate.from = at("2026-03-02T12:00:00Z");
  EXPECT_EQ(next(rate, at("2026-01-01T00:00:00Z")), "2026-03-02T12:00:00.500Z");
  Schedule delay = of(FixedDelay{1s});
  delay.from = at("2026-03-02T12:00:00Z");
  EXPECT_EQ(next(delay, at("2026-01-01T00:00:00Z")), "2026-03-02T12:00:00Z");
  daily.until = daily.from;
  EXPECT_FALSE(check(daily).ok());
}

TEST(Schedule, ExcludedDaysAreThoseOfTheZone) {
  Schedule daily = cron("30 0 * * *");
  ASSERT_TRUE(daily.excluded.add_yearly(12, 25).ok());
  ASSERT_TRUE(daily.excluded.add(2026, 12, 27).ok());
  ZoneDirectory zones;
  const auto tokyo = *zones.find("Asia/Tokyo");
  // In Tokyo December 25th begins on the 24th at 15:00 UTC.
  EXPECT_EQ(next(daily, at("2026-12-23T16:00:00Z"), *tokyo), "2026-12-25T15:30:00Z");
  EXPECT_EQ(next(daily, at("2026-12-25T15:30:00Z"), *tokyo), "2026-12-27T15:30:00Z");
}

TEST(Schedule, ARateAndADelayContinueOnTheFirstDayThatIsNotExcluded) {
  Schedule rate = of(FixedRate{7h, at("2026-01-01T00:00:00Z")});
  ASSERT_TRUE(rate.excluded.add_weekday(6).ok());
  ASSERT_TRUE(rate.excluded.add_weekday(0).ok());
  // 2026-01-03 is a Saturday. Multiples of 7 h from the 1st: 00:00 on the 1st, 02:00 on the 5th is number 14.
  EXPECT_EQ(next(rate, at("2026-01-02T22:00:00Z")), "2026-01-05T02:00:00Z");
  Schedule delay = of(FixedDelay{1h});
  delay.excluded = rate.excluded;
  EXPECT_EQ(next(delay, at("2026-01-02T23:30:00Z")), "2026-01-05T00:00:00Z");
  EXPECT_EQ(next(delay, at("2026-01-05T00:10:00Z")), "2026-01-05T01:10:00Z");
}

TEST(Schedule, WhereEveryDayIsExcludedNothingFires) {
  ExcludedDays all;
  for (int day = 0; day < 7; ++day) ASSERT_TRUE(all.add_weekday(day).ok());
  for (Schedule schedule :
       {cron("* * * * *"), of(FixedRate{10ms, WallTime{}}), of(FixedDelay{1s}), of(OneShot{at("2026-05-01T12:00:00Z")})}) {
    schedule.excluded = all;
    EXPECT_EQ(next(schedule, at("2026-01-01T00:00:00Z")), "NEVER");
  }
  // A weekly rate that always meets the one excluded day ends its search, too.
  Schedule weekly = of(FixedRate{168h, at("2026-01-04T00:00:00Z")});
  ASSERT_TRUE(weekly.excluded.add_weekday(0).ok());
  EXPECT_EQ(next(weekly, at("2026-01-01T00:00:00Z")), "NEVER");
}

TEST(Schedule, JitterFollowsFromSeedAndFiring) {
  Schedule daily = cron("0 * * * *");
  daily.jitter = {60s, 7};
  std::set<std::int64_t> delays;
  WallTime after = at("2026-01-01T00:00:00Z");
  for (int i = 0; i < 200; ++i) {
    const Firing firing = *next_firing(daily, Zone::utc(), after);
    EXPECT_GE(firing.due, firing.scheduled);
    EXPECT_LE(firing.due - firing.scheduled, Duration{60s});
    EXPECT_EQ(firing, *next_firing(daily, Zone::utc(), after));
    delays.insert((firing.due - firing.scheduled).count());
    after = firing.scheduled;
  }
  EXPECT_GT(delays.size(), 190U);
  const Firing before = *next_firing(daily, Zone::utc(), after);
  daily.jitter.seed = 8;
  EXPECT_NE(before.due, next_firing(daily, Zone::utc(), after)->due);
  daily.jitter.most = Duration{-1};
  EXPECT_FALSE(check(daily).ok());
}

TEST(Schedule, TheEndsOfTimeAreAnsweredWithNever) {
  const WallTime last = WallTime::from_nanoseconds(std::numeric_limits<std::int64_t>::max());
  const WallTime first = WallTime::from_nanoseconds(std::numeric_limits<std::int64_t>::min());
  for (const Schedule& schedule : {cron("* * * * *"), of(FixedRate{1s, WallTime{}}), of(FixedDelay{1s})}) {
    EXPECT_EQ(next_firing(schedule, Zone::utc(), last), std::nullopt);
    static_cast<void>(next_firing(schedule, Zone::utc(), first));
  }
  EXPECT_EQ(next(cron("0 0 1 1 *"), at("2261-01-01T00:00:00Z")), "NEVER");
  EXPECT_EQ(next(cron("0 0 1 1 *"), at("2260-06-01T00:00:00Z")), "2261-01-01T00:00:00Z");
}

TEST(ExcludedDays, AreRefusedWhenNoCalendarHasThem) {
  ExcludedDays days;
  EXPECT_TRUE(days.empty());
  EXPECT_FALSE(days.add_weekday(7).ok());
  EXPECT_FALSE(days.add_yearly(2, 30).ok());
  EXPECT_FALSE(days.add_yearly(13, 1).ok());
  EXPECT_FALSE(days.add(2025, 2, 29).ok());
  EXPECT_FALSE(days.add(2300, 1, 1).ok());
  EXPECT_TRUE(days.empty());
  EXPECT_TRUE(days.add_yearly(2, 29).ok());
  EXPECT_TRUE(days.contains(2028, 2, 29));
  EXPECT_FALSE(days.contains(2028, 2, 28));
}

TEST(ExcludedDays, HoldALimitedNumberOfDates) {
  ExcludedDays days;
  for (std::size_t i = 0; i < limits::kExcludedDates; ++i) {
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{i}}};
    ASSERT_TRUE(days.add(int{date.year()}, static_cast<int>(unsigned{date.month()}), static_cast<int>(unsigned{date.day()})).ok());
  }
  EXPECT_EQ(days.add(2100, 1, 1).code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(days.add(1970, 1, 1).ok());  // It is in the set.
  EXPECT_TRUE(days.contains(1990, 6, 1));
  EXPECT_FALSE(days.contains(2100, 1, 1));
}

TEST(Cron, ATextThatIsTooLongIsRefused) {
  const std::string longest = "0 0 * * " + std::string(limits::kCronBytes - 9, ' ') + "*";
  EXPECT_TRUE(Cron::parse(longest, CronDialect::Unix).has_value());
  const auto longer = Cron::parse(longest + " ", CronDialect::Unix);
  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().column, limits::kCronBytes + 1);
  EXPECT_FALSE(Cron::parse(longest + " ").has_value());
}

TEST(Cron, AnExpressionKeepsItsZone) {
  EXPECT_EQ(Cron::parse("Mon 10:00 Europe/Berlin")->zone(), "Europe/Berlin");
  EXPECT_EQ(Cron::parse("daily utc")->zone(), "UTC");
  EXPECT_EQ(Cron::parse("@1735689600")->zone(), "UTC");
  EXPECT_EQ(Cron::parse("Mon 10:00")->zone(), "");
}

TEST(Cron, AnInstantBetweenTwoSecondsIsFollowedByTheNextWholeOne) {
  const Cron each = *Cron::parse("* * * * * *");
  EXPECT_EQ(format_rfc3339(*each.next(Zone::utc(), DstRule::Vixie, at("2026-01-01T00:00:00.999Z"))), "2026-01-01T00:00:01Z");
  EXPECT_EQ(format_rfc3339(*each.next(Zone::utc(), DstRule::Vixie, at("1969-12-31T23:59:58.5Z"))), "1969-12-31T23:59:59Z");
  EXPECT_EQ(format_rfc3339(WallTime::from_nanoseconds(INT64_MIN)), "1677-09-21T00:12:43.145Z") << "the first second of all";
}

TEST(Rfc3339, TextsAreReadInEveryForm) {
  EXPECT_EQ(at("1970-01-01T00:00:00Z").nanoseconds(), 0);
  EXPECT_EQ(at("2026-03-29T03:00:00+02:00"), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(at("2026-03-29t01:00:00.25z").nanoseconds() % 1'000'000'000, 250'000'000);
  EXPECT_EQ(at("2026-03-28 20:30:00-04:30"), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(at("2016-12-31T23:59:60Z"), at("2017-01-01T00:00:00Z"));
  EXPECT_EQ(format_rfc3339(at("2026-03-29T01:00:00.0079Z")), "2026-03-29T01:00:00.007Z");
  EXPECT_EQ(format_rfc3339(at("1901-02-03T04:05:06.5Z")), "1901-02-03T04:05:06.500Z");
}

TEST(Rfc3339, FaultsAreRefusedWithTheirColumn) {
  const std::vector<std::pair<std::string, std::string>> cases{{"", "column 1"},
                                                               {"now", "column 1"},
                                                               {"2026-02-29T00:00:00Z", "column 9"},
                                                               {"2026-13-01T00:00:00Z", "column 6"},
                                                               {"2026-01-01", "column 11"},
                                                               {"2026-01-01T24:00:00Z", "column 12"},
                                                               {"2026-01-01T00:00:00", "column 20"},
                                                               {"2026-01-01T00:00:00.Z", "column 21"},
                                                               {"2026-01-01T00:00:00Zx", "column 21"},
                                                               {"1677-01-01T00:00:00Z", "column 1"},
                                                               {"2262-01-01T00:00:00Z", "column 1"}};
  for (const auto& [text, column] : cases) {
    const auto instant = parse_rfc3339(text);
    ASSERT_FALSE(instant.has_value()) << text;
    EXPECT_EQ(instant.error().message().substr(0, column.size() + 1), column + ":") << text << ": " << instant.error().to_string();
  }
}

}  // namespace
}  // namespace rondo::calendar
