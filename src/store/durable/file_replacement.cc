#include "store/durable/file_replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <span>
#include <system_error>

#include "base/unique_fd.h"

namespace rondo::store::durable {

namespace {

std::string aside_prefix(const std::string& path) { return path + ".damaged-"; }

/// Returns a name beside 'path' that no file has: with the time, in UTC, and with a number if there are several of one second.
std::string free_name(const std::string& path, WallTime now) {
  const std::time_t seconds = static_cast<std::time_t>((now - WallTime{}) / 1s);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> time{};
  const std::size_t length = std::strftime(time.data(), time.size(), "%Y%m%dT%H%M%SZ", &parts);
  const std::string first = aside_prefix(path) + std::string{time.data(), length};
  std::string name = first;
  for (unsigned number = 2; std::filesystem::exists(name) || std::filesystem::exists(name + "-wal"); ++number)
    name = first + "-" + std::to_string(number);
  return name;
}

Status rename(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  return error ? status_from_errno(error.value(), "renaming " + quoted(from) + " to " + quoted(to)) : Status{};
}

std::filesystem::path folder_of(const std::filesystem::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

/// Makes the new names survive a power cut. A file system that cannot do this is accepted.
Status sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = folder_of(path);
  const UniqueFd opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened && (::fsync(opened.get()) == 0 || errno == EINVAL || errno == ENOTSUP)) return {};
  return status_from_errno(errno, "syncing the folder " + quoted(folder.string()));
}

/// Like sync_folder_of(), for steps without an alternative: a folder that may not be read is accepted, too.
Status sync_folder_if_permitted(const std::filesystem::path& path) {
  Status end = sync_folder_of(path);
  return end.code() == StatusCode::PermissionDenied ? Status{} : end;
}

/// Makes an empty file with the permissions of 'other' and, if permitted, its owner.
Status make_like(const std::string& other, const std::string& path) {
  struct stat found {};
  if (::stat(other.c_str(), &found) != 0) return status_from_errno(errno, "reading the rights of " + quoted(other));
  const UniqueFd made{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!made) return status_from_errno(errno, "making " + quoted(path));
  constexpr uid_t kSame = static_cast<uid_t>(-1);
  const bool is_owned = ::fchown(made.get(), found.st_uid, found.st_gid) == 0 || ::fchown(made.get(), kSame, found.st_gid) == 0;
  // Keep the group's permissions only if the file has the same group.
  const mode_t rights = found.st_mode & (is_owned ? 0777U : 0707U);
  return ::fchmod(made.get(), rights) == 0 ? Status{} : status_from_errno(errno, "making " + quoted(path));
}

bool have_one_owner(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && first.st_uid == second.st_uid &&
         first.st_gid == second.st_gid;
}

}  // namespace

Status FileReplacement::undo() const {
  remove_new();
  // The damaged file's log may have been renamed already, while the file itself still has both names.
  std::error_code none;
  const std::filesystem::path folder = folder_of(path_);
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string aside = (folder / entry.path().filename()).string();
    if (!aside.starts_with(aside_prefix((folder / std::filesystem::path{path_}.filename()).string()))) continue;
    if (!std::filesystem::equivalent(path_, aside, none)) continue;
    if (std::filesystem::exists(aside + "-wal", none)) {
      if (Status bad = rename(aside + "-wal", path_ + "-wal"); !bad.ok()) return bad;
    }
    std::filesystem::remove(aside, none);
    return {};
  }
  return {};
}

Status FileReplacement::replace_damaged(std::unique_ptr<LogFile>& file, const LogContent& content, WallTime now, std::string& aside) const {
  aside = free_name(path_, now);
  file.reset();
  if (Status bad = write_new(content); !bad.ok()) return bad;
  // The damaged file's log must not be applied to the new file. 'path_' always leads to a file, whenever the process ends. After the log
  // was renamed, 'path_' and 'aside' are two names of the damaged file: see undo().
  std::error_code error;
  std::filesystem::create_hard_link(path_, aside, error);
  if (error) return status_from_errno(error.value(), "keeping " + quoted(path_) + " as " + quoted(aside));
  if (std::filesystem::exists(path_ + "-wal")) {
    if (Status bad = rename(path_ + "-wal", aside + "-wal"); !bad.ok()) return bad;
  }
  if (Status bad = sync_folder_if_permitted(path_); !bad.ok()) return bad;
  if (Status bad = rename(new_, path_); !bad.ok()) return bad;
  if (Status bad = sync_folder_if_permitted(path_); !bad.ok()) return bad;
  return reopen(file);
}

Status FileReplacement::replace_by_smaller(std::unique_ptr<LogFile>& file, const LogContent& content) const {
  Status end = write_new(content);
  if (end.ok() && !have_one_owner(path_, new_))
    end = {StatusCode::PermissionDenied, quoted(new_) + " cannot be given the owner of the file"};
  if (end.ok()) {
    file.reset();
    end = take_place();
  }
  if (!end.ok()) {
    remove_new();
    if (file != nullptr) return end;
    Status opened = reopen(file);
    return opened.ok() ? end : opened;
  }
  // Without the sync, a power cut could bring the old file back, and later writes would be lost.
  if (Status bad = sync_folder_of(path_); !bad.ok()) return bad;
  return reopen(file);
}

/// Call this after the old file was closed, which moves its log into it. The new file must not be read with that log, not even after a
/// power cut.
Status FileReplacement::take_place() const {
  if (std::filesystem::exists(path_ + "-wal")) {
    return {StatusCode::ResourceExhausted, quoted(path_ + "-wal") + " could not be moved into " + quoted(path_)};
  }
  Status synced = sync_folder_of(path_);
  return synced.ok() ? rename(new_, path_) : synced;
}

Status FileReplacement::reopen(std::unique_ptr<LogFile>& file) const {
  Result<std::unique_ptr<LogFile>> opened = LogFile::open(path_, mode_);
  if (!opened) return opened.error();
  file = std::move(*opened);
  return {};
}

Status FileReplacement::write_new(const LogContent& content) const {
  remove_new();
  Status end = try_to_write_new(content);
  if (!end.ok()) remove_new();
  return end;
}

Status FileReplacement::try_to_write_new(const LogContent& content) const {
  if (Status bad = make_like(path_, new_); !bad.ok()) return bad;
  {
    Result<std::unique_ptr<LogFile>> made = LogFile::open(new_, LogFile::Mode::WriteSynced);
    if (!made) return made.error();
    const auto append = [&file = **made](std::span<const std::string> entries) {
      Status end = file.append(entries);
      return end.ok() ? file.checkpoint(false) : end;
    };
    if (Status bad = content.write_to(append); !bad.ok()) return bad;
  }
  if (!std::filesystem::exists(new_ + "-wal")) return {};
  return {StatusCode::ResourceExhausted, "writing " + quoted(new_) + " did not end"};
}

void FileReplacement::remove_new() const {
  std::error_code none;
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(new_ + suffix, none);
}

}  // namespace rondo::store::durable
