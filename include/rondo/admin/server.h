// AdminServer: the daemon's Unix socket. It listens, and each connection is a source of its own with fair, short turns: a turn handles one
// request, one page of an answer, or limits::kAdminRowsPerTurn rows of a bulk write, so no caller can stall the loop. Protocol:
// docs/guide/admin-protocol.md. Everything on the scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rondo/admin/bulk.h"
#include "rondo/admin/command.h"
#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;

struct AdminServerOptions {
  std::string path;                // Of the socket; at most 107 bytes.
  unsigned mode = 0660;            // Of the socket file.
  Priority priority = Priority{};  // Of the listener and of every connection.
  /// Connections at a time; the next is told so (resource-exhausted) and closed.
  std::size_t connections = limits::kAdminConnections;
  /// Largest frame; a larger one is answered with invalid-argument and the connection is closed.
  std::size_t frame_bytes = limits::kAdminFrameBytes;
  /// Largest JSON request; a larger one is answered with invalid-argument.
  std::size_t request_bytes = limits::kAdminRequestBytes;
  /// Output waiting for one reader. Pages wait from a quarter of it on; beyond it the reader is cut and counted.
  std::size_t output_bytes = limits::kAdminOutputBytes;
  /// A connection that reads none of its output, or sends none of the rest of a frame, for this long is cut and counted.
  Duration stall = limits::kAdminStall;
};

/// Figures of one server. Connections is now, the rest since the start.
struct AdminServerStats {
  std::size_t connections = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused_connections = 0;  // Over the limit.
  std::uint64_t requests = 0;
  std::uint64_t failed_requests = 0;
  std::uint64_t full_pages = 0;  // Pages of answers that ended at limits::kAdminPageRows or kAdminPageBytes.
  std::uint64_t bulk_frames = 0;
  std::uint64_t bulk_rows = 0;
  std::uint64_t bulk_rows_refused = 0;
  std::uint64_t bulk_rows_unwritten = 0;  // Took effect, but were not on the disk when they were answered.
  std::uint64_t bulk_pauses = 0;          // Times the rest of a bulk write was left for the next turn: limits::kAdminRowsPerTurn.
  std::uint64_t bulk_waits = 0;           // Times a feeder was held back until the disk has its rows: limits::kAdminBulkFrames.
  std::uint64_t malformed_frames = 0;     // Connections closed because their stream made no sense.
  std::uint64_t slow_readers_cut = 0;     // Output over the limit, or not read for 'stall'.
  std::uint64_t stalled_writers_cut = 0;  // Half a frame for 'stall'.
  std::uint64_t connection_errors = 0;    // System calls that failed on a connection.
};

/// Makes the sink of one connection; may be empty: bulk writes are then unimplemented.
using BulkSinkFactory = std::function<std::unique_ptr<BulkSink>()>;

class AdminServer {
 public:
  /// Listens on options.path. A stale socket there is replaced. AlreadyExists if another server answers on it, InvalidArgument if the path
  /// is too long or names something that is not a socket, or the error of the system call. Scheduler and registry outlive the server.
  static Result<std::unique_ptr<AdminServer>> open(Scheduler& scheduler, const CommandRegistry& commands, AdminServerOptions options,
                                                   BulkSinkFactory make_sink = {});
  /// What open() would say of the path as it is now, as far as that can be told without a change of anything.
  static Status check_path(const std::string& path);
  /// Closes every connection and removes the socket file, if it is still ours.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  const AdminServerStats& stats() const noexcept;
  const std::string& path() const noexcept;

 private:
  class Listener;
  explicit AdminServer(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

}  // namespace rondo
