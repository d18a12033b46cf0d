// See text_file.h.
#include "store/redis/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rondo::redis {

namespace {

/// Closes the file on every return path.
struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max) {
  if (path.find('\0') != std::string::npos) return failure(StatusCode::InvalidArgument, "the name of a file has a NUL in it");
  // O_NONBLOCK: opening a FIFO without a writer must not block.
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.fd < 0) return failure(status_from_errno(errno, "open '" + path + "'"));
  struct stat about {};
  if (::fstat(file.fd, &about) != 0) return failure(status_from_errno(errno, "stat '" + path + "'"));
  if (!S_ISREG(about.st_mode)) return failure(StatusCode::InvalidArgument, "'" + path + "' is not a regular file");
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(file.fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(status_from_errno(errno, "read '" + path + "'"));
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return failure(StatusCode::ResourceExhausted, "'" + path + "' is over the limit of " + std::to_string(bytes_max) + " bytes");
    }
  }
}

}  // namespace rondo::redis
