// Names of users and groups of this machine.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/base/result.h"

namespace rondo::daemon {

/// The group of this name, or of this number. NotFound if the system has none of this name. May ask a directory service, so it may wait:
/// not for turns.
Result<std::uint32_t> group_named(const std::string& name);

/// "alice" if /etc/passwd has the user, else "". Asks no directory service, so it does not wait.
std::string user_name(std::uint32_t user);

}  // namespace rondo::daemon
