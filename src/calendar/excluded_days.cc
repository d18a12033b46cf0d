#include "rondo/calendar/excluded_days.h"

#include <algorithm>
#include <string>

#include "calendar/civil.h"
#include "rondo/calendar/limits.h"

namespace rondo::calendar {

namespace {

std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

}  // namespace

Status ExcludedDays::add_weekday(int weekday) {
  if (weekday < 0 || weekday > 6)
    return {StatusCode::InvalidArgument, "the weekday " + std::to_string(weekday) + " is not 0 (Sunday) to 6"};
  weekdays_ = static_cast<std::uint8_t>(weekdays_ | 1U << weekday);
  empty_ = false;
  return {};
}

Status ExcludedDays::add_yearly(int month, int day) {
  // A leap year has every day that some year has.
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(2000, month)) {
    return {StatusCode::InvalidArgument, "no year has the day " + two_digits(month) + "-" + two_digits(day)};
  }
  yearly_[static_cast<std::size_t>(month - 1)] |= std::uint32_t{1} << day;
  empty_ = false;
  return {};
}

Status ExcludedDays::add(const Date& date) {
  if (date.year < kFirstYear || date.year > kLastYear || date.month < 1 || date.month > 12 || date.day < 1 ||
      date.day > days_in_month(date.year, date.month)) {
    return {StatusCode::InvalidArgument, "there is no day " + std::to_string(date.year) + "-" + two_digits(date.month) + "-" +
                                             two_digits(date.day) + " in the years 1678 to 2261"};
  }
  const std::int32_t index = date.year * 12 + date.month - 1;
  auto at =
      std::lower_bound(dates_.begin(), dates_.end(), index, [](const Month& month, std::int32_t wanted) { return month.index < wanted; });
  const std::uint32_t bit = std::uint32_t{1} << date.day;
  const bool month_known = at != dates_.end() && at->index == index;
  if (month_known && (at->days & bit) != 0) return {};
  if (date_count_ == limits::kExcludedDates) {
    return {StatusCode::ResourceExhausted, "a calendar excludes at most " + std::to_string(limits::kExcludedDates) + " dates"};
  }
  if (!month_known) at = dates_.insert(at, Month{index, 0});
  at->days |= bit;
  ++date_count_;
  empty_ = false;
  return {};
}

std::uint32_t ExcludedDays::of_month(int year, int month, int weekday_of_first) const noexcept {
  std::uint32_t days = weekdays_mask(weekdays_, weekday_of_first) | yearly_[static_cast<std::size_t>(month - 1)];
  if (dates_.empty()) return days;
  const std::int32_t index = year * 12 + month - 1;
  const auto at =
      std::lower_bound(dates_.begin(), dates_.end(), index, [](const Month& entry, std::int32_t wanted) { return entry.index < wanted; });
  if (at != dates_.end() && at->index == index) days |= at->days;
  return days;
}

bool ExcludedDays::contains(const Date& date) const noexcept {
  const std::int64_t first = days_of(date.year, date.month, 1);
  return (of_month(date.year, date.month, weekday_of(first)) >> date.day & 1) != 0;
}

}  // namespace rondo::calendar
