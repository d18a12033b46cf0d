// The bounds of the time that zones cover, shared by the parts of Zone.
#pragma once

#include "rondo/calendar/zone.h"

namespace rondo::calendar {

/// WallTime in seconds, with a day to spare at both ends.
inline constexpr Seconds kEarliest = -9'223'372'036 - 2 * 86'400;
inline constexpr Seconds kLatest = 9'223'372'036 + 2 * 86'400;

}  // namespace rondo::calendar
