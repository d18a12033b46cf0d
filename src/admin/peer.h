// Who is at the other end of a Unix socket, as the kernel says.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "rondo/admin/caller.h"
#include "rondo/base/status.h"

namespace rondo {

/// The process that connected 'fd', with all rights. One system call.
Caller caller_of(int fd);

/// What 'caller', who connected 'fd', may do where members of 'read_group' may read: everything if privileged or a member of
/// 'write_group', else as a member of 'read_group' or not. One or two system calls.
Caller::Rights rights_of(int fd, const Caller& caller, gid_t write_group, gid_t read_group);

/// "'what' writes, and user 1000 may only read", PermissionDenied.
Status may_only_read(std::string_view what, const Caller& caller);

}  // namespace rondo
