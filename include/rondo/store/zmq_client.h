// ZmqClient: writes tables directly into another process over ZeroMQ: a ZmqServer, or a stock reader of SONiC's direct tables.
//
// The client gathers the entries of each table into frames. It sends a frame when it is full, and at the latest in its next turn. So a
// burst costs one message for many entries, and a single entry does not wait for a timer. The client never blocks on the peer. While the
// peer is slow or absent, frames first fill libzmq's buffer (send_frames). Then entries wait in a staging area per table, which merges by
// key like a Staged table (keys_max). Then writes are refused with ResourceExhausted. The order is kept for each key; a Delete before a Set
// is sent as two entries.
//
// The protocol has no acknowledgement. When a connection breaks, frames in the kernel's buffers may be lost. on_connection reports the
// break, so that a producer can send its state again. Frames that libzmq still holds are sent after reconnection.
//
// Frames have no operation: an entry without fields is a Delete. A Set without fields is sent as one field NULL of value NULL. A
// ZmqServer reads that as a Set without fields; a stock reader ignores it.
//
// Threads: the scheduler's. libzmq moves the bytes on one thread of its own, which runs no code of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/sched/priority.h"
#include "rondo/store/change.h"
#include "rondo/store/zmq_keys.h"
#include "rondo/store/zmq_limits.h"

namespace rondo {

class Scheduler;
class ZmqClient;

struct ZmqClientOptions {
  /// Address of the server, which need not run yet.
  std::string endpoint = "tcp://127.0.0.1:8100";
  /// Priority of the source that sends.
  Priority priority = Priority{};
  std::optional<ZmqClientCurve> curve = {};
  /// A frame of this size is sent. From 1 to limits::kZmqFrameBytes; with 1 each key is sent separately, as a stock producer does.
  std::size_t frame_bytes = limits::kZmqClientFrameBytes;
  /// The most frames that libzmq may hold.
  int send_frames = limits::kZmqSendFrames;
  /// The most keys of one table that may wait in the staging area.
  std::size_t keys_max = limits::kZmqKeys;
  /// How long the destructor may wait for frames that libzmq holds. It first hands the gathered entries to libzmq; what does not fit is
  /// lost.
  Duration linger = 1s;
  /// Called in a turn when the connection is established (after the handshake) or lost. Must not throw.
  std::function<void(bool connected)> on_connection = {};
  /// Called in a turn when a refused write may be retried: half of the keys that waited have been sent. Must not throw.
  std::function<void()> on_room = {};
};

/// Figures of one client, since its start.
struct ZmqClientStats {
  std::uint64_t entries = 0;  // Accepted.
  std::uint64_t frames = 0;   // Handed to libzmq.
  std::uint64_t bytes = 0;    // Bytes of those frames.
  std::uint64_t merged = 0;   // Entries that merged with an earlier entry of their key in the staging area.
  std::uint64_t refused = 0;  // Writes that returned ResourceExhausted.
  std::uint64_t blocked = 0;  // Times libzmq's buffer was full.
  std::uint64_t connections = 0;
  std::uint64_t handshakes_failed = 0;  // The peer refused the key, or spoke another protocol.
};

/// A reference to one table of a client, for writers. Copyable; valid as long as the client.
class ZmqTable {
 public:
  /// Ok means accepted, in order with the other entries of the key. ResourceExhausted when the peer is behind by more than the limits;
  /// InvalidArgument for an empty key or name of a field, and for sizes beyond limits or beyond a frame. If a field is named twice, the
  /// last value counts. O(bytes); 0.1 us for a small entry while the peer keeps up.
  Status set(std::string_view key, std::span<const Field> fields);
  Status set(std::string_view key, FieldList fields);
  Status remove(std::string_view key);
  /// InvalidArgument for an Event.
  Status write(const Change& change);

  /// Private to the client.
  struct Outgoing;

 private:
  friend class ZmqClient;
  ZmqTable(ZmqClient& client, Outgoing& outgoing) : client_(&client), outgoing_(&outgoing) {}
  ZmqClient* client_;
  Outgoing* outgoing_;
};

class ZmqClient {
 public:
  /// Starts to connect and joins 'scheduler', which must outlive the client. InvalidArgument for a bad endpoint, key or limit;
  /// Unimplemented if CURVE is requested and libzmq was built without it.
  static Result<std::unique_ptr<ZmqClient>> open(Scheduler& scheduler, ZmqClientOptions options);
  ~ZmqClient();
  ZmqClient(const ZmqClient&) = delete;
  ZmqClient& operator=(const ZmqClient&) = delete;

  /// A table of the server; the same names return the same table. InvalidArgument for a name that is empty or too long (the database may be
  /// empty), ResourceExhausted beyond limits::kTables.
  Result<ZmqTable> table(std::string_view database, std::string_view table);

  /// Hands the gathered entries to libzmq, as far as its buffer has room. Turns do the same; call this to send outside a turn. True when no
  /// entry is left in the client.
  bool flush();
  /// True if the client holds no entries; libzmq and the kernel may still hold frames.
  bool is_flushed() const noexcept;
  bool is_connected() const noexcept;
  const ZmqClientStats& stats() const noexcept;

 private:
  friend class ZmqTable;
  class Impl;
  explicit ZmqClient(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
