// PeerGuard: bounds the resources that the peers of one listening libzmq socket can hold. libzmq accepts every connection and never drops a
// peer that completed the handshake. At the process's descriptor limit its thread spins. The guard learns of each connection from the
// socket's monitor.
//
// Connections: a connection above the limit, or above the limit of its address, is shut down, which frees its descriptor. While a limit is
// reached, a packet filter on the listening socket makes the kernel drop the first packet (SYN) from the addresses concerned. Their
// connect() then costs this process nothing, and succeeds once there is room. A socket without addresses (ipc) has no filter.
//
// Memory: libzmq stores a frame until it is complete. If the partial frames of all connections exceed the limit, the connection that holds
// the most is shut down.
//
// The guard holds a duplicate of each descriptor, so it never uses one that libzmq has closed and the kernel has reused for another file.
// Scheduler's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/status.h"

namespace rondo::store {

struct PeerLimits {
  std::size_t connections = 0;
  std::size_t per_address = 0;
  std::size_t frame_bytes = 0;  // Bytes of partial frames, over all connections.
  std::size_t framing = 0;      // Bytes that libzmq adds to a frame, in its longest form.
};

class PeerGuard {
 public:
  enum class Cause : std::uint8_t { TooMany, Memory };
  using Tell = std::function<void(Cause cause, const Status& why)>;
  /// 'tell' is called for each connection that is shut down, and when a limit of connections is reached. It must not throw.
  PeerGuard(PeerLimits limits, Tell tell) : limits_(limits), tell_(std::move(tell)) {}

  /// Sets the descriptor on which libzmq listens.
  void listens(int fd);
  /// Adds a new connection; 'fd' is libzmq's descriptor.
  void accepted(int fd);
  void closed(int fd);
  /// The socket returned 'bytes' of a whole frame from the connection 'fd'; -1: unknown.
  void delivered(int fd, std::size_t bytes);
  /// Measures the partial frames and shuts down the connections that hold the most, until the rest is within the limit. Call it when all
  /// whole frames have been delivered. True if data arrives so fast that the next look should be soon. Two system calls for each
  /// connection.
  bool poll();

  std::size_t connections() const noexcept { return peers_.size(); }
  std::size_t frame_bytes() const noexcept { return frame_bytes_; }
  const PeerLimits& limits() const noexcept { return limits_; }

 private:
  /// An IPv6 address, of which the first 64 bits count, or an IPv4 address mapped into IPv6.
  using Address = std::array<std::uint8_t, 16>;
  struct Peer {
    UniqueFd fd;
    Address address{};
    std::string name;             // The address as text, for messages.
    std::uint64_t delivered = 0;  // Bytes of whole frames.
    std::uint64_t held = 0;       // Bytes of the partial frame at the last poll().
  };

  void shut(const Peer& peer, Cause cause, const Status& why);
  void set_filter();

  const PeerLimits limits_;
  const Tell tell_;
  UniqueFd listener_;
  bool has_addresses_ = false;
  std::unordered_map<int, Peer> peers_;  // By libzmq's descriptor.
  std::map<Address, std::size_t> counts_;
  std::vector<Address> blocked_;
  bool blocks_all_ = false;
  bool has_filter_ = false;
  std::size_t frame_bytes_ = 0;
  std::uint64_t received_ = 0;  // Bytes received from all peers at the last poll().
};

}  // namespace rondo::store
