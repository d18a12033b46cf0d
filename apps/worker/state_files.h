// The files of the worker's state folder. What is found there is not trusted: only a regular file is opened, opening never blocks, and a
// folder of another user is refused.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::worker {

/// The mode of logs and records, which may contain secrets.
inline constexpr mode_t kStateMode = 0640;

/// Opens a regular file; 'flags' as of open(2). InvalidArgument for anything else, such as a FIFO or a symbolic link. PermissionDenied for
/// a file of another user than root and the user of this process, and for one to which others may write; a file that is opened to be
/// written takes this right from them.
Result<UniqueFd> open_state_file(const std::string& path, int flags, mode_t mode = kStateMode);
/// The content of a regular file; ResourceExhausted if it has more than 'most' bytes.
Result<std::string> read_state_file(const std::string& path, std::size_t most);
/// Replaces the content.
Status write_state_file(const std::string& path, std::string_view text);

/// Makes the folder if it is absent. The errors of check_owner().
Status make_state_folder(const std::string& path);
/// PermissionDenied for a folder of a user who is neither root nor the user of this process: that user could replace what is in it.
Status check_owner(const std::string& path);
/// The same for a folder within the state folder, which is no symbolic link.
Status check_part(const std::string& path);
/// Makes such a folder if it is absent, and takes the right to write to it from its group. The errors of check_part().
Status make_state_part(const std::string& path);
/// True if a file of an earlier worker can be used: a regular file of root or of the user of this process. Takes the right to write to it
/// from others.
bool secure_old_file(const std::string& path);
/// True if a file of some size can be written in the folder now. Leaves none there.
Status check_room(const std::string& folder);

}  // namespace rondo::worker
