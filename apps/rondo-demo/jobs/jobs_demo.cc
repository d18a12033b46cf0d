#include "rondo-demo/jobs/jobs_demo.h"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "manual/command_words.h"
#include "rondo-demo/jobs/executors_load.h"
#include "rondo-demo/jobs/jobs_report.h"
#include "rondo-demo/testbed/console.h"
#include "rondo-demo/testbed/daemon_process.h"
#include "rondo-demo/testbed/database_process.h"
#include "rondo/base/clock.h"
#include "rondo/calendar/rfc3339.h"
#ifdef RONDO_WITH_MARIADB
#include "rondo/jobs/mariadb.h"
#endif
#ifdef RONDO_WITH_POSTGRESQL
#include "rondo/jobs/postgresql.h"
#endif

namespace rondo::demo {
namespace {

namespace json = boost::json;

struct JobsOptions {
  std::size_t burst = 10'000;
  std::uint64_t rate = 1000;
  unsigned seconds = 10;
  std::size_t executors = 0;             // 0: the runs are carried out in rondod.
  std::optional<DatabaseKind> database;  // None: the jobs are in a file.
  unsigned stop = 10;                    // Seconds for which an owner is stopped.
  bool exit = false;
  std::string json_path;
  std::string rondod;
};

/// The period of each job that contributes to the steady rate.
constexpr Duration kPeriod = 100ms;
constexpr std::uint64_t kRunsASecond = 1s / kPeriod;
/// On one database server.
constexpr std::size_t kSchedulers = 3;
/// The lease of the owner, and the time until a standby tries the next time.
constexpr std::chrono::seconds kHandover{8};
/// Between the burst and the steady rate.
constexpr Duration kPause = 3s;
constexpr std::size_t kAddedTogether = 100;
/// More than adding a job takes, on a slow machine: to a file, and to a server.
constexpr Duration kAddTime = 1500us;
constexpr Duration kAddTimeAtServer = 4ms;

class JobsDemo {
 public:
  explicit JobsDemo(JobsOptions options) : options_(std::move(options)) {}

  Status run() {
    for (const auto step : {&JobsDemo::start, &JobsDemo::connect, &JobsDemo::start_executors, &JobsDemo::plan, &JobsDemo::add_jobs,
                            &JobsDemo::disturb_executors, &JobsDemo::kill_in_the_middle, &JobsDemo::stop_an_owner, &JobsDemo::wait_for_end,
                            &JobsDemo::read}) {
      if (Status status = (this->*step)(); !status.ok()) return status;
    }
    return report_.is_right() ? Status{} : Status{StatusCode::DataLoss, "not each due run exists exactly once with success"};
  }
  const JobsReport& report() const noexcept { return report_; }

 private:
  Status start() {
    if (options_.database) return start_schedulers();
    if (options_.executors == 0) console_.emplace();
    auto daemon = DaemonProcess::start({.program = options_.rondod,
                                        .only_jobs = true,
                                        .executors = options_.executors > 0,
                                        .console = console_ ? console_->socket() : -1});
    if (!daemon) return daemon.error();
    daemon_ = std::move(*daemon);
    const auto client = daemon_->connect();
    if (!client) return client.error();
    return console_ ? console_->open(**client) : Status{};
  }

  /// Several rondods on one database, of which one runs the jobs.
  Status start_schedulers() {
    auto server = DatabaseProcess::start(*options_.database);
    if (!server) return server.error();
    server_ = std::move(*server);
    for (std::size_t i = 0; i < kSchedulers; ++i) {
      auto daemon = DaemonProcess::start({.program = options_.rondod,
                                          .only_jobs = true,
                                          .job_store = server_->url(),
                                          .executors = options_.executors > 0,
                                          .executor_token = i > 0 ? standbys_.front()->executor_token() : std::string{}});
      if (!daemon) return daemon.error();
      standbys_.push_back(std::move(*daemon));
    }
    std::printf("%zu rondods run on one %s (pid %d)\n", kSchedulers, server_->name(), static_cast<int>(server_->pid()));
    return wait_for_owner();
  }

  /// One of the standbys runs the jobs from now on.
  Status wait_for_owner() {
    const Instant deadline = clock_.now() + 60s;
    while (clock_.now() < deadline) {
      for (std::unique_ptr<DaemonProcess>& one : standbys_) {
        const auto client = one->connect();
        const auto stats = client ? (*client)->call("job-stats", {}) : failure(client.error());
        if (!stats || !stats->at("healthy").as_bool()) continue;
        daemon_ = std::move(one);
        std::erase(standbys_, nullptr);
        return {};
      }
      std::this_thread::sleep_for(20ms);
    }
    return {StatusCode::DeadlineExceeded, "no rondod runs the jobs after 60 s"};
  }

