// DirectServer: tables that other processes write straight into this one over ZeroMQ, without a database between. The frames are those of
// SONiC's direct tables (docs/guide/direct-table.md), so its producers can write here; what is done with an entry is what a Staged table
// does: entries of one key merge until they are taken, a Delete before a Set is kept as both, keys are taken in the order of their first
// arrival, at most N at a time.
//
// Bounds: when a table holds its limit of keys, an entry for one more stops the reading until some are taken. Frames then wait in the
// socket, up to its high-water mark, then in the kernel, then at the sender, which has a bound and an answer of its own. Nothing is
// dropped. One socket is one stream, so a table that nobody takes from stops all tables of its server.
//
// The server keeps the rows that its consumers took, for whole Sets, requeue() and the next consumer: at most limits::kTableRows of a
// table, some 40 bytes and the record each. A key beyond is handed out and not kept: its next Set carries only what was written.
//
// What is malformed, too long or for an unknown table is dropped, counted by cause and told through on_fault; nothing of such a frame is
// applied. Neither what was not taken nor the rows survive the process: a producer sees the connection break and sends its state again, or
// a DirectStore brings the rows back.
//
// Threads: the scheduler's. libzmq moves the bytes on one thread of its own, which runs no code of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/sched/priority.h"
#include "rondo/store/direct_keys.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

/// SONiC's port for direct tables, on this machine only.
inline constexpr const char* kDirectEndpoint = "tcp://127.0.0.1:8100";

/// Connections of a server: a daemon's feeders are a handful, and this many idle ones cost 8 MiB.
inline constexpr std::size_t kDirectConnections = 256;
/// Of them from one address: feeders of one machine share it, and no machine takes the places of all others.
inline constexpr std::size_t kDirectConnectionsPerAddress = 128;
/// Bytes of frames that are not whole: two of the largest frames at a time, and some more.
inline constexpr std::size_t kDirectFrameMemory = 40 * 1024 * 1024;
/// A peer that has not finished its handshake by then is cut.
inline constexpr Duration kDirectHandshakeTime = 5s;

/// A table of a server. Frames name it by both names.
struct DirectTableSpec {
  std::string database;  // Such as APPL_DB; may be empty.
  std::string table;
  /// Keys that may wait to be taken; one more stops the reading. From 1 to limits::kTableRows.
  std::size_t keys_max = limits::kDirectKeys;
};

/// Why something that arrived was not applied.
enum class DirectFault : std::uint8_t {
  Malformed,     // A frame that contradicts itself, or a message of several parts.
  TooLong,       // A frame above limits::kDirectFrameBytes. One above twice that costs its sender the connection, uncounted.
  UnknownTable,  // A frame for a table that the server does not have.
  BadEntry,      // One entry whose record is beyond the limits, alone or merged with its row. The rest of the frame is applied.
  RefusedKey,    // CURVE: a client whose key is not allowed.
  Handshake,     // A peer that spoke another protocol, another security, or broke off before it was let in.
  TooManyPeers,  // DirectServerOptions::connections or connections_per_address were reached, or a connection beyond is cut.
  FrameMemory,   // Frames that are not whole held more than DirectServerOptions::frame_memory: the connection that held the most is cut.
};
inline constexpr std::size_t kDirectFaults = 8;
/// "malformed", "too-long", "unknown-table", "bad-entry", "refused-key", "handshake", "too-many-peers", "frame-memory". Static storage.
std::string_view to_string(DirectFault fault) noexcept;

