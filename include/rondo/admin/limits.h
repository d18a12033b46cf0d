// Limits of the admin socket. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Administration

/// Largest frame of the admin protocol in both directions. A larger one gets an error answer and the connection is closed.
/// Reached: an error, and the connection is closed. Figure: `stats.admin.malformed_frames`. Test:
/// `Session.BytesThatAreNoFrameAreAnsweredOnceAndEndTheSession`.
inline constexpr std::size_t kAdminFrameBytes = 4 * 1024 * 1024;

/// Connections of the admin socket: enough for people and a few programs. At most half of the descriptors of the process, with
/// kAdminReserved.
/// Reached: a new connection replaces one that has no request in progress; if all have, it replaces the oldest of the user with the most
/// connections, for a user who has at least two fewer; otherwise it gets an error and is closed. Figure: `stats.admin.gave_way`,
/// `stats.admin.refused_connections`. Test: `AdminCrowd.SixtyFourIdleConnectionsLockNobodyOut`,
/// `AdminSocket.TheConnectionOverTheLimitIsToldSo`.
inline constexpr std::size_t kAdminConnections = 64;

/// Places of the admin socket beyond kAdminConnections, for root and the daemon's user, so that an administrator can always connect.
/// Reached: the same as for kAdminConnections, among these connections. Figure: `stats.admin.refused_connections`. Test:
/// `AdminCrowd.PlacesAreKeptForRootAndTheDaemonsUserLinux`.
inline constexpr std::size_t kAdminReserved = 4;

/// Rows in one page of an answer: a page is made and sent in one turn. The next page is made in a later turn.
/// Reached: the next page is made in a later turn. Figure: `stats.admin.full_pages`. Test: `Session.ALongAnswerComesInPagesOneATurn`.
inline constexpr std::size_t kAdminPageRows = 1000;

/// Bytes of one page of an answer.
/// Reached: the next page is made in a later turn. Figure: `stats.admin.full_pages`. Test: `Session.APageOfLargeRowsEndsByItsBytes`.
inline constexpr std::size_t kAdminPageBytes = 64 * 1024;

/// Largest JSON request. A byte of a long text costs the parser far less than a value, and parsing must take far less than a millisecond.
/// Reached: InvalidArgument. Figure: `stats.admin.failed_requests`. Test: `Session.ATooLargeRequestIsRefusedAndTheNextOneIsRead`.
inline constexpr std::size_t kAdminRequestBytes = 256 * 1024;

/// JSON values in a request. A value costs the parser about 20 to 40 ns, and parsing must take far less than a millisecond.
/// Reached: InvalidArgument. Figure: `stats.admin.failed_requests`. Test: `Session.ARequestOfTooManyValuesIsRefusedAndTheNextOneIsRead`.
inline constexpr std::size_t kAdminRequestValues = 8192;

/// Fields of one row in a request or a bulk write. Each is hashed and copied, and a turn must take far less than a millisecond. More fields
/// get InvalidArgument. A row that is written in parts may have more, up to kFields.
/// Reached: InvalidArgument; a row that is written in parts may have more. Figure: `stats.admin.failed_requests`,
/// `stats.admin.bulk_rows_refused`. Test: `Session.ARowOfTooManyFieldsIsRefused`,
/// `BulkSession.ARowOfTooManyFieldsIsRefusedAndTheRestGoesOn`.
inline constexpr std::size_t kAdminRowFields = 2048;
static_assert(3 * kAdminRowFields < kAdminRequestValues, "a request has room for a row: a pair and two texts for each field");

/// Output that waits for one reader. From a quarter of it on no further page is made; beyond it the connection is closed and counted.
/// Reached: the connection is closed. Figure: `stats.admin.slow_readers_cut`. Test:
/// `AdminSocket.ACallerForWhomTooMuchWaitsIsCutAndOneForWhomLessWaitsIsServed`.
inline constexpr std::size_t kAdminOutputBytes = 2 * kAdminFrameBytes;

/// A connection that reads none of its output, or sends nothing of an incomplete frame, for this long is closed and counted. A dead peer
/// would occupy a connection.
/// Reached: the connection is closed. Figure: `stats.admin.stalled_writers_cut`, `stats.admin.slow_readers_cut`. Test:
/// `AdminSocket.ACallerThatStopsInsideAFrameIsCut`, `AdminSocket.ACallerThatNeverReadsIsCutAndOthersAreServed`.
inline constexpr Duration kAdminStall = 30'000ms;

/// The longest time from the first byte of a frame to its last, and of a connection to its first request; then it is closed and counted. A
/// frame takes memory until it is complete, and an idle connection takes a place.
/// Reached: the connection is closed. Figure: `stats.admin.slow_frames_cut`. Test: `AdminCrowd.AFrameThatTricklesIsCutWhenItsTimeIsOver`,
/// `AdminCrowd.OneThatNeverAsksIsCutWhenTheTimeOfAFrameIsOver`.
inline constexpr Duration kAdminFrameTime = 30'000ms;

