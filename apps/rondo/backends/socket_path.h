// The default sockets of the daemon.
#pragma once

#include <string>
#include <vector>

namespace rondo::cli {

/// Returns the sockets to try, in order: 'given' alone if it is not empty, otherwise $RONDO_SOCKET alone if set, otherwise
/// /run/rondo/rondod.sock and $XDG_RUNTIME_DIR/rondo/rondod.sock.
std::vector<std::string> socket_candidates(const std::string& given);

}  // namespace rondo::cli
