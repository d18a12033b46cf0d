// Limits of a replay. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- Replay

/// Batches of records that a replay reads ahead, not counting the batch that exceeds them. They limit the memory, however long the day is.
/// The reading thread is faster than the replay; it resumes when half of them are used, so that it is seldom woken.
/// Reached: reading waits until half of them are used. Figure: `ReplayReport::reading_pauses`. Test:
/// `RecordReaderTest.WhatIsReadAheadIsBounded`.
inline constexpr std::size_t kReplayBatchesAhead = 32;

/// The bytes of these batches.
/// Reached: reading waits until half of them are used. Figure: `ReplayReport::reading_pauses`. Test:
/// `RecordReaderTest.WhatIsReadAheadIsBounded`.
inline constexpr std::size_t kReplayBytesAhead = 8 * 1024 * 1024;

}  // namespace rondo::limits
