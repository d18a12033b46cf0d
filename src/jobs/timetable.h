// Timetable: the planned runs in the order of their times, until each becomes a row of its table. Scheduler thread only.
#pragma once

#include <map>
#include <set>

#include "jobs/core.h"
#include "jobs/live_runs.h"
#include "jobs/time_ring.h"
#include "rondo/sched/timer.h"

namespace rondo::jobs {

/// The pause after the attempt with this number.
Duration backoff_of(const Job& job, std::uint32_t attempt);

class Timetable {
 public:
  Timetable(Core& core, LiveRuns& runs);

  /// Runs fire from now on. False: it was called before.
  bool start() { return !std::exchange(was_started_, true); }
  bool was_started() const noexcept { return was_started_; }
  /// Makes a run live, and puts it in line for its time. Ignores one that is live.
  void add(const JobRun& run, const Job& job);
  /// Puts a planned run in line for its time.
  void wait_until_due(LiveRun& live);
  /// The wall clock was set: attempts wait no longer than their backoff, and instants that are late now follow their band.
  void clock_was_set();
  /// See Jobs::on_due().
  void on_due(std::function<void(const JobRun& run)> listener) { due_listener_ = std::move(listener); }
  /// Takes the runs into the ring that have come near, and sets the timer by the wall clock.
  void renew();
  TimerSource& timer() noexcept { return ring_timer_; }

 private:
  void arm();
  void fire_due();
  void fire(LiveRun& live);
  /// The due time of a planned run. Only an instant of the calendar follows the wall clock wherever it is set.
  WallTime due_of(const LiveRun& live) const;

  Core& core_;
  LiveRuns& runs_;
  bool was_started_ = false;
  TimeRing ring_;
  /// Planned runs that were due when they were taken up. They fire first, in the order of their ids, which is that of their instants: a
  /// missed instant before a later one.
  std::set<std::int64_t> late_;
  std::multimap<WallTime, std::int64_t> later_;  // Runs that are due beyond the ring: attempts after a long backoff.
  std::function<void(const JobRun& run)> due_listener_;
  TimerSource ring_timer_;
};

}  // namespace rondo::jobs
