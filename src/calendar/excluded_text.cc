// ExcludedDays::parse(): the form of excluded days as text.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "calendar/civil.h"
#include "rondo/calendar/excluded_days.h"
#include "rondo/calendar/limits.h"

namespace rondo::calendar {

namespace {

constexpr std::array<std::string_view, 7> kWeekdays{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr int kAnyYear = 0;
constexpr int kLeapYear = 2000;  // It has each day that some year has.
constexpr std::int64_t kLeapYearDays = 366;

/// The number of exactly 'digits' digits at the begin of 'text', which is cut.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool take_dash(std::string_view& text) {
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  return true;
}

/// "2026-12-25" or "12-25", whose year is kAnyYear. The function does not check that the day exists.
std::optional<CivilDate> date_of_text(std::string_view text) {
  CivilDate date{kAnyYear, 0, 0};
  if (text.size() == 10) {
    const auto year = take_number(text, 4);
    if (!year || *year == kAnyYear || !take_dash(text)) return std::nullopt;
    date.year = *year;
  }
  const auto month = take_number(text, 2);
  if (!month || !take_dash(text)) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || !text.empty()) return std::nullopt;
  date.month = *month;
  date.day = *day;
  return date;
}

std::optional<int> weekday_of_text(std::string_view text) {
  const auto is_same = [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; };
  const auto found = std::ranges::find_if(kWeekdays, [&](std::string_view name) { return std::ranges::equal(text, name, is_same); });
  if (found == kWeekdays.end()) return std::nullopt;
  return static_cast<int>(found - kWeekdays.begin());
}

Status add_day(ExcludedDays& days, const CivilDate& date) {
  return date.year == kAnyYear ? days.add_yearly(date.month, date.day) : days.add(date.year, date.month, date.day);
}

/// Both ends exist, and are of the same kind.
Status add_range(ExcludedDays& days, const CivilDate& first, const CivilDate& last) {
  const bool is_yearly = first.year == kAnyYear;
  const auto number = [&](const CivilDate& date) { return days_of(is_yearly ? kLeapYear : date.year, date.month, date.day); };
  std::int64_t count = number(last) - number(first);
  if (count < 0 && !is_yearly) return {StatusCode::InvalidArgument, "the range ends before it begins"};
  if (count < 0) count += kLeapYearDays;  // Over the end of the year.
  const std::int64_t of_leap_year = days_of(kLeapYear, 1, 1);
  for (std::int64_t i = 0; i <= count; ++i) {
    const std::int64_t day = number(first) + i;
    const CivilDate date = date_of(is_yearly ? of_leap_year + (day - of_leap_year) % kLeapYearDays : day);
    if (Status status = add_day(days, {is_yearly ? kAnyYear : date.year, date.month, date.day}); !status.ok()) return status;
  }
  return {};
}

Status add_item(ExcludedDays& days, std::string_view item) {
  if (const auto weekday = weekday_of_text(item)) return days.add_weekday(*weekday);
  const std::size_t dots = item.find("..");
  const auto first = date_of_text(item.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : date_of_text(item.substr(dots + 2));
  if (!first || !last) {
    return {StatusCode::InvalidArgument, "none of SUN to SAT, YYYY-MM-DD, MM-DD, and a range such as 12-24..12-31"};
  }
  if ((first->year == kAnyYear) != (last->year == kAnyYear)) {
    return {StatusCode::InvalidArgument, "only one end of the range has a year"};
  }
  if (Status status = add_day(days, *first); !status.ok()) return status;
  if (Status status = add_day(days, *last); !status.ok()) return status;
  return add_range(days, *first, *last);
}

}  // namespace

Result<ExcludedDays> ExcludedDays::parse(std::string_view text) {
  ExcludedDays days;
  const auto refuse = [](std::size_t at, StatusCode code, std::string_view why) {
    return failure(code, "column " + std::to_string(at + 1) + ": " + std::string{why});
  };
  if (text.size() > limits::kExcludedBytes) {
    return refuse(limits::kExcludedBytes, StatusCode::InvalidArgument,
                  "the text has more than " + std::to_string(limits::kExcludedBytes) + " bytes");
  }
  if (text.find_first_not_of(' ') == std::string_view::npos) return days;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t at = std::min(text.find_first_not_of(' ', begin), end);
    std::string_view item = text.substr(at, end - at);
    item = item.substr(0, item.find_last_not_of(' ') + 1);
    if (item.empty()) return refuse(at, StatusCode::InvalidArgument, "a day is missing");
    if (const Status status = add_item(days, item); !status.ok()) return refuse(at, status.code(), status.message());
    begin = end + 1;
  }
  return days;
}

}  // namespace rondo::calendar
