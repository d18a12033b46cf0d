// Cron::explain: an expression in words, from its compiled form. So two spellings of one schedule have the same words.
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "calendar/cron_fields.h"
#include "rondo/calendar/cron.h"

namespace rondo::calendar {

namespace {

constexpr const char* kMonthNames[] = {"January", "February", "March",     "April",   "May",      "June",
                                       "July",    "August",   "September", "October", "November", "December"};
constexpr const char* kDayNames[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
/// More times of day than this are described by their fields.
constexpr int kTimesListed = 6;

std::vector<int> values_of(std::uint64_t bits) {
  std::vector<int> values;
  for (; bits != 0; bits &= bits - 1) values.push_back(std::countr_zero(bits));
  return values;
}

/// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& parts, const char* last = " and ") {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? last : ", ";
    text += parts[i];
  }
  return text;
}

std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

std::string ordinal(int number) {
  const char* const ending = number % 10 == 1 && number != 11   ? "st"
                             : number % 10 == 2 && number != 12 ? "nd"
                             : number % 10 == 3 && number != 13 ? "rd"
                                                                : "th";
  return std::to_string(number) + ending;
}

/// Values with runs of three and more as "a to b".
template <class Name>
std::string listed(const std::vector<int>& values, Name&& name) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end + 1 < values.size() && values[end + 1] == values[end] + 1) ++end;
    if (end - i >= 2) {
      parts.push_back(name(values[i]) + " to " + name(values[end]));
      i = end + 1;
    } else {
      parts.push_back(name(values[i++]));
    }
  }
  return joined(parts);
}

std::string number_of(int value) { return std::to_string(value); }

/// The distance of values that repeat evenly over 0 to 'size' - 1 and on into the next round; 0 if they do not, as those of "*/7" minutes,
/// or are fewer than three.
int even_step(const std::vector<int>& values, int size) {
  if (values.size() < 3) return 0;
  const int step = values[1] - values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] != step) return 0;
  }
  return size % step == 0 && values[0] < step && values.back() + step >= size ? step : 0;
}

/// "every 15 minutes from minute 5", "minutes 5, 6 and 9".
std::string field_words(std::uint64_t bits, int size, const std::string& unit) {
  const std::vector<int> values = values_of(bits);
  const int step = even_step(values, size);
  if (step == 1) return "every " + unit;
  if (step > 1)
    return "every " + std::to_string(step) + " " + unit + "s" + (values[0] != 0 ? " from " + unit + " " + std::to_string(values[0]) : "");
  return unit + (values.size() > 1 ? "s " : " ") + listed(values, number_of);
}

std::string time_words(const CronFields& fields) {
  const std::vector<int> seconds = values_of(fields.seconds);
  const std::vector<int> minutes = values_of(fields.minutes);
  const std::vector<int> hours = values_of(fields.hours);
  if (seconds.size() * minutes.size() * hours.size() <= kTimesListed) {
    std::vector<std::string> times;
    for (const int hour : hours) {
      for (const int minute : minutes) {
        for (const int second : seconds) {
          times.push_back(two_digits(hour) + ":" + two_digits(minute) + (fields.seconds != 1 ? ":" + two_digits(second) : ""));
        }
      }
    }
    return "at " + joined(times);
  }
  const bool every_minute = minutes.size() == 60;
  const bool every_hour = hours.size() == 24;
  std::string text;
  if (fields.seconds != 1) text = field_words(fields.seconds, 60, "second");
  if (text.empty() || !every_minute) {
    const std::string part = field_words(fields.minutes, 60, "minute");
    text += text.empty() ? part : " of " + part;
  }
  if (every_hour && (every_minute || even_step(minutes, 60) != 0))
    return text.rfind("every", 0) == 0 ? text : "at " + text + " of every minute";
  text += " of " + field_words(fields.hours, 24, "hour");
  return text.rfind("every", 0) == 0 ? text : "at " + text;
}

