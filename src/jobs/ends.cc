#include "jobs/ends.h"

#include <algorithm>
#include <iterator>

#include "jobs/async_state.h"
#include "jobs/remote_runs.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

/// After this time a handler that was asked to stop counts as stuck.
constexpr Duration kStopPatience = 60s;

/// Why an attempt failed, for people: that of a command or of a handler without a code of its own needs none.
std::string reason_of(const Status& status) {
  return status.code() == StatusCode::Internal ? std::string{status.message()} : status.to_string();
}

/// A run of which an attempt has failed is failed, whatever ends its further attempts: otherwise nothing would report a job that always
/// fails.
void keep_failure(const JobRun& run, RunEnd& end) {
  if (run.attempt == 0) return;
  end.state = RunState::Failed;
  if (!run.note.empty()) end.note += "; " + run.note;  // Of the last attempt.
}

/// The end of an attempt, with the state that follows from it.
RunEnd end_of(const LiveRun& live, const Attempt& attempt, WallTime now) {
  RunEnd end{.id = live.run.id,
             .state = RunState::Succeeded,
             .due = live.run.due,
             .attempt = live.run.attempt + 1,
             .begun = attempt.begun,
             // 'now' is the time at which the turn began. A handler that runs in this turn begins and ends later.
             .ended = std::max(std::min(attempt.ended.value_or(now), now), attempt.begun + attempt.took),
             .note = attempt.status.ok() ? attempt.note : reason_of(attempt.status)};
  if (live.verdict) end.note = end.note.empty() ? live.verdict_note : live.verdict_note + "; " + end.note;
  if (live.verdict || !attempt.status.ok()) end.state = live.verdict.value_or(attempt.is_timed_out ? RunState::TimedOut : RunState::Failed);
  const bool may_retry = end.state == RunState::Failed || end.state == RunState::TimedOut;
  if (may_retry && live.run.attempt < live.job->job->retries) {
    end.note = "attempt " + std::to_string(end.attempt) + (end.state == RunState::Failed ? " failed: " : " timed out: ") + end.note;
    end.state = RunState::Due;
    end.due = now + backoff_of(*live.job->job, live.run.attempt);
  }
  if (end.state == RunState::Killed) keep_failure(live.run, end);
  return end;
}

}  // namespace

Ends::Ends(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Timetable& timetable, std::function<void()> plan)
    : core_(core),
      runs_(runs),
      facts_(facts),
      handlers_(handlers),
      timetable_(timetable),
      plan_(std::move(plan)),
      deadline_timer_("jobs:timeouts", Priority{56}, [this] { watch_deadlines(); }) {}

void Ends::forget(LiveRun& live) {
  stop_waiting(live);
  handlers_.stop_awaiting(live);
  runs_.remove(live);
}

bool Ends::are_withdrawn() const {
  return std::ranges::any_of(ends_, [](const Ending& ending) { return ending.end.is_withdrawn; });
}

void Ends::end(LiveRun& live, RunState state, std::string note) {
  if (runs_.may_be_at_worker(live)) {
    const bool is_known = live.run.worker != kUnknownWorker;
    note += is_known ? "; worker '" + live.run.worker + "' may have begun it" : "; a worker may have begun it";
  }
  RunEnd end{.id = live.run.id,
             .state = state,
             .due = live.run.due,
             .attempt = live.run.attempt,
             .begun = live.run.begun,
             .ended = core_.wall_now(),
             .note = std::move(note)};
  keep_failure(live.run, end);
  runs_.count_end(end.state == RunState::Failed ? &RunEnds::failed : &RunEnds::not_run, live.run.band);
  queue(live, std::move(end));
  flush();
}

void Ends::end_attempt(LiveRun& live, const Attempt& attempt) {
  RunEnd end = end_of(live, attempt, core_.wall_now());
  if (end.state == RunState::Due) {
    ++runs_.stats.retried;
  } else {
    runs_.stats.run_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>((end.ended - attempt.begun).count(), 0)));
    runs_.count_end(end.state == RunState::Succeeded ? &RunEnds::succeeded
                    : end.state == RunState::Killed  ? &RunEnds::killed
                                                     : &RunEnds::failed,
                    live.run.band);
  }
  live.ends_attempt = true;
  note_attempt(live, attempt, end);
  queue(live, std::move(end));
  flush();
}

bool Ends::is_to_come(const LiveRun& live) const {
  return live.stage == LiveRun::Stage::Planned && live.run.band == Band::Ring && live.run.attempt == 0 && live.run.due > core_.wall_now();
}

