// Ends: the ends of attempts and runs, also those that timeouts and kills cause: what follows from each, its way into the store, and what
// its storing lets begin. Scheduler thread only.
#pragma once

#include <map>

#include "jobs/handlers.h"
#include "jobs/job_facts.h"
#include "jobs/jobs_view.h"
#include "jobs/pools.h"
#include "jobs/timetable.h"

namespace rondo::jobs {

inline constexpr const char* kKilled = "killed by a user";

class Ends {
 public:
  /// 'plan' is called when an instant may be planned that is near.
  Ends(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Timetable& timetable, std::function<void()> plan);

  /// The run ends without a further attempt: with 'state', or as failed if an attempt has failed.
  void end(LiveRun& live, RunState state, std::string note);
  void end_attempt(LiveRun& live, const Attempt& attempt);
  /// True if the schedule has planned the run, and it is due in the future.
  bool is_to_come(const LiveRun& live) const;
  void withdraw_runs_to_come(const LiveJob& job);
  /// Removes the row of a run that is to come, and of the runs below it. Its job is planned again at this instant, if it is started. The
  /// next flush() stores this for a whole family at once: a plan in between would leave out the runs whose rows are still there.
  void withdraw(LiveRun& live);
  /// True if a plan must wait, because it would leave out the instants of runs whose rows are still there. The storing calls 'plan'.
  bool are_withdrawn() const;
  void skip_children(const std::vector<std::int64_t>& children, const std::string& note);
  /// Forgets a run that the store has no more.
  void forget(LiveRun& live);
  void flush();
  /// At the end of a program: submits the ends that wait until earlier ones are stored.
  void submit_last();
  /// Ends that are not stored.
  std::size_t pending() const noexcept { return ends_.size() + storing_.size(); }
  /// Of the last attempt to store ends.
  const Status& status() const noexcept { return ends_status_; }

  /// The timeout of the attempt begins.
  void watch_timeout(LiveRun& live);
  /// Asks a running handler to stop, or ends a run that has not begun.
  void stop(LiveRun& live, RunState verdict, std::string note);
  /// The run whose handler was asked to stop first, and has not stopped, a minute after that; null: none.
  const LiveRun* stuck_run() const;
  void forget_stopped();

  bool when_stored(std::int64_t run, std::uint32_t attempt, std::function<void(const Status& why)> stored);
  void on_end(std::function<void(const JobRun& run)> listener) { ended_listener_ = std::move(listener); }
  /// What `why` adds about the row of a run that is not live.
  RowInPlane state_of_ended(std::int64_t run, std::string_view key) const;
  /// See JobsView::attempts().
  std::vector<EndedAttempt> attempts(std::int64_t run) const {
    const auto found = attempts_.find(run);
    return found == attempts_.end() ? std::vector<EndedAttempt>{} : found->second;
  }
  TimerSource& timer() noexcept { return deadline_timer_; }

 private:
  struct Ending {
    RunEnd end;
    std::int64_t job_id;
    std::shared_ptr<const Job> job;
    WallTime scheduled;
    bool is_scheduled;  // Of the schedule.
    WallTime known;     // When the end became known here.
  };
  void watch_deadlines();
  /// The next flush() stores it.
  void queue(LiveRun& live, RunEnd end);
  static std::optional<WallTime> next_of_delay(JobStore& of, Planner& planner, const Ending& ending);
  static Result<std::optional<WallTime>> next_of_withdrawn(JobStore& of, Planner& planner, const Ending& ending);
  void submit(std::vector<Ending> endings, std::function<void(Result<bool>)> done);
  void take_answer(const Status& status);
  void take_stored(const std::vector<Ending>& stored);
  void report_stored(const std::vector<std::int64_t>& ended, const Status& why);
  /// The end of a run is stored: its children may begin, or are skipped.
  void end_family(const std::vector<std::int64_t>& children, const JobRun& parent);
  /// Calls the listener of Jobs::on_end(), or reports a failure.
  void publish(const JobRun& run);
  void stop_waiting(LiveRun& live);
  void remove_waiting_row(const LiveRun& live);
  void note_ended(const JobRun& run, WallTime ended);
  void note_attempt(const LiveRun& live, const Attempt& attempt, const RunEnd& end);

  Core& core_;
  LiveRuns& runs_;
  JobFacts& facts_;
  Handlers& handlers_;
  Timetable& timetable_;
  const std::function<void()> plan_;
  std::vector<Ending> ends_;                                                    // Not given to the store yet.
  std::vector<Ending> storing_;                                                 // Given to the store; no answer yet.
  std::map<std::int64_t, std::function<void(const Status& why)>> end_waiters_;  // Jobs::when_stored(), by run.
  std::function<void(const JobRun& run)> ended_listener_;
  Status ends_status_;
  std::multimap<Instant, std::int64_t> deadlines_;
  std::multimap<Instant, std::int64_t> stopping_;  // When running handlers were asked to stop. May contain runs that have stopped.
  TimerSource deadline_timer_;
  struct EndedRun {
    std::string key;
    std::string how;  // For people.
  };
  std::map<std::int64_t, std::vector<EndedAttempt>> attempts_;  // By run.
  std::map<std::int64_t, EndedRun> last_ended_;                 // At most limits::kEndedRuns.
};

}  // namespace rondo::jobs
