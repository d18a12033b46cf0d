// Planning: from the start of a Jobs on, which instants become live runs: it takes up what an earlier process left, has the planner plan
// each cycle, and follows the edits of other programs, the wall clock and the zones. Scheduler thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/edits.h"
#include "jobs/timetable.h"
#include "rondo/sched/timer.h"

namespace rondo::jobs {

class Planning {
 public:
  Planning(Core& core, LiveRuns& runs, Handlers& handlers, Timetable& timetable, Ends& ends, Stops& stops, Edits& edits);

  /// Takes up the runs that an earlier process left, a page at a time, and begins to plan.
  void recover();
  /// Whether they have been taken up.
  bool is_started() const noexcept { return is_started_; }
  /// Looks for due runs now, if it has begun to plan.
  void plan_now() {
    if (is_started_) cycle();
  }
  void give_up_killed();
  /// After the wall clock was set: jobs continue from the present time.
  void clock_was_set(Duration step);
  /// Of the last cycle, or of taking up what an earlier process left.
  const Status& status() const noexcept { return plan_status_; }

 private:
  /// Ends a run that an earlier process left, if there is a reason 'why'.
  void end_recovered(LiveRun& live, std::string why);
  /// Ends a run that was killed before, unless a worker may have it.
  void stop_recovered(LiveRun& live);
  void begin_planning();
  void cycle();
  void planned(Planner::Cycle& found);
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
  Handlers& handlers_;
  Timetable& timetable_;
  Ends& ends_;
  Stops& stops_;
  Edits& edits_;
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
