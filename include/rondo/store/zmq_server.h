// ZmqServer: tables that other processes write directly into this process over ZeroMQ, without a database between. The frames are those
// of SONiC's direct tables (docs/guide/direct-table.md), so SONiC's producers can write here. Entries are handled like those of a Staged
// table. Entries of one key merge until they are taken; a Delete before a Set is kept as both. Keys are taken in the order of their first
// arrival, at most N at a time.
//
// Bounds: when a table holds its limit of keys, an entry for one more key stops the reading until keys are taken. Frames then wait in the
// socket, up to its high-water mark, then in the kernel, then at the sender, whose own buffer is bounded. Nothing is dropped. One socket is
// one stream: a full table without a consumer stops all tables of its server.
//
// The server keeps the rows that its consumers took, for whole Sets, requeue() and the next consumer. It keeps at most limits::kTableRows
// of a table, at about 40 bytes and the record each. A key beyond the limit is delivered but not kept: its next Set has only the written
// fields.
//
// A frame that is malformed, too long or for an unknown table is dropped, counted by cause and reported through on_fault; no part of it is
// applied. Entries that were not taken, and the rows, are lost when the process ends. A producer sees the connection break and sends its
// state again, or a ZmqStore restores the rows.
//
// Threads: the scheduler's. libzmq moves the bytes on one thread of its own, which runs no code of ours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/sched/priority.h"
#include "rondo/store/store.h"
#include "rondo/store/zmq_keys.h"
#include "rondo/store/zmq_limits.h"

