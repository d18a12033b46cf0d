#include "http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace rondo::http {

namespace {

constexpr int kBacklog = 512;    // The kernel lowers it to net.core.somaxconn.
constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START of systemd.
constexpr unsigned long kPassedSearched = 64;

/// 0 if the variable is absent or no number.
unsigned long number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
}

}  // namespace

std::uint16_t port_of(const sockaddr_storage& address) noexcept {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::uint64_t network_of(const sockaddr_storage& address) noexcept {
  if (address.ss_family != AF_INET6) return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr;
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&ip);
  std::uint64_t network = 0;
  std::memcpy(&network, ip.s6_addr + (is_mapped ? 12 : 0), is_mapped ? 4 : 8);
  return network;
}

std::string endpoint_text(const sockaddr_storage& address) {
  std::array<char, NI_MAXHOST> host{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  const std::string text{host.data()};
  return (address.ss_family == AF_INET6 ? "[" + text + "]" : text) + ":" + std::to_string(port_of(address));
}

Result<UniqueFd> listen_at(const std::string& address, std::uint16_t port) {
  const std::string where = address + " port " + std::to_string(port);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    return failure(StatusCode::InvalidArgument, "listening at " + where + ": " + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> to{found, &::freeaddrinfo};
  UniqueFd fd{::socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  const int on = 1;
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // Connections of the last run may be in TIME_WAIT.
  if (!fd || ::bind(fd.get(), to->ai_addr, to->ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return failure(status_from_errno(errno, "listening at " + where));
  }
  return fd;
}

Status prepare_listener(int fd) {
  int listens = 0;
  socklen_t length = sizeof listens;
  const std::string what = "descriptor " + std::to_string(fd);
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0) return status_from_errno(errno, what);
  sockaddr_storage bound{};
  length = sizeof bound;
  if (listens == 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0 ||
      (bound.ss_family != AF_INET && bound.ss_family != AF_INET6)) {
    return {StatusCode::InvalidArgument, what + " is not a listening TCP socket"};
  }
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return status_from_errno(errno, what);
  }
  return {};
}

int passed_socket(std::string_view name) {
  if (number_in("LISTEN_PID") != static_cast<unsigned long>(::getpid())) return -1;
  const unsigned long count = std::min(number_in("LISTEN_FDS"), kPassedSearched);
  const char* const names = std::getenv("LISTEN_FDNAMES");
  std::string_view rest = names == nullptr ? "" : names;  // Names are separated by colons.
  for (unsigned long position = 0; position < count; ++position) {
    const std::size_t end = rest.find(':');
    if (name.empty() || rest.substr(0, end) == name) return kFirstPassed + static_cast<int>(position);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return -1;
}

}  // namespace rondo::http
