// Schedule: when a job fires: a calendar expression, a fixed rate, a fixed delay, one instant, or only on request; with a period of
// validity, excluded days and jitter. A plain value; next_firing() is a pure function of it, the zone and an instant.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/calendar/cron.h"
#include "rondo/calendar/excluded_days.h"
#include "rondo/calendar/zone.h"

namespace rondo::calendar {

/// Fires at anchor + n * period, for each whole n. Independent of when earlier firings ran, so the phase never drifts.
struct FixedRate {
  Duration period;  // limits::kSchedulePeriodLeast or longer.
  WallTime anchor;
};

/// Fires 'delay' after the end of the previous run.
struct FixedDelay {
  Duration delay;  // limits::kSchedulePeriodLeast or longer.
};

/// Fires once.
struct OneShot {
  WallTime at;
};

/// Fires only when a user or another job triggers it.
struct TriggerOnly {};

/// Delays each firing by a time from 0 to 'most', which follows from the seed and the scheduled instant: the same on every machine and
/// after every restart.
struct Jitter {
  Duration most{0};
  std::uint64_t seed = 0;
};

struct Schedule {
  std::variant<TriggerOnly, Cron, FixedRate, FixedDelay, OneShot> when;
  DstRule dst = DstRule::Vixie;
  // Scheduled instants before 'from', and from 'until' on, do not fire. Empty: no bound.
  std::optional<WallTime> from;
  std::optional<WallTime> until;
  ExcludedDays excluded;  // Days of the zone.
  Jitter jitter;
};

struct Firing {
  WallTime scheduled;  // Names the firing, and orders firings.
  WallTime due;        // scheduled plus jitter.
  friend bool operator==(const Firing&, const Firing&) = default;
};

/// InvalidArgument for a period below limits::kSchedulePeriodLeast, a negative jitter, or a validity that ends before it begins.
Status check(const Schedule& schedule);

/// The first firing whose scheduled instant is after 'after'; empty if there is none. For a fixed delay 'after' is the end of the previous
/// run. The caller looks up the zone, and prefers a zone that a Cron names. 'schedule' must satisfy check(). At most 1 ms: for rates and
/// delays the result is empty, too, after 4,096 excluded days in sequence.
std::optional<Firing> next_firing(const Schedule& schedule, const Zone& zone, WallTime after);

}  // namespace rondo::calendar
