// See job_service.h and executor_service.h. CMakeLists.txt defines RONDO_WITH_JOBS and RONDO_WITH_HTTP if this build has the components.
#include <unistd.h>

#include <array>
#include <string>

#include "rondod/jobs/executor_service.h"
#include "rondod/jobs/job_service.h"
#include "rondod/notify/sender.h"
#ifdef RONDO_WITH_JOBS
#include "rondod/jobs/stored_jobs.h"
#endif
#ifdef RONDO_WITH_POSTGRESQL
#include "rondo/jobs/postgresql.h"
#endif
#ifdef RONDO_WITH_MARIADB
#include "rondo/jobs/mariadb.h"
#endif
#ifdef RONDO_WITH_HTTP
#include "rondod/jobs/http_executors.h"
#include "rondod/notify/http_sender.h"
#endif

namespace rondo::daemon {

#ifdef RONDO_WITH_JOBS

Status check_job_build() { return {}; }

Status check_jobs_file(const Config& config) { return check_stored_jobs(config); }

Result<std::unique_ptr<JobService>> open_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log, Front* front) {
  return open_stored_jobs(config, runtime, registry, log, front);
}

#else

Status check_job_build() {
  return {StatusCode::Unimplemented, "this rondod was built without jobs (missing: libsqlite3-dev or libssl-dev)"};
}

Status check_jobs_file(const Config&) { return check_job_build(); }

Result<std::unique_ptr<JobService>> open_jobs(const Config&, Runtime&, CommandRegistry&, Log&, Front*) {
  return failure(check_job_build());
}

#endif

Status check_job_server_build(const std::string& url) {
#ifndef RONDO_WITH_POSTGRESQL
  if (url.starts_with("postgresql:")) return {StatusCode::Unimplemented, "this rondod was built without PostgreSQL (missing: libpq-dev)"};
#endif
#ifndef RONDO_WITH_MARIADB
  if (url.starts_with("mariadb:")) return {StatusCode::Unimplemented, "this rondod was built without MariaDB (missing: libmariadb-dev)"};
#endif
  static_cast<void>(url);
  return {};
}

#ifdef RONDO_WITH_JOBS
namespace {

/// Where [http] listens, with the name of the host for all its addresses. Empty without HTTP.
std::string reached_at(const Config& config) {
  if (!config.http.enabled) return {};
  std::string host = config.http.address;
  if (std::array<char, 256> name{}; (host == "0.0.0.0" || host == "::") && ::gethostname(name.data(), name.size() - 1) == 0)
    host = name.data();
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return (config.http.certificate.empty() ? "http://" : "https://") + host + ":" + std::to_string(config.http.port);
}

}  // namespace

Result<std::shared_ptr<jobs::JobStore>> open_job_server(const Config& config) {
  const std::string& url = config.jobs.store;
#ifdef RONDO_WITH_POSTGRESQL
  if (url.starts_with("postgresql:")) return jobs::make_postgresql_job_store(url, reached_at(config));
#endif
#ifdef RONDO_WITH_MARIADB
  if (url.starts_with("mariadb:")) return jobs::make_mariadb_job_store(url, reached_at(config));
#endif
  return failure(check_job_server_build(url));
}
#endif

#ifdef RONDO_WITH_HTTP

Status check_executor_groups(const Config& config) { return check_http_executors(config); }

/// Each Front of such a build is an HttpFront.
Result<std::unique_ptr<ExecutorService>> open_executors(const Config& config, Runtime& runtime, jobs::Jobs& jobs, Log& log, Front& front) {
  return open_http_executors(config, runtime, jobs, log, static_cast<HttpFront&>(front));
}

Result<std::unique_ptr<NoticeSender>> open_notice_sender(Runtime& runtime) { return open_http_sender(runtime); }

#else

Status check_executor_groups(const Config&) { return {}; }  // check_http_build() has the reason.

Result<std::unique_ptr<ExecutorService>> open_executors(const Config&, Runtime&, jobs::Jobs&, Log&, Front&) {
  return failure(check_http_build());
}

Result<std::unique_ptr<NoticeSender>> open_notice_sender(Runtime&) { return failure(check_http_build()); }

#endif

}  // namespace rondo::daemon
