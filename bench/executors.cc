// Runs of jobs at executors over HTTP on loopback: one scheduler with its run rows on SQLite and the settings of rondod, and executors
// (rondo-demo/jobs/executor.h) in another process.
//   bench_executors                       all of the following
//   bench_executors rate [runs]           default 20,000, all due in one instant. Dispatches with their results a second
//   bench_executors burst [jobs]          default 10,000, due in one second. How late they begin
//   bench_executors dead [seconds]        default 10. How late runs begin beside an executor that refuses connections, or answers no order
//   bench_executors beats [seconds]       default 30. 500 executors in 50 groups that register again and again
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/http_thread.h"
#include "jobs/executors/executors.h"
#include "jobs/planner.h"
#include "rondo-demo/jobs/executor.h"
#include "rondo-demo/jobs/executor_process.h"
#include "rondo/base/clock.h"
#include "rondo/base/metrics.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"

namespace {

using namespace rondo;
using jobs::executors::ExecutorGroup;

const SystemClock system_clock;
constexpr const char* kToken = "the token of the benchmark";
constexpr std::size_t kExecutors = 4;
constexpr std::size_t kCalls = 256;  // rondod has as many.

struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rondo-bench-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string database() const { return (path / "jobs.db").string(); }
  std::filesystem::path path;
};

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_executors: %s\n", status.to_string().c_str());
  std::exit(1);
}

template <class T>
T value_of(Result<T> result) {
  if (!result) require(result.error());
  return *std::move(result);
}

double seconds_of(Duration time) { return std::chrono::duration<double>(time).count(); }
double milliseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

/// Processor time of all threads of this process.
Duration processor_time() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return std::chrono::seconds{spent.tv_sec} + std::chrono::nanoseconds{spent.tv_nsec};
}

/// Another process that does 'work', until this object ends. This process has one thread when it is made.
class Child {
 public:
  explicit Child(const std::function<void(Runtime&)>& work) {
    std::fflush(stdout);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Runtime runtime;
    work(runtime);
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t pid_ = -1;
};

std::string url_of(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

/// Executors of a group, which register at the port.
void serve(Runtime& runtime, std::uint16_t port, const std::vector<demo::ExecutorOptions>& all) {
  std::vector<std::unique_ptr<demo::Executor>> executors;
  for (demo::ExecutorOptions options : all) {
    options.scheduler = url_of(port);
    options.token = kToken;
    options.beat = 200ms;
    executors.push_back(value_of(demo::Executor::open(runtime.scheduler(), std::move(options))));
  }
  runtime.scheduler().run();
}

std::vector<demo::ExecutorOptions> healthy(std::size_t count) {
  return std::vector<demo::ExecutorOptions>(count, {.scheduler = {}, .group = "live"});
}

/// The scheduler.
struct Side {
  Side(const Folder& folder, std::uint16_t port, std::vector<ExecutorGroup> groups)
      : jobs(runtime, value_of(jobs::make_sqlite_job_store(folder.database()))),
        executors(runtime, jobs, {.groups = std::move(groups), .networks = networks()},
                  [this](http::ClientRequest request, http::CallDone done) { return http->call(std::move(request), std::move(done)); }) {
    jobs.handle_in_turn("here", [this](const jobs::JobContext&) {
      ++ran_here;
      return Status{};
    });
    http::HttpThreadOptions options;
    options.server.emplace().port = port;
    options.client.emplace().networks = networks();
    options.client->calls = kCalls;
    http = value_of(http::HttpThread::start(runtime.scheduler(), std::move(options), executors.door()));
    jobs.start();
  }
  static std::vector<Prefix> networks() { return {value_of(Prefix::parse("127.0.0.0/8"))}; }
  std::size_t ended() const { return ran_here + executors.stats().callbacks; }

  Runtime runtime;
  std::size_t ran_here = 0;
  jobs::Jobs jobs;
  jobs::executors::Executors executors;
  std::unique_ptr<http::HttpThread> http;  // Last: it calls the others.
};

/// Jobs that are due once each.
struct Load {
  std::size_t jobs;
  Duration distance;  // Between the instants of two jobs.
  std::function<std::string(std::size_t job)> handler;
};

/// Stores the jobs of a load, and returns the whole second at which the first one is due.
WallTime store_jobs(const Folder& folder, const Load& load) {
  const auto store = value_of(jobs::make_sqlite_job_store(folder.database()));
  const Duration to_store = Duration{400us} * static_cast<std::int64_t>(load.jobs) + 4s;
  const std::int64_t second = (system_clock.wall_now() + to_store).nanoseconds() / 1'000'000'000 + 1;
  const WallTime begin = WallTime::from_nanoseconds(second * 1'000'000'000);
  for (std::size_t i = 0; i < load.jobs; ++i) {
    const WallTime at = begin + load.distance * static_cast<std::int64_t>(i);
    const std::string name = "job-" + std::to_string(i);
    static_cast<void>(value_of(
        store->put({.name = name, .handler = load.handler(i), .schedule = {.when = "at " + calendar::format_rfc3339(at)}}, std::nullopt)));
    require(store->set_running(name, true, at, {}));
  }
  return begin;
}

struct Lateness {
  Histogram late;           // Runs that began, and runs that still wait for an executor.
  std::size_t waiting = 0;  // These wait.
  std::size_t stuck = 0;    // Runs without an end at an executor; they are not in 'late'.
  WallTime last = {};       // The last begin.

  std::string to_text() const {
    char text[100];
    std::snprintf(text, sizeof text, "%9.2f %9.2f %9.2f", milliseconds(late.quantile(0.5)), milliseconds(late.quantile(0.99)),
                  milliseconds(late.max()));
    return text;
  }
};

/// Reads the runs of the jobs that 'counts', after the scheduler has ended.
Lateness read_runs(const Folder& folder, const Load& load, const std::function<bool(std::size_t job)>& counts) {
  const WallTime now = system_clock.wall_now();
  const auto store = value_of(jobs::make_sqlite_job_store(folder.database()));
  Lateness read;
  for (std::size_t i = 0; i < load.jobs; ++i) {
    if (!counts(i)) continue;
    for (const jobs::JobRun& run : value_of(store->runs("job-" + std::to_string(i), INT64_MAX, 10))) {
      if (!run.begun && run.worker.starts_with("http")) {
        ++read.stuck;
        continue;
      }
      if (!run.begun) ++read.waiting;
      const WallTime begun = run.begun.value_or(now);
      read.last = std::max(read.last, begun);
      read.late.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (begun - run.scheduled).count())));
    }
  }
  return read;
}

