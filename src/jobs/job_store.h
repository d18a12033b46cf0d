// JobStore: keeps jobs and the rows of their runs. A seam: SQLite is one implementation (make_sqlite_job_store), and each passes the
// contract tests of store_contract.h.
//
// Promise: each function is one transaction, or a part of the one of atomically(). When it returns ok its effect survives a crash of the
// process, and, with Durability::Full, of the machine. When it returns an error it has no effect. plan() moves the next time of jobs and
// writes the rows of their runs together: so after a crash at any moment each scheduled instant has exactly one row, and a row without a
// final state is run again with the same id.
//
// A row that another program wrote and that cannot be used does not stop the others. A run is left out of all answers (unusable_rows()), a
// job is there without its definition (is_readable()), or is set aside (StoredJob::set_aside).
//
// Errors: Unavailable if the database is locked, cannot be read or written, was removed, or the disk is full; DataLoss if it is damaged;
// InvalidArgument and NotFound as stated. Threads: one thread at a time. The functions may block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/jobs/job.h"
#include "rondo/jobs/job_run.h"
#include "rondo/jobs/job_store.h"
#include "rondo/jobs/scheduler_claim.h"

namespace rondo::jobs {

/// The new next time of a job, with the runs of the instants before it.
struct Plan {
  std::int64_t job_id = 0;
  std::optional<WallTime> next{};
  std::vector<JobRun> runs = {};  // Also those of the jobs below it. plan() sets 'id' and 'parents'.
};

/// The end of an attempt, or of a run that did not begin.
struct RunEnd {
  std::int64_t id = 0;
  RunState state = RunState::Due;  // Due: another attempt follows at 'due'.
  WallTime due = {};
  std::uint32_t attempt = 0;
  std::optional<WallTime> begun{};
  WallTime ended = {};
  std::string note = {};
  /// For a schedule "after DURATION": the next scheduled instant of its job.
  std::optional<WallTime> next{};
  /// The row of the run is removed: its instant is still to come, and its job was stopped or edited. With 'next', the job is due again at
  /// that time, unless it is due earlier.
  bool is_withdrawn = false;
};

/// A place in the order of the due jobs: by next time, then by id. The default is before all of them.
struct DuePlace {
  WallTime next = WallTime::from_nanoseconds(INT64_MIN);
  std::int64_t id = 0;
};

/// The first and the last scheduled instant of a job whose run was removed because it was old.
struct RemovedInstants {
  WallTime first{};
  WallTime last{};
};

/// The parts of the jobs. Each is owned by one scheduler at a time.
inline constexpr int kShards = 64;

/// "process 123 on host", for people.
std::string name_of_this_process();

class JobStore {
 public:
  virtual ~JobStore() = default;

  /// Claims the jobs for the one scheduler that may run them, until the store is destroyed. AlreadyExists while another store has claimed
  /// them, in this process or another one.
  virtual Status claim() { return {}; }
  /// True if another store has written to the jobs or their runs, in this process or another one, since claim() or the last call. False
  /// before claim(). O(1).
  virtual Result<bool> is_changed_elsewhere() { return false; }
  /// False at a time when the claim may have run out, so that another scheduler may have the jobs: no run may begin. The time is that of
  /// the monotonic clock. Any thread.
  virtual bool may_begin(Instant) const noexcept { return true; }
  /// The clock of the database less that of this machine, as of the last renewal of the claim; 0 without one. Any thread.
  virtual Duration clock_difference() const noexcept { return Duration{0}; }
  /// True once another scheduler has the jobs: each further change fails. Any thread.
  virtual bool is_taken_over() const noexcept { return false; }
  /// Returns the schedulers that have claimed jobs, also if their lease has ended, and this one. A store without leases returns this one
  /// alone, as the owner of all jobs. O(shards).
  virtual Result<std::vector<SchedulerClaim>> schedulers();

  /// Calls 'work' once. Its calls of this store are one transaction, which an error that it returns undoes. It must return the error of a
  /// call that failed to change something. It must not call atomically().
  virtual Status atomically(const std::function<Status()>& work) = 0;

  /// Adds or edits a job. An edited one keeps its id, its state and its runs; 'next' becomes its next time.
  virtual Result<StoredJob> put(const Job& job, std::optional<WallTime> next) = 0;
  /// Removes a job and its runs; NotFound.
  virtual Status remove(std::string_view name) = 0;
  /// Starts or stops a job, with 'note' as its Job::stop_note; NotFound.
  virtual Status set_running(std::string_view name, bool is_running, std::optional<WallTime> next, std::string_view note) = 0;
  /// NotFound.
  virtual Result<StoredJob> find(std::string_view name) = 0;
  /// At most 'max' jobs in the order of their names, beginning behind 'after'. O(result).
  virtual Result<std::vector<StoredJob>> list(std::string_view after, std::size_t max) = 0;
  /// At most 'max' started jobs whose next time is at most 'until', in the order of DuePlace, beginning behind 'after'. O(log jobs +
  /// result).
  virtual Result<std::vector<StoredJob>> due(WallTime until, DuePlace after, std::size_t max) = 0;

