// Limits of the journal. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- Journal

/// Bytes of journal records that wait for the writer; beyond it records are lost and counted, and the file says how many.
/// Reached: records are lost and counted; the file says how many. Figure: `stats.journal.dropped`. Test:
/// `JournalTest.AHangingDiskCostsCountedLossesAndNoWaiting`.
inline constexpr std::size_t kJournalBytes = 64 * 1024 * 1024;

/// Bytes of one journal record, as the file format allows; a longer one is lost and counted.
/// Reached: the record is lost and counted. Figure: `stats.journal.dropped`. Test:
/// `JournalTest.ARecordBeyondTheFormIsLostThoughTheBufferHasRoomLarge`.
inline constexpr std::size_t kJournalRecordBytes = 256 * 1024 * 1024 - 64;

}  // namespace rondo::limits
