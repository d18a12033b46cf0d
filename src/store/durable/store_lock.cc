#include "store/durable/store_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/private_file.h"
#include "rondo/store/record.h"
#include "store/durable/log_file.h"

namespace rondo::store::durable {

namespace {

/// SQLite writes the file and others beside it. For a folder without permissions it only reports that it cannot open a file.
Status check_writable(const std::filesystem::path& path) {
  const auto refusal = [&path](const std::filesystem::path& what, const char* kind, int error) {
    const StatusCode code = error == ENOENT || error == ENOTDIR ? StatusCode::NotFound : StatusCode::PermissionDenied;
    return Status{code,
                  "opening " + quoted(path.string()) + ": the " + kind + " " + quoted(what.string()) +
                      " cannot be written: " + std::generic_category().message(error),
                  error};
  };
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  // AT_EACCESS: check with the process's effective permissions. errno is read immediately, because later calls may change it.
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) return refusal(folder, "folder", errno);
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return {};
  const int error = errno;
  return error == ENOENT ? Status{} : refusal(path, "file", error);
}

}  // namespace

Result<StoreLock> StoreLock::take(const std::string& path) {
  if (Status bad = check_writable(path); !bad.ok()) return failure(std::move(bad));
  const std::string name = path + "-lock";
  // The lock file is permanent, so none is made beside a file that is not a store. If a lock file exists, another process may have the
  // store open.
  if (::faccessat(AT_FDCWD, name.c_str(), F_OK, 0) != 0) {
    const Result<std::unique_ptr<LogFile>> seen = LogFile::open(path, LogFile::Mode::ReadOnly);
    if (!seen && seen.error().code() == StatusCode::FailedPrecondition) return failure(seen.error());
  }
  // Read-only: the lock file may belong to another user who shares the store's file with this process.
  Result<UniqueFd> file = open_private(name, O_RDONLY, "opening " + quoted(name));
  if (!file) return failure(file.error());
  keep_others_out(file->get());  // The permissions of the lock file do not depend on those of the store's file.
  // flock() locks the open file, while SQLite's locks belong to the process: so two stores of one process exclude each other, too.
  if (Status taken = lock_file(file->get(), "opening " + quoted(path)); !taken.ok()) return failure(std::move(taken));
  return StoreLock{std::move(*file)};
}

}  // namespace rondo::store::durable
