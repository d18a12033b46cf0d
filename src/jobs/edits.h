// Edits: what becomes of the live runs of a job that was edited, started, stopped or removed. Scheduler thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/async_runs.h"

namespace rondo::jobs {

class Edits {
 public:
  Edits(LiveRuns& runs, JobFacts& facts, Handlers& handlers, Ends& ends, AsyncRuns& async)
      : runs_(runs), facts_(facts), handlers_(handlers), ends_(ends), async_(async) {}

  /// Ends the runs of a stopped job that have not begun, except those for which someone asked: those whose instants are still to come are
  /// withdrawn, the others are skipped.
  void end_runs_of_stopped(std::int64_t job_id);
  /// Follows an edit or a start of a job. After a change of its schedule or its parents, planned instants that are still to come are
  /// planned again.
  void take_over(const StoredJob& stored);
  /// Forgets a job that the store has no more, with its runs.
  void drop(std::int64_t job_id, const std::string& name);

 private:
  void drop_runs(std::int64_t job_id);
  /// The handler of the job was changed: its runs that wait for room at the former one begin again.
  void leave_lines(const LiveJob& job);
  /// Recomputes what the due runs of the job that have not begun wait for.
  void decide_again(LiveJob& job);
  /// Plans the instants of the roots above these parents again, so that a new child takes part in them.
  void replan_roots(const std::vector<std::string>& parents);

  LiveRuns& runs_;
  JobFacts& facts_;
  Handlers& handlers_;
  Ends& ends_;
  AsyncRuns& async_;
};

}  // namespace rondo::jobs
