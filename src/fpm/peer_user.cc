#include "fpm/peer_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace rondo::fpm {

namespace {

struct Question {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

constexpr const char* kClosed = "the other end has been closed";

/// Writes the port and the address, both in network byte order. Returns the family of the address. An IPv4 address within an IPv6 one is
/// that IPv4 address.
std::uint8_t read_end(const sockaddr_storage& end, __be16& port, __be32 (&address)[4]) {
  if (end.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(end);
    port = v4.sin_port;
    address[0] = v4.sin_addr.s_addr;
    return AF_INET;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(end);
  port = v6.sin6_port;
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    std::memcpy(address, v6.sin6_addr.s6_addr + 12, sizeof address[0]);
    return AF_INET;
  }
  std::memcpy(address, v6.sin6_addr.s6_addr, sizeof address);
  return AF_INET6;
}

/// The other end's view: its own address is the source.
Result<Question> question_about(int connection) {
  sockaddr_storage peer{};
  sockaddr_storage local{};
  socklen_t peer_length = sizeof peer;
  socklen_t local_length = sizeof local;
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0 ||
      ::getsockname(connection, reinterpret_cast<sockaddr*>(&local), &local_length) != 0) {
    if (errno == ENOTCONN) return failure(StatusCode::Unavailable, kClosed);
    return failure(status_from_errno(errno, "reading the ends of a connection"));
  }
  Question question{};
  question.header = {
      .nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = 1, .nlmsg_pid = 0};
  inet_diag_req_v2& request = question.request;
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_states = ~0U;
  request.sdiag_family = read_end(peer, request.id.idiag_sport, request.id.idiag_src);
  read_end(local, request.id.idiag_dport, request.id.idiag_dst);
  request.id.idiag_cookie[0] = request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return question;
}

bool is_established(int connection) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_state == TCP_ESTABLISHED;
}

bool is_loopback(const inet_diag_req_v2& request) {
  if (request.sdiag_family == AF_INET) return (ntohl(request.id.idiag_src[0]) >> 24U) == IN_LOOPBACKNET;
  in6_addr address;
  std::memcpy(&address, request.id.idiag_src, sizeof address);
  return IN6_IS_ADDR_LOOPBACK(&address);
}

}  // namespace

Result<std::uint32_t> user_at_other_end(int connection) {
  auto question = question_about(connection);
  if (!question) return failure(question.error());
  const UniqueFd diag{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG)};
  if (!diag) return failure(status_from_errno(errno, "opening a sock_diag socket"));
  alignas(nlmsghdr) std::array<char, 4096> reply{};
  if (::send(diag.get(), &*question, sizeof *question, 0) < 0) return failure(status_from_errno(errno, "asking for the owner of a socket"));
  const ssize_t length = ::recv(diag.get(), reply.data(), reply.size(), 0);  // The kernel answers within send().
  if (length < 0) return failure(status_from_errno(errno, "reading the owner of a socket"));

  const auto* const header = reinterpret_cast<const nlmsghdr*>(reply.data());
  const auto size = static_cast<std::size_t>(length);
  if (size >= NLMSG_LENGTH(sizeof(nlmsgerr)) && header->nlmsg_type == NLMSG_ERROR) {
    const int error = -reinterpret_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
    if (error == ENOENT && !is_established(connection)) return failure(StatusCode::Unavailable, kClosed);
    if (error == ENOENT && is_loopback(question->request)) {
      return failure(StatusCode::Unimplemented, "the kernel does not say who has a socket (CONFIG_INET_DIAG)");
    }
    if (error == ENOENT) return failure(StatusCode::NotFound, "no socket of this network namespace is the other end");
    return failure(status_from_errno(error, "asking for the owner of a socket"));
  }
  if (size < NLMSG_LENGTH(sizeof(inet_diag_msg)) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY) {
    return failure(StatusCode::Internal, "the kernel's answer about a socket is not understood");
  }
  const auto* const socket = reinterpret_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  // A socket that its program has closed has no inode, and the kernel names user 0 as its owner.
  if (socket->idiag_state != TCP_ESTABLISHED || socket->idiag_inode == 0) {
    return failure(StatusCode::Unavailable, kClosed);
  }
  return socket->idiag_uid;
}

}  // namespace rondo::fpm
