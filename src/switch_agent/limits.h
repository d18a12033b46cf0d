// Limits of the switch agent. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::limits {

// --- Switch agent

/// Carrier changes whose handling is remembered for external measurement (`port-events`); beyond it the oldest are dropped. Enough for
/// several events of every port of a large switch.
/// Reached: the oldest are dropped: their numbers are missing in `port-events`. Figure: `stats.port_events.count`. Test:
/// `AgentScenarios.OfManyChangesOfCarrierTheNewestAreRemembered`.
inline constexpr std::size_t kCarrierChanges = 4096;

/// VRFs, each of which has a table of the kernel: those from 1001 on, as in SONiC.
/// Reached: the row waits until a VRF is deleted, and `rondo why` says so. Figure: `stats.consumers.retried`. Test:
/// `VrfLimit.TheRowBeyondTheLastTableWaitsForAFreeOne`.
inline constexpr std::uint32_t kVrfs = 1000;

}  // namespace rondo::limits
