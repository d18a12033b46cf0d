// `rondo job log`: the output of a run, which its worker keeps.
#pragma once

#include <cstdint>

#include "arguments/options.h"
#include "backends/backend.h"
#include "commands/command_limits.h"

namespace rondo::cli {

/// Prints the log of a run; with 'follow' until the run has ended, without it at most 'bytes_max' bytes.
int print_log(const Options& options, Backend& backend, std::int64_t run, bool follow, std::uint64_t bytes_max = limits::kLogBytes);

}  // namespace rondo::cli
