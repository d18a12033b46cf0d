// The search for the next matching local time: days by the month, each month as one word of bits.
#include "calendar/cron_fields.h"

#include <bit>

namespace rondo::calendar {

namespace {

std::uint32_t bit_of(int day) noexcept { return std::uint32_t{1} << day; }

/// The weekday (Monday to Friday) nearest to 'day' within the month, as a bit; 0 if the rule skips the month.
std::uint32_t nearest_weekday(int day, int last, int weekday_of_first, bool skips) noexcept {
  const int weekday = (weekday_of_first + day - 1) % 7;
  if (weekday == 6) return bit_of(day == 1 ? 3 : day - 1);
  if (weekday != 0) return bit_of(day);
  if (day < last) return bit_of(day + 1);
  return skips ? 0 : bit_of(day - 2);
}

std::uint32_t days_by_day(const DayFields& fields, int last, int weekday_of_first) noexcept {
  std::uint32_t days = fields.days;
  for (std::uint32_t rest = fields.from_end; rest != 0; rest &= rest - 1) {
    const int day = last - std::countr_zero(rest);
    if (day >= 1) days |= bit_of(day);
  }
  for (std::uint32_t rest = fields.nearest; rest != 0; rest &= rest - 1) {
    const int day = std::countr_zero(rest);
    if (day <= last) days |= nearest_weekday(day, last, weekday_of_first, fields.nearest_skips);
  }
  for (std::uint32_t rest = fields.nearest_from_end; rest != 0; rest &= rest - 1) {
    const int day = last - std::countr_zero(rest);
    // LW always means the last weekday, also where 31W would skip the month.
    if (day >= 1) days |= nearest_weekday(day, last, weekday_of_first, false);
  }
  return days;
}

std::uint32_t days_by_weekday(const WeekdayFields& fields, int last, int weekday_of_first) noexcept {
  std::uint32_t days = weekdays_mask(fields.weekdays, weekday_of_first);
  if (fields.last != 0) days |= weekdays_mask(fields.last, weekday_of_first) & ~days_mask(last - 7);
  for (int i = 0; i < 5; ++i) {
    const std::uint8_t nth = fields.nth[static_cast<std::size_t>(i)];
    if (nth != 0) days |= weekdays_mask(nth, weekday_of_first) & (std::uint32_t{0x7F} << 1 << (7 * i));
  }
  return days;
}

std::uint32_t matching_days(const CronFields& fields, int last, int weekday_of_first) noexcept {
  const std::uint32_t month = days_mask(last);
  const std::uint32_t by_day = fields.any_day ? month : days_by_day(fields.day, last, weekday_of_first);
  const std::uint32_t by_weekday = fields.any_weekday ? month : days_by_weekday(fields.weekday, last, weekday_of_first);
  return month & (fields.either ? by_day | by_weekday : by_day & by_weekday);
}

/// The lowest set bit at 'from' or above, or 64.
template <class Bits>
int lowest_from(Bits bits, int from) noexcept {
  const std::uint64_t rest = std::uint64_t{bits} & (~std::uint64_t{0} << from);
  return std::countr_zero(rest);
}

int first_time(const CronFields& fields) noexcept {
  return std::countr_zero(fields.hours) * 3600 + std::countr_zero(fields.minutes) * 60 + std::countr_zero(fields.seconds);
}

/// The first matching second of a day at 'from' or later, or -1.
int time_from(const CronFields& fields, int from) noexcept {
  const int hour = from / 3600;
  const int minute = from / 60 % 60;
  if ((fields.hours >> hour & 1) != 0) {
    if ((fields.minutes >> minute & 1) != 0) {
      const int second = lowest_from(fields.seconds, from % 60);
      if (second < 60) return hour * 3600 + minute * 60 + second;
    }
    const int later = minute < 59 ? lowest_from(fields.minutes, minute + 1) : 64;
    if (later < 60) return hour * 3600 + later * 60 + std::countr_zero(fields.seconds);
  }
  const int later = hour < 23 ? lowest_from(fields.hours, hour + 1) : 64;
  if (later > 23) return -1;
  return later * 3600 + std::countr_zero(fields.minutes) * 60 + std::countr_zero(fields.seconds);
}

}  // namespace

std::uint32_t days_of_month(const CronFields& fields, int year, int month) noexcept {
  if ((fields.months >> month & 1) == 0 || !fields.years.has(year)) return 0;
  return matching_days(fields, days_in_month(year, month), weekday_of(days_of(year, month, 1)));
}

std::int64_t next_local(const CronFields& fields, std::int64_t from, std::int64_t until, const ExcludedDays* excluded) noexcept {
  const std::int64_t first_day = floor_divide(from, kDaySeconds);
  const CivilDate date = date_of(first_day);
  int time = time_from(fields, static_cast<int>(from - first_day * kDaySeconds));
  // Days before 'day' of the first month do not count; nor does the day itself if its last time is over.
  int day = time < 0 ? date.day + 1 : date.day;
  int weekday = ((weekday_of(first_day) - date.day + 1) % 7 + 7) % 7;  // Weekday of the month's first day.
  std::int64_t first_of_month = first_day - date.day + 1;
  for (int year = date.year, month = date.month;;) {
    const int last = days_in_month(year, month);
    if ((fields.months >> month & 1) != 0 && fields.years.has(year)) {
      std::uint32_t days = day > last ? 0 : matching_days(fields, last, weekday) & (~std::uint32_t{0} << day);
      if (days != 0 && excluded != nullptr) days &= ~excluded->of_month(year, month, weekday);
      if (days != 0) {
        const int found = std::countr_zero(days);
        const std::int64_t on = first_of_month + found - 1;
        const std::int64_t at = on * kDaySeconds + (on == first_day ? time : first_time(fields));
        return at < until ? at : kNoTime;
      }
    }
    day = 1;
    first_of_month += last;
    weekday = (weekday + last) % 7;
    if (++month > 12) {
      month = 1;
      if (++year > fields.last_year) return kNoTime;
    }
    if (first_of_month * kDaySeconds >= until) return kNoTime;
  }
}

}  // namespace rondo::calendar
