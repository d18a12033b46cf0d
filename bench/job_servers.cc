// The job scheduler with its run rows in an empty database of PostgreSQL or MariaDB, and handlers in turns. bench/peers/job_databases.py
// runs it beside other schedulers, and bench/schedulers.py beside its own standbys.
//   bench_job_servers URL throughput|lateness [runs] [lead]
//     One-shot runs, from the time a run is due to its stored end. They are due 'lead' seconds (default 30) after the start: all at once
//     (default 20,000), or one each millisecond (default 10,000). Five seconds before, 500 others warm the program up. Prints "planned"
//     when all jobs are stored, and "warm" after the first run. Exit status 3: they were stored too late.
//   bench_job_servers URL waiting [runs] [lead]
//     As throughput, but the rows of the runs are stored before the start, as runs of 500 jobs: that takes little time.
//     After its figures it goes on until its input ends
//   bench_job_servers URL bare [runs] [batch]
//     The statements that store the ends of the same runs, in batches (default 100), by the store alone. Prints "planned", and waits for
//     the end of its input before it begins
//   bench_job_servers URL standby
//     A scheduler that stands by until its input ends. Prints "stands by" when it does
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "jobs/job_store.h"
#include "rondo/base/clock.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"
#ifdef RONDO_BENCH_MARIADB
#include "rondo/jobs/mariadb.h"
#endif
#ifdef RONDO_BENCH_POSTGRESQL
#include "rondo/jobs/postgresql.h"
#endif
#include "rondo/orch/runtime.h"

namespace {

using namespace rondo;

const SystemClock system_clock;

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_job_servers: %s\n", status.to_string().c_str());
  std::exit(1);
}

template <class T>
T value_of(Result<T> result) {
  if (!result) require(result.error());
  return *std::move(result);
}

struct Workload {
  std::string url;
  Duration step;  // Between the due times of two runs.
  int runs;
  Duration lead;
  bool has_rows = false;  // The rows of the runs are stored before the start.
};

constexpr int kWarmupRuns = 500;
constexpr Duration kWarmup = 5s;
constexpr int kTooLate = 3;  // Exit status.

std::shared_ptr<jobs::JobStore> open_server(const std::string& url) {
#ifdef RONDO_BENCH_POSTGRESQL
  if (url.starts_with("postgresql:")) return value_of(jobs::make_postgresql_job_store(url));
#endif
#ifdef RONDO_BENCH_MARIADB
  if (url.starts_with("mariadb:")) return value_of(jobs::make_mariadb_job_store(url));
#endif
  require({StatusCode::InvalidArgument, "built without the component for " + url});
  return nullptr;
}

/// The due time of a run; those below 0 warm up.
WallTime due_of(const Workload& workload, WallTime begin, int run) { return run < 0 ? begin + -kWarmup : begin + workload.step * run; }

/// Stores a started job for each run. They have no owner yet: Jobs claims them when it starts.
void store_jobs(jobs::JobStore& store, const Workload& workload, WallTime begin) {
  constexpr int kPage = 1000;
  for (int page = -kWarmupRuns; page < workload.runs; page += kPage) {
    require(store.atomically([&]() -> Status {
      for (int run = page; run < std::min(page + kPage, workload.runs); ++run) {
        const WallTime due = due_of(workload, begin, run);
        const std::string name = "run" + std::to_string(run);
        const auto put = store.put({.name = name, .handler = "nothing", .schedule = {.when = "at " + calendar::format_rfc3339(due)}}, {});
        if (!put) return put.error();
        if (Status set = store.set_running(name, true, due, {}); !set.ok()) return set;
      }
      return {};
    }));
  }
}

/// Stores the rows of all runs, as an earlier process would have left them. They are of jobs that are due an hour later.
std::vector<jobs::JobRun> store_rows(jobs::JobStore& store, const Workload& workload, WallTime begin) {
  std::vector<std::int64_t> jobs;
  const WallTime later = begin + 1h;
  require(store.atomically([&]() -> Status {
    for (int job = 0; job < kWarmupRuns; ++job) {
      const std::string name = "job" + std::to_string(job);
      const auto put = store.put({.name = name, .handler = "nothing", .schedule = {.when = "at " + calendar::format_rfc3339(later)}}, {});
      if (!put) return put.error();
      if (Status set = store.set_running(name, true, later, {}); !set.ok()) return set;
      jobs.push_back(put->id);
    }
    return {};
  }));
  std::vector<jobs::JobRun> runs;
  for (int run = -kWarmupRuns; run < workload.runs; ++run) {
    const WallTime due = due_of(workload, begin, run);
    const std::int64_t job = jobs[static_cast<std::size_t>(run + kWarmupRuns) % jobs.size()];
    // A job has one row for an instant.
    runs.push_back({.job_id = job, .scheduled = due + Duration{run + kWarmupRuns}, .due = due, .band = jobs::Band::Direct});
  }
  constexpr std::size_t kPage = 2000;
  for (std::span<jobs::JobRun> rest{runs}; !rest.empty(); rest = rest.subspan(std::min(kPage, rest.size()))) {
    require(store.add_runs(rest.first(std::min(kPage, rest.size()))));
  }
  return runs;
}

double quantile(const std::vector<Duration>& sorted, double share) {
  const auto before = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted[std::max<std::size_t>(before, 1) - 1].count()) / 1e6;
}

