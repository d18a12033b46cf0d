// The JobService of a build with SQLite.
#pragma once

#include <memory>

#include "rondod/jobs/job_service.h"

namespace rondo::daemon {

/// See check_jobs_file().
Status check_stored_jobs(const Config& config);

/// See open_jobs().
Result<std::unique_ptr<JobService>> open_stored_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log,
                                                     Front* front);

}  // namespace rondo::daemon
