#include "jobs/timetable.h"

#include <algorithm>

#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

/// The most runs that fire in one turn of the ring's timer: of the late ones, and as many of the others.
constexpr std::size_t kFiresOfTurn = 256;

}  // namespace

Duration backoff_of(const Job& job, std::uint32_t attempt) {
  Duration wait = job.backoff;
  for (; attempt > 0 && wait < limits::kJobBackoff; --attempt) wait *= 2;
  return std::min(wait, limits::kJobBackoff);
}

Timetable::Timetable(Core& core, LiveRuns& runs)
    : core_(core), runs_(runs), ring_timer_("jobs:ring", Priority{56}, [this] { fire_due(); }) {}

void Timetable::add(const JobRun& run, const Job& job) {
  if (LiveRun* const live = runs_.add(run, job)) wait_until_due(*live);
}

void Timetable::clock_was_set() {
  for (auto& [id, live] : runs_.all()) {
    if (live.stage == LiveRun::Stage::Planned) wait_until_due(live);
  }
}

void Timetable::renew() {
  const WallTime now = core_.wall_now();
  while (!later_.empty() && ring_.push({later_.begin()->first, later_.begin()->second}, now)) later_.erase(later_.begin());
  arm();
}

void Timetable::wait_until_due(LiveRun& live) {
  runs_.enter(live, LiveRun::Stage::Planned);
  live.run.due = due_of(live);
  live.fires = std::max(live.run.due, core_.wall_now());
  if (live.run.due <= core_.wall_now()) {
    late_.insert(live.run.id);
  } else {
    late_.erase(live.run.id);
    if (!ring_.push({live.fires, live.run.id}, core_.wall_now())) later_.emplace(live.fires, live.run.id);
  }
  static_cast<void>(runs_.queue(live.job->job->priority));  // So that `why` knows the table of a run that waits for its time.
  arm();
}

void Timetable::arm() {
  const std::optional<WallTime> due = late_.empty() ? ring_.next_due() : core_.wall_now();
  if (!due || !was_started_) return ring_timer_.disarm();
  const Instant at = core_.now() + std::max(Duration{0}, *due - core_.wall_now());
  ring_timer_.arm_at(at);
}

void Timetable::fire_due() {
  if (runs_.is_draining) return;
  std::vector<TimeRing::Entry> due;
  while (due.size() < kFiresOfTurn && !late_.empty()) {
    const std::int64_t run = late_.extract(late_.begin()).value();
    if (const LiveRun* const live = runs_.find(run)) due.push_back({live->fires, run});
  }
  ring_.take(core_.wall_now(), kFiresOfTurn, due);
  for (const TimeRing::Entry& entry : due) {
    LiveRun* const live = runs_.find(entry.run);
    // A run that was killed or skipped meanwhile, or whose time has changed, is not due here.
    if (live != nullptr && live->stage == LiveRun::Stage::Planned && live->fires == entry.due) fire(*live);
  }
  arm();
}

void Timetable::fire(LiveRun& live) {
  live.priority = live.job->job->priority;
  RunQueue* const of = runs_.queue(live.priority);
  const Status added = of == nullptr ? Status{StatusCode::Unavailable, runs_.trouble} : of->add(live.run);
  if (!added.ok()) {  // A store of tables that is full or away. The run stays due.
    runs_.trouble = "the run " + key_of(live.run) + ": " + std::string{added.message()};
    later_.emplace(live.fires, live.run.id);
    return;
  }
  runs_.enter(live, LiveRun::Stage::Fired);
  ++runs_.stats.fired;
  if (!due_listener_) return;
  const Status thrown = core_.call_out([&] { due_listener_(live.run); }, "the listener of Jobs::on_due()");
  if (!thrown.ok()) core_.report(Change::event("due", key_of(live.run), {}), thrown);
}

WallTime Timetable::due_of(const LiveRun& live) const {
  const JobRun& run = live.run;
  const WallTime now = core_.wall_now();
  if (run.attempt > 0) return std::min(run.due, now + backoff_of(*live.job->job, run.attempt - 1));
  if (is_requested(run.band)) return std::min(run.due, now);
  if (live.job->job->schedule.when.starts_with("after ")) return std::min(run.due, now + core_.options.window);
  return run.due;
}

}  // namespace rondo::jobs