void Ends::withdraw_runs_to_come(const LiveJob& job) {
  const std::set<std::int64_t> of_job = job.runs;
  for (const std::int64_t id : of_job) {
    if (LiveRun& live = *runs_.find(id); is_to_come(live)) withdraw(live);
  }
}

void Ends::withdraw(LiveRun& live) {
  live.is_withdrawn = true;
  const std::vector<std::int64_t> children = live.children;
  const std::string note = "the parent run " + key_of(live.run) + " was withdrawn";
  queue(live, {.id = live.run.id, .due = live.run.due, .is_withdrawn = true});
  for (const std::int64_t id : children) {
    LiveRun* const child = runs_.find(id);
    if (child == nullptr || child->has_begun()) continue;
    is_to_come(*child) ? withdraw(*child) : end(*child, RunState::Skipped, note);
  }
}

void Ends::end_family(const std::vector<std::int64_t>& children, const JobRun& parent) {
  if (children.empty()) return;
  if (parent.state == RunState::Succeeded) {
    runs_.turns.succeeded(parent);
  } else {
    skip_children(children, note_of_parent(parent));
  }
}

void Ends::skip_children(const std::vector<std::int64_t>& children, const std::string& note) {
  for (const std::int64_t id : children) {
    LiveRun* const child = runs_.find(id);
    if (child != nullptr && !child->has_begun()) end(*child, RunState::Skipped, note);
  }
}

void Ends::queue(LiveRun& live, RunEnd end) {
  remove_waiting_row(live);
  runs_.enter(live, LiveRun::Stage::Ending);
  live.pool.reset();
  live.runs_in.reset();
  live.place_in_line = 0;
  live.is_held = false;
  stop_waiting(live);
  handlers_.stop_awaiting(live);
  live.deadline = Instant::never();
  live.stop_asked = Instant::never();
  live.verdict.reset();
  live.run.state = end.state;
  live.run.due = end.due;
  live.run.attempt = end.attempt;
  live.run.begun = end.begun;
  live.run.note = end.note;
  if (live.ticket) runs_.queue(live.priority)->settle_done(*std::exchange(live.ticket, std::nullopt));
  const WallTime known = std::max(core_.wall_now(), end.ended);
  ends_.push_back({std::move(end), live.run.job_id, live.job->job, live.run.scheduled, !is_requested(live.run.band), known});
  LiveJob& job = *live.job;
  job.begun.erase(live.run.id);
  runs_.pass_turn(job);
}

void Ends::flush() {
  if (ends_.empty() || !storing_.empty()) return;
  storing_ = std::exchange(ends_, {});
  submit(storing_, [this](const Result<bool>& stored) { take_answer(stored ? Status{} : stored.error()); });
}

/// The store's thread stores them before it ends. Recorded as a call, because a replay makes what comes between turns only for a record of
/// a call.
void Ends::submit_last() {
  if (ends_.empty()) return;
  core_.record("last ends");
  submit(std::exchange(ends_, {}), {});
}

/// A schedule "after DURATION" continues from the end of its run as it becomes known here: its next instant is not over then. Unless the
/// job was edited meanwhile: then the edit has set the next time.
std::optional<WallTime> Ends::next_of_delay(JobStore& of, Planner& planner, const Ending& ending) {
  if (!is_delay(*ending.job)) return std::nullopt;
  const auto stored = of.find(ending.job->name);
  if (!stored || stored->job.schedule != ending.job->schedule) return std::nullopt;
  const auto next = planner.first_after(*ending.job, ending.job_id, ending.known);
  return next ? *next : std::nullopt;
}

/// The first instant of the job's schedule as it is now, from that of a withdrawn run on, that is still to come. Empty if the job is
/// stopped, or its root decides.
Result<std::optional<WallTime>> Ends::next_of_withdrawn(JobStore& of, Planner& planner, const Ending& ending) {
  std::optional<WallTime> next;
  const auto stored = of.find(ending.job->name);
  if (!stored && stored.error().code() != StatusCode::NotFound) return failure(stored.error());
  if (!stored || stored->id != ending.job_id || !stored->is_running || !stored->job.parents.empty()) return next;
  if (is_delay(stored->job)) return next;  // It was started or edited since, which has set its next time.
  const auto first = planner.first_after(stored->job, stored->id, ending.known, ending.scheduled + Duration{-1});
  if (!first) return std::optional{ending.scheduled};  // Its zone cannot be read now.
  return *first;
}

