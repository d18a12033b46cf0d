// Limits of workers and of what one worker may claim. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Workers

/// Workers of one program, also those that are away and have runs. Each takes two connections of the admin socket.
/// Reached: `worker-orders` returns ResourceExhausted. Figure: none: the worker gets the error. Test:
/// `WorkersTest.AtTheLimitOfWorkersOneMoreIsRefused`.
inline constexpr std::size_t kWorkers = 16;

/// Commands that one worker offers: each is a handler.
/// Reached: `worker-orders` returns InvalidArgument. Figure: none: the worker gets the error. Test:
/// `WorkersTest.AnOfferBeyondALimitIsRefused`.
inline constexpr std::size_t kWorkerOffers = 256;

/// Runs of one worker at a time, and runs that it names in one request. Further ones follow in its reports.
/// Reached: `worker-orders` or `worker-report` returns InvalidArgument. Figure: none: the worker gets the error. Test:
/// `WorkersTest.AnOfferBeyondALimitIsRefused`.
inline constexpr std::size_t kWorkerRuns = 256;

/// Runs that a worker was given and has not confirmed. Each may wait in the worker's connection with parameters of 64 KiB.
/// Reached: further runs wait in their line. Figure: none: they begin when the worker has confirmed. Test:
/// `WorkersTest.AWorkerThatConfirmsNothingGetsAFewRunsOnly`.
inline constexpr std::size_t kWorkerUnconfirmed = 8;

/// Checks of parameters that a worker has not answered. Each may wait in the worker's connection with parameters of 64 KiB.
/// Reached: another worker is asked, or the job is stored unchecked. Figure: none: the caller gets a warning. Test:
/// `WorkerChecks.AtTheLimitOfUnansweredChecksAJobIsStoredUnchecked`.
inline constexpr std::size_t kWorkerChecks = 8;

/// Time in which a worker answers a check of parameters. The watch of the workers ends it, which runs once a second.
/// Reached: the job is stored unchecked. Figure: none: the caller gets a warning. Test:
/// `WorkerChecks.AWorkerThatDoesNotAnswerLeavesTheJobUnchecked`.
inline constexpr Duration kWorkerCheckWait = 2s;

/// The longest time for which the answer of `worker-report` waits until the ends in the report are stored. A worker sends its next report
/// after the answer, and `rondo worker` waits for it for 30 s.
/// Reached: the answer lists the runs as `unstored`, and the worker reports their ends again. Figure: none: the health of the jobs says why
/// nothing is stored. Test: `QuickReports.AReportIsAnsweredWhileTheStoreHangs`.
inline constexpr Duration kStoredWait = 5s;

}  // namespace rondo::limits