/// What a load took until all of its runs had ended.
struct Outcome {
  double seconds = 0;       // From the first instant to the last end.
  double processor_us = 0;  // Time of the scheduler's process for a run.
  Lateness lateness = {};
};

/// Runs a load to its end.
Outcome run_load(const Load& load) {
  const Folder folder;
  const std::uint16_t port = value_of(demo::free_port());
  const Child executors([&](Runtime& runtime) { serve(runtime, port, healthy(kExecutors)); });
  const WallTime begin = store_jobs(folder, load);
  Outcome outcome;
  {
    Side side(folder, port, {{.name = "live", .token = kToken}});
    if (system_clock.wall_now() + 1s > begin) std::printf("  (the jobs were stored too late: the first runs are late)\n");
    side.runtime.scheduler().run_for(begin - system_clock.wall_now());
    const Duration before = processor_time();
    const WallTime patience = begin + 300s;
    while (side.ended() < load.jobs && system_clock.wall_now() < patience) side.runtime.scheduler().run_for(1ms);
    outcome.seconds = seconds_of(system_clock.wall_now() - begin);
    outcome.processor_us = 1e6 * seconds_of(processor_time() - before) / static_cast<double>(load.jobs);
    if (side.ended() < load.jobs) require({StatusCode::DeadlineExceeded, std::to_string(side.ended()) + " runs have ended after 300 s"});
    side.runtime.scheduler().run_for(200ms);  // The store writes the last ends.
    require(side.jobs.health());
  }
  outcome.lateness = read_runs(folder, load, [](std::size_t) { return true; });
  return outcome;
}

std::string at_executors(std::size_t) { return "executor/live/work"; }
std::string here(std::size_t) { return "here"; }

void rate(std::size_t runs) {
  std::printf("%zu runs that are due in one instant\n", runs);
  const auto line = [runs](const char* what, const Outcome& outcome) {
    const double each = static_cast<double>(runs) / outcome.seconds;
    std::printf("  %-44s %8.0f runs/s  %7.1f us of CPU a run\n", what, each, outcome.processor_us);
    return each;
  };
  const double local = line("handlers in turns of the scheduler", run_load({runs, 0s, here}));
  const double remote = line("at 4 executors, with their results", run_load({runs, 0s, at_executors}));
  std::printf("  ratio %.3f\n", remote / local);
}

void burst(std::size_t count) {
  std::printf("%zu jobs that are due in one second; late in ms: p50, p99, max\n", count);
  const Duration distance = Duration{1s} / static_cast<std::int64_t>(count);
  for (const auto& [what, handler] : {std::pair{"handlers in turns of the scheduler", &here}, std::pair{"at 4 executors", &at_executors}}) {
    const Outcome outcome = run_load({count, distance, handler});
    std::printf("  %-44s %s  all results after %.2f s, %zu without one\n", what, outcome.lateness.to_text().c_str(), outcome.seconds,
                outcome.lateness.waiting + outcome.lateness.stuck);
  }
}

enum class Dead : std::uint8_t { None, Refuses, Silent };

