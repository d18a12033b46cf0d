// Who is at the other end of a Unix socket, as the kernel says.
#pragma once

#include "rondo/admin/caller.h"

namespace rondo {

/// The process that connected 'fd'. One system call.
Caller caller_of(int fd);

}  // namespace rondo
