// Stops: attempts that must stop: those whose timeout has passed, or whose run is to end; and the handlers that do not. Scheduler thread
// only.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "jobs/ends.h"
#include "rondo/sched/timer.h"

namespace rondo::jobs {

class Stops {
 public:
  Stops(Core& core, LiveRuns& runs, Handlers& handlers, Ends& ends);

  /// The timeout of the attempt begins.
  void watch_timeout(LiveRun& live);
  /// Asks a running handler to stop, or ends a run that has not begun.
  void stop(LiveRun& live, RunState verdict, std::string note);
  /// The run whose handler was asked to stop first, and has not stopped, a minute after that; null: none.
  const LiveRun* stuck_run() const;
  void forget_stopped();

 private:
  void watch_deadlines();

  Core& core_;
  LiveRuns& runs_;
  Handlers& handlers_;
  Ends& ends_;
  std::multimap<Instant, std::int64_t> deadlines_;
  std::multimap<Instant, std::int64_t> stopping_;  // When running handlers were asked to stop. May contain runs that have stopped.
  TimerSource deadline_timer_;
};

}  // namespace rondo::jobs
