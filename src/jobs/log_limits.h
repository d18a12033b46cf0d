// Limits of readers of the logs of runs, which workers and executors keep. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Logs of runs

/// Readers of logs that wait for an answer of a worker.
/// Reached: `job-log` returns ResourceExhausted. Figure: none: the caller gets the error. Test:
/// `WorkersTest.AtTheLimitOfReadersOneMoreIsRefused`.
inline constexpr std::size_t kLogReaders = 32;

/// Those of one user, except root and the user of the program: the others keep places.
/// Reached: `job-log` returns ResourceExhausted. Figure: none: the caller gets the error. Test:
/// `ReadersOfAnotherUserOnLinux.LeavePlacesForTheOthers`.
inline constexpr std::size_t kLogReadersOfUser = 16;

/// The longest time for which a reader of a log waits for a worker.
/// Reached: `job-log` returns DeadlineExceeded. Figure: none: the caller gets the error. Test:
/// `QuickWorkers.AWorkerThatDoesNotAnswerAReaderIsGivenUp`.
inline constexpr Duration kLogWait = 20s;

/// Bytes of a log in one answer.
/// Reached: the rest follows in the next answer. Figure: none: the reader gets all bytes. Test:
/// `WorkersTest.TheLogOfARunComesFromItsWorker`.
inline constexpr std::size_t kLogPiece = 16'384;

}  // namespace rondo::limits
