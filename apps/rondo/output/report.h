// Errors on standard error, as text or, with --json, as docs/schema/error.json.
#pragma once

#include <string>

#include "arguments/options.h"
#include "rondo/base/status.h"

namespace rondo::cli {

/// The error as JSON, on one line without its end.
std::string error_json(const Status& why);

/// Prints 'why' on standard error. Returns 'code' if given, otherwise the exit code of 'why'.
int report(const Options& options, const Status& why, int code = -1);

}  // namespace rondo::cli
