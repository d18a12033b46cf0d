// Limits of the standard commands that stay inside: no caller sets or meets them. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- Administration

/// Facts that one frame of `top` shows, those with the most rows: as many as fit on a screen.
/// Reached: the rest is not in the frame; the total is. Figure: `top.awaited_facts`. Test:
/// `LookingOn.TopShowsTheFactsWithTheMostRowsOfThoseItLooksAt`.
inline constexpr std::size_t kTopFacts = 16;

/// Facts that `top` examines to find these: a frame is made in one turn.
/// Reached: the largest of the first ones are shown; `rondo parked` has all. Figure: `top.awaited_facts`. Test:
/// `LookingOn.TopShowsTheFactsWithTheMostRowsOfThoseItLooksAt`.
inline constexpr std::size_t kTopFactsSeen = 1024;

/// Bytes of a change that `watch` shows with its fields, because a turn must stay short. For a larger one it shows only the size; `get`
/// shows the fields.
/// Reached: the change is shown with its size and without fields. Figure: `watch.bytes`. Test:
/// `LookingOn.AChangeThatIsTooLargeIsToldByItsSize`.
inline constexpr std::size_t kWatchRowBytes = 32 * 1024;

}  // namespace rondo::limits
