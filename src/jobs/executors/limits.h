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

}  // namespace rondo::limits
