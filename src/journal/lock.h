// Opens and locks the file that a journal appends to. Without the lock, two journals on one file would truncate, rename and name each
// other's records. A lock (flock) belongs to the file and not to its name. So a renamed file stays locked until its journal has opened the
// next one, and the name is free for that one. The lock ends with the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::journal {

/// Opens 'path' for appending, and locks it. Never waits. Returns Unavailable when another journal has it. Returns InvalidArgument if it is
/// not a regular file, or if it has content that does not begin as a journal of a known version. The file is then unchanged. All errors
/// contain the path.
Result<UniqueFd> open_locked(const std::string& path);
/// Checks an existing file as open_locked() does: InvalidArgument if it would refuse it. Ok if there is none, or it cannot be read. Changes
/// nothing and takes no lock.
Status check_file(const std::string& path);
/// InvalidArgument if one of path.1 to path.<files> exists and is no journal, of whatever version, or cannot be read: a rotation would
/// rename it, and remove it in the end. Changes nothing and takes no lock.
Status check_older(const std::string& path, unsigned files);
/// True if 'path' leads to the file that 'fd' has open.
bool is_at(int fd, const std::string& path) noexcept;
/// True if no name leads to the open file any more, not even one that it was renamed to.
bool is_removed(int fd) noexcept;
/// The size of a regular file in bytes; empty for any other file.
std::optional<std::uint64_t> size_of(int fd) noexcept;

}  // namespace rondo::journal
