// RecordedJobs: the jobs of a recorded run of rondod: the same handlers and settings, without a database and without workers, whose answers
// are in the journal. Only in a build with the component jobs.
#pragma once

#include <memory>

#include "base/log.h"
#include "rondo/base/result.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondo/replay/replay.h"

namespace rondo::cli {

class RecordedJobs {
 public:
  /// 'runtime' is the replay's, and 'log' receives what the handler "log" writes. Both must outlive it. 'has_switch': the run had a switch
  /// agent, which was made before.
  RecordedJobs(Runtime& runtime, const jobs::JobsOptions& options, bool has_switch, Log& log);
  void start() { jobs_.start(); }

 private:
  jobs::Jobs jobs_;
};

/// The settings of the run's jobs. The errors of daemon::noted_settings().
Result<jobs::JobsOptions> recorded_settings(const replay::Replay& replay);

}  // namespace rondo::cli
