// The process at the other end of a Unix socket, according to the kernel.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "rondo/admin/caller.h"
#include "rondo/base/status.h"

namespace rondo {

/// Returns the process that connected 'fd', with all rights. One system call.
Caller caller_of(int fd);

/// True if the process is ending or has ended: it was killed, and the kernel takes its memory and files back. False if it is unknown.
bool is_ending(const Caller& caller);

enum class Rights { None, Read, Write };

/// Returns the rights of 'caller', which connected 'fd', when members of 'read_group' may read. A privileged caller or a member of
/// 'write_group' has all rights; other callers have the rights of a member of 'read_group' or of a non-member. One or two system calls.
Rights rights_of(int fd, const Caller& caller, gid_t write_group, gid_t read_group);

/// "viewer", "worker", "operator", "admin".
std::string_view to_string(Role role) noexcept;

/// "user 1000", or "token 'ci'".
std::string name_of(const Caller& caller);

/// Returns PermissionDenied: "'what' writes, and user 1000 may only read", or "'what' is not for token 'ci' with the role worker".
Status may_not_call(std::string_view what, const Caller& caller);

/// Returns PermissionDenied: "'what' is not for token 'ci', which has the group 'billing' alone".
Status not_of_group(std::string_view what, const Caller& caller);

}  // namespace rondo
