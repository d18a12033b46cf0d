// The job scheduler with its run rows on SQLite and handlers in turns: a sustained rate, a burst in one second, and the planner with many
// stored jobs.
//   bench_jobs [seconds [jobs]]     default: 10 seconds of each load, and 200,000 stored jobs for the planner's cycle
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "jobs/planner.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace {

using namespace rondo;
using jobs::JobContext;

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
  std::fprintf(stderr, "bench_jobs: %s\n", status.to_string().c_str());
  std::exit(1);
}

/// Runs 'count' jobs of one schedule for a time, and prints how many of them ran and how late.
void load(const char* what, int count, const std::string& when, Duration time) {
  const Folder folder;
  Runtime runtime;
  auto store = jobs::make_sqlite_job_store(folder.database());
  if (!store) return require(store.error());
  jobs::Jobs jobs(runtime, std::move(*store));
  jobs.handle_in_turn("nothing", [](const JobContext&) { return Status{}; });
  int defined = 0;
  for (int i = 0; i < count; ++i) {
    jobs.define({.name = "job-" + std::to_string(i), .handler = "nothing", .schedule = {.when = when}},
                [&](Result<jobs::StoredJob> stored) {
                  if (!stored) require(stored.error());
                  ++defined;
                });
  }
  while (defined < count) runtime.scheduler().run_for(10ms);
  jobs.start();
  runtime.scheduler().run_for(time);
  const jobs::JobsStats& stats = jobs.stats();
  const double seconds = std::chrono::duration<double>(time).count();
  std::printf("  %-52s %9.0f runs/s  late p50 %8.3f ms  p99 %8.3f ms  max %8.3f ms  without an end %zu\n", what,
              static_cast<double>(stats.succeeded) / seconds, static_cast<double>(stats.lateness_ns.quantile(0.5)) / 1e6,
              static_cast<double>(stats.lateness_ns.quantile(0.99)) / 1e6, static_cast<double>(stats.lateness_ns.max()) / 1e6,
              stats.pending);
  require(jobs.health());
}

/// Prints what a cycle of the planner costs, with 'due' due jobs among 'count' stored ones.
void planner(std::size_t count, std::size_t due) {
  const Folder folder;
  auto opened = jobs::make_sqlite_job_store(folder.database());
  if (!opened) return require(opened.error());
  jobs::JobStore& store = **opened;
  const WallTime now = SystemClock{}.wall_now();
  for (std::size_t i = 0; i < count; ++i) {
    const auto put = store.put({.name = "job-" + std::to_string(i), .handler = "nothing", .schedule = {.when = "every 1h"}}, std::nullopt);
    if (!put) return require(put.error());
    // Started, and due in an hour.
    require(store.set_running(put->job.name, true, now + Duration{3600s}, {}));
  }
  for (std::size_t i = 0; i < due; ++i) require(store.set_running("job-" + std::to_string(i * (count / due)), true, now, {}));
  jobs::Planner planner{{}};
  const auto began = std::chrono::steady_clock::now();
  const auto cycle = planner.run(store, now);
  const double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  if (!cycle) return require(cycle.error());
  std::printf("  a cycle with %zu due jobs among %8zu stored ones %12.3f ms\n", cycle->plans.size(), count, took);
}

}  // namespace

int main(int argc, char** argv) {
  const Duration time{std::chrono::seconds{argc > 1 ? std::atoi(argv[1]) : 10}};
  const auto stored = static_cast<std::size_t>(argc > 2 ? std::atoll(argv[2]) : 1'000'000);
  std::printf("jobs, run rows on SQLite (WAL, synchronous NORMAL), handlers in turns\n");
  load("1,000 jobs each 100 ms: 10,000 a second", 1000, "every 100ms", time);
  load("1,000 jobs each second, all in the same millisecond", 1000, "every 1s", time);
  load("100 jobs each 100 ms", 100, "every 100ms", time);
  load("10,000 jobs each 10 s, all in the same millisecond", 10'000, "every 10s", time * 2);
  planner(10'000, 100);
  planner(stored, 100);
}
