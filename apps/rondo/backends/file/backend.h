// The file of a durable store as a backend: --store file:///PATH. Reads the file while no daemon has it open; writes nothing.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace rondo::cli {

/// Opens options.store.
Result<std::unique_ptr<Backend>> open_file(const Options& options);

}  // namespace rondo::cli
