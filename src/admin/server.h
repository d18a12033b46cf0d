// AdminServer: the daemon's Unix socket. Each connection is a source with fair, short turns: a turn handles one request, one page of an
// answer, or limits::kAdminRowsPerTurn rows of a bulk write, so no caller can stall the loop. Protocol: docs/guide/admin-protocol.md.
// Scheduler's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/bulk.h"
#include "base/unique_fd.h"
#include "rondo/admin/caller.h"
#include "rondo/admin/command.h"
#include "rondo/admin/server_options.h"
#include "rondo/base/result.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;

/// An event for the operator: about a connection, or the socket file.
struct AdminNotice {
  enum class Kind : std::uint8_t {
    Refused,        // All places are taken, and all connections are in use.
    Displaced,      // It had no request in progress, and a new connection needed its place.
    Idle,           // No request for AdminServerOptions::idle.
    SlowFrame,      // A frame, or the first request, took longer than AdminServerOptions::frame_time.
    StalledWriter,  // An incomplete frame got no byte for AdminServerOptions::stall.
    SlowReader,     // It does not read its answers.
    Memory,         // An incomplete frame did not grow while other connections had no memory for theirs.
    SocketLost,     // The socket file was removed, and could not be made again.
    SocketMade,     // The socket file had been removed, and was made again.
    Denied,         // The caller is in none of the permitted groups, or its token was removed.
    NotAccepted,    // The system has no descriptor or memory for a waiting connection ('why'); it is tried again.
  };
  static constexpr std::size_t kKinds = 11;

  Kind kind = Kind::Refused;
  std::uint64_t count = 0;  // Since the last notice of this kind.
  Caller newest = {};       // The caller of the newest of these connections.
  Status why = {};          // With SocketLost: the reason.
};

/// For a log: "gave way to another", "idle", and so on. Static storage.
std::string_view to_string(AdminNotice::Kind kind) noexcept;

/// A caller begins a write. Valid during the call that passes it.
struct AdminWrite {
  Caller caller;
  std::string_view command;  // Such as "set"; "load" for a frame of a bulk write.
  /// The text arguments (rondo/base/text.h), separated by blanks, at most kAdminWriteWords bytes of them; for a bulk write the table, for a
  /// request with rows their tables.
  std::string_view what;
  std::uint64_t rows = 1;      // The rows of the request or of the frame of a bulk write, some of which may still be refused.
  bool is_told_later = false;  // on_change gets the call, too.
  std::optional<std::string_view> before = {};  // For on_change: the changed fields (Reply::tell_change).
  std::string_view after = {};
  std::string_view error = {};  // For on_change: the code of the error with which the call ended (to_string()); empty: none.
};
/// The most bytes of a write's arguments that are reported.
inline constexpr std::size_t kAdminWriteWords = 256;

/// The options of a server, and what a program of this repository adds.
struct AdminServerSetup : AdminServerOptions {
  explicit AdminServerSetup(AdminServerOptions options = {}) : AdminServerOptions(std::move(options)) {}

  /// Called before each command that writes, and before each frame of a bulk write. Must not throw.
  std::function<void(const AdminWrite&)> on_write = {};
  /// Returns what is called again for a write with AdminWrite::is_told_later, when the change is known or the answer has ended, which may
  /// be after the end of the server; empty: nothing is, so nobody reads what is there before the write. Must not throw.
  std::function<std::function<void(const AdminWrite&)>()> on_change = {};
  /// Called for closed connections and for the socket file: for the first of a kind immediately, then for each kind once in
  /// kAdminNoticePeriod. Must not throw.
  std::function<void(const AdminNotice&)> on_notice = {};
};

/// Figures of one server. 'connections' and 'memory_bytes' are current, the others count since the start.
struct AdminServerStats {
  std::size_t connections = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused_connections = 0;  // Over the limit.
  std::uint64_t denied_connections = 0;   // Callers without any rights, or whose token was removed.
  std::uint64_t displaced = 0;            // Closed without a request in progress because a new connection needed the place.
  std::uint64_t requests = 0;
  std::uint64_t failed_requests = 0;
  std::uint64_t full_pages = 0;  // Pages of answers that ended at limits::kAdminPageRows or kAdminPageBytes.
  std::uint64_t bulk_frames = 0;
  std::uint64_t bulk_rows = 0;
  std::uint64_t bulk_rows_refused = 0;
  std::uint64_t bulk_rows_unwritten = 0;  // Rows that took effect, but were not on the disk when they were answered.
  std::uint64_t bulk_pauses = 0;          // Times the rest of a bulk write waited for the next turn: limits::kAdminRowsPerTurn.
  std::uint64_t bulk_waits = 0;           // Times a feeder waited until the disk has its rows: limits::kAdminBulkFrames.
  std::uint64_t malformed_frames = 0;     // Connections closed because their stream was malformed.
  std::uint64_t slow_readers_cut = 0;     // Output over the limit, or not read for 'stall'.
  std::uint64_t stalled_writers_cut = 0;  // Incomplete frames without a new byte for 'stall'.
  std::uint64_t slow_frames_cut = 0;      // A frame, or the first request, took longer than 'frame_time'.
  std::uint64_t idle_cut = 0;             // No request for 'idle'.
  std::uint64_t memory_cut = 0;           // Incomplete frames that did not grow while 'memory' was used up.
  std::uint64_t memory_bytes = 0;         // Bytes that wait in all connections, now.
  std::uint64_t sockets_made_anew = 0;    // Times the socket file was missing and made again.
  std::uint64_t connection_errors = 0;    // System calls, or the BulkSinkFactory, that failed for a connection.
};

/// Makes the sink of one connection. If empty, bulk writes get unimplemented. If it throws, the caller gets the text of the exception,
/// and the connection is closed.
using BulkSinkFactory = std::function<std::unique_ptr<BulkSink>()>;

class AdminServer {
 public:
  /// Listens on options.path. Replaces a stale socket there. AlreadyExists if another server answers on it, InvalidArgument if the path
  /// is too long or is not a socket; otherwise the error of the system call. Scheduler and registry must outlive the server.
  static Result<std::unique_ptr<AdminServer>> open(Scheduler& scheduler, const CommandRegistry& commands, AdminServerSetup setup,
                                                   BulkSinkFactory make_sink = {});
  /// The error that open() would return for the path now, as far as a check without changes can find it. Waits up to
  /// kAdminPredecessorTime for a server at the path whose process is ending, such as after `kill -9`.
  static Status check_path(const std::string& path);
  /// Closes every connection and removes the socket file, if it is still ours.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// Serves 'caller' on 'fd', a connected stream socket that does not block, as if it had connected to the socket file. If there is no
  /// place, it gets ResourceExhausted and the end of the stream.
  void adopt(UniqueFd fd, const Caller& caller);
  /// Closes the connections of callers with this token, each with the reason.
  void cut_token(std::string_view token);

  const AdminServerStats& stats() const noexcept;
  const std::string& path() const noexcept;

 private:
  class Listener;
  explicit AdminServer(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

}  // namespace rondo
