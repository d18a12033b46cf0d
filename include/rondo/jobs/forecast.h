// forecast(): what stored jobs will do, from the production planner (plan_job) in simulated time: each firing, what misfire decides after
// outages, and the load of each minute. It reads and writes no store. It plans what a Jobs plans that has these jobs, with these ids (the
// jitter follows from them), these runs and these settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/jobs/job.h"
#include "rondo/jobs/job_run.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

/// A time in which the program does not run. Runs that were planned before it, and are due in it, run at its end.
struct Outage {
  WallTime from;
  WallTime to;
};

struct ForecastOptions {
  WallTime from;
  WallTime to;
  std::vector<Outage> outages = {};  // In any order; they may overlap.
  /// When the jobs and runs were as they are given: instants before it are late. Empty: 'from'.
  std::optional<WallTime> now = {};
  /// The runs without an end: Jobs::unfinished(). Their instants are not planned again, and a delay counts from their ends.
  std::vector<JobRun> runs = {};
  Duration window{5s};  // As Jobs::options() has them.
  Duration grace{10s};
  Duration cycle{1s};
  std::size_t peaks = 5;
  std::uint64_t runs_max = limits::kForecastRuns;  // The forecast ends there and says so.
};

/// The load of a minute that has many firings.
struct ForecastPeak {
  WallTime minute;
  std::uint64_t firings = 0;
  std::vector<std::string> jobs = {};  // Those with the most firings in it, at most limits::kPeakJobs.
};

struct Forecast {
  std::uint64_t firings = 0;
  std::uint64_t misfires = 0;               // Firings of Band::Misfire.
  std::uint64_t skipped = 0;                // Runs that misfire does not fire.
  std::uint64_t missed = 0;                 // Instants for which these stand beside their own.
  std::vector<std::uint32_t> minutes = {};  // Firings by minute, from that of 'from' on.
  std::vector<ForecastPeak> peaks = {};     // The largest first; equal ones in the order of time.
  bool cut_short = false;                   // ForecastOptions::runs_max was reached.
  std::vector<std::string> troubles = {};   // Jobs that cannot be planned, and why.
};

/// Calls 'visit' for each run that is due from 'from' to before 'to', in the order of due times, with JobRun::job, scheduled, due, band,
/// state and missed. 'jobs' are all of a store, also the stopped ones, which have no runs and neither have the jobs below them. Each run
/// succeeds at its first attempt and takes no time: a job with parents runs at the time of its root, and "after DURATION" counts from the
/// same time. Triggers by hand, overlap and waits are not simulated. InvalidArgument unless 'from' is before 'to', and at most
/// limits::kForecastSpan. O(runs x log jobs).
Result<Forecast> forecast(std::span<const StoredJob> jobs, const ForecastOptions& options,
                          const std::function<void(const JobRun& run)>& visit);

}  // namespace rondo::jobs
