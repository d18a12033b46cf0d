#include "worker/state_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace rondo::worker {

namespace {

namespace files = std::filesystem;

/// As large as what a run needs at its begin, and some output.
constexpr std::size_t kRoom = 65'536;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

Status no_file(const std::string& path) { return {StatusCode::InvalidArgument, "'" + path + "' is no regular file"}; }

std::string name_of(uid_t user) {
  const passwd* const found = ::getpwuid(user);
  return found == nullptr ? std::to_string(user) : std::to_string(user) + " (" + found->pw_name + ")";
}

/// A user who is neither root nor the user of this process could change what is in it.
Status check_user(const struct stat& info, const std::string& path) {
  if (info.st_uid == 0 || info.st_uid == ::geteuid()) return {};
  return {StatusCode::PermissionDenied, "'" + path + "' belongs to the user " + name_of(info.st_uid) +
                                            ", who could change what the worker keeps there; it must belong to root or to the user " +
                                            name_of(::geteuid()) + " of this worker"};
}

/// Others may not write to a file that the worker wrote. 'repairs': the right is taken from them.
Status check_file(int fd, const struct stat& info, const std::string& path, bool repairs) {
  if (Status owned = check_user(info, path); !owned.ok()) return owned;
  if ((info.st_mode & kOthersWrite) == 0) return {};
  if (repairs && ::fchmod(fd, info.st_mode & 07777 & ~kOthersWrite) == 0) return {};
  return {StatusCode::PermissionDenied,
          "users other than that of the worker may write to '" + path + "', and so change what the worker keeps there"};
}

}  // namespace

Result<UniqueFd> open_state_file(const std::string& path, int flags, mode_t mode) {
  // Without O_NONBLOCK a FIFO would block until another program opens it.
  UniqueFd fd{::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode)};
  const int error = errno;
  const std::string what = ((flags & O_ACCMODE) == O_RDONLY ? "cannot read '" : "cannot write '") + path + "'";
  struct stat info {};
  if (!fd) {
    const bool is_other = ::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
    return failure(is_other ? no_file(path) : status_from_errno(error, what));
  }
  if (::fstat(fd.get(), &info) != 0) return failure(status_from_errno(errno, what));
  if (!S_ISREG(info.st_mode)) return failure(no_file(path));
  // What is written is the worker's own from now on.
  const bool repairs = (flags & O_ACCMODE) != O_RDONLY;
  if (Status checked = check_file(fd.get(), info, path, repairs); !checked.ok()) return failure(std::move(checked));
  return fd;
}

Result<std::string> read_state_file(const std::string& path, std::size_t most) {
  const Result<UniqueFd> fd = open_state_file(path, O_RDONLY);
  if (!fd) return failure(fd.error());
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd->get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(status_from_errno(errno, "cannot read '" + path + "'"));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most) return failure(StatusCode::ResourceExhausted, "'" + path + "' has more than " + std::to_string(most) + " bytes");
  text.resize(size);
  return text;
}

Status write_state_file(const std::string& path, std::string_view text) {
  const Result<UniqueFd> fd = open_state_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!fd) return fd.error();
  while (!text.empty()) {
    const ssize_t written = ::write(fd->get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return status_from_errno(written == 0 ? ENOSPC : errno, "cannot write '" + path + "'");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status check_owner(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return status_from_errno(errno, "cannot read the folder '" + path + "'");
  if (!S_ISDIR(info.st_mode)) return {StatusCode::InvalidArgument, "'" + path + "' is no folder"};
  if ((info.st_mode & S_IWOTH) != 0) {
    return {StatusCode::PermissionDenied, "every user may write to '" + path + "', and so change what the worker keeps there"};
  }
  return check_user(info, path);
}

Status check_part(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode))
    return {StatusCode::PermissionDenied, "'" + path + "' is a symbolic link; it must be a folder"};
  return check_owner(path);
}

Status make_state_part(const std::string& path) {
  std::error_code failed;
  files::create_directory(path, failed);
  std::error_code unknown;
  if (failed && !files::exists(files::symlink_status(path, unknown)))
    return status_from_errno(failed.value(), "cannot make the folder '" + path + "'");
  if (Status checked = check_part(path); !checked.ok()) return checked;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || (info.st_mode & S_IWGRP) == 0) return {};
  if (::chmod(path.c_str(), info.st_mode & 07777 & ~kOthersWrite) == 0) return {};
  return status_from_errno(errno, "the group of '" + path + "' may write to it, and this right cannot be taken from it");
}

bool secure_old_file(const std::string& path) {
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat info {};
  return fd && ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && check_file(fd.get(), info, path, true).ok();
}

Status make_state_folder(const std::string& path) {
  std::error_code failed;
  files::create_directories(path, failed);
  if (failed) return status_from_errno(failed.value(), "cannot make the folder '" + path + "'");
  return check_owner(path);
}

Status check_room(const std::string& folder) {
  const std::string file = folder + "/check";
  Status written = write_state_file(file, std::string(kRoom, ' '));
  ::unlink(file.c_str());
  return written;
}

}  // namespace rondo::worker
