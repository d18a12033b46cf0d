#include "rondo/calendar/schedule.h"

#include <algorithm>
#include <string>

#include "calendar/civil.h"
#include "rondo/calendar/limits.h"

namespace rondo::calendar {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLastNanosecond = std::numeric_limits<std::int64_t>::max();
/// Excluded days and instants on them that one answer may pass, so that it stays below 1 ms.
constexpr int kExcludedSteps = 4096;

using Found = std::optional<WallTime>;

Found sum(WallTime at, Duration more) {
  std::int64_t total = 0;
  if (__builtin_add_overflow(at.nanoseconds(), more.count(), &total)) return std::nullopt;
  return WallTime::from_nanoseconds(total);
}

/// The first instant of the rate at 'from' or later.
Found rate_at(const FixedRate& rate, WallTime from) {
  std::int64_t apart = 0;
  if (__builtin_sub_overflow(from.nanoseconds(), rate.anchor.nanoseconds(), &apart)) return std::nullopt;
  const std::int64_t period = rate.period.count();
  std::int64_t rest = apart % period;
  if (rest < 0) rest += period;
  return rest == 0 ? from : sum(from, Duration{period - rest});
}

std::int64_t local_day(const Zone& zone, WallTime at) {
  const Seconds seconds = floor_divide(at.nanoseconds(), kSecond);
  return floor_divide(seconds + zone.offset_at(seconds), kDaySeconds);
}

bool is_excluded(const ExcludedDays& days, std::int64_t day) {
  const CivilDate date = date_of(day);
  return days.contains(date.year, date.month, date.day);
}

/// 'at', or the begin of the first day after it that is not excluded; empty when 'steps' is used up.
Found first_open(const Schedule& schedule, const Zone& zone, WallTime at, int& steps) {
  if (schedule.excluded.empty()) return at;
  std::int64_t day = local_day(zone, at);
  if (!is_excluded(schedule.excluded, day)) return at;
  while (--steps > 0) {
    if (is_excluded(schedule.excluded, ++day)) continue;
    const Seconds begin = zone.first_at(day * kDaySeconds);
    if (begin > kLastNanosecond / kSecond) return std::nullopt;
    // A day that the zone skips begins where the next one does.
    if (local_day(zone, WallTime::from_nanoseconds(begin * kSecond)) != day) continue;
    return WallTime::from_nanoseconds(begin * kSecond);
  }
  return std::nullopt;
}

/// The first instant at 'from' or later.
Found scheduled_at(const Schedule& schedule, const Zone& zone, WallTime from) {
  if (const auto* cron = std::get_if<Cron>(&schedule.when)) {
    if (from.nanoseconds() == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    return cron->next(zone, schedule.dst, WallTime::from_nanoseconds(from.nanoseconds() - 1),
                      schedule.excluded.empty() ? nullptr : &schedule.excluded);
  }
  if (const auto* rate = std::get_if<FixedRate>(&schedule.when)) {
    Found at = rate_at(*rate, from);
    int steps = kExcludedSteps;
    while (at && --steps > 0) {
      const Found open = first_open(schedule, zone, *at, steps);
      if (!open || *open == *at) return open;
      at = rate_at(*rate, *open);
    }
    return std::nullopt;
  }
  if (const auto* shot = std::get_if<OneShot>(&schedule.when)) {
    if (shot->at < from || is_excluded(schedule.excluded, local_day(zone, shot->at))) return std::nullopt;
    return shot->at;
  }
  return std::nullopt;
}

/// SplitMix64: each input gives an output without visible relation to that of its neighbour.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return x ^ (x >> 31);
}

Duration jitter_of(const Jitter& jitter, WallTime scheduled) {
  if (jitter.most.count() == 0) return Duration{0};
  const std::uint64_t hash = mix(mix(jitter.seed) ^ static_cast<std::uint64_t>(scheduled.nanoseconds()));
  return Duration{static_cast<std::int64_t>(hash % (static_cast<std::uint64_t>(jitter.most.count()) + 1))};
}

Status check_period(Duration period, std::string_view what) {
  if (period >= limits::kSchedulePeriodLeast) return {};
  const auto least = std::chrono::duration_cast<std::chrono::milliseconds>(limits::kSchedulePeriodLeast).count();
  return {StatusCode::InvalidArgument, std::string{what} + " is at least " + std::to_string(least) + " ms"};
}

}  // namespace

Status check(const Schedule& schedule) {
  if (const auto* rate = std::get_if<FixedRate>(&schedule.when)) {
    if (Status status = check_period(rate->period, "the period of a fixed rate"); !status.ok()) return status;
  }
  if (const auto* delay = std::get_if<FixedDelay>(&schedule.when)) {
    if (Status status = check_period(delay->delay, "a fixed delay"); !status.ok()) return status;
  }
  if (schedule.jitter.most.count() < 0) return {StatusCode::InvalidArgument, "a jitter is not negative"};
  if (schedule.from && schedule.until && *schedule.until <= *schedule.from)
    return {StatusCode::InvalidArgument, "the validity ends before it begins"};
  return {};
}

std::optional<Firing> next_firing(const Schedule& schedule, const Zone& zone, WallTime after) {
  Found at;
  if (const auto* delay = std::get_if<FixedDelay>(&schedule.when)) {
    at = sum(after, delay->delay);
    if (at && schedule.from) at = std::max(*at, *schedule.from);
    int steps = kExcludedSteps;
    if (at) at = first_open(schedule, zone, *at, steps);
  } else {
    Found from = sum(after, Duration{1});
    if (from && schedule.from) from = std::max(*from, *schedule.from);
    if (from) at = scheduled_at(schedule, zone, *from);
  }
  if (!at || (schedule.until && *at >= *schedule.until)) return std::nullopt;
  const Found due = sum(*at, jitter_of(schedule.jitter, *at));
  return Firing{*at, due.value_or(*at)};
}

}  // namespace rondo::calendar