  /// At most one more than limits::kJobsOfFamily jobs that name 'parent' as a parent, in the order of their names. O(result).
  virtual Result<std::vector<StoredJob>> children(std::string_view parent) = 0;
  /// Those of 'names' that have children, and maybe others: for a store in which a call of children() for each of them would take long. One
  /// query.
  virtual Result<std::set<std::string, std::less<>>> parents_among(const std::vector<std::string>& names) {
    return std::set<std::string, std::less<>>(names.begin(), names.end());
  }

  /// See above. A run whose (job, scheduled) has a row already is left out, and so are the runs below it: their ids become 0.
  virtual Status plan(std::span<Plan> plans) = 0;
  /// Adds runs of Band::Manual or Band::Backfill, and sets 'id' and 'parents'. Runs of Band::Backfill are left out as in plan().
  virtual Status add_runs(std::span<JobRun> runs) = 0;
  /// Sets the ends of runs, and removes the withdrawn ones. A run that has a final state keeps it: the first one wins.
  virtual Status finish(std::span<const RunEnd> ends) = 0;
  /// Records to which worker a run without a final state is given. A run that has a final state keeps its worker.
  virtual Status note_worker(std::int64_t run, std::string_view worker) = 0;
  /// Records that a user has killed a run. It does nothing to one that has a final state.
  virtual Status note_killed(std::int64_t run) = 0;
  /// Keeps a text that must outlive the program, for what gives runs to other programs. Equal keys: the last text counts.
  virtual Status remember(std::string_view key, std::string_view text) = 0;
  /// Empty: there is none.
  virtual Result<std::string> remembered(std::string_view key) = 0;
  /// At most 'max' runs without a final state whose id is greater than 'after', in the order of their ids, with their jobs' names.
  virtual Result<std::vector<JobRun>> unfinished(std::int64_t after, std::size_t max) = 0;
  /// NotFound.
  virtual Result<JobRun> run(std::int64_t id) = 0;
  /// At most 'max' runs of a job whose id is below 'before', the newest first.
  virtual Result<std::vector<JobRun>> runs(std::string_view job, std::int64_t before, std::size_t max) = 0;
  /// At most 'max' runs of the jobs whose handler begins with 'handlers' that failed or timed out and ended at 'since' or later, whose id
  /// is below 'before', the newest first. O(failed runs with a lower id).
  virtual Result<std::vector<JobRun>> failures(WallTime since, std::int64_t before, std::size_t max, std::string_view handlers) = 0;
  /// Of the final runs of a job that have begun, the one with the latest end; of several, the one with the highest id. Empty: there is
  /// none. O(log runs).
  virtual Result<std::optional<JobRun>> last_ended(std::string_view job) = 0;
  /// The last success among the newest kEndsSearched runs that last_ended() considers. O(log runs + kEndsSearched).
  virtual Result<std::optional<JobRun>> last_succeeded(std::string_view job) = 0;
  /// last_ended() of the jobs of an answer of list(), which 'names' names: of those that have one, in any order; and behind them
  /// last_succeeded() of those whose last_ended() did not succeed. O(names * log runs).
  virtual Result<std::vector<JobRun>> newest_ends(const std::vector<std::string>& names);
  /// At most 'max' scheduled instants of a job from 'from' to before 'to' that have a run, triggered ones not included, the earliest first.
  /// O(log runs + result).
  virtual Result<std::vector<WallTime>> instants(std::int64_t job_id, WallTime from, WallTime to, std::size_t max) = 0;
  /// Removes final runs that ended before 'before', the earliest first. Reads at most 'max' of them; the next call reads those behind them.
  /// Returns true if there may be more to do. Here and in forget_beyond() a run remains that last_ended() returns, or that a run without a
  /// final state names as a parent.
  virtual Result<bool> forget(WallTime before, std::size_t max) = 0;
  /// Removes the oldest final runs of jobs that have more than 'kept' runs; a job may have a tenth more for some time. At most 'max' runs.
  /// Returns true if there may be more to do. 'kept' is at least 1, and the same in each call.
  virtual Result<bool> forget_beyond(std::size_t kept, std::size_t max) = 0;
  /// Between which instants forget() and forget_beyond() have removed runs of a job, triggered ones not included. Empty: they have removed
  /// none. O(log jobs).
  virtual Result<std::optional<RemovedInstants>> removed_instants(std::int64_t job_id) = 0;
  /// Names rows that cannot be used: runs that were left out of an answer, or are of an impossible state, with their number, and a started
  /// job that never becomes due. Empty: none is known. Rows that were removed or repaired since do not count. Each call looks at some
  /// rows of runs, and the next one at those behind them: O(limits::kRunsOfLook + log rows).
  virtual Result<std::string> unusable_rows() { return std::string{}; }

  static constexpr std::size_t kEndsSearched = 100;

 protected:
  /// Adds last_succeeded() of the jobs of 'ends' of which the last run did not succeed.
  Result<std::vector<JobRun>> with_successes(Result<std::vector<JobRun>> ends);
};

}  // namespace rondo::jobs
