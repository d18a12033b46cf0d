// See job_service.h and executor_service.h. CMakeLists.txt defines RONDO_WITH_JOBS and RONDO_WITH_HTTP if this build has the components.
#include "rondod/jobs/executor_service.h"
#include "rondod/jobs/job_service.h"
#ifdef RONDO_WITH_JOBS
#include "rondod/jobs/stored_jobs.h"
#endif
#ifdef RONDO_WITH_HTTP
#include "rondod/jobs/http_executors.h"
#endif

namespace rondo::daemon {

#ifdef RONDO_WITH_JOBS

Status check_job_build() { return {}; }

Status check_jobs_file(const Config& config) { return check_stored_jobs(config); }

Result<std::unique_ptr<JobService>> open_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log) {
  return open_stored_jobs(config, runtime, registry, log);
}

#else

Status check_job_build() {
  return {StatusCode::Unimplemented, "this rondod was built without jobs (missing: libsqlite3-dev or libssl-dev)"};
}

Status check_jobs_file(const Config&) { return check_job_build(); }

Result<std::unique_ptr<JobService>> open_jobs(const Config&, Runtime&, CommandRegistry&, Log&) { return failure(check_job_build()); }

#endif

#ifdef RONDO_WITH_HTTP

Status check_http_build() { return {}; }

Result<std::unique_ptr<ExecutorService>> open_executors(const Config& config, Runtime& runtime, jobs::Jobs& jobs, Log& log) {
  return open_http_executors(config, runtime, jobs, log);
}

#else

Status check_http_build() {
  return {StatusCode::Unimplemented, "this rondod was built without HTTP (missing: libcurl4-openssl-dev, libsqlite3-dev or libssl-dev)"};
}

Result<std::unique_ptr<ExecutorService>> open_executors(const Config&, Runtime&, jobs::Jobs&, Log&) { return failure(check_http_build()); }

#endif

}  // namespace rondo::daemon
