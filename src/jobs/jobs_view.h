// JobsView: the live runs of a Jobs as people see them: for admin commands and for a daemon's health. It changes nothing. Scheduler thread
// only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/async_state.h"
#include "rondo/jobs/jobs.h"

namespace rondo::jobs {

struct LiveRun;
struct RemoteHandler;

/// What a run without a stored end does at present: JobsView::activity().
struct RunActivity {
  enum class Stage : std::uint8_t {
    Planned,  // It waits for its time, or for the time of its next attempt.
    Waiting,  // It is due, and waits for facts, for other runs of its job, for a place, or for the begin of its work elsewhere.
    Running,  // Its handler runs.
    Ending,   // The end of an attempt, or of the run, is being stored.
  };
  Stage stage = Stage::Planned;
  std::optional<WallTime> begun{};  // Running, and Ending an attempt: when the attempt began; empty in a replay.
  std::string place = {};           // Where it runs, or waits for a place: "pool fast", "worker web-1". Empty: unknown.
  std::string text = {};            // For people: "waits for its time, 2026-11-01T02:30:00Z".
  std::string trouble = {};         // Why the work elsewhere may not go on, as its handler says; a part of 'text'. Empty: it goes on.
};

/// An attempt that has ended, of a run with several.
struct EndedAttempt {
  std::uint32_t number = 0;  // From 1.
  RunState state = RunState::Failed;
  WallTime begun = {};
  WallTime ended = {};
  std::string note = {};
};

class JobsView {
 public:
  /// 'jobs' must outlive it.
  explicit JobsView(const Jobs& jobs) : JobsView(*jobs.impl_) {}
  explicit JobsView(Jobs::Impl& parts);

  /// True if this scheduler has taken the jobs up and may begin runs: it does not stand by, and its claim has not run out. Jobs::health()
  /// says if it can also store them at present. O(1).
  bool owns_shards() const;
  /// What a run without a stored end does at present; empty for another one. O(facts of its job).
  std::optional<RunActivity> activity(std::int64_t run) const;
  /// The newest attempts of a run that was tried again, the oldest first, as far as this process has seen their ends: of the newest
  /// limits::kEndedRuns such runs. A store keeps the times of the last attempt alone. O(result).
  std::vector<EndedAttempt> attempts(std::int64_t run) const;
  /// Why the last attempt of a run failed that waits for a further one, and when that begins; empty for another run.
  std::string retry_note(std::int64_t run) const;
  /// The next scheduled instant at which a job fires: that of a run that is planned already, otherwise StoredJob::next. Empty for a stopped
  /// job, and for one with parents. O(live runs of the job).
  std::optional<WallTime> next_of(const StoredJob& stored) const;
  /// How far a run is, if an asynchronous handler is carrying it out.
  std::optional<Progress> progress(std::int64_t run) const;
  /// The runs of a job whose handler runs, the oldest first. O(live jobs).
  std::vector<std::int64_t> under_way(std::string_view job) const;
  /// The runs of a job that wait for a further attempt, the oldest first. O(live jobs).
  std::vector<std::int64_t> retried(std::string_view job) const;
  /// Why runs of a job with this handler would not begin at present, with the number of those that wait for it; empty if it is set. At a
  /// standby: that another scheduler knows.
  std::string handler_trouble(std::string_view handler) const;
  /// The absent handlers for which runs wait that were due at least 'late' ago, and that have waited here for at least 'waited'.
  std::vector<std::string> awaited_handlers(Duration late = Duration{0}, Duration waited = Duration{0}) const;

  /// StoreThread::commits().
  const Log2Histogram& commits() const noexcept;

  /// What `why` adds about the row of a run.
  RowInPlane row_state(std::string_view key) const;

 private:
  RunActivity activity_of(const LiveRun& live) const;
  RunActivity of_due_run(const LiveRun& live) const;
  RunActivity of_ending_run(const LiveRun& live) const;
  /// ": " and why the handler has no room; empty if it gives no reason.
  std::string why_no_room(const std::shared_ptr<const RemoteHandler>& handler, std::int64_t run) const;
  Jobs::Impl& impl_;
};

}  // namespace rondo::jobs
