// Limits of direct tables (ZeroMQ). rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- Direct tables

/// Largest frame of a direct table; that of its stock peers.
/// Reached: dropped and counted; a client refuses the entry. Figure: `stats.direct.faults`. Test:
/// `ZmqPeers.AFrameThatIsTooLongIsCountedAndOneFarTooLongCostsTheConnection`.
inline constexpr std::size_t kZmqFrameBytes = 16 * 1024 * 1024;

/// A client sends a frame of this size: about 500 routes, so that they share the cost of a message.
/// Reached: the frame is sent. Figure: `ZmqClientStats::frames`. Test: `ZmqTables.ABurstGoesInFramesOfTheLimitsSize`.
inline constexpr std::size_t kZmqClientFrameBytes = 64 * 1024;

/// Frames that libzmq may hold in a client; with kZmqClientFrameBytes that is 4 MiB. Beyond it entries wait in the staging area, where they
/// merge.
/// Reached: entries wait in the staging area, where they merge. Figure: `ZmqClientStats::blocked`. Test:
/// `ZmqTables.WhatWaitsInTheClientMergesAndKeepsItsOrder`.
inline constexpr int kZmqSendFrames = 64;

/// Frames that libzmq may hold in a server. Stock peers send frames of one entry, so there are more of them.
/// Reached: the sender has to wait. Figure: at the sender: `ZmqClientStats::blocked`. Test:
/// `ZmqTables.AStoppedConsumerIsBoundedAndLosesNothingStorm`.
inline constexpr int kZmqReceiveFrames = 1024;

/// Keys of one direct table that wait: in a client behind its frames, in a server for its consumer. Beyond it a client refuses writes with
/// ResourceExhausted and a server stops reading.
/// Reached: the server stops reading; a client returns ResourceExhausted. Figure: `stats.direct.pauses`, `ZmqClientStats::refused`. Test:
/// `ZmqTables.AFullTableStopsTheReadingAndTakingGoesOnWithIt`, `ZmqTables.WhatWaitsInTheClientMergesAndKeepsItsOrder`.
inline constexpr std::size_t kZmqKeys = 1'000'000;

}  // namespace rondo::limits
