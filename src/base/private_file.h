// Private files of this process. Any process that may open a file for reading may lock it (flock, F_RDLCK), and so prevent a daemon from
// starting. So only the owner and the group get rights to files that we lock.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "rondo/base/result.h"
#include "rondo/base/status.h"

namespace rondo {

/// The mode of a file that we create.
inline constexpr mode_t kPrivateMode = 0600;

/// An error if 'path' is a symbolic link: it may lead to another program's file. The error begins with 'what'.
Status check_no_link(const std::string& path, const std::string& what);

/// Opens a file of ours at 'path' with these flags, and creates it with kPrivateMode if it is absent. It never opens the target of a
/// symbolic link (check_no_link()), and never waits for the other end of a pipe. The error begins with 'what'.
Result<UniqueFd> open_private(const std::string& path, int flags, const std::string& what);

/// Removes the rights of others from the file, if there are any. Best effort: a file of another user stays unchanged. Use the path for
/// files with fcntl locks, which this process would release by closing a descriptor of the file.
void keep_others_out(int fd) noexcept;
void keep_others_out(const std::string& path) noexcept;

/// Locks the open file (flock) for this process until it is closed. Never waits. Unavailable: another process, or another descriptor of
/// this one, holds the lock. The message is 'what', and the holder as /proc/locks lists it: "WHAT: another process has it open: process
/// 4711 (cat) of user 1000".
Status lock_file(int fd, const std::string& what);

/// The process that holds such a lock on the open file, as /proc/locks lists it; 0 if there is none, or the kernel does not list it. Takes
/// no lock.
pid_t lock_owner(int fd);

}  // namespace rondo
