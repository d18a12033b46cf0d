// LiveRun and LiveJob: the runs without a stored end, and their jobs. Scheduler thread only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "jobs/pools.h"
#include "rondo/jobs/async_run.h"
#include "rondo/jobs/job.h"
#include "rondo/jobs/job_run.h"
#include "rondo/orch/orch.h"

namespace rondo::jobs {

struct LiveRun;

/// The runs that wait for an absent handler.
struct AwaitedRuns {
  std::size_t runs = 0;
  WallTime since;  // When the first of them was due.
  Instant waits;   // Since when there are some.
};

/// A job that has live runs.
struct LiveJob {
  std::shared_ptr<const Job> job;     // As it was edited last.
  std::set<std::int64_t> runs;        // All of its live runs.
  std::set<std::int64_t> begun;       // Those that run, and those that may begin now.
  std::deque<std::int64_t> waiting;   // Those that wait for others of the job, by their ids. May contain runs that have ended.
  std::deque<std::int64_t> backfill;  // The same for runs of Band::Backfill, which begin when none of 'waiting' is left.

  std::size_t most() const noexcept { return job->overlap == Overlap::Concurrent ? job->concurrency : 1; }
};

struct LiveRun {
  enum class Stage : std::uint8_t {
    Planned,  // In the time ring, or in line for it.
    Fired,    // A row of its table; it has not begun.
    Running,  // Its handler runs.
    Ending,   // The end of an attempt, or of the run, or its withdrawal, is being stored.
  };
  JobRun run;
  LiveJob* job = nullptr;
  Stage stage = Stage::Planned;
  bool is_recovered = false;        // An earlier process may have begun the present attempt.
  bool is_withdrawn = false;        // Its row is being removed.
  bool ends_attempt = false;        // Ending: what is being stored is the end of an attempt that had begun.
  WallTime fires = {};              // Its time in the time ring: run.due, or when it was found late.
  Priority priority;                // Of the table that has its row.
  std::optional<Ticket> ticket;     // While its row is in flight: it runs, or waits for a place in a pool.
  bool waits_for_turn = false;      // It is in LiveJob::waiting.
  std::string line = {};            // At an asynchronous handler: the name under which it was set.
  std::uint64_t place_in_line = 0;  // At an asynchronous handler, among the runs of its priority; 0: none yet.
  bool is_held = false;             // By AsyncHandler::held.
  /// The absent handler for which it waits.
  std::map<std::string, AwaitedRuns, std::less<>>::value_type* awaits = nullptr;
  std::vector<std::int64_t> children;  // Runs that wait for the success of this one.
  std::optional<PoolKind> pool;        // The pool for a place in which it waits.
  std::optional<PoolKind> runs_in;     // The pool that runs it, or has it in its queue.
  /// With 'runs_in': when its handler began, in nanoseconds; 0: not yet.
  std::shared_ptr<std::atomic<std::int64_t>> begins;
  std::stop_source stop;
  std::weak_ptr<AsyncRun::State> async;  // Of the attempt under way, if its handler is asynchronous.
  std::optional<RunState> verdict;       // Why it was asked to stop: Killed or TimedOut.
  std::string verdict_note;
  Instant deadline = Instant::never();
  Instant stop_asked = Instant::never();  // When the handler of the attempt under way was asked to stop.

  bool has_begun() const noexcept { return stage == Stage::Running || stage == Stage::Ending; }
  /// The job as an attempt receives it: with the parameters of the run, if it has its own.
  std::shared_ptr<const Job> job_of_attempt() const {
    if (!run.parameters) return job->job;
    auto own = std::make_shared<Job>(*job->job);
    own->parameters = *run.parameters;
    return own;
  }
};

}  // namespace rondo::jobs
