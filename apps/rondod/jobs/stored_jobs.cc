#include "rondod/jobs/stored_jobs.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "job_handlers/handlers.h"
#include "job_handlers/settings.h"
#include "jobs/for_caller.h"
#include "jobs/job_store.h"
#include "jobs/jobs_view.h"
#include "jobs/sqlite/doctor.h"
#include "jobs/workers/options.h"
#include "rondo/base/text.h"
#include "rondo/jobs/commands.h"
#include "rondo/jobs/jobs.h"
#include "rondo/jobs/workers.h"
#include "rondod/jobs/executor_service.h"
#include "rondod/jobs/failing_jobs.h"
#include "rondod/notify/notifier.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::sentence;

/// " (rondod)"; empty if it is unknown.
std::string name_of_process(pid_t process) {
  std::string name;
  std::getline(std::ifstream{"/proc/" + std::to_string(process) + "/comm"}, name);
  return name.empty() ? name : " (" + visible_text(name) + ")";
}

/// True if the process has the socket that is bound to 'path'. False if its files cannot be read.
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
/// Runs that have waited for a worker for this time are a trouble, and not a note.
constexpr Duration kWorkerPatience = 60s;
/// A greater difference between the clocks of this machine and the database is worth a note.
constexpr Duration kClockOffset = 500ms;
/// After this time the workers of an earlier process would have connected.
constexpr Duration kConnectPatience = 15s;

std::int64_t age_ms(std::optional<WallTime> since, WallTime now) { return since && *since < now ? (now - *since) / 1ms : 0; }

