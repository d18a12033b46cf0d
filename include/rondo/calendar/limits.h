// Limits of schedules, expressions and time zones. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Schedules

/// Bytes of a cron or calendar expression; a longer one is refused. It is parsed in microseconds.
/// Reached: it is refused, with the column. Figure: none: the caller gets the error. Test: `Cron.ATextThatIsTooLongIsRefused`.
inline constexpr std::size_t kCronBytes = 512;

/// The shortest period of a fixed rate and the shortest fixed delay of a schedule; a shorter one is refused. A program with a shorter
/// period has a loop and no schedule.
/// Reached: the schedule is refused. Figure: none: the caller gets the error. Test: `Schedule.PeriodsBelowTenMillisecondsAreRefused`.
inline constexpr Duration kSchedulePeriodLeast = 10ms;

/// Dates that the calendar of excluded days of one schedule may hold: 27 years of days. Weekdays and days of each year do not count.
/// Reached: the date is refused. Figure: none: the caller gets the error. Test: `ExcludedDays.HoldALimitedNumberOfDates`.
inline constexpr std::size_t kExcludedDates = 10'000;

/// Bytes of the text of excluded days: more than a thousand dates.
/// Reached: the text is refused. Figure: none: the caller gets the error. Test: `ExcludedText.AreLimitedInBytesAndDates`.
inline constexpr std::size_t kExcludedBytes = 16'384;

/// Bytes of the file of a time zone; the largest of the tz database has less than 4 KiB.
/// Reached: the zone is refused. Figure: none: the caller gets the error. Test: `Zone.BytesThatAreNoZoneAreRefusedWithTheReason`.
inline constexpr std::size_t kZoneFileBytes = 64 * 1024;

/// Bytes of the name of a time zone; the longest of the tz database has 30.
/// Reached: the name is refused. Figure: none: the caller gets the error. Test: `ZoneFiles.HaveNamesThatStayInTheirFolder`.
inline constexpr std::size_t kZoneNameBytes = 255;

}  // namespace rondo::limits
