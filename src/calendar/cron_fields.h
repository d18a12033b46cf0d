// CronFields: the compiled form of an expression of any dialect: sets of seconds, minutes, hours, days, months and years as bits. The
// parsers write it; next_local() and explain read it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "calendar/civil.h"
#include "rondo/calendar/excluded_days.h"

namespace rondo::calendar {

/// The years 1970 to 2261 as bits.
class YearSet {
 public:
  void add(int year) noexcept {
    const auto bit = static_cast<unsigned>(year - kEpochYear);
    bits_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    any_ = false;
  }
  /// True if no year was added: then the set has every year.
  bool is_any() const noexcept { return any_; }
  bool has(int year) const noexcept {
    if (any_) return true;
    if (year < kEpochYear || year > kLastYear) return false;
    const auto bit = static_cast<unsigned>(year - kEpochYear);
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
  }

 private:
  std::array<std::uint64_t, 5> bits_{};
  bool any_ = true;
};

/// The days of a month by every kind of rule. Each is a set; a day in any of them belongs to the day field.
struct DayFields {
  std::uint32_t days = 0;              // Bit d: day d.
  std::uint32_t from_end = 0;          // Bit n: n days before the last day; L is bit 0.
  std::uint32_t nearest = 0;           // Bit d: the weekday nearest to day d (15W).
  std::uint32_t nearest_from_end = 0;  // Bit n: the weekday nearest to the day n days before the last (LW is bit 0).
  // A nearest weekday that would lie in the next month: false takes the Friday before, true skips the month (spring).
  bool nearest_skips = false;
};

/// The same for the weekday field. Bit 0 is Sunday.
struct WeekdayFields {
  std::uint8_t weekdays = 0;
  std::uint8_t last = 0;              // The last such weekday of the month (5L).
  std::array<std::uint8_t, 5> nth{};  // The (i+1)th such weekday of the month (6#3).
};

struct CronFields {
  std::uint64_t seconds = 1;
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint16_t months = 0;  // Bit 1 is January.
  DayFields day;
  WeekdayFields weekday;
  bool any_day = false;  // The day field restricts nothing.
  bool any_weekday = false;
  bool either = false;        // A day matches if either field does; otherwise both must.
  bool wildcard = false;      // The hour or the minute is a wildcard: DstRule::Vixie follows elapsed time.
  int last_year = kLastYear;  // Where the dialect's years end.
  YearSet years;
  std::int64_t period = 0;  // Seconds. Not 0: due at its multiples since 1970, and the fields above have no meaning.
  std::string warning;      // Cron::warning().
};

inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();

/// The days of a month that satisfy both day fields, as bits 1 to 31.
std::uint32_t days_of_month(const CronFields& fields, int year, int month) noexcept;

/// The first matching local time (seconds since 1970 on a local clock) that is 'from' or later and before 'until'; kNoTime if there is
/// none, or none up to the last year. Days in 'excluded' (may be null) do not match. At most 7,000 steps of one month.
std::int64_t next_local(const CronFields& fields, std::int64_t from, std::int64_t until, const ExcludedDays* excluded) noexcept;

}  // namespace rondo::calendar
