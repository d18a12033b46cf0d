// Socket: one rtnetlink socket. The kernel executes a request inside send(), so its answers are ready when send() returns; a read never
// waits longer than its 'wait'. Answers contain the kernel's error text (NETLINK_EXT_ACK) and not our request (NETLINK_CAP_ACK). One
// thread at a time. Related: order_sender.h (orders), dump.h (reading back), link_monitor.h (events).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/netlink/network_namespace.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::netlink {

struct ObjectMarks;

/// The kernel fills at most this much of a receive buffer with a dump, and no message of ours is larger.
inline constexpr std::size_t kDatagramBytes = 32 * 1024;

struct SocketOptions {
  /// Requested bytes; exceeds the system's limit if the process may. 1 MiB holds the errors of three full batches and costs nothing while
  /// unused.
  int receive_buffer_bytes = 1024 * 1024;
  /// Multicast groups (RTNLGRP_...) to listen to.
  std::vector<unsigned> groups{};
};

class Socket {
 public:
  static Result<Socket> open(const NetworkNamespace& where, const SocketOptions& options);
  /// Takes ownership of a connected datagram descriptor; for tests that simulate the kernel.
  static Socket adopt(int descriptor) noexcept { return Socket{descriptor}; }
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const noexcept { return descriptor_; }
  /// The number by which the kernel identifies netlink sockets.
  Result<std::uint32_t> port() const;
  /// After this call the kernel drops notifications of the orders of the socket with this port, before they use our buffer. Of other
  /// routes it passes only replacements and new ones with our metric, and those with our protocol number.
  Status drop_notifications_of(std::uint32_t port, const ObjectMarks& marks);

  /// Passes whole messages to the kernel, which executes them before this returns.
  Status send(std::span<const std::byte> messages);

  /// Returns the kernel's next datagram, in 'buffer'; an empty one if none arrives within 'wait' (0: does not wait).
  /// DataLoss with ENOBUFS: the socket overflowed and datagrams were lost; the datagrams that it holds can still be read.
  Result<std::span<const std::byte>> receive(std::span<std::byte> buffer, Duration wait);

 private:
  explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}
  Result<std::size_t> receive_now(std::span<std::byte> buffer);
  int descriptor_ = -1;
};

}  // namespace rondo::netlink
