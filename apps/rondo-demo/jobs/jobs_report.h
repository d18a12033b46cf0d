// JobsReport: what the database of jobs has after the main job, against what was due.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_store.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::demo {

/// The instants at which a job is due: the first one, and how many follow at the same distance.
struct DueJob {
  std::string name;
  WallTime first;
  Duration period{0};
  std::uint64_t count = 1;
};

/// The orders that arrived at one executor, each for an attempt of a run.
struct ExecutorOrders {
  std::uint64_t all = 0;
  std::uint64_t ended_there = 0;  // The run ended with this attempt.
  std::uint64_t retried = 0;      // The attempt failed, and a later one ended the run.
};

/// The main job with executors.
struct ExecutorsReport {
  std::size_t executors = 0;
  std::uint64_t attempts = 0;    // Attempts of all runs.
  std::uint64_t dispatched = 0;  // Orders that arrived at executors. An attempt that failed unsent has none.
  /// Results that the rondods took, without those of the last moment before a kill or a stop. An executor repeats a result whose end was
  /// not stored, so the next rondod counts it again.
  std::uint64_t callbacks = 0;
  std::uint64_t dispatched_twice = 0;  // Attempts of runs that arrived more than once, at one executor or at several.
  std::uint64_t without_row = 0;       // Attempts that arrived, and that no run in the database has.
  std::uint64_t without_order = 0;     // Runs whose last attempt arrived at no executor.
  std::uint64_t while_drained = 0;     // Orders at an executor that was drained.
  ExecutorOrders killed = {};          // At the executor that was killed.
  ExecutorOrders hanging = {};         // At the executor that was stopped with SIGSTOP.
  bool is_right() const noexcept { return dispatched_twice == 0 && without_row == 0 && without_order == 0 && while_drained == 0; }
};

/// The main job with several rondods on one database.
struct SchedulersReport {
  std::size_t schedulers = 0;
  /// From the kill of the first owner, and from the stop of the second one, until another rondod runs the jobs.
  std::vector<Duration> handovers = {};
};

struct JobsReport {
  std::uint64_t due = 0;
  std::uint64_t run_rows = 0;
  std::uint64_t missing = 0;       // Due instants without a run.
  std::uint64_t duplicates = 0;    // Further runs of an instant, and runs of instants that were not due.
  std::uint64_t unfinished = 0;    // Runs that did not succeed.
  std::uint64_t recovered = 0;     // Runs without an end that the last rondod found when it began.
  double triggers_per_second = 0;  // Jobs that were due in one second, until the last first attempt began.
  Histogram lateness_ns;           // From the due instant to the beginning of the run, also of runs that waited for the restart.
  std::map<std::int64_t, std::uint32_t> attempts = {};  // By run: how many have ended.
  std::optional<ExecutorsReport> executors = {};
  std::optional<SchedulersReport> schedulers = {};
  bool is_right() const noexcept { return missing == 0 && duplicates == 0 && unfinished == 0 && (!executors || executors->is_right()); }
};

/// Reads the runs of 'jobs', of which the first 'burst' are due in one second.
Result<JobsReport> read_report(jobs::JobStore& store, const std::vector<DueJob>& jobs, std::size_t burst);

std::string to_text(const JobsReport& report);
std::string to_json(const JobsReport& report);

}  // namespace rondo::demo
