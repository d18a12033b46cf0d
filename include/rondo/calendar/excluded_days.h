// ExcludedDays: local days on which a schedule does not fire, such as weekends and public holidays.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::calendar {

/// A day of the Gregorian calendar.
struct Date {
  int year;
  int month;  // 1 to 12
  int day;    // 1 to 31
};

/// A set of days: weekdays, days of each year, and dates. A value; one thread while it changes, then any.
class ExcludedDays {
 public:
  /// Excludes one day of each week: 0 is Sunday, 6 is Saturday. InvalidArgument for other numbers.
  Status add_weekday(int weekday);
  /// Excludes one day of each year, such as 12 and 25. InvalidArgument for a day that no year has.
  Status add_yearly(int month, int day);
  /// Excludes one date. InvalidArgument for a date that does not exist, ResourceExhausted beyond limits::kExcludedDates. O(dates).
  Status add(const Date& date);

  /// Reads days that are divided by commas: weekdays (SUN to SAT), dates (2026-12-25), days of each year (12-25), and ranges with both ends
  /// (2026-12-24..2027-01-01, 12-24..01-01). An empty text excludes nothing. InvalidArgument or ResourceExhausted with the column, from 1,
  /// also for more than limits::kExcludedBytes bytes. O(length + days of the ranges).
  static Result<ExcludedDays> parse(std::string_view text);

  bool empty() const noexcept { return empty_; }
  bool contains(const Date& date) const noexcept;
  /// The excluded days of one month: bit d is day d. Bits beyond the month's last day are unspecified. O(log dates).
  std::uint32_t of_month(int year, int month, int weekday_of_first) const noexcept;

 private:
  struct Month {
    std::int32_t index;  // year * 12 + month - 1
    std::uint32_t days;
  };
  bool empty_ = true;
  std::uint8_t weekdays_ = 0;
  std::array<std::uint32_t, 12> yearly_{};
  std::vector<Month> dates_;  // Sorted by index.
  std::size_t date_count_ = 0;
};

}  // namespace rondo::calendar