/// 200 runs a second at the healthy executors, and as many that a dead one gets in a group of its own, if it has one.
double beside_dead(const char* what, Dead dead, bool own_group, std::int64_t seconds, double without) {
  const Folder folder;
  const std::uint16_t port = value_of(demo::free_port());
  std::vector<demo::ExecutorOptions> all = healthy(kExecutors);
  const std::string its_group = own_group ? "dead" : "live";
  if (dead == Dead::Silent) all.push_back({.scheduler = {}, .group = its_group, .answers_runs = false});
  const Child executors([&](Runtime& runtime) { serve(runtime, port, all); });
  std::vector<ExecutorGroup> groups{{.name = "live", .token = kToken}};
  if (own_group) groups.push_back({.name = "dead", .token = kToken});
  if (dead == Dead::Refuses) groups.back().addresses.push_back(url_of(value_of(demo::free_port())));
  const std::int64_t each = own_group ? 2 : 1;
  const Load load{static_cast<std::size_t>(200 * each * seconds), Duration{5ms} / each,
                  [own_group](std::size_t job) { return own_group && job % 2 == 1 ? "executor/dead/work" : "executor/live/work"; }};
  const WallTime begin = store_jobs(folder, load);
  {
    Side side(folder, port, groups);
    side.runtime.scheduler().run_for(begin + Duration{std::chrono::seconds{seconds}} + 2s - system_clock.wall_now());
  }
  const Lateness read = read_runs(folder, load, [own_group](std::size_t job) { return !own_group || job % 2 == 0; });
  const double p99 = milliseconds(read.late.quantile(0.99));
  std::printf("  %-44s %s  %zu still wait, %zu are at the dead one; p99 ratio %.1f\n", what, read.to_text().c_str(), read.waiting,
              read.stuck, without > 0 ? p99 / without : 1.0);
  return p99;
}

void dead(std::int64_t seconds) {
  std::printf("200 runs a second at 4 executors for %lld s, beside a dead one; late in ms: p50, p99, max\n",
              static_cast<long long>(seconds));
  const double without = beside_dead("no dead one", Dead::None, false, seconds, 0);
  beside_dead("it refuses connections, same group", Dead::Refuses, false, seconds, without);
  beside_dead("it refuses connections, another group", Dead::Refuses, true, seconds, without);
  beside_dead("it answers no order, same group", Dead::Silent, false, seconds, without);
  beside_dead("it answers no order, another group", Dead::Silent, true, seconds, without);
}

/// Registers each of 500 executors in 50 groups once in a period, over a connection of its own.
void beat(Runtime& runtime, std::uint16_t port, Duration period) {
  constexpr int kAll = 500;
  constexpr int kGroups = 50;
  const auto client = value_of(http::Client::open(runtime.scheduler(), {.any_network = true, .first_break = 10ms, .break_time = 10ms}));
  int next = 0;
  TimerSource timer("beat", Priority{8}, [&] {
    const std::string body = R"({"registryGroup":"EXECUTOR","registryKey":"group-)" + std::to_string(next % kGroups) +
                             R"(","registryValue":"http://127.0.0.1:)" + std::to_string(10'000 + next) + R"("})";
    next = (next + 1) % kAll;
    static_cast<void>(client->post({.url = url_of(port) + "/api/registry",
                                    .headers = {{"XXL-JOB-ACCESS-TOKEN", kToken}, {"Content-Type", "application/json"}},
                                    .body = body,
                                    .fresh_connection = true},
                                   [](const Result<http::ClientAnswer>&) {}));
  });
  runtime.scheduler().add(timer);
  timer.arm_every(period / kAll, runtime.scheduler().now());
  runtime.scheduler().run();
}

double share_of_core(Duration period, std::int64_t seconds) {
  const Folder folder;
  const std::uint16_t port = value_of(demo::free_port());
  std::vector<ExecutorGroup> groups;
  for (int i = 0; i < 50; ++i) groups.push_back({.name = "group-" + std::to_string(i), .token = kToken});
  const Child executors([&](Runtime& runtime) { period > Duration{0} ? beat(runtime, port, period) : static_cast<void>(::pause()); });
  Side side(folder, port, std::move(groups));
  side.runtime.scheduler().run_for(2s);
  const Duration before = processor_time();
  side.runtime.scheduler().run_for(std::chrono::seconds{seconds});
  return 100 * seconds_of(processor_time() - before) / static_cast<double>(seconds);
}

void beats(std::int64_t seconds) {
  std::printf("500 executors in 50 groups register; CPU of the scheduler's process in %lld s\n", static_cast<long long>(seconds));
  const double idle = share_of_core(Duration{0}, seconds);
  std::printf("  %-44s %8.2f %% of a core\n", "no executors", idle);
  for (const Duration period : {Duration{30s}, Duration{3s}}) {
    const double share = share_of_core(period, seconds);
    std::printf("  each one every %2lld s: %5.1f a second           %8.2f %% of a core, %.2f without the idle share\n",
                static_cast<long long>(period / 1s), 500 / seconds_of(period), share, share - idle);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int otherwise) { return argc > 2 ? std::max(1, std::atoi(argv[2])) : otherwise; };
  const bool all = mode.empty();
  if (all || mode == "rate") rate(static_cast<std::size_t>(number(20'000)));
  if (all || mode == "burst") burst(static_cast<std::size_t>(number(10'000)));
  if (all || mode == "dead") dead(number(10));
  if (all || mode == "beats") beats(number(30));
  if (all || mode == "rate" || mode == "burst" || mode == "dead" || mode == "beats") return 0;
  std::fprintf(stderr, "bench_executors: bench_executors [rate [runs] | burst [jobs] | dead [seconds] | beats [seconds]]\n");
  return 2;
}
