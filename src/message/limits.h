// Limits of agents that stay inside: no caller sets or meets them. rondo/base/limits.h says how to read them.
#pragma once

#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Agents

/// Starts and ends of agents in one turn; the rest waits until other sources had their turns.
/// Reached: the rest follows after other sources had their turns. Figure: `sources.rows.depth`. Test:
/// `Agents.StartsAndEndsComeSomeInATurn`.
inline constexpr std::uint32_t kAgentLifePerTurn = 16;

/// Delay until the next attempt to give a queue its first turn after memory was exhausted. The start or end of another agent also retries.
/// Reached: the next attempt. Figure: none: Agents::queue_retries() counts it. Test:
/// `MessageAllocations.AQueueForWhichThereWasNoMemoryIsTriedAgain`.
inline constexpr Duration kAgentQueueRetry = 100ms;

}  // namespace rondo::limits
