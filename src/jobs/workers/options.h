// The times of a Workers, which tests shorten, and what it counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "jobs/log_limits.h"
#include "jobs/workers/limits.h"
#include "rondo/admin/command.h"
#include "rondo/base/time.h"
#include "rondo/jobs/job_run.h"

namespace rondo::jobs {

struct WorkersOptions {
  /// A worker that has not reported for this time gets no further run.
  Duration silent{30s};
  /// The attempts of a worker that is not connected for this time fail. A connected worker that does not report for it is disconnected, and
  /// an attempt fails that a worker has not begun although it has reported for this time.
  Duration away{60s};
  /// A worker that has not reported for this time is replaced by a newcomer with its name and its identity: after an outage of the network
  /// its connection may be half-open. `rondo worker` reports at least each 10 s.
  Duration stale{15s};
  /// A run that has not ended this long after it was ordered to stop is named by health(). Its command may have a longer grace.
  Duration stopping{60s};
  /// After the start of this program, a run that an earlier process gave to a worker waits for this time until that worker has connected:
  /// it may have the run (`rondo worker` connects again after at most 10 s). Then another worker may get it.
  Duration settle{12s};
  /// The longest time for which a reader of a log waits for a worker.
  Duration log_wait = limits::kLogWait;
  /// The longest time for which the answer to a worker's report waits until the ends in it are stored.
  Duration stored_wait = limits::kStoredWait;
  /// The time in which a worker answers a check of parameters.
  Duration check_wait = limits::kWorkerCheckWait;
  /// Answers job-log for runs that are elsewhere, with the arguments of the command. False: the run is at a worker, or at none. Empty: none
  /// is elsewhere.
  std::function<bool(const JobRun& run, std::int64_t from, bool wait, const std::string& place, const Reply& reply)> log_elsewhere = {};
  /// A reader that waits for a run without a worker hears after this time for what the run waits, and asks again.
  Duration log_held{1s};
};

struct WorkersStats {
  std::uint64_t given = 0;    // Runs that were given to a worker.
  std::uint64_t linked = 0;   // Runs that a worker had already when they began here.
  std::uint64_t lost = 0;     // Attempts that failed because their worker was away, had lost or did not begin them.
  std::uint64_t refused = 0;  // Events of workers about runs that are not theirs, and malformed ones.
};

}  // namespace rondo::jobs