void Ends::submit(std::vector<Ending> endings, std::function<void(Result<bool>)> done) {
  std::string work = "finish";
  for (const Ending& ending : endings) {
    work += " " + std::to_string(ending.end.id) + ":";
    work += ending.end.is_withdrawn ? "withdrawn" : to_string(ending.end.state);
  }
  core_.store.submit<bool>(
      std::move(work),
      [endings = std::move(endings)](JobStore& of, Planner& planner) mutable -> Result<bool> {
        std::vector<RunEnd> all;
        for (Ending& ending : endings) {
          if (ending.end.is_withdrawn) {
            auto next = next_of_withdrawn(of, planner, ending);
            if (!next) return failure(std::move(next.error()));
            ending.end.next = *next;
          } else if (is_final(ending.end.state) && ending.is_scheduled) {
            ending.end.next = next_of_delay(of, planner, ending);
          }
          all.push_back(std::move(ending.end));
        }
        if (Status status = of.finish(all); !status.ok()) return failure(std::move(status));
        return true;
      },
      std::move(done), Commit::Writes);
}

void Ends::take_answer(const Status& status) {
  ends_status_ = status;
  if (status.ok()) core_.call_status = {};
  std::vector<Ending> stored = std::exchange(storing_, {});
  std::vector<std::int64_t> ended;
  for (const Ending& ending : stored) ended.push_back(ending.end.id);
  if (status.ok()) {
    take_stored(stored);
  } else {  // The next cycle tries again.
    stored.insert(stored.end(), std::make_move_iterator(ends_.begin()), std::make_move_iterator(ends_.end()));
    ends_ = std::move(stored);
  }
  report_stored(ended, status);
}

void Ends::take_stored(const std::vector<Ending>& stored) {
  bool plans_now = false;
  for (const Ending& ending : stored) {
    LiveRun* const live = runs_.find(ending.end.id);
    if (live == nullptr) continue;
    if (ending.end.is_withdrawn) {
      plans_now = true;  // Its instant may be near.
      forget(*live);
    } else if (is_final(ending.end.state)) {
      const std::vector<std::int64_t> children = std::move(live->children);
      JobRun run = live->run;
      run.ended = ending.end.ended;
      plans_now = plans_now || (ending.is_scheduled && is_delay(*ending.job));  // The next cycle may be later than a short delay.
      note_ended(run, ending.end.ended);
      forget(*live);
      facts_.note_end(run);
      end_family(children, run);
      publish(run);
    } else {
      live->stop = std::stop_source{};
      live->run.worker.clear();  // As in the store.
      live->ends_attempt = false;
      live->is_recovered = false;
      if (live->verdict) {
        end(*live, *live->verdict, live->verdict_note);
      } else {
        timetable_.wait_until_due(*live);
      }
    }
  }
  flush();
  if (plans_now) plan_();
}

void Ends::publish(const JobRun& run) {
  Core::CallsWithin{core_, "ended", run.id}.make([&] {
    const auto report = [&](const Status& why) { core_.report(Change::event("ended", key_of(run), {}), why); };
    if (ended_listener_) {
      const Status thrown =
          core_.call_out([&] { ended_listener_(run); }, "the listener of Jobs::on_end() for run " + std::to_string(run.id));
      if (!thrown.ok()) report(thrown);
    } else if (run.state == RunState::Failed || run.state == RunState::TimedOut) {
      report({StatusCode::Internal, "the run " + key_of(run) + " ended as " + std::string{to_string(run.state)} + ": " + run.note});
    }
  });
}

bool Ends::when_stored(std::int64_t run, std::uint32_t attempt, std::function<void(const Status& why)> stored) {
  const LiveRun* const live = runs_.find(run);
  if (live == nullptr || live->stage != LiveRun::Stage::Ending || live->run.attempt != attempt + 1) return false;
  end_waiters_.insert_or_assign(run, std::move(stored));
  return true;
}

void Ends::report_stored(const std::vector<std::int64_t>& ended, const Status& why) {
  for (const std::int64_t run : ended) {
    const auto waiter = end_waiters_.extract(run);
    Core::CallsWithin marks(core_, "stored", core_.store.answered(), run);
    if (waiter.empty() || !waiter.mapped()) {
      marks.repeat();
      continue;
    }
    // An exception of one waiter must not keep the answer from the others.
    const std::string id = std::to_string(run);
    const Status thrown = core_.call_out([&] { waiter.mapped()(why); }, "the function given to Jobs::when_stored() for run " + id);
    if (!thrown.ok()) core_.report(Change::event("stored", id, {}), thrown);
  }
}

/// A row that waits for its turn waits for nothing any more. Without this, it would wait until a sweep of the facts if its table refuses
/// its removal.
void Ends::stop_waiting(LiveRun& live) {
  if (std::exchange(live.waits_for_turn, false)) runs_.turns.allow(live.run);
}

