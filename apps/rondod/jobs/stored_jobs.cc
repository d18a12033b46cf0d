#include "rondod/jobs/stored_jobs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/private_file.h"
#include "base/unique_fd.h"
#include "commands/answers.h"
#include "job_handlers/handlers.h"
#include "job_handlers/settings.h"
#include "rondo/base/text.h"
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
  /// The process that has the lock; 0: none, or it is unknown. Takes no lock.
  static pid_t owner(const std::string& path) {
    for (const std::string& file : {name_of(path), path}) {
      const UniqueFd open{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
      if (!open) continue;
      if (const pid_t process = lock_owner(open.get()); process != 0) return process;
    }
    return 0;
  }

  /// Locks the name, with an empty file beside the database, and the file itself, which may have other names. What is no regular file, or
  /// cannot be opened, is left to SQLite, whose error says more.
  static Result<JobsLock> take(const std::string& path) {
    const std::string name = name_of(path);
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
  static std::string name_of(const std::string& path) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
    return (error ? path : target.string()) + "-lock";
  }
  static Status take(const UniqueFd& file, const std::string& path) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return {};
    if (errno == EWOULDBLOCK) return {StatusCode::AlreadyExists, "another process runs the jobs of '" + path + "'"};
    return status_from_errno(errno, "locking '" + path + "'");
  }

  UniqueFd name_;
  UniqueFd file_;  // Open as long as the store: to close it ends the locks that SQLite holds.
};

/// " (rondod)"; empty if it is unknown.
std::string name_of_process(pid_t process) {
  std::string name;
  std::getline(std::ifstream{"/proc/" + std::to_string(process) + "/comm"}, name);
  return name.empty() ? name : " (" + visible_text(name) + ")";
}

/// Whether the process has the socket that is bound to 'path'. False if its files cannot be read.
bool listens_at(pid_t process, const std::string& path) {
  // "0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/rondo/rondod.sock"
  std::set<std::string> sockets;
  std::ifstream bound("/proc/net/unix");
  for (std::string line; std::getline(bound, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 7; ++i) words >> word;
    if (std::string place; words >> place && place == path) sockets.insert("socket:[" + word + "]");
  }
  std::error_code error;
  const std::filesystem::path folder = "/proc/" + std::to_string(process) + "/fd";
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (sockets.contains(std::filesystem::read_symlink(at->path(), gone).string())) return true;
  }
  return false;
}

/// Absent workers that `health` names.
constexpr std::size_t kNotes = 10;

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

  void add_health(json::array& troubles, json::array& notes) const override {
    if (const Status health = jobs_.health(); !health.ok()) troubles.push_back(sentence("jobs: " + health.to_string()));
    if (const Status health = workers_.health(); !health.ok()) troubles.push_back(sentence("jobs: " + health.to_string()));
    const std::vector<std::string> awaited = jobs_.awaited_handlers();
    for (std::size_t i = 0; i < std::min(awaited.size(), kNotes); ++i)
      notes.push_back(sentence("jobs: " + jobs_.handler_trouble(awaited[i])));
    if (awaited.size() > kNotes) notes.push_back(sentence("jobs: the same of " + std::to_string(awaited.size() - kNotes) + " more"));
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

Status check_stored_jobs(const Config& config) {
  const pid_t owner = JobsLock::owner(config.jobs.file);
  if (owner != 0 && !listens_at(owner, config.socket)) {
    return {StatusCode::AlreadyExists,
            "another process runs the jobs of '" + config.jobs.file + "': process " + std::to_string(owner) + name_of_process(owner)};
  }
  return jobs::check_sqlite_job_store(config.jobs.file);
}

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
