// See socket_file.h.
#include "admin/socket_file.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "admin/peer.h"
#include "admin/unix_socket.h"
#include "rondo/admin/limits.h"

namespace rondo {
namespace {

/// Connections that the kernel queues until a turn accepts them. This is not the limit of connections, which is limits::kAdminConnections.
constexpr int kListenBacklog = 64;

/// Removes an empty regular file, such as one that `touch` or a redirection of a shell made in place of a socket.
void remove_empty_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0) ::unlink(path.c_str());
}

/// Makes room for a socket at 'path'.
Status clear_path(const std::string& path) {
  const Result<bool> stale = is_stale_socket(path);
  if (!stale) return stale.error();
  if (!*stale) return {};
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return status_from_errno(errno, "remove the stale socket '" + path + "'");
  return {};
}

/// True if the connection ends within 'wait'.
bool hangs_up(int fd, Duration wait) {
  pollfd one{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&one, 1, static_cast<int>(wait / 1ms)) == 1;
}

}  // namespace

Status wait_for_predecessor(const std::string& path) {
  // A process that was killed a moment ago may not look like one that ends.
  constexpr Duration kMoment = 200ms;
  const Result<UniqueFd> peer = connect_unix(path);
  if (!peer || hangs_up(peer->get(), kMoment)) return {};
  if (is_ending(caller_of(peer->get())) && hangs_up(peer->get(), limits::kAdminPredecessorTime)) return {};
  return {StatusCode::AlreadyExists, "another server answers on '" + path + "'"};
}

Result<bool> is_stale_socket(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    return failure(status_from_errno(errno, "look at '" + path + "'"));
  }
  if (!S_ISSOCK(status.st_mode)) return failure(StatusCode::InvalidArgument, "'" + path + "' exists and is not a socket");
  const Result<UniqueFd> peer = connect_unix(path);
  if (peer) return failure(StatusCode::AlreadyExists, "another server answers on '" + path + "'");
  if (peer.error().origin_errno() != ECONNREFUSED && peer.error().origin_errno() != ENOENT) return failure(Status{peer.error()});
  return true;
}

SocketFile::~SocketFile() {
  if (fd_ && is_there()) ::unlink(path_.c_str());
}

/// Sets the file mode before listen(), so that no caller can connect in between.
Result<UniqueFd> SocketFile::bind_and_listen() const {
  const Result<sockaddr_un> address = unix_address(path_);
  if (!address) return failure(address.error());
  if (fd_) remove_empty_file(path_);  // Only where this object's socket was: at the start, the path may be a mistake.
  if (const Status cleared = clear_path(path_); !cleared.ok()) return failure(cleared);
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return failure(status_from_errno(errno, "socket"));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failure(status_from_errno(errno, "bind '" + path_ + "'"));
  }
  if (::chmod(path_.c_str(), mode_) != 0) return failure(status_from_errno(errno, "set the mode of '" + path_ + "'"));
  if (::listen(fd.get(), kListenBacklog) != 0) return failure(status_from_errno(errno, "listen on '" + path_ + "'"));
  return fd;
}

Status SocketFile::listen() {
  Result<UniqueFd> fd = bind_and_listen();
  if (!fd) {
    in_the_way_ = find();
    return fd.error();
  }
  const Place place = find();
  if (place == Place{}) return {StatusCode::NotFound, "'" + path_ + "' went while it was made"};
  ours_ = place;
  fd_ = std::move(*fd);
  return {};
}

SocketFile::Place SocketFile::find() const {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

gid_t SocketFile::group() const {
  struct stat status {};
  return ::lstat(path_.c_str(), &status) == 0 ? status.st_gid : ::getegid();
}

bool SocketFile::is_there() const { return ours_ != Place{} && find() == ours_; }

bool SocketFile::has_changed() const {
  const Place now = find();
  return now == Place{} || now != in_the_way_;
}

}  // namespace rondo
