// The name of a user of this machine, for messages.
#pragma once

#include <cstdint>
#include <string>

namespace rondo {

/// Returns "alice" if /etc/passwd has the user, otherwise "". Queries no directory service, so it does not block.
std::string user_name(std::uint32_t user);

}  // namespace rondo