/// A run that ends without an attempt waits for no fact any more, such as the success of a parent, whose row may be gone before its own
/// end is stored.
void Ends::remove_waiting_row(const LiveRun& live) {
  if (live.stage != LiveRun::Stage::Fired || live.ticket) return;
  runs_.remove_row(live);
}

void Ends::note_ended(const JobRun& run, WallTime ended) {
  std::string how = "it ended at " + calendar::format_rfc3339(ended) + " as " + std::string{to_string(run.state)};
  if (!run.note.empty()) how += ": " + run.note;
  last_ended_.insert_or_assign(run.id, EndedRun{key_of(run), std::move(how)});
  if (last_ended_.size() > limits::kEndedRuns) last_ended_.erase(last_ended_.begin());
}

/// A run without a retry has its only attempt in its row.
void Ends::note_attempt(const LiveRun& live, const Attempt& attempt, const RunEnd& end) {
  if (end.attempt == 1 && end.state != RunState::Due) return;
  std::vector<EndedAttempt>& all = attempts_[end.id];
  const RunState of_retried = live.verdict.value_or(attempt.is_timed_out ? RunState::TimedOut : RunState::Failed);
  if (all.size() >= limits::kAttemptsShown) all.erase(all.begin());
  all.push_back({.number = end.attempt,
                 .state = end.state == RunState::Due ? of_retried : end.state,
                 .begun = attempt.begun,
                 .ended = end.ended,
                 .note = end.note});
  if (attempts_.size() > limits::kEndedRuns) attempts_.erase(attempts_.begin());
}

RowInPlane Ends::state_of_ended(std::int64_t run, std::string_view key) const {
  const auto found = last_ended_.find(run);
  if (found != last_ended_.end() && found->second.key == key) return {.note = found->second.how};
  const std::string job{key.substr(0, key.rfind('#'))};
  return {.note = "no such run waits or runs: see 'rondo job runs " + job + "'"};
}

void Ends::watch_timeout(LiveRun& live) {
  const Duration timeout = live.job->job->timeout;
  if (timeout <= Duration{0}) return;
  live.deadline = core_.now() + timeout;
  deadlines_.emplace(live.deadline, live.run.id);
  deadline_timer_.arm_at(deadlines_.begin()->first);
}

void Ends::stop(LiveRun& live, RunState verdict, std::string note) {
  if (live.stage == LiveRun::Stage::Ending) {
    // While the end of an attempt is being stored: no further one follows.
    if (live.is_withdrawn || is_final(live.run.state)) return;
    live.verdict = verdict;
    live.verdict_note = std::move(note);
    return;
  }
  if (live.stage != LiveRun::Stage::Running) return end(live, verdict, std::move(note));
  if (!live.verdict) {
    live.verdict = verdict;
    live.verdict_note = std::move(note);
  }
  if (live.stop_asked == Instant::never()) {
    live.stop_asked = core_.now();
    stopping_.emplace(live.stop_asked, live.run.id);
  }
  live.stop.request_stop();
  Core::CallsWithin marks(core_, "stop", live.run.id, live.run.attempt);
  if (const auto state = live.async.lock()) {
    const Core::CallOut mark(core_);
    state->request_stop();
    marks.repeat();  // The handler may have ended the attempt within the call.
  }
}

void Ends::watch_deadlines() {
  const Instant now = core_.now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    LiveRun* const live = runs_.find(deadlines_.begin()->second);
    if (live != nullptr && live->stage == LiveRun::Stage::Running && live->deadline <= now) {
      stop(*live, RunState::TimedOut, "the timeout of " + std::to_string(live->job->job->timeout / 1ms) + " ms has passed");
    }
    deadlines_.erase(deadlines_.begin());
  }
  if (!deadlines_.empty()) deadline_timer_.arm_at(deadlines_.begin()->first);
}

const LiveRun* Ends::stuck_run() const {
  const Instant before = core_.now() + -kStopPatience;
  for (auto asked = stopping_.begin(); asked != stopping_.end() && asked->first <= before; ++asked) {
    const auto found = runs_.all().find(asked->second);
    if (found == runs_.all().end() || found->second.stop_asked != asked->first) continue;
    const LiveRun& live = found->second;
    const bool is_in_queue = live.runs_in && live.begins->load(std::memory_order_relaxed) == 0;
    // Workers has its own account of commands that do not stop.
    if (!is_in_queue && !handlers_.waits_for(live.job->job->handler)) return &live;
  }
  return nullptr;
}

void Ends::forget_stopped() {
  std::erase_if(stopping_, [this](const auto& asked) {
    const LiveRun* const live = runs_.find(asked.second);
    return live == nullptr || live->stop_asked != asked.first;
  });
}

}  // namespace rondo::jobs
