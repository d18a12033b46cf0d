// Limits of what executors send. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::limits {

// --- Executors

/// Job numbers on the wire: a Java int.
/// Reached: none, the store gives the numbers. Figure: none: an assertion. Test: `WireDeathTest.NumbersThatClientsCannotReadAreAFault`.
inline constexpr std::int64_t kExecutorJob = 2'147'483'647;

/// Log ids on the wire: 2^53 - 1. JavaScript clients round larger whole numbers.
/// Reached: InvalidArgument. Figure: none: the executor gets the error. Test: `Wire.AnIdIsAWholeNumberBelowTwoToThe53`.
inline constexpr std::int64_t kExecutorLogId = (std::int64_t{1} << 53) - 1;

/// Results in one callback. Java executors send at most 50 in a request, and old ones all that wait.
/// Reached: ResourceExhausted. Figure: none: the executor gets the error. Test: `Wire.ACallbackAboveTheLimitOfItemsIsRefused`.
inline constexpr std::size_t kExecutorCallbacks = 10'000;

/// Bytes of a callback whose sender has shown a token, or is in a network of allow_without_token. Old Java executors send all results that
/// wait in one request. Others have limits::kHttpBodyBytes.
/// Reached: 413, and the connection is closed. Figure: none: the executor gets the error. Test: `Door.OnlyAKnownSenderHasALargeCallback`.
inline constexpr std::size_t kExecutorBody = std::size_t{5} * 1024 * 1024;

/// Bytes of a message. Java executors cut theirs at 50,000 characters.
/// Reached: the message is cut between two characters and ends with "...". Figure: none: the message shows it. Test:
/// `Wire.AMessageAboveTheLimitIsCutBetweenCharacters`.
inline constexpr std::size_t kExecutorMessage = std::size_t{64} * 1024;

/// Bytes of an executor's address. The registry of xxl-job stores as many.
/// Reached: InvalidArgument. Figure: none: the executor gets the error. Test: `Wire.AnAddressAboveTheLimitIsRefused`.
inline constexpr std::size_t kExecutorAddress = 255;

/// Bytes of the name of a group of executors. xxl-job's column for it has 64.
/// Reached: InvalidArgument. Figure: none: the executor gets the error. Test: `Wire.AGroupAboveTheLimitIsRefused`.
inline constexpr std::size_t kExecutorGroup = 64;

/// Depth of nested lists and objects in a body. Known clients need five; a parser without a bound would overflow the stack.
/// Reached: InvalidArgument. Figure: none: the executor gets the error. Test: `Wire.JsonThatNestsTooDeepIsRefused`.
inline constexpr std::size_t kExecutorNesting = 16;

/// Values and names in a body: those of kExecutorCallbacks items with all fields of all dialects. A parsed body of 5 MiB with short values
/// would take 120 MiB and a tenth of a second.
/// Reached: ResourceExhausted; InvalidArgument for an answer. Figure: none: the executor gets the error. Test:
/// `Wire.ABodyAboveTheLimitOfValuesIsRefused`.
inline constexpr std::size_t kExecutorValues = 200'000;

/// Addresses of a group, and shards of a broadcast.
/// Reached: a further address is refused, and the executor gets the reason. Figure: none: the executor gets the error. Test:
/// `ExecutorsTest.AtTheLimitOfAddressesOneMoreIsRefused`.
inline constexpr std::size_t kExecutorNodes = 256;

/// Bytes of an answer with a piece of a log. Some executors send a whole log in one piece.
/// Reached: the lines that are whole are taken, and the next ones are requested. A longer line is an error. Figure: none: the reader gets
/// all lines, or the error. Test: `ExecutorsTest.ALogInOnePieceIsReadInParts`.
inline constexpr std::size_t kExecutorLogBytes = std::size_t{1024} * 1024;

/// Bytes of the pieces of logs that are kept for readers, which get them in answers of limits::kLogPiece. One piece is always kept.
/// Reached: the piece that was used the longest ago is dropped, and a reader that needs it has the executor send the log again. Figure:
/// none: the calls of the executor show it. Test: `ExecutorsTest.ALongLogIsSentOnce`.
inline constexpr std::size_t kExecutorLogKept = std::size_t{256} * 1024;

/// Jobs at addresses where a run was told to stop, and may still go on.
/// Reached: the next run of a further one may go to the same address. Figure: none: the executors show it. Test:
/// `ExecutorsTest.AnExecutorWhereAKilledRunMayGoOnIsAvoided` keeps one.
inline constexpr std::size_t kExecutorUnresolved = 1'000;

/// Orders of one address that are being recorded in the store, or that it has not answered. A place lasts for a commit and a call, and a
/// slower commit with more orders in it needs more places: with 8, three executors took half of 1,000 runs a second from a PostgreSQL whose
/// disk had other writers. Thirteen executors that do not answer fill the lane of fast orders until their calls time out.
/// Reached: its further orders wait in line, and other executors are preferred. Figure: none: a run says that it waits for this. Test:
/// `ExecutorsTest.AnExecutorThatDoesNotAnswerLeavesRoomForTheOthers` with a lower limit.
inline constexpr std::size_t kExecutorOrders = 16;

/// Callbacks whose answers wait until the ends in them are stored.
/// Reached: the sender of a further callback is told to send it again. Figure: none: the executor gets the error. Test:
/// `StoringTest.ACallbackIsAnsweredWhenItsEndIsStored` holds one.
inline constexpr std::size_t kExecutorHeld = 512;

/// Results that came before their run of an earlier process was known here.
/// Reached: the sender of a further one is told to send it again. Figure: none: the executor gets the error. Test:
/// `ExecutorsTest.AResultThatComesBeforeItsRunIsKnownIsKept` keeps one.
inline constexpr std::size_t kExecutorEarly = 10'000;

/// Broadcasts that have failed, of which the shards that have succeeded are kept for the next attempt or a rerun.
/// Reached: the oldest is forgotten, and its next attempt or rerun sends all its shards. Figure: none: the executors show the shards. Test:
/// `ExecutorsTest.ARetryOfABroadcastSendsTheFailedShardsAlone` keeps one.
inline constexpr std::size_t kExecutorRetries = 1'000;

/// Broadcasts that have ended, of which the state, the times and the note of each shard are kept for people.
/// Reached: the oldest is forgotten, and of its shards the addresses alone are known. Figure: none: the executors have their logs. Test:
/// `ExecutorsTest.TheShardsOfABroadcastAreShown` keeps one.
inline constexpr std::size_t kExecutorShown = 100;

}  // namespace rondo::limits
