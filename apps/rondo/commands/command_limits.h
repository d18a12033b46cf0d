// Limits of the command line. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- rondo

/// Rows of one answer in a support bundle; it reports how many were left out.
/// Reached: the bundle says how many are left out (`rows_left_out`). Figure: none: the bundle has the number. Test:
/// `Program.ADumpKeepsTheLimitOfRowsAndSaysHowManyItLeftOut`.
inline constexpr std::size_t kDumpRows = 10'000;

/// Bytes of a file of `rondo load`, which holds it in memory: a million routes are about 200 MB.
/// Reached: the load ends before a row is written. Figure: none: the command ends with the error. Test:
/// `Load.AFileWithoutEndIsRefusedAtTheLimit`.
inline constexpr std::size_t kLoadBytes = 1024 * 1024 * 1024;

/// Answers about a log in a row without output that came within kShortAnswer: a daemon waits for output before it gives such an answer,
/// and a run may have a hundred attempts at different workers.
/// Reached: `rondo job log` ends with an error. Figure: none: the command ends with the error. Test:
/// `JobLog.PiecesThatLeadNowhereEndTheCommand`.
inline constexpr std::size_t kEmptyAnswers = 200;

/// Bytes of a log without --follow. A worker may keep 1 TiB of a run, and one that does not say how long a log is may always have more.
/// Reached: `rondo job log` ends with an error. Figure: none: the command ends with the error. Test:
/// `JobLog.WithoutFollowingALogHasALimit`.
inline constexpr std::uint64_t kLogBytes = 1'099'511'627'776;

/// The time of an answer for which nothing was waited.
/// Reached: the answer does not count for kEmptyAnswers. Figure: none: the command goes on. Test:
/// `JobLog.PiecesThatLeadNowhereEndTheCommand`.
inline constexpr Duration kShortAnswer = 100ms;

}  // namespace rondo::limits
