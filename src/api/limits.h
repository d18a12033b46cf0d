// Limits of the API over HTTP. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- API over HTTP

/// Tokens of the API.
/// Reached: `token-add` gets ResourceExhausted. Figure: none: the list of tokens shows them. Test: `ApiTokens.NoMoreThanTheLimitAreMade`.
inline constexpr std::size_t kApiTokens = 256;

/// Bytes of an answer that a call gets as one JSON object: the daemon's frames are joined in memory.
/// Reached: 413 with the advice to ask for events, whose number has no limit. Figure: none: the caller gets the error. Test:
/// `Api.AnAnswerAboveTheLimitIsRefusedAndItsEventsAreNot`.
inline constexpr std::size_t kApiAnswerBytes = std::size_t{8} * 1024 * 1024;

/// How long a client of `--url` may take to connect: the name, TCP, TLS and the upgrade.
/// Reached: Unavailable. Figure: none: the caller gets the error. Test: `Dial.AServerThatDoesNotAnswerIsLeft`.
inline constexpr Duration kDialTime = 10s;

}  // namespace rondo::limits
