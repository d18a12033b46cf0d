// AdminServer: the daemon's Unix socket. It listens, and each connection is a source of its own with fair, short turns: a turn handles one
// request, one page of an answer, or limits::kAdminRowsPerTurn rows of a bulk write, so no caller can stall the loop. Protocol:
// docs/guide/admin-protocol.md. Everything on the scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/admin/bulk.h"
#include "rondo/admin/caller.h"
#include "rondo/admin/command.h"
#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;

/// Something about the socket that its operator should know: what became of a connection, or of the file.
struct AdminNotice {
  enum class Kind : std::uint8_t {
    Refused,        // All places are taken, and all are in use.
    GaveWay,        // It had no request under way, and somebody else wanted its place.
    Idle,           // No request for AdminServerOptions::idle.
    SlowFrame,      // A frame, or the first request, took longer than AdminServerOptions::frame_time.
    StalledWriter,  // Half a frame, and no byte more for AdminServerOptions::stall.
    SlowReader,     // It does not read its answers.
    Memory,         // Half a frame that did not grow, while others had no memory for theirs.
    SocketLost,     // The file has gone, and could not be made anew.
    SocketMade,     // The file had gone, and is there again.
    Denied,         // A member of none of the groups that may call.
  };
  static constexpr std::size_t kKinds = 10;

  Kind kind = Kind::Refused;
  std::uint64_t count = 0;  // Since the last notice of this kind.
  Caller newest = {};       // Whose connection the newest of them was.
  Status why = {};          // SocketLost: why.
};

/// For a log: "gave way to another", "idle", ... Static storage.
std::string_view to_string(AdminNotice::Kind kind) noexcept;

/// A caller begins to write. Valid during the call that passes it.
struct AdminWrite {
  Caller caller;
  std::string_view command;  // Such as "set"; "load": a frame of a bulk write.
  /// The arguments that are texts (rondo/base/text.h), with blanks between, at most kAdminWriteWords bytes of them; of a bulk write the
  /// table, of a request with rows their tables.
  std::string_view what;
  std::uint64_t rows = 1;  // Those of the request, or of the frame of a bulk write; some may be refused yet.
};
/// What of the arguments of a write is told: more identifies nothing better.
inline constexpr std::size_t kAdminWriteWords = 256;

struct AdminServerOptions {
  std::string path;      // Of the socket; at most 107 bytes.
  unsigned mode = 0660;  // Of the socket file.
  /// Members of this group may call commands that only read. Everybody may then open the socket file, and the kernel tells who calls
  /// (SO_PEERCRED, SO_PEERGROUPS): root, the user of this process and members of the file's group may do everything; others are told
  /// (permission-denied) and closed. Without it who may open the file may do everything.
  std::optional<std::uint32_t> read_group = {};
  Priority priority = Priority{};  // Of the listener and of every connection.
  /// Connections at a time. The next gets the place of one that has no request under way, or is told (resource-exhausted) and closed.
  std::size_t connections = limits::kAdminConnections;
  /// Places beyond those, for root and the user of this process.
  std::size_t reserved = limits::kAdminReserved;
  /// Largest frame; a larger one is answered with invalid-argument and the connection is closed.
  std::size_t frame_bytes = limits::kAdminFrameBytes;
  /// Largest JSON request; a larger one is answered with invalid-argument.
  std::size_t request_bytes = limits::kAdminRequestBytes;
  /// Output waiting for one reader. Pages wait from a quarter of it on; beyond it the reader is cut and counted.
  std::size_t output_bytes = limits::kAdminOutputBytes;
  /// A connection that reads none of its output, or sends none of the rest of a frame, for this long is cut and counted.
  Duration stall = limits::kAdminStall;
  /// A frame that takes longer from its first byte to its last, or a connection without a first request for so long, is cut and counted.
  Duration frame_time = limits::kAdminFrameTime;
  /// So is a connection for so long after its last answer.
  Duration idle = limits::kAdminIdle;
  /// How long a connection keeps its place after its last answer although others want it.
  Duration yield = limits::kAdminYield;
  /// Bytes that wait in all connections together, in frames that are being read and answers that are not.
  std::size_t memory = limits::kAdminMemory;
  /// The file of the socket is looked for so often, and made anew if it has gone.
  Duration look = limits::kAdminSocketLook;
  /// Called for each command that writes, and each frame of a bulk write, before it does. Must not throw.
  std::function<void(const AdminWrite&)> on_write = {};
  /// Told of connections that were cut, and of the file: the first of a kind at once, then each kind once in kAdminNoticePeriod.
  std::function<void(const AdminNotice&)> on_notice = {};
};

/// Figures of one server. Connections is now, the rest since the start.
struct AdminServerStats {
  std::size_t connections = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused_connections = 0;  // Over the limit.
  std::uint64_t denied_connections = 0;   // Of nobody who may call.
  std::uint64_t gave_way = 0;             // Had no request under way when somebody else wanted the place.
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
  std::uint64_t slow_frames_cut = 0;      // A frame, or the first request, took longer than 'frame_time'.
  std::uint64_t idle_cut = 0;             // No request for 'idle'.
  std::uint64_t memory_cut = 0;           // Half a frame that did not grow while 'memory' was used up.
  std::uint64_t memory_bytes = 0;         // That wait in all connections, now.
  std::uint64_t sockets_made_anew = 0;    // Times the file had gone.
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
