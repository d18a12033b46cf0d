#include "orch/journal_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace rondo::journal {

Result<UniqueFd> open_locked(const std::string& path) {
  // Each time that the name leads elsewhere when the lock is there, somebody has rotated the file: it does not happen many times in a row.
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
    if (!file) return failure(status_from_errno(errno, "cannot open the journal '" + path + "'"));
    struct stat found {};
    if (::fstat(file.get(), &found) != 0) return failure(status_from_errno(errno, "cannot open the journal '" + path + "'"));
    if (!S_ISREG(found.st_mode)) return file;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (error != EWOULDBLOCK) return failure(status_from_errno(error, "cannot lock the journal '" + path + "'"));
      return failure(Code::Unavailable, "cannot write the journal '" + path + "': another process has it open");
    }
    if (is_at(file.get(), path)) return file;
  }
  return failure(Code::Unavailable, "cannot open the journal '" + path + "': it is renamed all the time");
}

bool is_at(int fd, const std::string& path) noexcept {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

std::optional<std::uint64_t> size_of(int fd) noexcept {
  struct stat found {};
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(found.st_size);
}

}  // namespace rondo::journal
