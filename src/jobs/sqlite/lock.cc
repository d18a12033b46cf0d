#include "jobs/sqlite/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/private_file.h"

namespace rondo::jobs::sqlite {

namespace {

std::string name_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return (error ? path : target.string()) + "-lock";
}

Status lock(const UniqueFd& file, const std::string& path) {
  const Status locked = lock_file(file.get(), "the database of jobs '" + path + "'");
  if (locked.code() != StatusCode::Unavailable) return locked;
  return {StatusCode::AlreadyExists, "another process runs the jobs of '" + path + "'"};
}

}  // namespace

Status DatabaseLock::take(const std::string& path) {
  if (is_held_) return {};
  if (!name_) {
    Result<UniqueFd> name = open_private(name_of(path), O_RDWR, "locking '" + name_of(path) + "'");
    if (name) name_ = std::move(*name);
    if (!name && name.error().origin_errno() == ELOOP) return name.error();
  }
  if (name_) {
    if (Status locked = lock(name_, path); !locked.ok()) return locked;
  }
  if (!file_) file_ = UniqueFd{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)};
  struct stat about {};
  const bool is_file = file_ && ::fstat(file_.get(), &about) == 0 && S_ISREG(about.st_mode);
  if (is_file) {
    if (Status locked = lock(file_, path); !locked.ok()) return locked;
  }
  is_held_ = is_file || name_;
  return {};
}

pid_t DatabaseLock::owner(const std::string& path) {
  for (const std::string& file : {name_of(path), path}) {
    const UniqueFd open{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!open) continue;
    if (const pid_t process = lock_owner(open.get()); process != 0) return process;
  }
  return 0;
}

bool DatabaseLock::is_taken(const std::string& path) {
  const UniqueFd file{::open(name_of(path).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
  return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace rondo::jobs::sqlite
