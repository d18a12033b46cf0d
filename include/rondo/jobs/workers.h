// Workers: gives runs of jobs to worker programs, such as `rondo worker`, over the admin socket of this program. A worker offers commands;
// a job with the handler "command/NAME" runs at a worker that offers NAME.
//   Workers workers(runtime, jobs);
//   workers.add_commands(registry);
//
// While no connected worker offers a command, runs of its jobs wait for the fact job-handler:command/NAME. A worker whose connection is
// lost keeps its runs going. It comes back with their ids, also after a restart of this program, and reports the ends: they are linked, not
// begun again. The answer to a report of an end follows the storing of that end, so a worker that keeps an end until then loses none. An
// attempt at a worker that stays away for 60 s fails, and is retried by the rules of its job. A run whose
// worker goes before it has got the run, or refuses it, waits for room again and has used no attempt. The protocol, and what it promises
// against a worker that lies: docs/guide/run-commands.md.
//
// Jobs::put_checked() has a worker that offers the command check the parameters of its jobs. Without such a worker, or without its answer,
// they are stored unchecked.
//
// Commands: worker-orders, worker-report, workers, job-log. Scheduler thread only.
#pragma once

#include <memory>

#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo {
class CommandRegistry;
}

namespace rondo::jobs {

struct WorkersOptions;
struct WorkersStats;

class Workers {
 public:
  /// 'runtime' and 'jobs' must outlive it.
  Workers(Runtime& runtime, Jobs& jobs);
  /// For tests: src/jobs/workers/options.h.
  Workers(Runtime& runtime, Jobs& jobs, const WorkersOptions& options);
  /// Leaves the runs at the workers open: they are linked after the next start.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Adds the commands. AlreadyExists if one of the names is in use. This must outlive the server that uses 'registry'.
  Status add_commands(CommandRegistry& registry);
  const WorkersStats& stats() const noexcept;
  /// Ok, or the troubles: what a connected worker reports, such as a full disk under its state; workers that have not reported for
  /// 30 s, or have been away for that time and have runs; and runs that do not stop.
  Status health() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::jobs