json::object bands_json(const jobs::JobsStats& figures) {
  json::object bands;
  for (std::size_t i = 0; i < figures.of_band.size(); ++i) {
    const auto& [succeeded, failed, killed, not_run] = figures.of_band.at(i);
    bands[to_string(static_cast<jobs::Band>(i))] =
        json::object{{"succeeded", succeeded}, {"failed", failed}, {"killed", killed}, {"not_run", not_run}};
  }
  return bands;
}

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
  StoredJobs(std::shared_ptr<jobs::JobStore> store, const Config& config, Runtime& runtime, Log& log)
      : place_(config.jobs.store),
        clock_(runtime.clock()),
        log_(log),
        store_(store),
        jobs_(runtime, std::move(store), options_of(config.jobs)),
        workers_(runtime, jobs_, worker_options(config.executors)) {
    jobs_.on_end([this](const jobs::JobRun& run) {
      failing_.ended(run);
      if (notifier_ != nullptr) notifier_->ended(run);
      if (is_requested(run.band) && !obstructed_.empty()) read_edits_.reset();  // A stopped job may have succeeded.
      if (run.state != jobs::RunState::Failed && run.state != jobs::RunState::TimedOut) return;
      log_.warn("a run of a job failed", {{"job", run.job}, {"run", run.id}, {"state", to_string(run.state)}, {"why", run.note}});
    });
    add_handlers(jobs_, runtime, log);
    if (config.plane != PlaneKind::None) offer_switch_facts(jobs_);
    note_settings(runtime, options_of(config.jobs));
  }

  jobs::WorkersOptions worker_options(const ExecutorsChoice& executors) {
    jobs::WorkersOptions options;
    if (executors.groups.empty()) return options;
    options.log_elsewhere = [this](const jobs::JobRun& run, std::int64_t from, bool wait, const std::string& place, const Reply& reply) {
      return executors_ != nullptr && executors_->read_log(run, from, wait, place, reply);
    };
    return options;
  }
  /// If the configuration has groups of executors, which needs [http].
  Status open_executors(const Config& config, Runtime& runtime, Front* front) {
    if (config.executors.groups.empty() || front == nullptr) return {};
    auto opened = daemon::open_executors(config, runtime, jobs_, log_, *front);
    if (!opened) return opened.error();
    executors_ = *std::move(opened);
    return {};
  }
  Status open_notifier(const Config& config, Runtime& runtime) {
    auto opened = Notifier::open(config.notify, runtime, jobs_, log_);
    if (!opened) return opened.error();
    notifier_ = *std::move(opened);
    return {};
  }
  Status add_commands(CommandRegistry& registry) {
    Status added = jobs::add_job_commands(registry, jobs_);
    if (added.ok()) added = workers_.add_commands(registry);
    if (added.ok()) added = notifier_->add_commands(registry);
    return added.ok() && executors_ != nullptr ? executors_->add_commands(registry) : added;
  }
  void start() override { jobs_.start(); }

  void poll() override {
    // What a standby read would be out of date when it takes the jobs over.
    if (store_->may_begin(clock_.now())) {
      check_failing();
      read_jobs();
    }
    notifier_->poll();
    const Status health = jobs_.health();
    if (is_standby(health)) {
      if (!std::exchange(stands_by_, true)) log_.info("standby: another scheduler runs the jobs", {{"store", place_}, {"why", health}});
      return;
    }
    if (health.ok() && std::exchange(stands_by_, false)) {
      ++takeovers_;
      log_.info("running the jobs", {{"store", place_}});
    }
    if (health.message() == trouble_.message()) return;
    trouble_ = health;
    if (health.ok()) {
      log_.info("jobs are planned and stored again", {{"store", place_}});
    } else {
      log_.error("jobs have trouble, continuing", {{"store", place_}, {"why", health}});
    }
  }

  bool is_taken_over() const noexcept override { return store_->is_taken_over(); }
  Status health() const override {
    const Status health = jobs_.health();
    return is_standby(health) ? Status{} : health;
  }

  void add_stats(json::object& stats) const override {
    const jobs::JobsStats& figures = jobs_.stats();
    stats["jobs"] = json::object{{"planned", figures.planned},
                                 {"fired", figures.fired},
                                 {"attempts", figures.attempts},
                                 {"succeeded", figures.succeeded},
                                 {"failed", figures.failed},
                                 {"killed", figures.killed},
                                 {"retried", figures.retried},
                                 {"not_run", figures.not_run},
                                 {"recovered", figures.recovered},
                                 {"pending", figures.pending},
                                 {"running", figures.running},
                                 {"waiting", figures.pending - std::min(figures.pending, figures.running)},
                                 {"oldest_due_ms", age_ms(figures.oldest_due, clock_.wall_now())},
                                 {"bands", bands_json(figures)},
                                 {"refused_of_workers", workers_.stats().refused},
                                 {"late_p50_us", figures.lateness_ns.quantile(0.5) / 1000},
                                 {"late_p99_us", figures.lateness_ns.quantile(0.99) / 1000},
                                 {"late_max_us", figures.lateness_ns.max() / 1000},
                                 {"late_histogram", commands::histogram_json(figures.lateness_ns)},
                                 {"run_histogram", commands::histogram_json(figures.run_ns)},
                                 {"misfired", figures.misfired},
                                 {"misfire_skipped", figures.misfire_skipped},
                                 {"commit_histogram", commands::histogram_json(jobs::JobsView(jobs_).commits())},
                                 {"started", started_},
                                 {"stopped", stopped_},
                                 {"clock_offset_ms", store_->clock_difference() / 1ms},
                                 {"shards", jobs::JobsView(jobs_).owns_shards() ? jobs::kShards : 0},
                                 {"takeovers", takeovers_},
                                 {"store_ok", health().ok()}};
    if (executors_ != nullptr) executors_->add_stats(stats);
    notifier_->add_stats(stats);
  }

  void add_health(json::array& troubles, json::array& notes) const override {
    if (const Status health = jobs_.health(); !health.ok()) {
      json::array& to = is_standby(health) ? notes : troubles;
      to.push_back(sentence("jobs: " + (is_standby(health) ? "standby: " + std::string{health.message()} : health.to_string())));
    }
    if (const Duration off = store_->clock_difference(); std::chrono::abs(off) > kClockOffset) {
      notes.push_back(sentence("jobs: the clock of the database is " + std::to_string(std::chrono::abs(off) / 1ms) + " ms " +
                               (off < Duration{0} ? "behind" : "ahead of") + " that of this machine: correct the clocks"));
    }
    if (const Status health = workers_.health(); !health.ok()) troubles.push_back(sentence("jobs: " + health.to_string()));
    if (const Status health = executors_ == nullptr ? Status{} : executors_->health(); !health.ok())
      troubles.push_back(sentence("jobs: " + health.to_string()));
    if (const std::string refusal = executors_ == nullptr ? std::string{} : executors_->refusal(); !refusal.empty())
      notes.push_back(sentence("jobs: " + refusal));
    const std::vector<std::string> awaited = jobs::JobsView(jobs_).awaited_handlers();
    const std::vector<std::string> late =
        jobs::JobsView(jobs_).awaited_handlers(kWorkerPatience, kConnectPatience);  // A part of 'awaited', in the same order.
    for (std::size_t i = 0; i < std::min(awaited.size(), kNotes); ++i) {
      json::array& to = std::ranges::binary_search(late, awaited[i]) ? troubles : notes;
      to.push_back(sentence("jobs: " + jobs::JobsView(jobs_).handler_trouble(awaited[i])));
    }
    for (const std::string& words : failing_.words()) notes.push_back(sentence("jobs: " + words));
    if (!obstructed_.empty()) {
      const auto& [name, why] = *obstructed_.begin();
      notes.push_back(sentence("jobs: job '" + name + "' is started and does not run: " + why + more_than_one(obstructed_.size())));
    }
    if (awaited.size() > kNotes) notes.push_back(sentence("jobs: the same of " + std::to_string(awaited.size() - kNotes) + " more"));
  }

 private:
  /// Only the claim fails so, and it is tried again until it succeeds.
  static bool is_standby(const Status& health) { return health.code() == StatusCode::AlreadyExists; }

  /// A failing job that was stopped or removed is no failing job any more. One job in each call, so that the store is not read much.
  void check_failing() {
    const std::string name = failing_.next();
    if (name.empty()) return;
    jobs::ForCaller(jobs_)->find(name, [this, name](const Result<jobs::StoredJob>& found) {
      if (found ? !found->is_running : found.error().code() == StatusCode::NotFound) failing_.forget(name);
    });
  }

  /// " (the same of 2 more)"
  static std::string more_than_one(std::size_t count) {
    return count > 1 ? " (the same of " + std::to_string(count - 1) + " more)" : std::string{};
  }

  /// Reads the jobs, a page in each call until all are read, and again after edits: those that are started and do not run, and at the
  /// first time the last runs of jobs that earlier processes ran.
  void read_jobs() {
    constexpr std::size_t kJobs = 64;
    constexpr std::size_t kRuns = 20;
    if (is_reading_ || (read_to_.empty() && std::exchange(read_edits_, jobs_.stats().edits) == jobs_.stats().edits)) return;
    is_reading_ = true;
    if (read_to_.empty()) {
      found_obstructed_.clear();
      found_started_ = found_stopped_ = 0;
    }
    jobs::ForCaller(jobs_)->list(read_to_, kJobs, [this](const Result<std::vector<jobs::StoredJob>>& page) {
      is_reading_ = false;
      if (!page) return;
      const bool is_last = jobs::Jobs::is_last_page(*page, kJobs);
      for (const jobs::StoredJob& stored : *page) {
        const std::string& name = read_to_ = stored.job.name;
        ++(stored.is_running ? found_started_ : found_stopped_);
        if (!stored.is_running) continue;
        if (!stored.obstacle.empty() && found_obstructed_.size() < limits::kFailingJobs) found_obstructed_.emplace(name, stored.obstacle);
        if (has_read_runs_) continue;
        jobs::ForCaller(jobs_)->runs(name, std::numeric_limits<std::int64_t>::max(), kRuns,
                                     [this, name](const Result<std::vector<jobs::JobRun>>& runs) {
                                       if (!runs) return;
                                       failing_.stored(name, *runs);
                                       notifier_->stored(name, *runs);
                                     });
      }
      if (!is_last) return;
      read_to_.clear();
      has_read_runs_ = true;
      obstructed_ = std::move(found_obstructed_);
      started_ = found_started_;
      stopped_ = found_stopped_;
    });
  }

  std::string place_;
  const Clock& clock_;
  Log& log_;
  std::shared_ptr<jobs::JobStore> store_;
  FailingJobs failing_;
  std::string read_to_;  // The last job that was read; empty: the next one is the first.
  bool stands_by_ = false;
  std::uint64_t takeovers_ = 0;  // Ends of its standby.
  bool is_reading_ = false;
  bool has_read_runs_ = false;
  std::optional<std::uint64_t> read_edits_;              // JobsStats::edits when the reading began.
  std::map<std::string, std::string> obstructed_;        // StoredJob::obstacle of started jobs.
  std::map<std::string, std::string> found_obstructed_;  // Found on the pages so far, as the next ones.
  std::size_t found_started_ = 0;
  std::size_t found_stopped_ = 0;
  std::size_t started_ = 0;  // Jobs at the last reading.
  std::size_t stopped_ = 0;
  jobs::Jobs jobs_;
  jobs::Workers workers_;
  std::unique_ptr<ExecutorService> executors_;  // Null without groups of executors.
  std::unique_ptr<Notifier> notifier_;          // Set before the start.
  Status trouble_;                              // Already logged.
};

}  // namespace