/// The longest time between an answer and the next request; then the connection is closed and counted. It is long because a feeder may wait
/// for its own source. When all places are taken, a new connection replaces one that is between requests.
/// Reached: the connection is closed. Figure: `stats.admin.idle_cut`. Test:
/// `AdminCrowd.AnIdleConnectionIsCutAndOneThatWaitsForItsAnswerIsNot`.
inline constexpr Duration kAdminIdle = 600'000ms;

/// Minimum time after its last answer for which a connection keeps its place when others need it. Also the time for which a frame that does
/// not grow keeps its memory.
/// Reached: a new connection replaces it; an incomplete frame that does not grow is dropped when memory is short. Figure:
/// `stats.admin.gave_way`, `stats.admin.memory_cut`. Test: `ConnectionSlots.WhoHasAskedKeepsItsPlaceForAMoment`,
/// `AdminCrowd.SixtySlowFramesHoldNoMoreThanTheirShareAndAreCut`.
inline constexpr Duration kAdminYield = 1000ms;

/// Bytes of incomplete frames and unsent answers in all connections of one admin socket together, so that strangers cannot exhaust the
/// memory of the machine.
/// Reached: only the oldest frame is read further, and frames that do not grow are dropped with their connections; beyond half of it each
/// reader gets one page at a time. Figure: `stats.admin.memory_bytes`, `stats.admin.memory_cut`. Test:
/// `AdminCrowd.SixtySlowFramesHoldNoMoreThanTheirShareAndAreCut`,
/// `AdminCrowd.ReadersThatDoNotReadHoldNoMoreThanHalfOfTheShareAndAPageEach`.
inline constexpr std::size_t kAdminMemory = std::size_t{24} * 1024 * 1024;

/// The longest wait at a start for a process that is ending and whose socket still accepts connections. A killed rondod needs some seconds
/// to give back the memory of a full table.
/// Reached: the start fails: another server answers. Figure: none: the log says so. Test:
/// `AdminSocket.AServerThatWasKilledIsWaitedFor`, `AdminSocket.ASecondServerIsRefusedWhileTheFirstAnswers`.
inline constexpr Duration kAdminPredecessorTime = 10'000ms;

/// Period of the check for the file of the admin socket; a missing file is made again. Without the file no caller can connect; a check is
/// one system call.
/// Reached: the file is searched, and made again if it is missing. Figure: `stats.admin.sockets_made_anew`. Test:
/// `AdminCrowd.ASocketWhoseFileHasGoneIsMadeAnew`.
inline constexpr Duration kAdminSocketCheckPeriod = 1000ms;

/// Minimum time between two notices of one kind of closed connection in the log; a notice has the count since the last
/// one. Ten thousand hostile connections must not fill a log.
/// Reached: one notice of each kind of closed connection, with the count since the last one. Figure: none: the log says how many. Test:
/// `AdminNotices.EachKindIsToldAtOnceAndThenOncePerPeriodWithItsCount`.
inline constexpr Duration kAdminNoticePeriod = 10'000ms;

/// Bytes of a key pattern; matching costs at most the length of the pattern times that of the key. A longer one is refused with
/// InvalidArgument.
/// Reached: InvalidArgument. Figure: `stats.admin.failed_requests`. Test: `LookingOn.KeysAreListedByPatternAndCount`.
inline constexpr std::size_t kPatternBytes = 256;

/// Rows of one bulk write handled in one turn.
/// Reached: the rest is handled in the next turn. Figure: `stats.admin.bulk_pauses`. Test: `BulkSession.ATurnHandlesABoundedNumberOfRows`.
inline constexpr std::size_t kAdminRowsPerTurn = 128;

/// Bulk frames of one connection whose rows are taken and whose answers wait for a disk; the next frame is read when the first is answered.
/// Enough for a commit to carry several frames, and few compared with what a store holds.
/// Reached: the next frame is read when the first is answered. Figure: `stats.admin.bulk_waits`. Test:
/// `SlowBulkSession.AFeederThatIsTooFastIsHeldBackAndAnsweredInOrder`.
inline constexpr std::size_t kAdminBulkFrames = 8;

/// Bytes of an answer that AdminClient keeps until its end, and of those that the command line keeps: a daemon that never ends its answer
/// must not take all memory. Answers to `show`, `keys`, `export`, `parked` and `rejected` have no limit: their rows are printed, or
/// compared with a file, as they come. Reached: ResourceExhausted, and the connection cannot be used any more. Figure: none: the caller
/// gets the error. Test: `LyingDaemon.AnAnswerWithoutEndIsCutAtItsLimit`.
inline constexpr std::size_t kAdminAnswerBytes = std::size_t{1024} * 1024 * 1024;

}  // namespace rondo::limits
