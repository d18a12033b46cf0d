// Instant and WallTime: two kinds of "now" that must not be mixed. Only a Clock reads them from a real clock; other code only calculates.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace rondo {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// A reading of the monotonic clock, in nanoseconds since an arbitrary start. For timeouts, latency and order within one process.
class Instant {
 public:
  constexpr Instant() noexcept = default;
  /// For clocks and decoders; other code derives an Instant from another.
  static constexpr Instant from_nanoseconds(std::int64_t ns) noexcept { return Instant{ns}; }
  /// Later than every reading.
  static constexpr Instant never() noexcept { return Instant{std::numeric_limits<std::int64_t>::max()}; }
  constexpr std::int64_t nanoseconds() const noexcept { return ns_; }

  friend constexpr auto operator<=>(Instant, Instant) noexcept = default;
  friend constexpr Duration operator-(Instant a, Instant b) noexcept { return Duration{a.ns_ - b.ns_}; }
  /// Saturates at never().
  friend constexpr Instant operator+(Instant a, Duration d) noexcept {
    if (d.count() > 0 && a.ns_ > std::numeric_limits<std::int64_t>::max() - d.count()) return never();
    return Instant{a.ns_ + d.count()};
  }
  friend constexpr Instant operator-(Instant a, Duration d) noexcept { return Instant{a.ns_ - d.count()}; }

 private:
  constexpr explicit Instant(std::int64_t ns) noexcept : ns_(ns) {}
  std::int64_t ns_ = 0;
};

/// A reading of the calendar clock, in nanoseconds since 1970-01-01 UTC. For records and display; it can jump.
class WallTime {
 public:
  constexpr WallTime() noexcept = default;
  /// Nanoseconds since 1970, UTC. Of a std::chrono::system_clock time: from_nanoseconds(Duration{time.time_since_epoch()}.count()).
  static constexpr WallTime from_nanoseconds(std::int64_t ns) noexcept { return WallTime{ns}; }
  constexpr std::int64_t nanoseconds() const noexcept { return ns_; }

  friend constexpr auto operator<=>(WallTime, WallTime) noexcept = default;
  friend constexpr Duration operator-(WallTime a, WallTime b) noexcept { return Duration{a.ns_ - b.ns_}; }
  friend constexpr WallTime operator+(WallTime a, Duration d) noexcept { return WallTime{a.ns_ + d.count()}; }

 private:
  constexpr explicit WallTime(std::int64_t ns) noexcept : ns_(ns) {}
  std::int64_t ns_ = 0;
};

}  // namespace rondo
