// ExcludedDays: local days on which a schedule does not fire, such as weekends and public holidays.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "rondo/base/result.h"

namespace rondo::calendar {

/// A set of days: weekdays, days of each year, and dates. A value; one thread while it changes, then any.
class ExcludedDays {
 public:
  /// Excludes one day of each week: 0 is Sunday, 6 is Saturday. InvalidArgument for other numbers.
  Status add_weekday(int weekday);
  /// Excludes one day of each year, such as 12 and 25. InvalidArgument for a day that no year has.
  Status add_yearly(int month, int day);
  /// Excludes one date of the Gregorian calendar. InvalidArgument for a date that does not exist, ResourceExhausted beyond
  /// limits::kExcludedDates. O(dates).
  Status add(int year, int month, int day);

  /// Reads days that are divided by commas: weekdays (SUN to SAT), dates (2026-12-25), days of each year (12-25), and ranges with both ends
  /// (2026-12-24..2027-01-01, 12-24..01-01). An empty text excludes nothing. InvalidArgument or ResourceExhausted with the column, from 1,
  /// also for more than limits::kExcludedBytes bytes. O(length + days of the ranges).
  static Result<ExcludedDays> parse(std::string_view text);

  bool empty() const noexcept { return empty_; }
  bool contains(int year, int month, int day) const noexcept;
  /// The excluded days of one month: bit d is day d. Bits beyond the month's last day are unspecified. O(log dates).
  std::uint32_t of_month(int year, int month, int weekday_of_first) const noexcept;

 private:
  std::uint32_t dates_of(int year, int month) const noexcept;

  bool empty_ = true;
  std::uint8_t weekdays_ = 0;
  std::array<std::uint32_t, 12> yearly_{};
  std::map<std::int32_t, std::uint32_t> dates_;  // The days of year * 12 + month - 1, as bits.
  std::size_t date_count_ = 0;
};

}  // namespace rondo::calendar
