// The file that a journal appends to, locked: two that append to one file would each take back, rename and name what the other wrote. A
// lock (flock) belongs to the file and not to its name, so a renamed file stays locked until its journal has opened the next one, and the
// name is free for that; and it ends with the process, however that ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::journal {

/// Opens 'path' for appending, and locks it. Never waits. Unavailable when another journal has it; InvalidArgument for what is no regular
/// file, or has something in it and does not begin as a journal of a known version does: that stays as it is. All errors name it.
Result<UniqueFd> open_locked(const std::string& path);
/// Whether 'path' leads to the file that 'fd' has open.
bool is_at(int fd, const std::string& path) noexcept;
/// Bytes of a plain file; none of anything else.
std::optional<std::uint64_t> size_of(int fd) noexcept;

}  // namespace rondo::journal
