// socket.cc: see socket.h.
#include "dataplane/netlink/socket.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "dataplane/netlink/encode.h"

namespace rondo::netlink {

namespace {

// Other processes may send to our port: their datagrams are skipped, up to this number.
constexpr int kStrangersMax = 64;

Status configure(int descriptor, const SocketOptions& options) {
  // These options are optional: without them answers are longer or have no text, or we filter dumps ourselves. Kernels since 4.20 have all
  // three.
  const int on = 1;
  for (const int option : {NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK}) {
    static_cast<void>(::setsockopt(descriptor, SOL_NETLINK, option, &on, sizeof on));
  }
  const int bytes = options.receive_buffer_bytes;
  if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0 &&
      ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) != 0) {
    return status_from_errno(errno, "set the receive buffer of a netlink socket");
  }
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return status_from_errno(errno, "bind a netlink socket");
  }
  for (const unsigned group : options.groups) {
    if (::setsockopt(descriptor, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0) {
      return status_from_errno(errno, "join netlink group " + std::to_string(group));
    }
  }
  return {};
}

}  // namespace

Result<Socket> Socket::open(const NetworkNamespace& where, const SocketOptions& options) {
  Socket socket{-1};
  Status status = where.inside([&]() -> Status {
    socket.descriptor_ = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    return socket.descriptor_ >= 0 ? Status{} : status_from_errno(errno, "make a netlink socket");
  });
  if (status.ok()) status = configure(socket.descriptor_, options);
  if (!status.ok()) return failure(std::move(status));
  return socket;
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::uint32_t> Socket::port() const {
  sockaddr_nl address{};
  socklen_t length = sizeof address;
  if (::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return failure(status_from_errno(errno, "read the port of a netlink socket"));
  }
  return address.nl_pid;
}

Status Socket::drop_notifications_of(std::uint32_t port, const ObjectMarks& marks) {
  // A filter reads numbers in network order; the kernel writes netlink headers in host order. A jump states how many statements it skips.
  constexpr std::uint32_t kAttributes = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(rtmsg));
  constexpr auto kFindAttribute = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_NLATTR);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 15, 0),  // Drop.
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(nlmsghdr, nlmsg_type)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 10, 0),  // The protocol decides.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 0, 13),  // Other objects pass.
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(nlmsghdr, nlmsg_flags)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, htons(NLM_F_REPLACE), 11, 0),  // Pass.
      BPF_STMT(BPF_LD | BPF_IMM, kAttributes),
      BPF_STMT(BPF_LDX | BPF_IMM, RTA_PRIORITY),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFindAttribute),  // The place of the attribute, 0 without it.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0),        // The protocol decides.
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_IND, sizeof(rtattr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(marks.metric), 4, 0),  // Pass.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NLMSG_HDRLEN + offsetof(rtmsg, rtm_protocol)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RTPROT_KERNEL, 2, 0),   // Pass: the route to a subnet.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, marks.protocol, 1, 0),  // Pass.
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  };
  const sock_fprog program{.len = std::size(code), .filter = code};
  if (::setsockopt(descriptor_, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
    return status_from_errno(errno, "filter a netlink socket");
  }
  return {};
}

Status Socket::send(std::span<const std::byte> messages) {
  for (;;) {
    const ssize_t sent = ::send(descriptor_, messages.data(), messages.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(messages.size())) return {};
    if (sent >= 0) return Status{StatusCode::Internal, "a netlink datagram was sent in part"};
    if (errno != EINTR) return status_from_errno(errno, "send to netlink");
  }
}

// Treats EAGAIN as an empty datagram (0 bytes).
Result<std::size_t> Socket::receive_now(std::span<std::byte> buffer) {
  for (int strangers = 0; strangers < kStrangersMax;) {
    sockaddr_nl from{};
    iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t length = ::recvmsg(descriptor_, &message, MSG_DONTWAIT);
    if (length < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return std::size_t{0};
      if (errno == ENOBUFS) return failure(Status{StatusCode::DataLoss, "the kernel's answers overran the netlink socket", ENOBUFS});
      return failure(status_from_errno(errno, "receive from netlink"));
    }
    if (length == 0) return failure(StatusCode::Unavailable, "the netlink socket is closed");
    if (message.msg_namelen >= sizeof from && from.nl_family == AF_NETLINK && from.nl_pid != 0) {
      ++strangers;
      continue;
    }
    if ((message.msg_flags & MSG_TRUNC) != 0) return failure(StatusCode::DataLoss, "a netlink datagram was larger than the buffer");
    return static_cast<std::size_t>(length);
  }
  return std::size_t{0};
}

Result<std::span<const std::byte>> Socket::receive(std::span<std::byte> buffer, Duration wait) {
  auto length = receive_now(buffer);
  if (length && *length == 0 && wait > Duration::zero()) {
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    pollfd poll_set{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&poll_set, 1, static_cast<int>(milliseconds));
    if (ready < 0 && errno != EINTR) return failure(status_from_errno(errno, "wait for netlink"));
    length = receive_now(buffer);
  }
  if (!length) return failure(std::move(length.error()));
  return std::span<const std::byte>{buffer.first(*length)};
}

}  // namespace rondo::netlink
