// DirectClient: writes tables straight into another process over ZeroMQ; a DirectServer there or a stock reader of SONiC's direct tables.
//
// Entries are gathered into frames, one a table, and sent when a frame is full and at the latest in the client's next turn, so that a
// burst costs one message for many entries and a single entry waits for no timer. Nothing waits for the peer: while it is slow or away,
// frames fill libzmq's buffer (send_frames), then entries wait in a staging area a table that merges by key as a Staged table does
// (keys_max), then writes are refused with ResourceExhausted. Order is kept for each key, and a Delete before a Set goes as two entries.
//
// Frames say nothing of arrival. What the kernel had taken when a connection broke may not have been read; on_connection tells, so
// that a producer can send its state again. What libzmq still held is sent to the server that comes back.
//
// Frames have no operation: an entry without fields is a Delete. A Set without fields is sent as one field NULL of value NULL, which a
// DirectServer reads as such and a stock reader ignores.
//
// Threads: the scheduler's. libzmq moves the bytes on one thread of its own, which runs no code of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/sched/priority.h"
#include "rondo/store/change.h"
#include "rondo/store/direct_keys.h"

namespace rondo {

class Scheduler;
class DirectClient;

struct DirectClientOptions {
  /// Where the server is; it need not be there yet.
  std::string endpoint = "tcp://127.0.0.1:8100";
  /// Of the source that sends.
  Priority priority = Priority{};
  std::optional<DirectClientCurve> curve = {};
  /// A frame that has reached this size is sent. From 1 to limits::kDirectFrameBytes; 1 sends each key by itself, as a stock producer
  /// does.
  std::size_t frame_bytes = limits::kDirectClientFrameBytes;
  /// Frames that libzmq may hold.
  int send_frames = limits::kDirectSendFrames;
  /// Keys of one table that may wait behind the frames.
  std::size_t keys_max = limits::kDirectKeys;
  /// How long the destructor may wait for frames that libzmq holds. It first hands over what is gathered; what does not fit is lost.
  Duration linger = 1s;
  /// Called in a turn whenever the connection is there (handshake done) or gone. Must not throw.
  std::function<void(bool connected)> on_connection = {};
  /// Called in a turn when a refused write may be tried again: half of the keys that waited are gone. Must not throw.
  std::function<void()> on_room = {};
};

/// Figures of one client, since its start.
struct DirectClientStats {
  std::uint64_t entries = 0;  // Accepted.
  std::uint64_t frames = 0;   // Handed to libzmq.
  std::uint64_t bytes = 0;    // Of those frames.
  std::uint64_t merged = 0;   // Entries that met another of their key in the staging area.
  std::uint64_t refused = 0;  // Writes answered with ResourceExhausted.
  std::uint64_t blocked = 0;  // Times libzmq had no room.
  std::uint64_t connections = 0;
  std::uint64_t handshakes_failed = 0;  // Refused key, or another protocol.
};

/// A reference to one table of a client, for writers. Copyable; valid as long as the client.
class DirectTable {
 public:
  /// Ok means accepted, in order with the other entries of the key. ResourceExhausted when the peer is behind by more than the limits;
  /// InvalidArgument for sizes beyond limits or beyond a frame. A field named twice means the last of them. O(bytes); 0.1 us for a small
  /// entry as long as the peer keeps up.
  Status set(std::string_view key, std::span<const Field> fields);
  Status set(std::string_view key, std::initializer_list<Field> fields) {
    return set(key, std::span<const Field>{fields.begin(), fields.size()});
  }
  Status remove(std::string_view key);
  /// Events are InvalidArgument.
  Status write(const Change& change);

  struct Lane;  // Private to the client.

 private:
  friend class DirectClient;
  DirectTable(DirectClient& client, Lane& lane) : client_(&client), lane_(&lane) {}
  DirectClient* client_;
  Lane* lane_;
};

class DirectClient {
 public:
  /// Starts to connect and joins 'scheduler', which must outlive the client. InvalidArgument for a bad endpoint, key or limit;
  /// Unimplemented for CURVE with a libzmq that has none.
  static Result<std::unique_ptr<DirectClient>> open(Scheduler& scheduler, DirectClientOptions options);
  ~DirectClient();
  DirectClient(const DirectClient&) = delete;
  DirectClient& operator=(const DirectClient&) = delete;

  /// A table of the server; the same names again are the same table. InvalidArgument for a name that is empty or too long (a database
  /// may be empty), ResourceExhausted beyond limits::kTables.
  Result<DirectTable> table(std::string_view database, std::string_view table);

  /// Hands what is gathered to libzmq, as far as it has room. Turns do the same; this is for a writer that is not in one. True when
  /// nothing is left here.
  bool flush();
  /// Nothing waits here; libzmq and the kernel may still hold frames.
  bool is_flushed() const noexcept;
  bool is_connected() const noexcept;
  const DirectClientStats& stats() const noexcept;

 private:
  friend class DirectTable;
  class Parts;
  explicit DirectClient(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
