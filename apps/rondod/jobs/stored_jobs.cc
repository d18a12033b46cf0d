#include "rondod/jobs/stored_jobs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
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

/// The lock of a database for this process: two schedulers on one database would both fire its runs. SQLite's own locks belong to its
/// connections.
class JobsLock {
 public:
  /// Locks the name, with an empty file beside the database, and the file itself, which may have other names. What is no regular file, or
  /// cannot be opened, is left to SQLite, whose error says more.
  static Result<JobsLock> take(const std::string& path) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
    const std::string name = (error ? path : target.string()) + "-lock";
    JobsLock lock{UniqueFd{::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)}, {}};
    if (lock.name_.get() < 0) return failure(status_from_errno(errno, "opening '" + name + "'"));
    if (Status locked = take(lock.name_, path); !locked.ok()) return failure(std::move(locked));
    lock.file_ = UniqueFd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR)};
    struct stat about {};
    if (lock.file_.get() < 0 || ::fstat(lock.file_.get(), &about) != 0 || !S_ISREG(about.st_mode)) return lock;
    if (Status locked = take(lock.file_, path); !locked.ok()) return failure(std::move(locked));
    return lock;
  }

 private:
  JobsLock(UniqueFd name, UniqueFd file) : name_(std::move(name)), file_(std::move(file)) {}
  static Status take(const UniqueFd& file, const std::string& path) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return {};
    if (errno == EWOULDBLOCK) return {StatusCode::AlreadyExists, "another process runs the jobs of '" + path + "'"};
    return status_from_errno(errno, "locking '" + path + "'");
  }

  UniqueFd name_;
  UniqueFd file_;  // Open as long as the store: to close it ends the locks that SQLite holds.
};

jobs::JobsOptions options_of(const JobSettings& settings) {
  return {.window = std::chrono::milliseconds{settings.window_ms},
          .grace = std::chrono::milliseconds{settings.grace_ms},
          .cycle = std::chrono::milliseconds{settings.cycle_ms},
          .fast = {.threads = settings.fast_threads, .runs_max = settings.fast_runs},
          .slow = {.threads = settings.slow_threads, .runs_max = settings.slow_runs},
          .slow_run = std::chrono::milliseconds{settings.slow_run_ms},
          .slow_runs = settings.slow_runs_per_minute,
          .kept = settings.kept_days * 24 * 3600s,
          .kept_runs = settings.kept_runs};
}

class StoredJobs final : public JobService {
 public:
  StoredJobs(JobsLock lock, std::unique_ptr<jobs::JobStore> store, const Config& config, Runtime& runtime, Log& log)
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
    if (const Status health = workers_.health(); !health.ok()) troubles.push_back(sentence("jobs: " + health.to_string()));
  }

 private:
  JobsLock lock_;  // Ends after the store.
  std::string file_;
  Log& log_;
  jobs::Jobs jobs_;
  jobs::Workers workers_;
  Status trouble_;  // Already logged.
};

}  // namespace

Result<std::unique_ptr<JobService>> open_stored_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log) {
  auto locked = JobsLock::take(config.jobs.file);
  if (!locked) return failure(locked.error());
  auto store = jobs::make_sqlite_job_store(config.jobs.file, config.jobs.sync ? jobs::Durability::Full : jobs::Durability::Normal);
  if (!store) return failure(store.error());
  auto service = std::make_unique<StoredJobs>(std::move(*locked), std::move(*store), config, runtime, log);
  if (Status added = service->add_commands(registry); !added.ok()) return failure(std::move(added));
  return service;
}

}  // namespace rondo::daemon
