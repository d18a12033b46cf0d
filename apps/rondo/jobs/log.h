// `rondo job log`: the output of a run, which its worker keeps.
#pragma once

#include <cstdint>

#include "arguments/options.h"
#include "backends/backend.h"

namespace rondo::cli {

/// Prints the log of a run; with 'follow' until the run has ended.
int print_log(const Options& options, Backend& backend, std::int64_t run, bool follow);

}  // namespace rondo::cli
