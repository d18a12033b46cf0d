#include "rondo/calendar/excluded_days.h"

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

Status ExcludedDays::add(int year, int month, int day) {
  if (year < kFirstYear || year > kLastYear || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) {
    return {StatusCode::InvalidArgument,
            "there is no day " + std::to_string(year) + "-" + two_digits(month) + "-" + two_digits(day) + " in the years 1678 to 2261"};
  }
  if ((dates_of(year, month) >> day & 1) != 0) return {};
  if (date_count_ == limits::kExcludedDates) {
    return {StatusCode::ResourceExhausted, "a calendar excludes at most " + std::to_string(limits::kExcludedDates) + " dates"};
  }
  dates_[year * 12 + month - 1] |= std::uint32_t{1} << day;
  ++date_count_;
  empty_ = false;
  return {};
}

std::uint32_t ExcludedDays::dates_of(int year, int month) const noexcept {
  const auto found = dates_.find(year * 12 + month - 1);
  return found != dates_.end() ? found->second : 0;
}

std::uint32_t ExcludedDays::of_month(int year, int month, int weekday_of_first) const noexcept {
  return weekdays_mask(weekdays_, weekday_of_first) | yearly_[static_cast<std::size_t>(month - 1)] | dates_of(year, month);
}

bool ExcludedDays::contains(int year, int month, int day) const noexcept {
  return (of_month(year, month, weekday_of(days_of(year, month, 1))) >> day & 1) != 0;
}

}  // namespace rondo::calendar
