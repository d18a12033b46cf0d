// Limits of the standard commands. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Standard commands

/// Events that wait for one reader of `watch` or `trace`; beyond it the newest are dropped, and the reader gets the number of dropped
/// events.
/// Reached: the newest are dropped; the reader gets their number. Figure: `stats.watch.missed`. Test:
/// `LookingOn.ASlowReaderHoldsNobodyAndIsToldWhatItMissed`.
inline constexpr std::size_t kWatchEvents = 4096;

/// Bytes of the events that wait for one reader: large rows count by their size.
/// Reached: the newest are dropped; the reader gets their number. Figure: `stats.watch.missed`. Test:
/// `LookingOn.ASlowReaderOfLargeRowsMissesThemByTheirBytes`.
inline constexpr std::size_t kWatchBytes = 1024 * 1024;

/// Lines of the log that rondod keeps for a support bundle.
/// Reached: the oldest are dropped. Figure: `stats.log.lines_forgotten`. Test: `RecentLog.KeepsTheNewestLinesWithinItsLimits`.
inline constexpr std::size_t kLogLinesKept = 500;

/// Bytes of each of these lines, which people read.
/// Reached: the line is cut. Figure: `stats.log.lines_cut`. Test: `RecentLog.KeepsTheNewestLinesWithinItsLimits`.
inline constexpr std::size_t kLogLineBytesKept = 1024;

/// Bytes of files of the journal that one call of `history` reads: two of the usual size.
/// Reached: the answer has what was found, and `stopped` says so. Figure: none: the answer says so. Test: `HistoryTest.StopsAtItsLimits`.
inline constexpr std::size_t kHistoryBytes = 512 * 1024 * 1024;

/// How long one call of `history` reads, on a thread of its own.
/// Reached: as with kHistoryBytes. Figure: none: the answer says so. Test: `HistoryTest.StopsAtItsLimits`.
inline constexpr Duration kHistoryTime = 2000ms;

/// Calls of `history` that wait for that thread.
/// Reached: a further one gets ResourceExhausted. Figure: none: the caller gets the error. Test:
/// `HistoryCommand.ManyCallsAtOnceAreRefused`.
inline constexpr std::size_t kHistoryCalls = 8;

/// How long a past incident (a write that failed later, a lost wake-up, a forgotten fact) counts as a trouble in `rondo health`; afterwards
/// it is a note. A monitor with a period of five minutes sees it three times, and no restart is needed to clear it.
/// Reached: an incident without another one since is a note. Figure: `health.notes`. Test: `Incidents.AreATroubleForAWhileAndThenANote`.
inline constexpr Duration kIncidentReported = 900s;

/// How long a Service continues with its accepted work after a request to end, because its service manager waits for the end. After that
/// it writes the journal and the store to their disks, which has no bound of its own: a service manager ends it (TimeoutStopSec).
/// Reached: the log reports what is left (`drained=false`); Service::run() returns DataLoss, and rondod exits with 1, if any of that is
/// lost: records that no file took, writes that a Redis did not answer, changes of direct tables, unhandled rows of tables that no store
/// keeps. Figure: none: the log and the exit code. Test: `ServiceTest.WhatIsLostAtTheEndIsAnError`,
/// `RondodOnFullDisk.WhatIsLostAtTheEndIsToldAndTheEndIsNoSuccess`, `RondodOnRedis.ADrainThatIsCutShortSaysHowManyWritesAreLeft`.
inline constexpr Duration kServiceDrain = 5000ms;

}  // namespace rondo::limits
