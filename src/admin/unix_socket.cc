// See unix_socket.h.
#include "admin/unix_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rondo {

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return failure(StatusCode::InvalidArgument, "the socket path is empty");
  if (path.size() >= sizeof address.sun_path) {
    return failure(StatusCode::InvalidArgument,
                   "socket path '" + path + "' is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<UniqueFd> connect_unix(const std::string& path) {
  const Result<sockaddr_un> address = unix_address(path);
  if (!address) return failure(address.error());
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!fd) return failure(status_from_errno(errno, "socket"));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failure(status_from_errno(errno, "connect to '" + path + "'"));
  }
  return fd;
}

}  // namespace rondo
