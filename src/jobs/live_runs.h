// LiveRuns: the runs without a stored end, by job, with the rows of those that are due. Each part of a Jobs works on them. Scheduler thread
// only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "jobs/live_run.h"
#include "jobs/planner.h"
#include "jobs/run_queue.h"
#include "rondo/base/trace_context.h"

namespace rondo::jobs {

class LiveRuns {
 public:
  LiveRuns(Runtime& runtime, HooksOf hooks, JobTurns& of_turns) : turns(of_turns), runtime_(runtime), hooks_(std::move(hooks)) {}

  std::unordered_map<std::int64_t, LiveRun>& all() noexcept { return runs_; }
  std::unordered_map<std::int64_t, LiveJob>& jobs() noexcept { return jobs_; }
  /// Null: it has a stored end, or never was.
  LiveRun* find(std::int64_t run) {
    const auto found = runs_.find(run);
    return found == runs_.end() ? nullptr : &found->second;
  }
  /// Null: the run is live already.
  LiveRun* add(const JobRun& run, const Job& job);
  /// Its end is stored.
  void remove(LiveRun& live);

  /// The trace of the call that asked for the run; null: none.
  std::shared_ptr<const TraceContext> trace(std::int64_t run) const;
  /// Keeps it until the end of the run is stored, also for the runs that wait for its success. Without effect beyond limits::kTracedRuns.
  void set_trace(std::int64_t run, const std::shared_ptr<const TraceContext>& trace);

  /// True, with 'trouble' set, at limits::kLiveRuns.
  bool is_full();
  /// ResourceExhausted if 'more' runs of the job would be too many, with those that wait, and those that are being added.
  Status room_for(const std::string& job, std::size_t more) const;
  /// Adds 'more' to the runs of a job that room_for() knows, and takes 'fewer' from them.
  void count_runs(const std::string& job, std::size_t more, std::size_t fewer);
  /// The runs that may be planned. The more runs wait in all, the fewer of one job may.
  Planner::Room room() const;

  /// The Orch of a priority; null, with 'trouble' set, if the runtime refuses its table.
  RunQueue* queue(Priority priority);
  void remove_row(const LiveRun& live);
  /// A run whose row is in flight begins its way to its handler again.
  void begin_again(LiveRun& live, const Outcome& outcome);
  /// Its state becomes 'stage'.
  void enter(LiveRun& live, LiveRun::Stage stage);
  void count_end(std::uint64_t RunEnds::*end, Band band);
  /// Its handler begins.
  void count_attempt(LiveRun& live, WallTime now);
  /// Lets the next runs of a job begin that wait for a turn.
  void pass_turn(LiveJob& job);
  /// True if an earlier process gave the run to a worker that may have begun it, and that has not said so since.
  bool may_be_at_worker(const LiveRun& live) const;

  JobTurns& turns;
  JobsStats stats;
  std::string trouble;            // Why a job could not be planned, or a run did not fire.
  std::int64_t recovered_to = 0;  // The runs of an earlier process up to this id were taken up.
  bool is_draining = false;       // Nothing begins any more.

 private:
  Runtime& runtime_;
  HooksOf hooks_;
  std::map<unsigned, RunQueue*> queues_;            // By the level of the priority.
  std::unordered_map<std::int64_t, LiveJob> jobs_;  // By id.
  std::unordered_map<std::int64_t, LiveRun> runs_;
  std::set<std::pair<WallTime, std::int64_t>> due_;                               // Runs in Stage::Fired, by their due times.
  std::unordered_map<std::int64_t, std::shared_ptr<const TraceContext>> traces_;  // By run.
  std::unordered_map<std::string, std::size_t> runs_of_;  // By the name of their job; also those that are being added on request.
};

}  // namespace rondo::jobs
