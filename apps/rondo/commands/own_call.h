// rondo call: the arguments of a command that only the daemon knows, checked and typed according to its `commands`.
#pragma once

#include <boost/json.hpp>

#include "arguments/options.h"
#include "backends/backend.h"
#include "rondo/base/result.h"

namespace rondo::cli {

/// Returns the arguments in the daemon's types. NotFound for an unknown command, and InvalidArgument for an unknown, missing or malformed
/// argument, each with a suggestion; or the error of the call.
Result<boost::json::object> own_arguments(Backend& backend, const OwnCall& asked);

}  // namespace rondo::cli
