// Limits of the runtime that stay inside: no caller sets or meets them. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Facts

/// Pause between two turns of the sweep, which so takes less than 2 % of a processor.
/// Reached: the next turn of the pass begins. Figure: `ForgottenFacts::announcements`. Test:
/// `ForgottenFactsTest.EveryFactIsLookedAtWithinASecond`.
inline constexpr Duration kFactSweepPause = 5ms;

/// Facts that the sweep checks in a turn: its turns stay short.
/// Reached: the rest is checked in later turns. Figure: `ForgottenFacts::announcements`. Test:
/// `ForgottenFactsTest.EveryFactIsLookedAtWithinASecond`.
inline constexpr std::uint32_t kFactSweepFacts = 1024;

/// Passes in a row that must find a fact forgotten: a fact that follows another one is announced some turns later, which is no fault.
/// Reached: the rows are handled, and the find is counted. Figure: `ForgottenFacts::announcements`. Test:
/// `ForgottenFactsTest.AFactThatFollowsAnotherIsNotForgotten`.
inline constexpr unsigned kFactSweepPasses = 3;

// --- Own rows

/// Deletes of rows that one owner of rows (the FPM server, the managers) has written and the consumer has not taken, and rows that change
/// while a page of rows is on its way. Each costs about 100 bytes.
/// Reached: a further Delete of a row that is written again at once is counted as one of another program, and the row is written once more;
/// the pages are read again. Figure: `stats.fpm.repaired`, `stats.fpm.comparisons`. Test:
/// `OwnDeletes.BeyondTheLimitTheyCountAsThoseOfOthers`, `PageChanges.BeyondTheLimitThePageSaysNothing`.
inline constexpr std::size_t kOwnDeletes = 65'536;

}  // namespace rondo::limits
