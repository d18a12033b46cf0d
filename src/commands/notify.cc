#include "commands/notify.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace rondo::commands {

Status notify(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return Status{StatusCode::InvalidArgument, "NOTIFY_SOCKET is too long"};
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // The abstract namespace.
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return status_from_errno(errno, "socket for NOTIFY_SOCKET");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  // A service manager that does not read must not delay a turn.
  const ssize_t sent =
      ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address), size);
  const int error = sent < 0 ? errno : 0;
  ::close(fd);
  return status_from_errno(error, std::string{"sending to NOTIFY_SOCKET "} + path);
}

Duration watchdog_period() {
  const auto number = [](const char* name) -> std::int64_t {
    const char* const text = std::getenv(name);
    std::int64_t value = 0;
    if (text == nullptr) return 0;
    const auto [stop, error] = std::from_chars(text, text + std::strlen(text), value);
    return error == std::errc{} && *stop == '\0' && value > 0 ? value : 0;
  };
  const std::int64_t pid = number("WATCHDOG_PID");
  if (pid != 0 && pid != ::getpid()) return Duration{0};
  return std::chrono::microseconds{number("WATCHDOG_USEC")};
}

}  // namespace rondo::commands