/// "every 1 hour and 30 minutes".
std::string period_words(std::int64_t period) {
  std::vector<std::string> parts;
  for (const auto& [seconds, unit] : {std::pair{3600, "hour"}, {60, "minute"}, {1, "second"}}) {
    const std::int64_t count = period / seconds;
    period %= seconds;
    if (count != 0) parts.push_back(std::to_string(count) + " " + unit + (count == 1 ? "" : "s"));
  }
  return "every " + joined(parts);
}

std::string from_end_words(int before) {
  if (before == 0) return "the last day of the month";
  return std::to_string(before) + (before == 1 ? " day" : " days") + " before the last day of the month";
}

std::string day_words(const DayFields& day) {
  std::vector<std::string> parts;
  if (day.days != 0) {
    const std::vector<int> days = values_of(day.days);
    parts.push_back((days.size() > 1 ? "days " : "day ") + listed(days, number_of) + " of the month");
  }
  for (const int before : values_of(day.from_end)) parts.push_back(from_end_words(before));
  for (const int near : values_of(day.nearest)) parts.push_back("the weekday nearest to day " + std::to_string(near) + " of the month");
  for (const int before : values_of(day.nearest_from_end)) {
    parts.push_back(before == 0 ? "the last weekday (Monday to Friday) of the month" : "the weekday nearest to " + from_end_words(before));
  }
  return joined(parts);
}

std::string weekday_words(const WeekdayFields& weekday) {
  // The week of the words begins on Monday.
  const auto turned = [](unsigned bits) { return (bits >> 1 | (bits & 1U) << 6) & 0x7FU; };
  const auto name = [](int from_monday) { return std::string{kDayNames[(from_monday + 1) % 7]}; };
  std::vector<std::string> parts;
  if (weekday.weekdays != 0) parts.push_back(listed(values_of(turned(weekday.weekdays)), name));
  if (weekday.last != 0) parts.push_back("the last " + listed(values_of(turned(weekday.last)), name) + " of the month");
  for (int i = 0; i < 5; ++i) {
    const std::uint8_t nth = weekday.nth[static_cast<std::size_t>(i)];
    if (nth != 0) parts.push_back("the " + ordinal(i + 1) + " " + listed(values_of(turned(nth)), name) + " of the month");
  }
  return joined(parts);
}

std::string date_words(const CronFields& fields) {
  std::string text;
  if (!fields.any_day && !fields.any_weekday) {
    text = ", on " + day_words(fields.day) + (fields.either ? " or on " : " if it is ") + weekday_words(fields.weekday);
  } else if (!fields.any_day) {
    text = ", on " + day_words(fields.day);
  } else if (!fields.any_weekday && fields.weekday.weekdays != 0x7F) {
    text = ", on " + weekday_words(fields.weekday);
  }
  const std::vector<int> months = values_of(fields.months);
  if (months.size() < 12) text += ", in " + listed(months, [](int month) { return std::string{kMonthNames[month - 1]}; });
  if (!fields.years.is_any()) {
    std::vector<int> years;
    for (int year = kEpochYear; year <= kLastYear; ++year) {
      if (fields.years.has(year)) years.push_back(year);
    }
    text += (years.size() > 1 ? ", in the years " : ", in the year ") + listed(years, number_of);
  }
  return text;
}

}  // namespace

std::string Cron::explain() const {
  std::string text = fields_->period != 0 ? period_words(fields_->period) : time_words(*fields_);
  if (fields_->period == 0) {
    const std::string days = date_words(*fields_);
    // "every 15 minutes" and "every 2 hours" need no "every day".
    const bool of_the_day = text.rfind("at ", 0) == 0 && even_step(values_of(fields_->hours), 24) == 0;
    text += days.empty() && of_the_day ? ", every day" : days;
  }
  if (!zone_.empty()) text += ", in the zone " + zone_;
  return text;
}

}  // namespace rondo::calendar
