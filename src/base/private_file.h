// Private files of this process. Any process that may open a file for reading may lock it (flock, F_RDLCK), and so prevent a daemon from
// starting. So only the owner and the group get rights to files that we lock.
#pragma once

#include <sys/types.h>

#include <string>

namespace rondo {

/// The mode of a file that we create.
inline constexpr mode_t kPrivateMode = 0600;

/// Removes the rights of others from the file, if there are any. Best effort: a file of another user stays unchanged. Use the path for
/// files with fcntl locks, which this process would release by closing a descriptor of the file.
void keep_others_out(int fd) noexcept;
void keep_others_out(const std::string& path) noexcept;

/// Returns the holder of a lock on the open file, for a message: ": process 4711 (cat) of user 1000", or "" if the kernel does not list
/// it. Reads /proc/locks.
std::string lock_holder(int fd);

}  // namespace rondo
