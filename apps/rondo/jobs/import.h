// `rondo job import` and `rondo job import-crontab`: adds and edits many jobs, and prints for each what became of it.
#pragma once

#include "arguments/options.h"
#include "backends/backend.h"

namespace rondo::cli {

/// Both return the exit code. The daemon checks all jobs before it stores the first one, and stores related jobs together.
int import_jobs(const Options& options, const JobCall& call, Backend& backend);
int import_crontab(const Options& options, const JobCall& call, Backend& backend);

}  // namespace rondo::cli
