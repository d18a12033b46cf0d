// The job scheduler with its run rows on SQLite, and handlers in turns. On servers: job_servers.cc.
//   bench_jobs                            the following two
//   bench_jobs loads [seconds]            default 10. Several loads, each beside a bare timer in another thread of this process
//   bench_jobs stored [jobs]              default 1,000,000. The planner's cycle and the start, with 10,000 stored jobs and with that many
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/planner.h"
#include "rondo/base/clock.h"
#include "rondo/base/metrics.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"

namespace {

using namespace rondo;
using jobs::JobContext;

const SystemClock system_clock;

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

template <class T>
T value_of(Result<T> result) {
  if (!result) require(result.error());
  return *std::move(result);
}

double milliseconds(double nanoseconds) { return nanoseconds / 1e6; }
double milliseconds(Duration time) { return milliseconds(static_cast<double>(time.count())); }

/// Processor time of all threads of this process.
Duration processor_time() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return std::chrono::seconds{spent.tv_sec} + std::chrono::nanoseconds{spent.tv_nsec};
}

std::string to_text(const Histogram& late) {
  char text[100];
  std::snprintf(text, sizeof text, "%8.2f %8.2f %8.2f", milliseconds(static_cast<double>(late.quantile(0.5))),
                milliseconds(static_cast<double>(late.quantile(0.99))), milliseconds(static_cast<double>(late.max())));
  return text;
}

/// A connection of its own to the database.
class Connection {
 public:
  explicit Connection(const std::string& database) {
    if (sqlite3_open(database.c_str(), &handle_) != SQLITE_OK) fail();
  }
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void execute(const std::string& text) {
    if (sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }

 private:
  [[noreturn]] void fail() {
    std::fprintf(stderr, "bench_jobs: %s\n", sqlite3_errmsg(handle_));
    std::exit(1);
  }
  sqlite3* handle_ = nullptr;
};

// --- Loads

/// A timer each 10 ms in a scheduler and a thread of its own: how late a timer is that has nothing else to do.
class BareTimer {
 public:
  BareTimer() : thread_([this] { run(); }) {}
  /// How late it was since it began.
  Histogram stop() {
    is_over_ = true;
    thread_.join();
    return late_;
  }

 private:
  void run() {
    constexpr Duration kPeriod = 10ms;
    Runtime runtime;
    Instant next = system_clock.now() + kPeriod;
    TimerSource timer("bare", Priority{0}, [&] {
      // An instant that was missed counts, too.
      for (const Instant now = system_clock.now(); next <= now; next = next + kPeriod)
        late_.add(static_cast<std::uint64_t>((now - next).count()));
      timer.arm_at(next);
    });
    runtime.scheduler().add(timer);
    timer.arm_at(next);
    while (!is_over_) runtime.scheduler().run_for(20ms);
    runtime.scheduler().remove(timer);
  }

