// Admin commands for jobs: jobs, job, job-put, jobs-put, job-start, job-stop, job-remove, job-trigger, job-rerun, job-backfill, job-next,
// job-runs, job-failures, job-schedulers, job-kill, job-stats. With them `rondo call` lists, edits and triggers the jobs of any program,
// such as `rondo --socket S call job-trigger name=backup`.
#pragma once

#include "rondo/jobs/jobs.h"

namespace rondo {
class CommandRegistry;
}

namespace rondo::jobs {

/// Adds the commands. AlreadyExists if one of the names is in use: those before it are then registered. 'jobs' must outlive the server that
/// uses 'registry'. Scheduler thread.
Status add_job_commands(CommandRegistry& registry, Jobs& jobs);

}  // namespace rondo::jobs
