// Limits of orders to a data plane and of events from it. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/limits.h"

namespace rondo::limits {

// --- Data plane

/// Operations of one netlink send (measured: 64 to 256 is enough; more gains under 10 % and risks overrunning the error queue).
/// Reached: the next send. Figure: `stats.dataplane.full_batches`. Test: `ProgrammerTest.NoBatchAndNoTurnIsLargerThanItsLimit`,
/// `OrderSender.ASendHoldsAtMostABatchAndSequencesGoOn`.
inline constexpr std::size_t kNetlinkBatch = 256;

/// Operations in flight; at this number consumers of the data plane pause until there is room. A few batches keep the programmer busy.
/// Reached: consumers of the data plane pause. Figure: `stats.dataplane.full`. Test:
/// `ProgrammerTest.TheRoomThatIsNotLimitedByAnOptionIsThatOfTheLimit`, `ProgrammerTest.TheRoomIsAnnouncedEachTimeItComesBack`.
inline constexpr std::size_t kProgrammerOps = 8192;

/// Members of one next-hop group: one order must fit into one netlink attribute and one page of a dump. A larger group is refused with
/// InvalidArgument.
/// Reached: InvalidArgument; the row is rejected. Figure: `stats.consumers.rejected`. Test:
/// `DataPlaneContract.OrdersThatAreWrongByThemselvesAreInvalidArguments`.
inline constexpr std::size_t kGroupMembers = 1024;

/// Stations that bridges have learned and that a monitor remembers and reports, of all bridges together. The size of the table of a large
/// switch chip; a flood of forged addresses must not fill the memory.
/// Reached: further stations are not reported; they are read again when a quarter of the room is free. Figure:
/// `stats.managers.state_db.stations_left_out`. Test: `FdbMonitorOnLinux.StationsBeyondTheLimitAreLeftOutUntilThereIsRoom`.
inline constexpr std::size_t kLearnedStations = 65536;

static_assert(kBatchItems <= kNetlinkBatch, "a turn of a bulk handler must fit one netlink send");
static_assert(kProgrammerOps >= 4 * kNetlinkBatch, "the programmer needs a few batches to stay busy");

}  // namespace rondo::limits
