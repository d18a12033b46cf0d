// Unix stream sockets for both ends: addresses and connecting.
#pragma once

#include <sys/un.h>

#include <string>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo {

/// InvalidArgument when 'path' is empty or longer than the kernel's 107 bytes.
Result<sockaddr_un> unix_address(const std::string& path);

/// Returns a connected, close-on-exec stream socket. Unavailable when no process listens there, NotFound when there is no such file.
Result<UniqueFd> connect_unix(const std::string& path);

}  // namespace rondo
