// JobsReport: what the database of jobs has after the main job, against what was due.
#pragma once

#include <cstdint>
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

struct JobsReport {
  std::uint64_t due = 0;
  std::uint64_t run_rows = 0;
  std::uint64_t missing = 0;       // Due instants without a run.
  std::uint64_t duplicates = 0;    // Further runs of an instant, and runs of instants that were not due.
  std::uint64_t unfinished = 0;    // Runs that did not succeed.
  std::uint64_t recovered = 0;     // Runs without an end that rondod found after it was killed.
  double triggers_per_second = 0;  // Jobs that were due in one second, until the last of them began.
  Histogram lateness_ns;           // From the due instant to the beginning of the run, also of runs that waited for the restart.
  bool is_right() const noexcept { return missing == 0 && duplicates == 0 && unfinished == 0; }
};

/// Reads the runs of 'jobs', of which the first 'burst' are due in one second.
Result<JobsReport> read_report(jobs::JobStore& store, const std::vector<DueJob>& jobs, std::size_t burst);

std::string to_text(const JobsReport& report);
std::string to_json(const JobsReport& report);

}  // namespace rondo::demo
