// Unix stream sockets for both ends: an address that fits, and connecting.
#pragma once

#include <sys/un.h>

#include <string>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo {

/// InvalidArgument when 'path' is empty or longer than the kernel's 107 bytes.
Result<sockaddr_un> unix_address(const std::string& path);

/// A connected, close-on-exec stream socket. Unavailable when nobody listens there, NotFound when there is no such file.
Result<UniqueFd> connect_unix(const std::string& path);

}  // namespace rondo
