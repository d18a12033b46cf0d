// kill -9 of a process that runs jobs, again and again: afterwards each scheduled instant has exactly one row, and each row was dispatched
// at least once with its id. Each run of a parent has one row of its child, which was not dispatched before it. RONDO_JOB_KILLS sets
// another number of kills: 200 take two minutes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "base/testing/temporary_folder.h"
#include "jobs/job_store.h"
#include "rondo/base/random.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

constexpr int kJobs = 20;
// A process with a sanitizer must be able to keep up, or it never takes up what others left.
constexpr std::int64_t kPeriodMs = plain_or_sanitized(10, 50);
constexpr std::uint64_t kRunsOfALife = 20'000 / kPeriodMs;

constexpr const char* kChild = "child";
constexpr const char* kGrandchild = "grandchild";

std::string job_name(int job) { return "job-" + std::to_string(job); }

/// The life of a process: it writes the id of each run that it begins to 'log', and a byte to 'pipe'.
[[noreturn]] void live(const std::string& database, int log, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // It must not outlive a test that was ended.
  Runtime runtime;
  Jobs jobs(runtime, std::move(*make_sqlite_job_store(database)), {.cycle = 20ms});
  const auto note = [log, pipe](const JobContext& context) {
    if (::write(log, &context.run, sizeof context.run) != sizeof context.run || ::write(pipe, "", 1) != 1) ::_exit(3);
    return Status{};
  };
  jobs.handle_in_turn("turn", note);
  jobs.handle("thread", note);
  for (int job = 0; job < kJobs; ++job) {
    jobs.define({.name = job_name(job),
                 .handler = job % 2 == 0 ? "turn" : "thread",
                 .schedule = {.when = "every " + std::to_string(kPeriodMs) + "ms"}});
  }
  jobs.define({.name = kChild, .handler = "turn", .parents = {job_name(1)}});
  jobs.define({.name = kGrandchild, .handler = "thread", .parents = {kChild, job_name(1)}});
  jobs.start();
  runtime.run();
  ::_exit(4);
}

class JobsKill : public ::testing::Test {
 protected:
  JobsKill() {
    database = (folder / "jobs.db").string();
    log = (folder / "log").string();
  }

  /// Starts a process, and kills it when it has begun that many runs.
  void live_and_die(std::uint64_t runs) const {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const pid_t child = ::fork();
    if (child == 0) live(database, file, ends[1]);
    ::close(file);
    ::close(ends[1]);
    char byte = 0;
    for (; runs > 0; --runs) ASSERT_EQ(::read(ends[0], &byte, 1), 1) << "the process ended by itself";
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(ends[0]);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  /// The runs that were begun, each with its place in the log.
  std::map<std::int64_t, std::size_t> begun() const {
    std::map<std::int64_t, std::size_t> ids;
    const int file = ::open(log.c_str(), O_RDONLY | O_CLOEXEC);
    std::size_t place = 0;
    for (std::int64_t id = 0; ::read(file, &id, sizeof id) == sizeof id;) ids.emplace(id, place++);
    ::close(file);
    return ids;
  }
  /// Each run of 'parent' that is behind the first one of 'child' has one row of 'child', which began later.
  void expect_child(JobStore& store, const std::string& parent, const std::string& child) const {
    const std::map<std::int64_t, std::size_t> places = begun();
    std::map<WallTime, JobRun> children;
    for (const JobRun& run : runs_of(store, child)) children.emplace(run.scheduled, run);
    ASSERT_GT(children.size(), 100U);
    for (const JobRun& run : runs_of(store, parent)) {
      if (run.scheduled < children.begin()->first) continue;  // Planned before the child was defined.
      const auto below = children.find(run.scheduled);
      ASSERT_NE(below, children.end()) << run.id << " has no row of " << child;
      EXPECT_THAT(below->second.parents, testing::Contains(run.id));
      if (is_final(below->second.state)) {
        EXPECT_EQ(run.state, RunState::Succeeded);
      }
      const auto place = places.find(below->second.id);
      if (place != places.end()) {
        EXPECT_LT(places.at(run.id), place->second) << child << " began before " << parent;
      }
    }
  }
  /// The runs without a stored end.
  std::vector<JobRun> open_runs() const { return (*make_sqlite_job_store(database))->unfinished(0, 100'000).value(); }
  /// All runs of a job, the oldest first.
  static std::vector<JobRun> runs_of(JobStore& store, const std::string& job) {
    std::vector<JobRun> all;
    for (std::int64_t before = INT64_MAX;;) {
      const std::vector<JobRun> page = store.runs(job, before, 1000).value();
      if (page.empty()) break;
      before = page.back().id;
      all.insert(all.end(), page.begin(), page.end());
    }
    std::ranges::sort(all, {}, &JobRun::scheduled);
    return all;
  }

  TemporaryFolder folder;
  std::string database;
  std::string log;
};

TEST_F(JobsKill, LosesNoInstantAndRunsEachRowAtLeastOnce) {
  const char* const wanted = std::getenv("RONDO_JOB_KILLS");
  const int kills = wanted == nullptr ? 15 : std::atoi(wanted);
  Random random{11};
  for (int kill = 0; kill < kills; ++kill) ASSERT_NO_FATAL_FAILURE(live_and_die(1 + random.below(kRunsOfALife)));
  // The last processes take up what the others left. Each begins more runs than are open: a shorter life might begin only runs that were
  // begun before, and end before their ends are stored.
  const std::vector<JobRun> inherited = open_runs();
  std::size_t left = SIZE_MAX;
  for (int lives = 0; left > 0 && lives < 20; ++lives) {
    ASSERT_NO_FATAL_FAILURE(live_and_die(open_runs().size() + kRunsOfALife / 2));
    const std::map<std::int64_t, std::size_t> ids = begun();
    left = static_cast<std::size_t>(std::ranges::count_if(inherited, [&ids](const JobRun& run) { return !ids.contains(run.id); }));
  }
  EXPECT_EQ(left, 0U);

  const auto store = std::move(*make_sqlite_job_store(database));
  const std::map<std::int64_t, std::size_t> ids = begun();
  std::uint64_t checked = 0;
  for (int job = 0; job < kJobs; ++job) {
    const std::vector<JobRun> runs = runs_of(*store, job_name(job));
    ASSERT_GT(runs.size(), 100U);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const auto gap = static_cast<std::uint64_t>((runs[i].scheduled - runs[i - 1].scheduled) / (kPeriodMs * 1ms));
      EXPECT_EQ(gap, 1 + runs[i].missed) << job_name(job) << ", the row " << runs[i].id;
    }
    for (const JobRun& run : runs) {
      if (!is_final(run.state)) continue;
      EXPECT_EQ(run.state, RunState::Succeeded) << run.note;
      EXPECT_TRUE(ids.contains(run.id)) << "the row " << run.id << " was never dispatched";
      ++checked;
    }
  }
  RecordProperty("rows", std::to_string(checked));
  EXPECT_GT(checked, 5 * kRunsOfALife);
  expect_child(*store, job_name(1), kChild);
  expect_child(*store, job_name(1), kGrandchild);
  expect_child(*store, kChild, kGrandchild);
}

}  // namespace
}  // namespace rondo::jobs
