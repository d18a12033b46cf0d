// Days and dates of the proleptic Gregorian calendar, as numbers. Pure functions without bounds checks; a few ns each.
#pragma once

#include <cstdint>

namespace rondo::calendar {

inline constexpr std::int64_t kDaySeconds = 86'400;
/// The years for which next times are computed. WallTime ends in April 2262.
inline constexpr int kFirstYear = 1678;
inline constexpr int kLastYear = 2261;
/// The first year in which an expression must fire at least once to be accepted.
inline constexpr int kEpochYear = 1970;

struct CivilDate {
  int year;
  int month;
  int day;
};

/// Days since 1970-01-01. Counts in years that begin on March 1st, so that the leap day is the last day of its year.
constexpr std::int64_t days_of(int year, int month, int day) noexcept {
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

constexpr CivilDate date_of(std::int64_t days) noexcept {
  const std::int64_t shifted = days + 719'468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const std::int64_t day_of_era = shifted - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  const int day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  const int civil_month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  return {static_cast<int>(year_of_era + era * 400 + (civil_month <= 2 ? 1 : 0)), civil_month, day};
}

constexpr bool is_leap(int year) noexcept { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

constexpr int days_in_month(int year, int month) noexcept {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/// 0 is Sunday. 1970-01-01 was a Thursday.
constexpr int weekday_of(std::int64_t days) noexcept { return static_cast<int>(((days + 4) % 7 + 7) % 7); }

constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }

/// Bits 1 to 'days'.
constexpr std::uint32_t days_mask(int days) noexcept { return static_cast<std::uint32_t>(((std::uint64_t{1} << days) - 1) << 1); }

/// The days of a month that begins on 'weekday_of_first' which fall on 'weekdays' (bit 0 is Sunday), as bits 1 to 31.
constexpr std::uint32_t weekdays_mask(std::uint32_t weekdays, int weekday_of_first) noexcept {
  const std::uint64_t turned = ((weekdays >> weekday_of_first) | (weekdays << (7 - weekday_of_first))) & 0x7F;
  return static_cast<std::uint32_t>((turned * 0x1'0204'081ULL) << 1);
}

}  // namespace rondo::calendar