namespace rondo {

class Scheduler;

/// SONiC's port for direct tables; reachable from this machine only.
inline constexpr const char* kZmqEndpoint = "tcp://127.0.0.1:8100";

/// Connections of a server. A daemon has a few feeders; this many idle connections cost 8 MiB.
inline constexpr std::size_t kZmqConnections = 256;
/// Connections from one address. Feeders on one machine share an address, and one machine cannot use up all connections.
inline constexpr std::size_t kZmqConnectionsPerAddress = 128;
/// Bytes of incomplete frames: enough for two of the largest frames at a time.
inline constexpr std::size_t kZmqFrameMemory = 40 * 1024 * 1024;
/// A peer whose handshake takes longer is disconnected.
inline constexpr Duration kZmqHandshakeTime = 5s;

/// A table of a server. Frames name it by database and table.
struct ZmqTableSpec {
  std::string database;  // For example APPL_DB; may be empty.
  std::string table;
  /// Keys that may wait to be taken; an entry for one more key stops the reading. From 1 to limits::kTableRows.
  std::size_t keys_max = limits::kZmqKeys;
};

/// Why received data was not applied.
enum class ZmqFault : std::uint8_t {
  Malformed,     // The frame is inconsistent, or the message has several parts.
  TooLong,       // The frame is above limits::kZmqFrameBytes. Above twice that, the connection is closed and the frame is not counted.
  UnknownTable,  // The server does not have the table that the frame names.
  BadEntry,      // The record of an entry is beyond the limits, alone or merged with its row. The rest of the frame is applied.
  RefusedKey,    // CURVE: the key of the client is not allowed.
  Handshake,     // A peer spoke another protocol or security mechanism, or disconnected during the handshake.
  TooManyPeers,  // ZmqServerOptions::connections or connections_per_address was reached, or a connection beyond was closed.
  FrameMemory,   // Incomplete frames took more than ZmqServerOptions::frame_memory; the connection with the most was closed.
};
inline constexpr std::size_t kZmqFaults = 8;
/// "malformed", "too-long", "unknown-table", "bad-entry", "refused-key", "handshake", "too-many-peers", "frame-memory". Static storage.
inline std::string_view to_string(ZmqFault fault) noexcept {
  constexpr std::array<std::string_view, kZmqFaults> kNames{"malformed",   "too-long",  "unknown-table",  "bad-entry",
                                                            "refused-key", "handshake", "too-many-peers", "frame-memory"};
  const auto index = static_cast<std::size_t>(fault);
  return index < kNames.size() ? kNames[index] : "?";
}

struct ZmqServerOptions {
  /// tcp:// with an address or name and a port (0: any free one, see endpoint()), or ipc:// with a path. libzmq silently takes over the ipc
  /// path of another server.
  std::string endpoint = kZmqEndpoint;
  std::vector<ZmqTableSpec> tables = {};
  /// Priority of the source that reads. Above the consumers of the tables it merges more; below them it reads only what they have time for.
  Priority priority = Priority{};
  std::optional<ZmqServerCurve> curve = {};
  /// Without CURVE every process that can reach the socket may write, so other addresses than loopback need this flag.
  bool open_to_network = false;
  /// Frames that wait in the socket for a turn, in addition to those in the kernel's buffers.
  int receive_frames = limits::kZmqReceiveFrames;
  /// The most connections at a time, of all peers and of one address (IPv6: one network of 64 bits). A further connection is closed and
  /// reported. While a limit is reached, the kernel drops the first packets of new connections, so their connect() waits. Each connection
  /// costs two descriptors and about 30 KiB. All together use at most half of this process's descriptors (RLIMIT_NOFILE).
  std::size_t connections = kZmqConnections;
  std::size_t connections_per_address = kZmqConnectionsPerAddress;
  /// The most bytes of incomplete frames, of all connections together. Only over tcp://: the kernel does not report them for local sockets.
  /// A message of several parts is malformed, but libzmq stores its parts until the last one arrives, in up to 85 bytes for a part of two:
  /// then the memory is up to 42 times this number.
  std::size_t frame_memory = kZmqFrameMemory;
  /// Binds and accepts clients, but reads nothing before release(). For a program that must fill the tables first.
  bool held = false;
  /// Reads nothing before begin(), independently of hold() and release(): the end of a recovery must not undo the hold of a drain.
  bool waits = false;
  /// Called for each cause of fault: immediately, then at most once a second, with the reason and the count since the last call. Must not
  /// throw.
  std::function<void(ZmqFault fault, const Status& why, std::uint64_t count)> on_fault = {};
};

/// Figures of one server, since its start.
struct ZmqServerStats {
  std::uint64_t frames = 0;   // Received and complete.
  std::uint64_t entries = 0;  // Entries of those frames, merged ones included.
  std::uint64_t bytes = 0;    // Bytes of those frames.
  std::uint64_t pauses = 0;   // Times a full table stopped the reading.
  std::uint64_t connections = 0;
  std::size_t open_connections = 0;  // Now, including those with an unfinished handshake.
  // Limit of open_connections: ZmqServerOptions::connections, or less if the process has too few descriptors.
  std::size_t connections_most = 0;
  std::size_t frame_bytes = 0;            // Bytes of incomplete frames at the last measurement.
  std::uint64_t faults[kZmqFaults] = {};  // By ZmqFault.
};

class ZmqServer {
 public:
  /// The errors of open() that do not depend on the system's state: bad endpoint, non-loopback address without open_to_network, bad keys.
  static Status check(const ZmqServerOptions& options);
  /// Binds and joins 'scheduler', which must outlive the server. InvalidArgument: no table, a table listed twice or with a bad name or
  /// limit, a bad key, CURVE without allowed clients. PermissionDenied: an address beyond loopback without open_to_network. Unimplemented:
  /// CURVE with a libzmq built without it. Otherwise the error of bind(). Reading begins with the next turn, unless the server is held.
  static Result<std::unique_ptr<ZmqServer>> open(Scheduler& scheduler, ZmqServerOptions options);
  ~ZmqServer();
  ZmqServer(const ZmqServer&) = delete;
  ZmqServer& operator=(const ZmqServer&) = delete;

  /// Subscribes the only consumer of the table; it must not outlive the server. NotFound for an unknown table, FailedPrecondition if it
  /// already has a consumer. After the consumer is destroyed, entries that it did not take remain. The next consumer begins with the rows
  /// that it took.
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view database, std::string_view table, const SubscribeOptions& options = {});

  /// Writes an entry from this process; it merges with those from the socket. ResourceExhausted when the table holds its limit of keys and
  /// this would be a new key; other errors as Store::write.
  Status write(std::string_view database, std::string_view table, Change change);
  /// Number of keys that wait to be taken. NotFound for an unknown table.
  Result<std::size_t> staged(std::string_view database, std::string_view table) const;

  /// Stops reading until release(): frames wait in the same places as for a full table. Entries already read stay.
  void hold();
  void release();
  /// Ends ZmqServerOptions::waits.
  void begin();

  /// The bound endpoint, with the port that the system chose.
  const std::string& endpoint() const noexcept;
  const ZmqServerStats& stats() const noexcept;
  /// True if a full table has stopped the reading.
  bool is_paused() const noexcept;

 private:
  class Impl;
  explicit ZmqServer(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