  Status start_executors() {
    if (options_.executors == 0) return {};
    auto load = ExecutorsLoad::start(options_.executors, *daemon_, *client_, standbys_);
    if (!load) return load.error();
    executors_ = std::move(*load);
    return {};
  }

  Status connect() {
    auto client = daemon_->connect();
    if (!client) return client.error();
    client_ = std::move(*client);
    return {};
  }

  Status plan() {
    const std::size_t steady = options_.rate / kRunsASecond;
    const Duration adding = (server_ ? kAddTimeAtServer : kAddTime) * static_cast<std::int64_t>(options_.burst + steady);
    const std::int64_t second = (clock_.wall_now() + adding + 7s).nanoseconds() / 1'000'000'000 + 1;
    burst_at_ = WallTime::from_nanoseconds(second * 1'000'000'000);
    steady_at_ = burst_at_ + kPause;
    steady_ = std::chrono::seconds{options_.seconds};
    if (server_) steady_ += 2 * kHandover + std::chrono::seconds{options_.stop};  // Both hand-overs have the load.
    for (std::size_t i = 0; i < options_.burst; ++i) {
      jobs_.push_back({.name = "burst/" + std::to_string(i), .first = burst_at_ + 1ms * static_cast<std::int64_t>(i % 1000)});
    }
    for (std::size_t i = 0; i < steady; ++i) {
      jobs_.push_back({.name = "steady/" + std::to_string(i),
                       .first = steady_at_,
                       .period = kPeriod,
                       .count = static_cast<std::uint64_t>(steady_ / kPeriod)});
    }
    return {};
  }

  json::object definition_of(const DueJob& job) const {
    json::object definition{{"name", job.name}, {"handler", executors_ ? ExecutorsLoad::kHandler : "none"}, {"running", true}};
    if (executors_) {
      definition["retries"] = 3;
      definition["backoff_ms"] = 1000;
      definition["timeout_ms"] = 5000;
    }
    if (server_) definition["misfire"] = "fire-all";  // A takeover may take longer than the time within which a late run fires normally.
    if (job.period == Duration{0}) {
      definition["schedule"] = "at " + calendar::format_rfc3339(job.first);
    } else {
      definition["schedule"] = "every " + std::to_string(job.period / 1ms) + "ms";
      definition["from"] = calendar::format_rfc3339(job.first);
      definition["until"] = calendar::format_rfc3339(job.first + job.period * static_cast<std::int64_t>(job.count));
    }
    return definition;
  }

  Status add_jobs() {
    std::printf("adding %zu jobs\n", jobs_.size());
    json::array together;
    for (const DueJob& job : jobs_) {
      together.push_back(definition_of(job));
      if (together.size() < kAddedTogether && &job != &jobs_.back()) continue;
      const auto added = client_->call("jobs-put", {{"definitions", json::serialize(together)}});
      if (!added) return added.error().with_context("adding jobs up to " + job.name);
      together.clear();
    }
    if (clock_.wall_now() + 5s > burst_at_) return {StatusCode::DeadlineExceeded, "this machine is too slow to add the jobs in time"};
    return {};
  }

  void wait_until(WallTime at) const {
    if (const Duration left = at - clock_.wall_now(); left > Duration{0}) std::this_thread::sleep_for(left);
  }

  /// The third executor is drained during the burst, in which the first one is killed. Then it is used again, and the second one hangs
  /// until the end. So one executor is left at least.
  Status disturb_executors() {
    if (!executors_) return {};
    wait_until(burst_at_ + Duration{-1s});
    if (Status drained = executors_->drain_one(*client_); !drained.ok()) return drained;
    wait_until(burst_at_ + 300ms);
    executors_->kill_one();
    wait_until(steady_at_ + Duration{-500ms});
    if (Status resumed = executors_->resume_one(*client_); !resumed.ok()) return resumed;
    wait_until(steady_at_ + Duration{std::chrono::seconds{options_.seconds}} / 4);
    executors_->hang_one();
    std::printf("one executor was killed, one was drained for a while, and one hangs\n");
    return {};
  }

  Status kill_in_the_middle() {
    std::printf("waiting for the second in which %zu of them are due, and for %llu runs a second after it\n", options_.burst,
                static_cast<unsigned long long>(options_.rate));
    wait_until(steady_at_ + Duration{std::chrono::seconds{options_.seconds}} / 2);
    if (Status left = leave_owner(); !left.ok()) return left;
    const Instant killed = clock_.now();
    daemon_->kill();
    if (server_) {
      if (Status taken = take_over("kill -9", killed); !taken.ok()) return taken;
      return standbys_.back()->launch();
    }
    if (Status again = daemon_->launch(); !again.ok()) return again;
    std::printf("kill -9; rondod answers again after %.0f ms\n", std::chrono::duration<double, std::milli>(clock_.now() - killed).count());
    return connect();
  }

  /// Reads the figures of an owner that will lose them.
  Status leave_owner() {
    if (executors_) {
      if (Status again = connect(); !again.ok()) return again;
      if (Status counted = executors_->count_callbacks(*client_); !counted.ok()) return counted;
    }
    client_.reset();
    return {};
  }

  /// The owner was killed or stopped at 'since'. It becomes the last standby when another rondod runs the jobs.
  Status take_over(const char* how, Instant since) {
    auto former = std::move(daemon_);
    if (Status found = wait_for_owner(); !found.ok()) return found;
    handovers_.push_back(clock_.now() - since);
    std::printf("%s; another rondod runs the jobs after %.1f s\n", how, std::chrono::duration<double>(handovers_.back()).count());
    standbys_.push_back(std::move(former));
    return connect();
  }

  /// The second owner is stopped when it has run jobs for about a second, and goes on as a standby.
  Status stop_an_owner() {
    if (!server_) return {};
    const auto has_worked = [this](const json::object& stats) { return stats.at("succeeded").to_number<std::uint64_t>() >= options_.rate; };
    if (Status worked = wait_for_stats(*daemon_, "runs of the second owner", has_worked); !worked.ok()) return worked;
    if (Status left = leave_owner(); !left.ok()) return left;
    const Instant stopped = clock_.now();
    daemon_->hang();
    if (Status taken = take_over("SIGSTOP", stopped); !taken.ok()) return taken;
    if (const Duration left = stopped + std::chrono::seconds{options_.stop} - clock_.now(); left > Duration{0})
      std::this_thread::sleep_for(left);
    standbys_.back()->go_on();
    Status stands = wait_for_stats(*standbys_.back(), "standby after SIGCONT", [](const json::object& stats) {
      return std::string_view{stats.at("trouble").as_string()}.find("another scheduler runs the jobs") != std::string_view::npos;
    });
    if (stands.ok()) std::printf("SIGCONT after %.1f s; it stands by\n", std::chrono::duration<double>(clock_.now() - stopped).count());
    return stands;
  }

  /// Waits until the figures of the jobs satisfy 'condition'. A rondod that gives the jobs up closes its connections.
  template <class Condition>
  Status wait_for_stats(const DaemonProcess& daemon, const char* what, Condition condition) {
    const Instant deadline = clock_.now() + 60s;
    for (;;) {
      const auto client = daemon.connect();
      const auto stats = client ? (*client)->call("job-stats", {}) : failure(client.error());
      if (stats && condition(*stats)) return {};
      if (clock_.now() > deadline) return {StatusCode::DeadlineExceeded, "no " + std::string{what} + " after 60 s"};
      std::this_thread::sleep_for(20ms);
    }
  }

  /// All due runs have ended when the last instant is past and no run is pending.
  Status wait_for_end() {
    // An order that an executor does not answer fails after 70 s.
    const Duration patience = executors_ ? 180s : 60s;
    const WallTime end = steady_at_ + steady_;
    wait_until(end + 1s);
    if (Status again = connect(); !again.ok()) return again;  // rondod closes a connection without requests.
    for (;;) {
      const auto stats = client_->call("job-stats", {});
      if (!stats) return stats.error();
      report_.recovered = stats->at("recovered").to_number<std::uint64_t>();
      if (stats->at("pending").to_number<std::uint64_t>() == 0) return {};
      if (clock_.wall_now() > end + patience)
        return {StatusCode::DeadlineExceeded, "runs have no end after " + std::to_string(patience / 1s) + " s"};
      std::this_thread::sleep_for(100ms);
    }
  }

  Status read() {
    if (executors_) {
      if (Status counted = executors_->count_callbacks(*client_); !counted.ok()) return counted;
      executors_->stop();
    }
    client_.reset();
    if (const int code = daemon_->stop(); code != 0) return {StatusCode::Internal, "rondod ended with exit code " + std::to_string(code)};
    for (const auto& standby : standbys_) {
      if (const int code = standby->stop(); code != 0)
        return {StatusCode::Internal, "a standby ended with exit code " + std::to_string(code)};
    }
    auto store = open_store();
    if (!store) return store.error();
    Result<JobsReport> read = read_report(**store, jobs_, options_.burst);
    if (!read) return read.error();
    read->recovered = report_.recovered;
    if (executors_) read->executors = executors_->report(read->attempts);
    if (server_) read->schedulers = SchedulersReport{.schedulers = kSchedulers, .handovers = handovers_};
    report_ = std::move(*read);
    return {};
  }

  Result<std::shared_ptr<jobs::JobStore>> open_store() const {
#ifdef RONDO_WITH_POSTGRESQL
    if (options_.database == DatabaseKind::Postgresql) return jobs::make_postgresql_job_store(server_->url());
#endif
#ifdef RONDO_WITH_MARIADB
    if (options_.database == DatabaseKind::Mariadb) return jobs::make_mariadb_job_store(server_->url());
#endif
    return jobs::make_sqlite_job_store(daemon_->directory() + "/jobs.db");
  }

  JobsOptions options_;
  SystemClock clock_;
  std::optional<Console> console_;                        // With one rondod and without executors.
  std::unique_ptr<DatabaseProcess> server_;               // Null with the jobs in a file.
  std::vector<std::unique_ptr<DaemonProcess>> standbys_;  // With a server: the rondods that do not run the jobs.
  std::unique_ptr<DaemonProcess> daemon_;                 // That runs the jobs.
  std::vector<Duration> handovers_;
  std::unique_ptr<AdminClient> client_;
  std::unique_ptr<ExecutorsLoad> executors_;  // Null without.
  std::vector<DueJob> jobs_;                  // Jobs of the burst come first.
  WallTime burst_at_;
  WallTime steady_at_;
  Duration steady_{0};  // For so long.
  JobsReport report_;
};

}  // namespace

int jobs_main(int argc, const char* const* argv, const std::string& rondod) {
  JobsOptions options;
  options.rondod = rondod;
  CLI::App app{"Runs many jobs through a rondod that is killed in the middle, and checks that each due run exists exactly once",
               "rondo-demo jobs"};
  app.add_option("--jobs", options.burst, "Jobs that are due in one second")->capture_default_str()->check(CLI::Range(1, 100'000));
  app.add_option("--rate", options.rate, "Runs a second after it, in steps of ten")->capture_default_str()->check(CLI::Range(10, 10'000));
  app.add_option("--seconds", options.seconds, "For so long")->capture_default_str()->check(CLI::Range(2, 3600));
  app.add_option("--executors", options.executors,
                 "Carry the runs out at so many executors of xxl-job, of which one is killed, one hangs and one is drained for a while")
      ->check(CLI::Range(ExecutorsLoad::kLeast, std::size_t{100}));
  app.add_option_function<std::string>(
         "--store",
         [&options](const std::string& store) {
           if (store != "sqlite") options.database = store == "mariadb" ? DatabaseKind::Mariadb : DatabaseKind::Postgresql;
         },
         "Where the jobs are: sqlite (a file), or postgresql or mariadb (a private server, with three rondods: the one that runs the jobs "
         "is "
         "killed, and the next one is stopped for a while)")
      ->check(CLI::IsMember({"sqlite", "postgresql", "mariadb"}));
  app.add_option("--stop", options.stop, "On a server: seconds for which a rondod is stopped; longer than its lease of 6 s")
      ->capture_default_str()
      ->check(CLI::Range(9, 3600));
  app.add_flag("--exit", options.exit, "Accepted as for ./run: this program always ends when the report is done");
  app.add_option("--json", options.json_path, "Write the figures to this file");
  app.add_option("--rondod", options.rondod, "The daemon to run")->capture_default_str();
  if (const auto code = manual::parse_words(app, argc, argv)) return *code;
#ifndef RONDO_WITH_POSTGRESQL
  if (options.database == DatabaseKind::Postgresql) {
    std::fprintf(stderr, "rondo-demo: built without PostgreSQL (missing: libpq-dev)\n");
    return 1;
  }
#endif
#ifndef RONDO_WITH_MARIADB
  if (options.database == DatabaseKind::Mariadb) {
    std::fprintf(stderr, "rondo-demo: built without MariaDB (missing: libmariadb-dev)\n");
    return 1;
  }
#endif
#ifndef RONDO_WITH_HTTP
  if (options.executors > 0) {
    std::fprintf(stderr, "rondo-demo: built without HTTP (missing: libcurl4-openssl-dev)\n");
    return 1;
  }
#endif
  JobsDemo demo(options);
  Status status = demo.run();
  if (demo.report().due > 0) std::printf("\n%s", to_text(demo.report()).c_str());
  if (!options.json_path.empty() && demo.report().due > 0) {
    std::ofstream file(options.json_path);
    file << to_json(demo.report()) << std::flush;
    if (!file && status.ok()) status = {StatusCode::Unavailable, "cannot write " + options.json_path};
  }
  if (!status.ok()) std::fprintf(stderr, "rondo-demo: %s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace rondo::demo
