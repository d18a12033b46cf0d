#include "base/bounded_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.h"

namespace rondo {

namespace {

/// The device number of /dev/null: Documentation/admin-guide/devices.txt of the kernel.
const dev_t kNull = ::makedev(1, 3);

}  // namespace

Result<std::string> read_bounded_file(const std::string& path, std::string_view what, std::size_t bytes_most, Pipes pipes) {
  const std::string name = std::string{what} + " '" + path + "'";
  const auto unreadable = [&name](int error) { return failure(status_from_errno(error, "cannot read " + name)); };
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
  UniqueFd file{::open(path.c_str(), kFlags | (pipes == Pipes::Refuse ? O_NONBLOCK : 0))};
  // A regular file on which another program has a lease (fcntl(2)): the kernel ends the lease.
  if (!file && errno == EWOULDBLOCK) file = UniqueFd{::open(path.c_str(), kFlags)};
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return unreadable(errno);
  if (S_ISDIR(about.st_mode)) return unreadable(EISDIR);
  if (S_ISFIFO(about.st_mode) && pipes == Pipes::Refuse)
    return failure(StatusCode::InvalidArgument, name + " is a pipe, which is read only at the start");
  const bool is_null = S_ISCHR(about.st_mode) && about.st_rdev == kNull;
  if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode) && !is_null)
    return failure(StatusCode::InvalidArgument, name + " is no regular file, and no pipe");
  std::string text;
  std::array<char, 65'536> piece{};
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > bytes_most)
      return failure(StatusCode::InvalidArgument, name + " has more than " + std::to_string(bytes_most) + " bytes");
  }
}

}  // namespace rondo
