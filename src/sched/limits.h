// Limits of schedulers and executors that stay inside: no caller sets or meets them. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Turns

/// Batches of a lane that are ready for the thread of an executor: work for about a turn. Operations behind them can still join a batch,
/// and urgent operations can still overtake them.
/// Reached: operations wait in their lane. Figure: `stats.dataplane.full_batches`. Test:
/// `ThreadProgrammer.WhatWaitsBehindTheReadyBatchesSharesOne`.
inline constexpr std::size_t kExecutorBatches = 4;

/// Period of the liveness sweep, which detects lost wake-ups. It counts each rescue; the count should stay 0. A lost wake-up delays a row
/// by a second.
/// Reached: the source is woken and counted. Figure: `stats.scheduler.sweep_rescues`. Test:
/// `Scheduler.TheSweepFindsALostWakeWithinItsPeriodAndCountsIt`.
inline constexpr Duration kSweepPeriod = 1000ms;

/// Entries of the record of the newest turns: half a MiB while a caller asks for them.
/// Reached: the oldest are overwritten; the answer has their number. Figure: `turns.missed`. Test:
/// `TurnRecord.ANewTurnOverwritesTheOldestOfAFullRecord`.
inline constexpr std::size_t kTurnsRecorded = 8192;

/// How long turns are recorded after the last call that asked for them. A console asks twice a second.
/// Reached: the record ends, and its memory is freed; the next call begins a new one. Figure: `turns.recorded_us`. Test:
/// `TurnCommand.TheRecordEndsTenSecondsAfterTheLastCall`.
inline constexpr Duration kTurnRecordKept = 10s;

}  // namespace rondo::limits
