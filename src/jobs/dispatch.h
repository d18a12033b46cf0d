// Dispatch: which due run gets its turn: the facts, the other runs of its job, its handler, and the places of the pools decide. Scheduler
// thread only.
#pragma once

#include <array>
#include <map>

#include "jobs/async_runs.h"

namespace rondo::jobs {

class Dispatch {
 public:
  Dispatch(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Ends& ends, AsyncRuns& async);

  /// Begins a due run, or says for what it waits.
  Outcome begin(std::int64_t run, const Ticket& ticket);
  bool may_begin(std::int64_t run) const;
  /// See Jobs::drain().
  void drain(Duration patience, std::function<void(const Status&)> done);
  /// Waits until no handler runs on a thread.
  void end_pools();
  TimerSource& timer() noexcept { return drain_timer_; }

 private:
  Outcome begin_handler(LiveRun& live, const Ticket& ticket);
  void cover(LiveRun& live);
  /// Overlap::Cover: a later run of the job that has begun, or may. 0: there is none. A run that waited for a fact begins after later ones.
  std::int64_t newer_run(const LiveRun& live) const;
  Outcome overlap(LiveRun& live);
  void submit(LiveRun& live, PoolKind pool, const HandlerEntry& handler);
  void pool_has_room(PoolKind pool);
  Attempt attempt_of(LiveRun& live, const HandlerEntry& handler);
  void attempt_ended(Attempt& attempt);
  /// Calls 'done' of drain() when it is time.
  void watch_drain();

  Core& core_;
  LiveRuns& runs_;
  JobFacts& facts_;
  Handlers& handlers_;
  Ends& ends_;
  AsyncRuns& async_;
  Pools pools_;
  PoolChoice pool_choice_;
  /// Runs that wait for a place in a pool: the highest priority first, then the oldest.
  std::array<std::map<std::pair<int, std::uint64_t>, std::int64_t>, kPools.size()> waiting_;
  std::uint64_t next_in_line_ = 1;
  Instant drained_at_;  // At the latest.
  std::function<void(const Status&)> drained_;
  TimerSource drain_timer_;
};

}  // namespace rondo::jobs
