// The next instant of an expression in a zone, by one of the DST rules.
#pragma once

#include "calendar/cron_fields.h"
#include "rondo/calendar/cron.h"

namespace rondo::calendar {

/// The first matching instant at 'from' or later, or kNoTime. O(spans of the zone until then) beside next_local().
Seconds next_instant(const CronFields& fields, const Zone& zone, DstRule rule, Seconds from, const ExcludedDays* excluded) noexcept;

}  // namespace rondo::calendar
