// Instant and WallTime: two kinds of "now" that must not be mixed. Only a Clock reads them from a real clock; other code only calculates.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace rondo {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// A reading of a clock, in nanoseconds. Readings of two kinds do not mix.
template <class Kind>
class TimePoint {
 public:
  constexpr TimePoint() noexcept = default;
  /// For clocks and decoders; other code derives a reading from another. A std::chrono::system_clock time is
  /// from_nanoseconds(Duration{time.time_since_epoch()}.count()).
  static constexpr TimePoint from_nanoseconds(std::int64_t ns) noexcept { return TimePoint{ns}; }
  /// Later than every reading.
  static constexpr TimePoint never() noexcept { return TimePoint{std::numeric_limits<std::int64_t>::max()}; }
  constexpr std::int64_t nanoseconds() const noexcept { return ns_; }

  friend constexpr auto operator<=>(TimePoint, TimePoint) noexcept = default;
  friend constexpr Duration operator-(TimePoint a, TimePoint b) noexcept { return Duration{a.ns_ - b.ns_}; }
  /// Saturates at never().
  friend constexpr TimePoint operator+(TimePoint a, Duration d) noexcept {
    if (d.count() > 0 && a.ns_ > std::numeric_limits<std::int64_t>::max() - d.count()) return never();
    return TimePoint{a.ns_ + d.count()};
  }
  friend constexpr TimePoint operator-(TimePoint a, Duration d) noexcept { return TimePoint{a.ns_ - d.count()}; }

 private:
  constexpr explicit TimePoint(std::int64_t ns) noexcept : ns_(ns) {}
  std::int64_t ns_ = 0;
};

/// Counts from an arbitrary start. For timeouts, latency and order within one process.
using Instant = TimePoint<struct MonotonicClock>;
/// Counts from 1970-01-01 UTC. For records and display; it can jump.
using WallTime = TimePoint<struct CalendarClock>;

}  // namespace rondo
