// Where the daemon listens when nobody says so.
#pragma once

#include <string>
#include <vector>

namespace rondo::cli {

/// The places to look, in order: 'given' alone if it is not empty, else $RONDO_SOCKET alone if set, else /run/rondo/rondod.sock and
/// $XDG_RUNTIME_DIR/rondo/rondod.sock.
std::vector<std::string> socket_candidates(const std::string& given);

}  // namespace rondo::cli
