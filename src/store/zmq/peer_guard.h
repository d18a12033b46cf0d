// PeerGuard: bounds what the peers of one listening libzmq socket can hold. libzmq accepts whoever connects and drops nobody who completed
// the handshake; at the process's limit of descriptors its thread spins. The guard hears of each connection from the socket's monitor.
//
// Connections: one above the limit, or above the limit of its address, is shut down, and its descriptor is free again. While a limit is
// reached, a packet filter on the listening socket lets the kernel drop the first packet (SYN) of the addresses concerned, so that they
// cost this process nothing; their connect() waits and comes through when there is a place. A socket without addresses (ipc) has no filter.
//
// Memory: a frame waits in libzmq until it is whole. Where parts of frames of all connections hold more than the limit, the connection
// that holds the most is shut down.
//
// The guard holds a duplicate of each descriptor, so it never meets one that libzmq has closed and the kernel has given to another file.
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
  std::size_t frame_bytes = 0;  // In parts of frames, of all connections together.
  std::size_t framing = 0;      // Bytes that libzmq adds to a frame, in its longest form.
};

class PeerGuard {
 public:
  enum class Cause : std::uint8_t { TooMany, Memory };
  using Tell = std::function<void(Cause cause, const Status& why)>;
  /// 'tell' is called for each connection that is shut down, and when a limit of connections is reached. Must not throw.
  PeerGuard(PeerLimits limits, Tell tell) : limits_(limits), tell_(std::move(tell)) {}

  /// The descriptor that libzmq listens on.
  void listens(int fd);
  /// A connection has come; 'fd' is libzmq's.
  void accepted(int fd);
  void closed(int fd);
  /// 'bytes' of a whole frame have come out of the socket from the connection 'fd', -1: unknown.
  void delivered(int fd, std::size_t bytes);
  /// Measures the parts of frames and cuts those that hold the most, down to the limit. To be called when all whole frames have been
  /// delivered. True if bytes come so fast that the next look should be soon. Two system calls for each connection.
  bool look();

  std::size_t connections() const noexcept { return peers_.size(); }
  std::size_t frame_bytes() const noexcept { return frame_bytes_; }
  const PeerLimits& limits() const noexcept { return limits_; }

 private:
  /// IPv6, of which the first 64 bits count, or IPv4 mapped into it.
  using Address = std::array<std::uint8_t, 16>;
  struct Peer {
    UniqueFd fd;
    Address address{};
    std::string name;             // For people.
    std::uint64_t delivered = 0;  // Bytes of whole frames.
    std::uint64_t held = 0;       // Bytes of the part of a frame, when look() saw it last.
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
  std::uint64_t received_ = 0;  // By all, when look() summed them last.
};

}  // namespace rondo::store
