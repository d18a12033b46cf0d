// See job_service.h. CMakeLists.txt defines RONDO_WITH_JOBS if this build has the component.
#include "rondod/jobs/job_service.h"
#ifdef RONDO_WITH_JOBS
#include "rondod/jobs/stored_jobs.h"
#endif

namespace rondo::daemon {

#ifdef RONDO_WITH_JOBS

Status check_job_build() { return {}; }

Result<std::unique_ptr<JobService>> open_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log) {
  return open_stored_jobs(config, runtime, registry, log);
}

#else

Status check_job_build() { return {StatusCode::Unimplemented, "this rondod was built without jobs (missing: libsqlite3-dev)"}; }

Result<std::unique_ptr<JobService>> open_jobs(const Config&, Runtime&, CommandRegistry&, Log&) { return failure(check_job_build()); }

#endif

}  // namespace rondo::daemon