  Histogram late_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;  // Last: it uses the others.
};

struct Load {
  const char* what;
  int jobs;
  std::function<std::string(int job, WallTime begin)> schedule;
  /// The runs of the first so much are counted; at least one period.
  Duration time;
  /// How many that are.
  std::int64_t due;
  /// Ended runs that are so old that they are removed meanwhile.
  std::int64_t old_runs = 0;
  /// The handler runs on a thread of the pool in place of a turn.
  bool on_threads = false;
};

std::function<std::string(int, WallTime)> every(const char* period) {
  return [period](int, WallTime) { return std::string{"every "} + period; };
}

void print_head() {
  std::printf("%-47s %9s %9s %9s | %8s %8s %8s | %-26s | %s\n", "late in ms, beside a bare timer in another thread", "due", "ran", "runs/s",
              "p50", "p99", "max", "bare timer", "CPU");
}

/// Runs a load with no jobs: the bare timer alone.
void floor_alone(Duration time) {
  BareTimer bare;
  const Duration before = processor_time();
  std::this_thread::sleep_for(time);
  const double cpu = 100 * std::chrono::duration<double>(processor_time() - before) / time;
  std::printf("%-47s %9s %9s %9s | %26s | %s | %4.1f %%\n", "no jobs", "", "", "", "", to_text(bare.stop()).c_str(), cpu);
}

void run_load(const Load& load) {
  const Folder folder;
  auto store = value_of(jobs::make_sqlite_job_store(folder.database()));
  // A whole second after the jobs are stored and planned.
  const Duration to_store = Duration{400us} * load.jobs + Duration{20us} * load.old_runs + 3s;
  const WallTime begin =
      WallTime::from_nanoseconds(((system_clock.wall_now() + to_store).nanoseconds() / 1'000'000'000 + 1) * 1'000'000'000);
  const WallTime end = begin + load.time;
  for (int i = 0; i < load.jobs; ++i) {
    const std::string name = "job-" + std::to_string(i);
    const auto put = store->put({.name = name, .handler = "note", .schedule = {.when = load.schedule(i, begin)}}, std::nullopt);
    if (!put) return require(put.error());
    jobs::Planner planner{{}};
    const auto first = value_of(planner.first_after(put->job, put->id, begin + Duration{-1}));
    require(store->set_running(name, true, first, {}));
  }
  if (load.old_runs > 0) {
    Connection{folder.database()}.execute(
        "INSERT INTO runs (job, scheduled, due, band, state, attempt, missed, begun, ended, note)"
        " WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < " +
        std::to_string(load.old_runs) + ") SELECT 1 + i % " + std::to_string(load.jobs) + ", i, i, 0, 1, 1, 0, i, i, '' FROM numbers");
  }
  Runtime runtime;
  jobs::Jobs jobs(runtime, std::move(store));
  Histogram late;
  WallTime last = begin;
  std::mutex mutex;  // The handler may run on several threads.
  const jobs::Jobs::Handler note = [&](const JobContext& context) {
    if (context.scheduled < begin || context.scheduled >= end) return Status{};
    const std::lock_guard lock(mutex);
    last = system_clock.wall_now();
    late.add(static_cast<std::uint64_t>((last - context.scheduled).count()));
    return Status{};
  };
  load.on_threads ? jobs.handle("note", note) : jobs.handle_in_turn("note", note);
  jobs.start();
  if (system_clock.wall_now() + 1s > begin) std::printf("  (the jobs were stored too late: the first runs are late)\n");
  runtime.scheduler().run_for(begin - system_clock.wall_now());
  BareTimer bare;
  const Duration before = processor_time();
  runtime.scheduler().run_for(end - system_clock.wall_now());
  const double cpu = 100 * std::chrono::duration<double>(processor_time() - before) / load.time;
  const Histogram bare_late = bare.stop();
  runtime.scheduler().run_for(3s);
  const double seconds = std::chrono::duration<double>(std::max(last - begin, load.time)).count();
  std::printf("%-47s %9lld %9llu %9.0f | %s | %s | %4.1f %%\n", load.what, static_cast<long long>(load.due),
              static_cast<unsigned long long>(late.count()), static_cast<double>(late.count()) / seconds, to_text(late).c_str(),
              to_text(bare_late).c_str(), cpu);
  require(jobs.health());
}

void loads(Duration time) {
  std::printf("run rows on SQLite (WAL, synchronous NORMAL), handlers in turns\n");
  print_head();
  floor_alone(time);
  const std::int64_t seconds = time / 1s;
  const auto in_one_second = [](int job, WallTime begin) { return "at " + calendar::format_rfc3339(begin + 1ms * (job % 1000)); };
  const auto in_one_instant = [](int, WallTime begin) { return "at " + calendar::format_rfc3339(begin); };
  for (const Load& load : {
           Load{"100 jobs each 100 ms: 1,000 a second", 100, every("100ms"), time, 1000 * seconds},
           Load{"10 jobs each 10 ms: 1,000 a second", 10, every("10ms"), time, 1000 * seconds},
           Load{"1,000 jobs each second, in one millisecond", 1000, every("1s"), time, 1000 * seconds},
           Load{"1,000 jobs each 100 ms: 10,000 a second", 1000, every("100ms"), time, 10'000 * seconds},
           Load{"the same, handlers on threads", 1000, every("100ms"), time, 10'000 * seconds, 0, true},
           Load{"the same in turns, while old rows are removed", 1000, every("100ms"), time, 10'000 * seconds, 20'000 * seconds + 100'000},
           Load{"10,000 jobs, due in one second", 10'000, in_one_second, 1s, 10'000},
           Load{"10,000 jobs, due in one millisecond", 10'000, in_one_instant, 1s, 10'000},
       }) {
    run_load(load);
  }
}

// --- Stored jobs

/// Fills the database with 'count' started jobs, each due once a day at a second of its own. The rows are copies of one that the store has
/// written: a million transactions would take minutes.
void fill(const std::string& database, std::size_t count) {
  const auto store = value_of(jobs::make_sqlite_job_store(database));
  static_cast<void>(
      value_of(store->put({.name = "job-0", .handler = "nothing", .schedule = {.when = "cron 11 22 23 * * ?", .dialect = "quartz"}}, {})));
  // The day of UTC that began last.
  const std::int64_t day = system_clock.wall_now().nanoseconds() / 1'000'000'000 / 86'400 * 86'400;
  const std::string text =
      "INSERT INTO jobs (name, spec, running, next)"
      " WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < " +
      std::to_string(count) +
      "),"
      " times (i, s) AS (SELECT i, i * 7919 % 86400 FROM numbers)"
      " SELECT 'job-' || i, replace(replace(spec, 'job-0', 'job-' || i), '11 22 23', printf('%d %d %d', s % 60, s / 60 % 60, s / 3600)), 1,"
      " (" +
      std::to_string(day) + " + s + 86400 * (" + std::to_string(day) +
      " + s <= unixepoch() + 60)) * 1000000000"
      " FROM jobs, times WHERE name = 'job-0'; DELETE FROM jobs WHERE name = 'job-0'";
  Connection{database}.execute(text);
}

/// A median of wall time and processor time.
class Costs {
 public:
  template <class Work>
  auto measure(Work&& work) {
    const Duration spent = processor_time();
    const Instant began = system_clock.now();
    auto result = work();
    wall_.push_back(milliseconds(system_clock.now() - began));
    processor_.push_back(milliseconds(processor_time() - spent));
    return result;
  }
  std::string to_text() const {
    char text[100];
    std::snprintf(text, sizeof text, "%.2f ms (%.2f ms of CPU)", median(wall_), median(processor_));
    return text;
  }

 private:
  static double median(std::vector<double> all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
  }
  std::vector<double> wall_;
  std::vector<double> processor_;
};

/// What a cycle of the planner costs with 100 due jobs from all over the stored ones, and how long it takes to look through all jobs, which
/// a start does in the background. SQLite copies its log into the database when it has 1,000 pages: that is measured apart.
void planner_cycles(const std::string& database, std::size_t count) {
  constexpr std::size_t kDue = 100;
  constexpr std::size_t kRounds = 101;
  const auto store = value_of(jobs::make_sqlite_job_store(database));
  Connection connection(database);
  jobs::Planner planner{{}};
  Costs cycles;
  Costs checkpoints;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const WallTime now = system_clock.wall_now();
    std::vector<jobs::Plan> due;
    for (std::size_t i = 0; i < kDue; ++i) {
      const jobs::StoredJob job = value_of(store->find("job-" + std::to_string(1 + (round * 7 + i * (count / kDue)) % count)));
      due.push_back({.job_id = job.id, .next = now});
    }
    require(store->plan(due));
    const auto checkpoint = [&] {
      connection.execute("PRAGMA wal_checkpoint(RESTART)");
      return true;
    };
    checkpoint();
    const auto cycle = cycles.measure([&] { return value_of(planner.run(*store, now)); });
    if (cycle.plans.size() < kDue) std::printf("  (only %zu jobs were due)\n", cycle.plans.size());
    checkpoints.measure(checkpoint);
  }
  Costs pages;
  const Instant began = system_clock.now();
  for (jobs::Planner::Replanned page; !page.is_complete;) {
    page = pages.measure([&] { return value_of(planner.replan(*store, page.last, system_clock.wall_now())); });
  }
  std::printf(
      "%8zu stored jobs: a cycle of the planner with %zu due ones takes %s, and %s to copy SQLite's log; to look through all takes %.2f s, "
      "a "
      "transaction of 1,000 %s\n",
      count, kDue, cycles.to_text().c_str(), checkpoints.to_text().c_str(),
      std::chrono::duration<double>(system_clock.now() - began).count(), pages.to_text().c_str());
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// The start of a process with these jobs, until the first run of a job that is due begins; then its memory, after the store's thread has
/// read all jobs.
void start(const std::string& database, std::size_t count) {
  constexpr int kProbes = 10;
  {
    const auto store = value_of(jobs::make_sqlite_job_store(database));
    for (int i = 0; i < kProbes; ++i) {
      const std::string name = "probe-" + std::to_string(i);
      static_cast<void>(value_of(store->put({.name = name, .handler = "probe", .schedule = {.when = "every 100ms"}}, {})));
      require(store->set_running(name, true, system_clock.wall_now(), {}));
    }
  }
  const double resident = resident_mib();
  const Instant began = system_clock.now();
  Runtime runtime;
  jobs::Jobs jobs(runtime, value_of(jobs::make_sqlite_job_store(database)));
  Instant first = Instant::never();
  Histogram late;
  jobs.handle_in_turn("nothing", [](const JobContext&) { return Status{}; });
  jobs.handle_in_turn("probe", [&](const JobContext& context) {
    if (first == Instant::never()) first = system_clock.now();
    if (system_clock.now() - first > 1s) late.add(static_cast<std::uint64_t>((system_clock.wall_now() - context.scheduled).count()));
    return Status{};
  });
  jobs.start();
  // Until the store's thread is idle.
  double peak = 0;
  for (int second = 0; second < 120; ++second) {
    const Duration before = processor_time();
    runtime.scheduler().run_for(1s);
    peak = std::max(peak, resident_mib());
    if (second > 2 && processor_time() - before < 100ms) break;
  }
  require(jobs.health());
  std::printf(
      "%8zu stored jobs: the first run begins %.0f ms after the start; %.1f s of CPU until all are looked through, runs meanwhile late "
      "p50, "
      "p99, max %s ms; memory +%.1f MiB\n",
      count, milliseconds(first - began), std::chrono::duration<double>(processor_time()).count(), to_text(late).c_str(), peak - resident);
}

void in_process(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) std::exit(1);
}

void stored(std::size_t most) {
  for (const std::size_t count : {std::size_t{10'000}, most}) {
    const Folder folder;
    fill(folder.database(), count);
    in_process([&] { start(folder.database(), count); });
    in_process([&] { planner_cycles(folder.database(), count); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int otherwise) { return argc > 2 ? std::max(1, std::atoi(argv[2])) : otherwise; };
  if (mode.empty() || mode == "loads") loads(std::chrono::seconds{number(10)});
  if (mode.empty() || mode == "stored") stored(static_cast<std::size_t>(number(1'000'000)));
  if (mode.empty() || mode == "loads" || mode == "stored") return 0;
  std::fprintf(stderr, "bench_jobs: bench_jobs [loads [seconds] | stored [jobs]]\n");
  return 2;
}
