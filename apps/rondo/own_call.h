// rondo call: the arguments of a command that only the daemon knows, checked and typed by what its `commands` says of them.
#pragma once

#include <boost/json.hpp>

#include "backend.h"
#include "options.h"
#include "rondo/base/result.h"

namespace rondo::cli {

/// The arguments as the daemon wants them. NotFound for an unknown command and InvalidArgument for an unknown, missing or malformed
/// argument, each with what may have been meant; or the error of asking.
Result<boost::json::object> own_arguments(Backend& backend, const OwnCall& asked);

}  // namespace rondo::cli
