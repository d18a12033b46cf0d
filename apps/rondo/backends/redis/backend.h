// A Redis as a backend: --store URL, or --store with the name of a database of SONiC's.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace rondo::cli {

/// Opens options.store. Connects to the server; Unavailable if it does not answer.
Result<std::unique_ptr<Backend>> open_redis(const Options& options);

}  // namespace rondo::cli
