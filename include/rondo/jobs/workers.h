// Workers: gives runs of jobs to worker programs, such as `rondo worker`, over the admin socket of this program. A worker offers commands;
// a job with the handler "command/NAME" runs at a worker that offers NAME.
//   Workers workers(runtime, jobs);
//   workers.add_commands(registry);
//
// While no connected worker offers a command, runs of its jobs wait for the fact job-handler:command/NAME. A worker whose connection is
// lost keeps its runs going. It comes back with their ids, also after a restart of this program, and reports the ends: they are linked, not
// begun again. The answer to a report of an end follows the storing of that end, so a worker that keeps an end until then loses none. An
// attempt at a worker that stays away for WorkersOptions::away fails, and is retried by the rules of its job. A run whose
// worker goes before it has got the run, or refuses it, waits for room again and has used no attempt. The protocol, and what it promises
// against a worker that lies: docs/guide/run-commands.md.
//
// Jobs::put_checked() has a worker that offers the command check the parameters of its jobs. Without such a worker, or without its answer,
// they are stored unchecked.
//
// Commands: worker-orders, worker-report, workers, job-log. Scheduler thread only.
#pragma once

#include <cstdint>
#include <memory>

#include "rondo/jobs/jobs.h"
#include "rondo/jobs/worker_limits.h"
#include "rondo/orch/runtime.h"

namespace rondo {
class CommandRegistry;
}

namespace rondo::jobs {

struct WorkersOptions {
  /// A worker that has not reported for this time gets no further run.
  Duration silent{30s};
  /// The attempts of a worker that is not connected for this time fail. A connected worker that does not report for it is disconnected, and
  /// an attempt that a reporting worker has not begun for it fails.
  Duration away{60s};
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
  /// A reader that waits for a run without a worker hears after this time for what the run waits, and asks again.
  Duration log_held{1s};
};

struct WorkersStats {
  std::uint64_t given = 0;    // Runs that were given to a worker.
  std::uint64_t linked = 0;   // Runs that a worker had already when they began here.
  std::uint64_t lost = 0;     // Attempts that failed because their worker was away, had lost or did not begin them.
  std::uint64_t refused = 0;  // Events of workers about runs that are not theirs, and malformed ones.
};

class Workers {
 public:
  /// 'runtime' and 'jobs' must outlive it.
  Workers(Runtime& runtime, Jobs& jobs, WorkersOptions options = {});
  /// Leaves the runs at the workers open: they are linked after the next start.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Adds the commands. AlreadyExists if one of the names is in use. This must outlive the server that uses 'registry'.
  Status add_commands(CommandRegistry& registry);
  const WorkersStats& stats() const noexcept;
  /// Ok, or the troubles: what a connected worker reports, such as a full disk under its state; workers that have not reported for
  /// WorkersOptions::silent, or have been away for that time and have runs; and runs that do not stop.
  Status health() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo::jobs
