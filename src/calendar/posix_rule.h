// PosixRule: the rule for the time after the last change in a TZif file, in the notation of the variable TZ of POSIX with the extensions of
// RFC 8536 (section 3.3.1): "CET-1CEST,M3.5.0,M10.5.0/3".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rondo::calendar {

struct PosixRule {
  /// One of the two changes of a year.
  struct Change {
    enum class Kind { Julian, ZeroBased, Weekday } kind = Kind::Weekday;
    int month = 0;    // Weekday: 1 to 12.
    int week = 0;     // Weekday: 1 to 5; 5 is the last.
    int day = 0;      // Weekday: 0 (Sunday) to 6; Julian: 1 to 365 without leap days; ZeroBased: 0 to 365.
    int time = 7200;  // Seconds after the midnight of that day; may be negative or more than a day.

    /// The local time of the change, by the clock before it.
    std::int64_t local_in(int year) const noexcept;
  };
  std::int32_t standard = 0;  // Local time minus UTC, in seconds.
  std::int32_t daylight = 0;
  bool has_daylight = false;
  Change begin;  // Begin of daylight saving time.
  Change end;

  /// Empty if 'text' does not follow the notation.
  static std::optional<PosixRule> parse(std::string_view text);

  struct Step {
    std::int64_t at;  // UTC
    std::int32_t offset;
  };
  /// The two changes of a year, in order. Only with has_daylight.
  std::array<Step, 2> steps_in(int year) const noexcept;
};

}  // namespace rondo::calendar
