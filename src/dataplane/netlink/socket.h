// Socket: one rtnetlink socket. The kernel executes a request inside send(), so its answers are already waiting when send() returns;
// reading never waits longer than it was told. Answers carry the kernel's words (NETLINK_EXT_ACK) and not our request (NETLINK_CAP_ACK).
// One thread at a time. Neighbours: order_sender.h (orders), dump.h (reading back), link_monitor.h (events).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/netlink/network_namespace.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::netlink {

/// The kernel fills at most this much of a receive buffer with a dump, and no message of ours is larger.
inline constexpr std::size_t kDatagramBytes = 32 * 1024;

struct SocketOptions {
  /// Bytes asked for, beyond the system's limit if we may. 1 MiB holds the errors of three full batches; unused, it costs nothing.
  int receive_buffer_bytes = 1024 * 1024;
  /// Multicast groups (RTNLGRP_...) to listen to.
  std::vector<unsigned> groups{};
};

class Socket {
 public:
  static Result<Socket> open(const NetworkNamespace& where, const SocketOptions& options);
  /// Takes over a connected datagram descriptor; for tests that play the kernel.
  static Socket adopt(int descriptor) noexcept { return Socket{descriptor}; }
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const noexcept { return descriptor_; }
  /// The number by which the kernel tells netlink sockets apart.
  Result<std::uint32_t> port() const;
  /// From now on the kernel drops, before they take room here, notifications of what the socket with this port ordered. Of other routes it
  /// passes those that replace a route, and those that carry 'protocol'.
  Status drop_notifications_of(std::uint32_t port, std::uint8_t protocol);

  /// Hands whole messages to the kernel, which executes them before this returns.
  Status send(std::span<const std::byte> messages);

  /// The next datagram of the kernel, in 'buffer'; an empty one when none is there within 'wait' (0: only looks).
  /// DataLoss with ENOBUFS: the kernel had more to say than the socket could hold; what it could hold is still to be read.
  Result<std::span<const std::byte>> receive(std::span<std::byte> buffer, Duration wait);

 private:
  explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}
  Result<std::size_t> receive_now(std::span<std::byte> buffer);
  int descriptor_ = -1;
};

}  // namespace rondo::netlink