struct DirectServerOptions {
  /// tcp:// with an address or name and a port (0: any free one, see endpoint()), or ipc:// with a path. libzmq takes an ipc path over from
  /// another server without a word.
  std::string endpoint = kDirectEndpoint;
  std::vector<DirectTableSpec> tables = {};
  /// Of the source that reads. Above the tables' consumers it merges more, below them it reads only what they have time for.
  Priority priority = Priority{};
  std::optional<DirectServerCurve> curve = {};
  /// Without CURVE anybody who reaches the socket may write, so an address other than loopback must be asked for.
  bool open_to_network = false;
  /// Frames that wait in the socket for a turn, beyond those in the kernel's buffers.
  int receive_frames = limits::kDirectReceiveFrames;
  /// Connections at a time, of all peers and of one address (of IPv6: one network of 64 bits). One beyond is cut and told; while a limit is
  /// reached the kernel drops the first packets of further ones, whose connect() waits. Each costs two descriptors and some 30 KiB, and
  /// all together take at most half of the descriptors that this process may have (RLIMIT_NOFILE).
  std::size_t connections = kDirectConnections;
  std::size_t connections_per_address = kDirectConnectionsPerAddress;
  /// Bytes of frames that are not whole, of all connections together. Over tcp:// only: of a local socket the kernel does not tell.
  std::size_t frame_memory = kDirectFrameMemory;
  /// Binds and lets clients in, but reads nothing before release(): for whoever has to put something into the tables first.
  bool held = false;
  /// The same before begin(), whatever hold() and release() do meanwhile: a recovery that ends must not undo the hold of a drain.
  bool waits = false;
  /// Told about each cause of fault, at once and then at most once a second: why, and how many there were since the last time. Must not
  /// throw.
  std::function<void(DirectFault fault, const Status& why, std::uint64_t count)> on_fault = {};
};

/// Figures of one server, since its start.
struct DirectServerStats {
  std::uint64_t frames = 0;   // Received and found to be whole; their entries follow.
  std::uint64_t entries = 0;  // Of those frames, merged ones included.
  std::uint64_t bytes = 0;    // Of those frames.
  std::uint64_t pauses = 0;   // Times a full table stopped the reading.
  std::uint64_t connections = 0;
  std::size_t open_connections = 0;  // Now, those included whose handshake is under way.
  std::size_t connections_most = 0;  // What open_connections may be: DirectServerOptions::connections, or less for want of descriptors.
  std::size_t frame_bytes = 0;       // Of frames that are not whole, when they were measured last.
  std::uint64_t faults[kDirectFaults] = {};  // By DirectFault.
};

class DirectServer {
 public:
  /// What open() refuses whatever the state of the system: an endpoint, an address beyond loopback that was not asked for, keys.
  static Status check(const DirectServerOptions& options);
  /// Binds and joins 'scheduler', which must outlive the server. InvalidArgument: no table, a table twice or with a bad name or limit, a
  /// bad key, CURVE without allowed clients. PermissionDenied: an address beyond loopback that was not asked for. Unimplemented: CURVE with
  /// a libzmq that has none. Or the error of bind(). Reading begins with the next turn, unless
  /// it is held.
  static Result<std::unique_ptr<DirectServer>> open(Scheduler& scheduler, DirectServerOptions options);
  ~DirectServer();
  DirectServer(const DirectServer&) = delete;
  DirectServer& operator=(const DirectServer&) = delete;

  /// The table's one consumer; it must not outlive the server. NotFound for an unknown table, FailedPrecondition if it has a consumer. When
  /// the consumer goes, what it has not taken stays, and the next one begins with the rows that it took.
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view database, std::string_view table, const SubscribeOptions& options = {});

  /// An entry from this process; merges with those from the socket. ResourceExhausted when the table holds its limit of keys and this would
  /// be one more; otherwise as Store::write.
  Status write(std::string_view database, std::string_view table, Change change);
  /// Keys that wait to be taken. NotFound for an unknown table.
  Result<std::size_t> staged(std::string_view database, std::string_view table) const;

  /// Stops to read until release(): frames wait where they wait for a full table. What was read stays.
  void hold();
  void release();
  /// Ends DirectServerOptions::waits.
  void begin();

  /// As bound, with the port that the system chose.
  const std::string& endpoint() const noexcept;
  const DirectServerStats& stats() const noexcept;
  /// A full table has stopped the reading.
  bool is_paused() const noexcept;

 private:
  class Parts;
  explicit DirectServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