int measured(const Workload& workload) {
  constexpr Duration kPatience = 300s;
  const WallTime now = system_clock.wall_now();
  const WallTime begin = WallTime::from_nanoseconds((now + workload.lead).nanoseconds() / 1'000'000 * 1'000'000);
  auto store = open_server(workload.url);
  if (workload.has_rows) {
    store_rows(*store, workload, begin);
  } else {
    store_jobs(*store, workload, begin);
  }
  std::printf("planned\n");
  std::fflush(stdout);
  if (system_clock.wall_now() + kWarmup + 1s > begin) return kTooLate;
  Runtime runtime;
  jobs::Jobs jobs(runtime, std::move(store));
  std::vector<Duration> late;
  WallTime last = begin;
  Instant stored;  // The ends that are stored together are reported in one turn.
  std::size_t batches = 0;
  bool is_warm = false;
  jobs.handle_in_turn("nothing", [](const jobs::JobContext&) { return Status{}; });
  jobs.on_end([&](const jobs::JobRun& run) {
    if (!std::exchange(is_warm, true)) {
      std::printf("warm\n");
      std::fflush(stdout);
    }
    if (run.scheduled < begin) return;
    if (std::exchange(stored, runtime.scheduler().now()) != runtime.scheduler().now()) ++batches;
    last = system_clock.wall_now();
    late.push_back(last - run.scheduled);
  });
  jobs.start();
  const auto count = static_cast<std::size_t>(workload.runs);
  while (late.size() < count && system_clock.wall_now() < begin + kPatience) runtime.scheduler().run_for(100ms);
  require(jobs.health());
  if (late.size() < count) {
    std::fprintf(stderr, "only %zu of %zu runs have ended\n", late.size(), count);
    return 1;
  }
  std::ranges::sort(late);
  std::printf("batches %zu\nruns %zu seconds %.3f p50_ms %.2f p99_ms %.2f\n", batches, late.size(),
              std::chrono::duration<double>(last - begin).count(), quantile(late, 0.5), quantile(late, 0.99));
  std::fflush(stdout);
  if (workload.has_rows) static_cast<void>(std::getchar());  // The standbys end first.
  return 0;
}

/// What the scheduler's statements for the ends take without a scheduler, by the connection that owns the jobs.
int bare_ends(const Workload& workload, std::size_t batch) {
  const WallTime begin = system_clock.wall_now();
  const auto store = open_server(workload.url);
  const std::vector<jobs::JobRun> runs = store_rows(*store, workload, begin);
  require(store->claim());
  std::vector<jobs::RunEnd> ends;
  for (const jobs::JobRun& run : runs) {
    ends.push_back({.id = run.id, .state = jobs::RunState::Succeeded, .due = run.due, .attempt = 1, .begun = run.due, .ended = run.due});
  }
  const auto store_all = [&](std::span<const jobs::RunEnd> all) {
    for (; !all.empty(); all = all.subspan(std::min(batch, all.size()))) require(store->finish(all.first(std::min(batch, all.size()))));
  };
  store_all(std::span{ends}.first(kWarmupRuns));
  std::printf("planned\n");
  std::fflush(stdout);
  static_cast<void>(std::getchar());  // The caller cleans the tables up.
  const Instant from = system_clock.now();
  store_all(std::span{ends}.subspan(kWarmupRuns));
  std::printf("runs %zu seconds %.3f p50_ms 0 p99_ms 0\n", ends.size() - kWarmupRuns,
              std::chrono::duration<double>(system_clock.now() - from).count());
  return 0;
}

int stand_by(const std::string& url) {
  Runtime runtime;
  jobs::Jobs jobs(runtime, open_server(url));
  jobs.handle_in_turn("nothing", [](const jobs::JobContext&) { return Status{}; });
  jobs.start();
  while (jobs.health().code() != StatusCode::AlreadyExists) runtime.scheduler().run_for(10ms);
  std::printf("stands by\n");
  std::fflush(stdout);
  std::atomic<bool> has_ended = false;
  std::jthread input([&] {
    static_cast<void>(std::getchar());
    has_ended = true;
  });
  while (!has_ended) runtime.scheduler().run_for(100ms);
  return jobs.health().code() == StatusCode::AlreadyExists ? 0 : 1;
}

/// Empty: the arguments are wrong.
std::optional<int> run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return std::nullopt;
  const std::string& work = arguments[1];
  const auto number = [&](std::size_t place, int otherwise) {
    return arguments.size() > place ? std::max(1, std::atoi(arguments[place].c_str())) : otherwise;
  };
  const bool at_once = work != "lateness";
  Workload workload{.url = arguments[0], .step = at_once ? 0ms : 1ms, .runs = number(2, at_once ? 20'000 : 10'000), .lead = 0s};
  if (work == "standby") return stand_by(workload.url);
  if (work == "bare") return bare_ends(workload, static_cast<std::size_t>(number(3, 100)));
  if (work != "throughput" && work != "lateness" && work != "waiting") return std::nullopt;
  workload.has_rows = work == "waiting";
  workload.lead = std::chrono::seconds{number(3, 30)};
  return measured(workload);
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = run({argv + 1, argv + argc})) return *status;
  std::fprintf(stderr,
               "bench_job_servers: bench_job_servers URL throughput|lateness|waiting [runs] [lead] | bare [runs] [batch] | standby\n");
  return 2;
}
