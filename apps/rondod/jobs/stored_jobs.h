// The JobService of a build with SQLite.
#pragma once

#include <memory>
#include <string>

#include "rondo/jobs/job_store.h"
#include "rondod/jobs/job_service.h"

namespace rondo::daemon {

/// See check_jobs_file().
Status check_stored_jobs(const Config& config);

/// The store in the database of a server. Unimplemented in a build without its client.
Result<std::shared_ptr<jobs::JobStore>> open_job_server(const Config& config);

/// See open_jobs().
Result<std::unique_ptr<JobService>> open_stored_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log,
                                                     Front* front);

}  // namespace rondo::daemon
