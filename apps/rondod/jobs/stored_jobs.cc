#include "rondod/jobs/stored_jobs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <cerrno>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "commands/answers.h"
#include "job_handlers/handlers.h"
#include "job_handlers/settings.h"
#include "rondo/job_commands/job_commands.h"
#include "rondo/jobs/jobs.h"
#include "rondo/workers/workers.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::sentence;

/// Locks the database's name for this process: two schedulers on one database would both fire its runs. The lock is an empty file beside
/// the database, because SQLite's own locks belong to its connections.
Result<UniqueFd> lock(const std::string& path) {
  const std::string name = path + "-lock";
  UniqueFd file{::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (file.get() < 0) return failure(status_from_errno(errno, "opening '" + name + "'"));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK) return failure(StatusCode::AlreadyExists, "another process runs the jobs of '" + path + "'");
  return failure(status_from_errno(errno, "locking '" + name + "'"));
}

jobs::JobsOptions options_of(const JobSettings& settings) {
  return {.window = std::chrono::milliseconds{settings.window_ms},
          .grace = std::chrono::milliseconds{settings.grace_ms},
          .cycle = std::chrono::milliseconds{settings.cycle_ms},
          .fast = {.threads = settings.fast_threads, .runs_max = settings.fast_runs},
          .slow = {.threads = settings.slow_threads, .runs_max = settings.slow_runs},
          .slow_run = std::chrono::milliseconds{settings.slow_run_ms},
          .slow_runs = settings.slow_runs_per_minute,
          .kept = settings.kept_days * 24 * 3600s};
}

class StoredJobs final : public JobService {
 public:
  StoredJobs(UniqueFd lock, std::unique_ptr<jobs::JobStore> store, const Config& config, Runtime& runtime, Log& log)
      : lock_(std::move(lock)),
        file_(config.jobs.file),
        log_(log),
        jobs_(runtime, std::move(store), options_of(config.jobs)),
        workers_(runtime, jobs_) {
    add_handlers(jobs_, runtime, log);
    if (config.plane != PlaneKind::None) offer_switch_facts(jobs_);
    note_settings(runtime, options_of(config.jobs));
  }

  Status add_commands(CommandRegistry& registry) {
    const Status added = jobs::add_job_commands(registry, jobs_);
    return added.ok() ? workers_.add_commands(registry) : added;
  }
  void start() override { jobs_.start(); }

  void poll() override {
    const Status health = jobs_.health();
    if (health.message() == trouble_.message()) return;
    trouble_ = health;
    if (health.ok()) {
      log_.info("jobs are planned and stored again", {{"file", file_}});
    } else {
      log_.error("jobs have trouble, going on", {{"file", file_}, {"why", health}});
    }
  }

  void add_stats(json::object& stats) const override {
    const jobs::JobsStats& figures = jobs_.stats();
    stats["jobs"] = json::object{{"planned", figures.planned},
                                 {"fired", figures.fired},
                                 {"attempts", figures.attempts},
                                 {"succeeded", figures.succeeded},
                                 {"failed", figures.failed},
                                 {"retried", figures.retried},
                                 {"not_run", figures.not_run},
                                 {"recovered", figures.recovered},
                                 {"pending", figures.pending},
                                 {"running", figures.running},
                                 {"late_p50_us", figures.lateness_ns.quantile(0.5) / 1000},
                                 {"late_p99_us", figures.lateness_ns.quantile(0.99) / 1000},
                                 {"late_max_us", figures.lateness_ns.max() / 1000}};
  }

  void add_health(json::array& troubles) const override {
    if (const Status health = jobs_.health(); !health.ok()) troubles.push_back(sentence("jobs: " + health.to_string()));
  }

 private:
  UniqueFd lock_;
  std::string file_;
  Log& log_;
  jobs::Jobs jobs_;
  jobs::Workers workers_;
  Status trouble_;  // Already logged.
};

}  // namespace

Result<std::unique_ptr<JobService>> open_stored_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log) {
  auto locked = lock(config.jobs.file);
  if (!locked) return failure(locked.error());
  auto store = jobs::make_sqlite_job_store(config.jobs.file, config.jobs.sync ? jobs::Durability::Full : jobs::Durability::Normal);
  if (!store) return failure(store.error());
  auto service = std::make_unique<StoredJobs>(std::move(*locked), std::move(*store), config, runtime, log);
  if (Status added = service->add_commands(registry); !added.ok()) return failure(std::move(added));
  return service;
}

}  // namespace rondo::daemon
