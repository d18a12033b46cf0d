// Files that are this process's own business. Whoever may open a file for reading may lock it (flock, F_RDLCK), and so keep a daemon from
// starting: others than the owner and the group get no rights to files that we lock.
#pragma once

#include <sys/types.h>

#include <string>

namespace rondo {

/// Of a file that we make.
inline constexpr mode_t kPrivateMode = 0600;

/// Takes the rights of others from the file, if there are any. Best effort: a file of another user stays. The path is for files whose
/// locks (fcntl) this process would give up by closing a descriptor of them.
void keep_others_out(int fd) noexcept;
void keep_others_out(const std::string& path) noexcept;

/// Who holds a lock on the open file, for a message: ": process 4711 (cat) of user 1000", "" if the kernel does not tell. Reads
/// /proc/locks.
std::string lock_holder(int fd);

}  // namespace rondo
