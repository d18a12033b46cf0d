#include "base/private_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "rondo/base/text.h"

namespace rondo {

namespace {

bool others_have_rights(const struct stat& file) { return S_ISREG(file.st_mode) && (file.st_mode & 07U) != 0; }
mode_t without_others(const struct stat& file) { return file.st_mode & 0770U; }

/// ": process 4711 (cat) of user 1000", or "" if the kernel does not list the holder.
std::string lock_holder(int fd) {
  const pid_t process = lock_owner(fd);
  if (process == 0) return {};
  const std::string folder = "/proc/" + std::to_string(process);
  std::string name;
  std::getline(std::ifstream{folder + "/comm"}, name);
  std::string holder = ": process " + std::to_string(process);
  if (!name.empty()) holder += " (" + visible_text(name) + ")";
  struct stat owner {};
  if (::stat(folder.c_str(), &owner) == 0) holder += " of user " + std::to_string(owner.st_uid);
  return holder;
}

}  // namespace

Status check_no_link(const std::string& path, const std::string& what) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return {};
  return {StatusCode::InvalidArgument, what + ": it is a symbolic link, which may lead to another program's file: name the file itself",
          ELOOP};
}

Result<UniqueFd> open_private(const std::string& path, int flags, const std::string& what) {
  UniqueFd file{::open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kPrivateMode)};
  if (file) return file;
  const Status failed = status_from_errno(errno, what);
  const Status link = failed.origin_errno() == ELOOP ? check_no_link(path, what) : Status{};
  return failure(link.ok() ? failed : link);
}

void keep_others_out(int fd) noexcept {
  struct stat found {};
  if (::fstat(fd, &found) == 0 && others_have_rights(found)) ::fchmod(fd, without_others(found));
}

void keep_others_out(const std::string& path) noexcept {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && others_have_rights(found)) ::chmod(path.c_str(), without_others(found));
}

Status lock_file(int fd, const std::string& what) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  const int error = errno;
  if (error != EWOULDBLOCK) return status_from_errno(error, what + ": locking");
  return {StatusCode::Unavailable, what + ": another process has it open" + lock_holder(fd)};
}

pid_t lock_owner(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return 0;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "7: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"; "->" before the kind: it waits for a lock.
    unsigned major = 0;
    unsigned minor = 0;
    unsigned long long inode = 0;
    int process = 0;
    if (std::sscanf(line.c_str(), "%*d: FLOCK %*s %*s %d %x:%x:%llu", &process, &major, &minor, &inode) != 4) continue;
    if (inode == found.st_ino && makedev(major, minor) == found.st_dev && process > 0) return process;
  }
  return 0;
}

}  // namespace rondo
