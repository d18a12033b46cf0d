// `rondo job forecast`: what the jobs of a daemon will do, computed here from their definitions.
#pragma once

#include "arguments/options.h"
#include "backends/backend.h"

namespace rondo::cli {

int print_forecast(const Options& options, const JobCall& call, Backend& backend);

}  // namespace rondo::cli
