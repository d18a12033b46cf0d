// AdminServerOptions: settings of the daemon's Unix socket. Each of its connections is a source with fair, short turns: a turn handles one
// request, one page of an answer, or limits::kAdminRowsPerTurn rows of a bulk write, so no caller can stall the loop.
// Protocol: docs/guide/admin-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rondo/admin/limits.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"

namespace rondo {

struct AdminServerOptions {
  std::string path;      // Path of the socket; at most 107 bytes.
  unsigned mode = 0660;  // Mode of the socket file.
  /// Members of this group may call commands that only read. The socket file is then open to all users, and the kernel identifies the
  /// caller (SO_PEERCRED, SO_PEERGROUPS). Root, the user of this process and members of the file's group have all rights. Other callers get
  /// permission-denied and are disconnected. If unset, every user who can open the file has all rights.
  std::optional<std::uint32_t> read_group = {};
  Priority priority = Priority{};  // Priority of the listener and of every connection.
  /// The most connections at a time. A further one replaces a connection without a request in progress, or gets resource-exhausted and is
  /// closed.
  std::size_t connections = limits::kAdminConnections;
  /// Additional places for root and the user of this process.
  std::size_t reserved = limits::kAdminReserved;
  /// Largest frame; a larger one gets invalid-argument and the connection is closed.
  std::size_t frame_bytes = limits::kAdminFrameBytes;
  /// Largest JSON request; a larger one gets invalid-argument.
  std::size_t request_bytes = limits::kAdminRequestBytes;
  /// Output that waits for one reader. From a quarter of it on no further page is made; beyond it the connection is closed and counted.
  std::size_t output_bytes = limits::kAdminOutputBytes;
  /// A connection that reads none of its output, or sends nothing of an incomplete frame, for this long is closed and counted.
  Duration stall = limits::kAdminStall;
  /// The longest time of a frame from its first byte to its last, and of a connection until its first request; then it is closed and
  /// counted.
  Duration frame_time = limits::kAdminFrameTime;
  /// The longest time between an answer and the next request; then the connection is closed and counted.
  Duration idle = limits::kAdminIdle;
  /// Minimum time after its last answer for which a connection keeps its place when others need it.
  Duration yield = limits::kAdminYield;
  /// Bytes of incomplete frames and unsent answers in all connections together.
  std::size_t memory = limits::kAdminMemory;
  /// Period of the check for the socket file; a missing file is made again.
  Duration check_period = limits::kAdminSocketCheckPeriod;
};

}  // namespace rondo
