// The numbers of users and groups of this machine. Their names: base/user_name.h.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/base/result.h"

namespace rondo::daemon {

/// Returns the group with this name or number. NotFound if the system has no such group. May query a directory service and therefore
/// block: not for turns.
Result<std::uint32_t> group_named(const std::string& name);

/// Returns the user with this name or number. NotFound if the system has no such user. May block, as group_named().
Result<std::uint32_t> user_named(const std::string& name);

}  // namespace rondo::daemon
