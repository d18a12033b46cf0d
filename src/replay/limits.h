// Limits of a replay that stay inside: no caller sets or meets them. rondo/base/limits.h says how to read them.
#pragma once

namespace rondo::limits {

// --- Replay

/// Depth of nested records in a replay. A recorded day has a few; a forged one could overflow the stack.
/// Reached: the replay ends with a difference. Figure: `ReplayReport::came`. Test: `ReplayOfAgent.AForgedDayEndsInAReport`.
inline constexpr unsigned kReplayNesting = 64;

}  // namespace rondo::limits
