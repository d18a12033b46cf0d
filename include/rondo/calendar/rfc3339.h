// Instants as text by RFC 3339: "2026-03-29T01:00:00Z".
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::calendar {

/// Reads a date and time with its offset: "2026-03-29T03:00:00.5+02:00". 'T' and 'Z' may be small, and a blank may stand for 'T'. A second
/// of 60 is read as the following second. InvalidArgument with column and reason for other texts, and for years outside 1678 to 2261.
Result<WallTime> parse_rfc3339(std::string_view text);

/// 'at' in UTC, with milliseconds only if they are not zero. Finer parts are dropped.
std::string format_rfc3339(WallTime at);

}  // namespace rondo::calendar
