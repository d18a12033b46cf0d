// Planner: decides which scheduled instants become runs. plan_job() is a pure function. Planner runs one cycle: it reads the due jobs of a
// store, plans their runs, and writes runs and next times in one transaction. The bands are those of the Orth job scheduler, with both
// bounds as settings. One thread, which may block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jobs/family.h"
#include "jobs/job_store.h"
#include "jobs/named_few.h"
#include "rondo/calendar/schedule.h"
#include "rondo/calendar/zone.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

struct PlannerOptions {
  Duration window{5s};  // Instants up to this far ahead are planned; those late by at most this are Band::Ring.
  Duration grace{10s};  // Instants late by more than this are Band::Misfire.
};

/// A schedule ready for use.
struct CompiledSchedule {
  ScheduleText text;
  calendar::Schedule schedule;
  std::shared_ptr<const calendar::Zone> zone;
};

/// True if the instants of a job follow from the ends of its runs.
inline bool is_delay(const Job& job) { return job.schedule.when.starts_with("after "); }

/// The first scheduled instant after 'after'. Empty if there is none, and for schedules that begin with a trigger: manual, and the first
/// run of "after DURATION" if 'after' is not the end of a run (see first_after).
std::optional<calendar::Firing> next_after(const CompiledSchedule& compiled, WallTime after);

/// The first firing whose scheduled instant is after 'after', and that is due after 'now': one whose jitter is not over is still to come.
std::optional<calendar::Firing> first_due(const CompiledSchedule& compiled, WallTime now,
                                          WallTime after = WallTime::from_nanoseconds(INT64_MIN));

/// Plans all instants from 'stored.next' to 'now' + window, at most 'runs_max'. How late an instant is counts from its due time. Missed
/// instants become runs by Job::misfire, at most 'runs_max', which are first; the oldest of them has the number of those without a run. The
/// further instants of a plan that reached a bound remain for the next cycle. O(instants), at most limits::kMissedCounted and those within
/// the jitter, and then O(64 * limits::kMisfireRuns).
Plan plan_job(const StoredJob& stored, const CompiledSchedule& compiled, WallTime now, const PlannerOptions& options,
              std::size_t runs_max = limits::kRunsOfPlan);

/// The error of a definition: an unknown zone is a wrong argument, and no row that is absent.
inline Status as_wrong_definition(const Status& error) {
  return error.code() == StatusCode::NotFound ? Status{StatusCode::InvalidArgument, std::string{error.message()}} : error;
}

class Planner {
 public:
  explicit Planner(PlannerOptions options) : options_(options) {}

  struct Cycle {
    std::vector<StoredJob> jobs;      // Those that had runs; 'next' is the new one.
    std::vector<Plan> plans;          // In the same order.
    std::vector<StoredJob> children;  // The jobs below them.
    bool is_complete = true;          // False: more jobs are due; another cycle should follow immediately.
    bool is_changed = false;          // Another store has changed the jobs: nothing was planned.
    std::string trouble;              // Why jobs could not be planned at the last visit of all, and rows that cannot be used; empty: none.
  };
  /// The runs that one cycle may plan.
  struct Room {
    std::size_t runs = limits::kRunsOfCycle;          // In all; a family may exceed it.
    std::map<std::int64_t, std::size_t> full_jobs{};  // Those of which too many runs wait, with their number, by id.
    bool plans_changed = false;                       // Also jobs that another store has changed.
  };
  /// One transaction. On an error nothing was planned. Full jobs, and those above them, are not planned: their next times stay. A cycle
  /// visits at most limits::kJobsOfCycle due jobs. The next one goes on behind them, so that jobs that cannot be planned do not keep
  /// the others from their turn.
  Result<Cycle> run(JobStore& store, WallTime now, const Room& room);
  Result<Cycle> run(JobStore& store, WallTime now) { return run(store, now, Room{}); }

  struct Replanned {
    std::string last;  // The last job of the page.
    bool is_complete = false;
    std::vector<StoredJob> unhandled = {};  // One started job for each handler that is not among the known ones.
  };
  /// For a page of started jobs behind the name 'after': a next time that is no instant of its schedule any more (zones have changed), or
  /// too far ahead (the wall clock was set back), becomes the first one after 'now'. An instant that has a run does not get another one.
  Result<Replanned> replan(JobStore& store, const std::string& after, WallTime now,
                           const std::set<std::string, std::less<>>& known_handlers = {});

  /// The compiled schedule of a job: InvalidArgument for a schedule or a zone that does not exist.
  Result<const CompiledSchedule*> compiled(const Job& job, std::int64_t id);
  /// The first instant after 'after' of a job that is started at 'now', or whose run ended then: see first_due().
  Result<std::optional<WallTime>> first_after(const Job& job, std::int64_t id, WallTime now,
                                              WallTime after = WallTime::from_nanoseconds(INT64_MIN));
  /// Reads changed zones of the system again. Returns true if any changed.
  bool refresh_zones();

 private:
  /// Why a job cannot be planned: its row, its schedule or its zone cannot be read.
  Status can_be_planned(const StoredJob& job);
  /// Adds the jobs below others that cannot run with them. Forgets families that were repaired. Examines the families whose jobs this visit
  /// can name, and limits::kTroublesNamed of the others in turn; the rest count as at their last examination.
  Status check_families(JobStore& store);
  /// Adds a job that cannot be planned to those of this visit.
  void add_trouble(const std::string& job, std::string_view why);
  /// The jobs below a due job. Empty, with walk_ saying why, if it cannot be planned.
  Result<std::optional<std::vector<Descendant>>> plannable(JobStore& store, const StoredJob& job, bool may_have_children, const Room& room);
  /// The plan of a due job and of the jobs below it, which are added to 'cycle': at most 'room' runs, and one of each job.
  Plan plan_family(const StoredJob& job, std::vector<Descendant> descendants, WallTime now, std::size_t room, Cycle& cycle);
  /// True if the next time of a job, which is after 'now', follows from its schedule.
  bool is_in_order(const StoredJob& stored, const CompiledSchedule& compiled, WallTime now) const;

  const PlannerOptions options_;
  calendar::ZoneDirectory zones_;
  std::unordered_map<std::int64_t, CompiledSchedule> schedules_;  // By job id: only those that were due lately.
  /// The visit of all due jobs that is under way: it may take several cycles.
  struct {
    DuePlace place{};
    bool has_rest = false;  // Instants of a visited job remain.
    NamedFew troubles{};    // The jobs that cannot be planned.
  } walk_;
  std::string trouble_;  // Of the last visit that is over.
  /// Roots above jobs that cannot run with them, with the number of these jobs. At most limits::kUnusableRuns.
  std::map<std::string, std::size_t> damaged_families_;
  std::string examined_family_;  // The last one that was examined in turn; the next visit goes on behind it.
};

}  // namespace rondo::jobs
