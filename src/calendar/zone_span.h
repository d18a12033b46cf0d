// Zone::Span: a time span of a zone with one offset, and the bounds of the time that the spans cover.
#pragma once

#include <cstdint>

#include "rondo/calendar/zone.h"

namespace rondo::calendar {

/// WallTime in seconds, with a day to spare at both ends.
inline constexpr Seconds kEarliest = -9'223'372'036 - 2 * 86'400;
inline constexpr Seconds kLatest = 9'223'372'036 + 2 * 86'400;

/// The bounds are half-open: [start, end).
struct Zone::Span {
  Seconds start;
  Seconds end;
  std::int32_t offset;  // Local time minus UTC, in seconds.
  // Local times below fresh_from occurred in an earlier span too. Local times from seen_until to fresh_from never occur: a gap.
  Seconds seen_until;
  Seconds fresh_from;
  // Local times from last_until on occur in a later span too.
  Seconds last_until;

  Seconds local_start() const noexcept { return start + offset; }
  Seconds local_end() const noexcept { return end + offset; }
  /// True if the clock skipped local times immediately before this span.
  bool follows_gap() const noexcept { return seen_until < fresh_from; }
};

/// True if both zones have the same offset at each instant.
bool has_same_offsets(const Zone& a, const Zone& b);

}  // namespace rondo::calendar
