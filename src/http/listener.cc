#include "http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "rondo/dataplane/ip.h"

namespace rondo::http {

namespace {

constexpr int kBacklog = 512;    // The kernel lowers it to net.core.somaxconn.
constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START of systemd.
constexpr unsigned kPassedSearched = 64;

unsigned number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  unsigned number = 0;
  if (text == nullptr) return 0;
  const std::string_view view{text};
  const auto [end, error] = std::from_chars(view.begin(), view.end(), number);
  return error == std::errc{} && end == view.end() ? number : 0;
}

/// The position of 'name' in LISTEN_FDNAMES, which separates names by colons.
std::optional<unsigned> position_of(std::string_view name, unsigned count) {
  if (name.empty()) return 0;
  const char* const text = std::getenv("LISTEN_FDNAMES");
  std::string_view rest = text == nullptr ? "" : text;
  for (unsigned position = 0; position < count; ++position) {
    const std::size_t end = rest.find(':');
    if (rest.substr(0, end) == name) return position;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return std::nullopt;
}

}  // namespace

std::uint16_t port_of(const sockaddr_storage& address) noexcept {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string endpoint_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v6 = address.ss_family == AF_INET6;
  const void* const bytes = is_v6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
                                  : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  ::inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes, text.data(), text.size());
  const std::string host{text.data()};
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port_of(address));
}

Result<UniqueFd> listen_at(const std::string& address, std::uint16_t port) {
  const Result<IpAddress> parsed = IpAddress::parse(address);
  if (!parsed) return failure(parsed.error().with_context("the address of the HTTP server"));
  sockaddr_storage to{};
  socklen_t length = 0;
  if (parsed->is_v6()) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(to);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
    length = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(to);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr);
    length = sizeof v4;
  }
  UniqueFd fd{::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd) return failure(status_from_errno(errno, "socket"));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // Connections of the last run may be in TIME_WAIT.
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&to), length) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return failure(status_from_errno(errno, "listening at " + endpoint_text(to)));
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

Result<std::optional<UniqueFd>> take_passed_socket(std::string_view name) {
  if (number_in("LISTEN_PID") != static_cast<unsigned>(::getpid())) return std::optional<UniqueFd>{};
  const unsigned count = number_in("LISTEN_FDS");
  const std::optional<unsigned> position = position_of(name, std::min(count, kPassedSearched));
  if (!position || *position >= count) return std::optional<UniqueFd>{};
  const int fd = kFirstPassed + static_cast<int>(*position);
  if (Status status = prepare_listener(fd); !status.ok()) {
    return failure(status.with_context("the socket '" + std::string{name} + "' of the service manager"));
  }
  return std::optional<UniqueFd>{UniqueFd{fd}};
}

}  // namespace rondo::http