Status check_stored_jobs(const Config& config) {
  const pid_t owner = jobs::owner_of_sqlite_job_store(config.jobs.store);
  if (owner != 0 && !listens_at(owner, config.socket)) {
    return {StatusCode::AlreadyExists,
            "another process runs the jobs of '" + config.jobs.store + "': process " + std::to_string(owner) + name_of_process(owner)};
  }
  return jobs::check_sqlite_job_store(config.jobs.store);
}

namespace {

/// Opens the file and claims its jobs. Only the jobs of a server are claimed later: Jobs::start() tries until it succeeds.
Result<std::shared_ptr<jobs::JobStore>> open_file(const JobSettings& settings, Log& log) {
  if (jobs::owner_of_sqlite_job_store(settings.store) != 0)
    return failure(StatusCode::AlreadyExists, "another process runs the jobs of '" + settings.store + "'");
  std::error_code unknown;
  const bool is_new = !std::filesystem::exists(settings.store, unknown) || std::filesystem::file_size(settings.store, unknown) == 0;
  auto store = jobs::make_sqlite_job_store(settings.store, settings.sync ? jobs::Durability::Full : jobs::Durability::Normal);
  if (!store) return store;
  if (is_new) {  // A mistake in the path of a database with jobs looks like this.
    const std::filesystem::path file = std::filesystem::absolute(settings.store, unknown);
    log.info("created an empty job database", {{"file", file.string()}, {"version", jobs::sqlite_job_store_version()}});
  }
  if (Status claimed = (*store)->claim(); !claimed.ok()) return failure(std::move(claimed));
  return store;
}

}  // namespace

Result<std::unique_ptr<JobService>> open_stored_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log,
                                                     Front* front) {
  auto store = config.jobs.is_at_server() ? open_job_server(config) : open_file(config.jobs, log);
  if (!store) return failure(store.error());
  auto service = std::make_unique<StoredJobs>(std::move(*store), config, runtime, log);
  if (Status refused = service->open_executors(config, runtime, front); !refused.ok()) return failure(std::move(refused));
  if (Status refused = service->open_notifier(config, runtime); !refused.ok()) return failure(std::move(refused));
  if (Status added = service->add_commands(registry); !added.ok()) return failure(std::move(added));
  return service;
}

}  // namespace rondo::daemon
