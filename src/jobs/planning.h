// Planning: which instants become live runs. It takes up what an earlier process left, has the planner plan each cycle, and follows edits
// of jobs, the wall clock and the zones. Scheduler thread only.
#pragma once

#include <map>

#include "jobs/async_runs.h"

namespace rondo::jobs {

class Planning {
 public:
  Planning(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Timetable& timetable, Ends& ends, AsyncRuns& async);

  /// Takes up the runs that an earlier process left, a page at a time, and begins to plan.
  void recover();
  /// True if they have been taken up.
  bool is_started() const noexcept { return is_started_; }
  /// Looks for due runs now, if it has begun to plan.
  void plan_now() {
    if (is_started_) cycle();
  }
  void give_up_killed();
  /// After the wall clock was set: jobs continue from the present time.
  void clock_was_set(Duration step);
  /// Ends the runs of a stopped job that have not begun, except those for which someone asked: those whose instants are still to come are
  /// withdrawn, the others are skipped.
  void end_runs_of_stopped(std::int64_t job_id);
  /// Follows an edit or a start of a job. After a change of its schedule or its parents, planned instants that are still to come are
  /// planned again.
  void take_over(const StoredJob& stored);
  /// Forgets a job that the store has no more, with its runs.
  void drop(std::int64_t job_id, const std::string& name);
  /// Of the last cycle, or of taking up what an earlier process left.
  const Status& status() const noexcept { return plan_status_; }
  /// RemoteRuns::is_standby().
  bool is_standby() const noexcept { return !is_started_ && plan_status_.code() == StatusCode::AlreadyExists; }
  TimerSource& timer() noexcept { return cycle_timer_; }

 private:
  void drop_runs(std::int64_t job_id);
  /// The handler of the job was changed: its runs that wait for room at the former one begin again.
  void leave_lines(const LiveJob& job);
  /// Recomputes what the due runs of the job that have not begun wait for.
  void decide_again(LiveJob& job);
  /// Plans the instants of the roots above these parents again, so that a new child takes part in them.
  void replan_roots(const std::vector<std::string>& parents);
  /// Ends a run that an earlier process left, if there is a reason 'why'.
  void end_recovered(LiveRun& live, std::string why);
  /// Ends a run that was killed before, unless a worker may have it.
  void stop_recovered(LiveRun& live);
  void begin_planning();
  void cycle();
  void planned(Planner::Cycle& found);
  void count_misfire(const JobRun& run);
  /// Another store has changed the database: takes over what has become of the jobs that have live runs, and plans then.
  void follow_changes();
  /// A page of them, behind that with this id.
  void follow_page(std::int64_t after);
  void follow(const std::map<std::int64_t, std::string>& page, const std::vector<StoredJob>& stored);
  /// Removes ended runs that are old or too many, each minute, a page in a transaction.
  void forget_old();
  /// Removes a page of them, and then at most 'pages' - 1 further ones.
  void forget_page(int pages);
  /// Reads changed zones again, once a minute.
  void refresh_zones();
  /// Computes the next times of a page of jobs again, and continues with the page behind it.
  void replan_page();

  Core& core_;
  LiveRuns& runs_;
  JobFacts& facts_;
  Handlers& handlers_;
  Timetable& timetable_;
  Ends& ends_;
  AsyncRuns& async_;
  bool is_started_ = false;
  bool is_planning_ = false;
  bool plans_again_ = false;                 // A cycle was asked for while one was under way.
  bool must_follow_ = false;                 // follow_changes() must be called.
  bool has_followed_ = false;                // follow_changes() was called: the next cycle plans in any case.
  std::optional<std::string> replan_after_;  // The next page to replan begins behind this name; empty: none.
  bool is_replanning_ = false;
  Instant last_zones_;
  Instant last_forget_;
  Status plan_status_;
  TimerSource cycle_timer_;
};

}  // namespace rondo::jobs
