// The description of the API for programs: OpenAPI 3.1.
#pragma once

#include <string>

#include "rondo/admin/command.h"

namespace rondo::api {

/// One path for each command of 'registry', with the types of its arguments. JSON text. O(commands).
std::string openapi_of(const CommandRegistry& registry, const std::string& version);

}  // namespace rondo::api
