// parts.h: the end of a run, and its way into the store.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "jobs/parts.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

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

constexpr const char* kStopped = "the job was stopped";

bool has_begun(const LiveRun& live) { return live.stage == LiveRun::Stage::Running || live.stage == LiveRun::Stage::Ending; }

}  // namespace

Duration backoff_of(const Job& job, std::uint32_t attempt) {
  Duration wait = job.backoff;
  for (; attempt > 0 && wait < limits::kJobBackoff; --attempt) wait *= 2;
  return std::min(wait, limits::kJobBackoff);
}

void Jobs::Parts::end(LiveRun& live, RunState state, std::string note) {
  if (may_be_at_worker(live)) {
    const bool is_known = live.run.worker != kUnknownWorker;
    note += is_known ? "; worker '" + live.run.worker + "' may have begun it" : "; a worker may have begun it";
  }
  RunEnd end{.id = live.run.id,
             .state = state,
             .due = live.run.due,
             .attempt = live.run.attempt,
             .begun = live.run.begun,
             .ended = wall_now(),
             .note = std::move(note)};
  keep_failure(live.run, end);
  end.state == RunState::Failed ? ++stats.failed : ++stats.not_run;
  store_end(live, std::move(end));
}

void Jobs::Parts::end_attempt(LiveRun& live, const Attempt& attempt) {
  RunEnd end = end_of(live, attempt, wall_now());
  if (end.state == RunState::Due) {
    ++stats.retried;
  } else {
    ++(end.state == RunState::Succeeded ? stats.succeeded : end.state == RunState::Killed ? stats.killed : stats.failed);
  }
  live.ends_attempt = true;
  store_end(live, std::move(end));
}

void Jobs::Parts::end_runs_of_stopped(std::int64_t job_id) {
  const auto job = jobs.find(job_id);
  if (job == jobs.end()) return;
  withdraw_runs_to_come(job->second);
  const std::set<std::int64_t> of_job = job->second.runs;
  for (const std::int64_t id : of_job) {
    LiveRun& live = *find(id);
    if (!has_begun(live) && !is_requested(live.run.band)) end(live, RunState::Skipped, kStopped);
  }
  flush_ends();
}

void Jobs::Parts::take_over(const StoredJob& stored) {
  if (is_readable(stored)) check_handler(stored);
  const auto found = jobs.find(stored.id);
  bool is_changed = true;
  if (found != jobs.end()) {
    LiveJob& live = found->second;
    is_changed = live.job->schedule != stored.job.schedule || live.job->parents != stored.job.parents;
    const std::shared_ptr<const Job> before = std::exchange(live.job, std::make_shared<const Job>(stored.job));
    if (before->handler != stored.job.handler) leave_lines(live);
    if (begins_otherwise(*before, stored.job)) decide_again(live);
    if (is_changed) withdraw_runs_to_come(live);
  }
  if (is_changed && stored.is_running) replan_roots(stored.job.parents);
  flush_ends();
}

void Jobs::Parts::leave_lines(const LiveJob& job) {
  for (const std::int64_t id : job.runs) {
    LiveRun& live = *find(id);
    if (live.awaits != nullptr) static_cast<void>(queue(live.priority)->add(live.run));  // Handled again, with its new handler.
    if (live.stage == LiveRun::Stage::Fired && live.ticket)
      begin_again(live, Outcome::retry_after(Duration{0}, {StatusCode::Unavailable, "the handler of the job was changed"}));
  }
}

/// Whether what an edit changed decides when a due run may begin.
bool Jobs::Parts::begins_otherwise(const Job& before, const Job& after) {
  return before.required_facts != after.required_facts || before.overlap != after.overlap || before.concurrency != after.concurrency;
}

void Jobs::Parts::decide_again(LiveJob& job) {
  std::vector<LiveRun*> due;  // Without those that wait for their turn.
  for (const std::int64_t id : job.runs) {
    LiveRun* const live = find(id);
    if (live->stage == LiveRun::Stage::Fired && !live->waits_for_turn && !may_be_at_worker(*live)) due.push_back(live);
  }
  // If fewer runs may begin now, the newest lose their turn. The others keep it, so that no later run overtakes them.
  for (auto live = due.rbegin(); live != due.rend() && job.begun.size() > job.most(); ++live) job.begun.erase((*live)->run.id);
  for (LiveRun* const live : due) {
    if (live->ticket) {
      begin_again(*live, Outcome::retry_after(Duration{0}, {StatusCode::Unavailable, "the job was edited"}));
    } else {
      static_cast<void>(queue(live->priority)->add(live->run));  // Its row waits for facts, or is still to be handled.
    }
  }
  pass_turn(job);
}

void Jobs::Parts::replan_roots(const std::vector<std::string>& parents) {
  if (parents.empty()) return;
  std::unordered_map<std::string_view, const LiveJob*> by_name;
  for (const auto& [id, job] : jobs) by_name.emplace(job.job->name, &job);
  std::vector<std::string> line = parents;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const auto found = by_name.find(line[at]);
    if (found == by_name.end()) continue;
    const LiveJob& job = *found->second;
    by_name.erase(found);  // Once is enough.
    // A run of a delay has no instant of the calendar that could be planned again: the child takes part in the run after it.
    if (job.job->parents.empty() && !is_delay(*job.job)) withdraw_runs_to_come(job);
    line.insert(line.end(), job.job->parents.begin(), job.job->parents.end());
  }
}

bool Jobs::Parts::is_to_come(const LiveRun& live) const {
  return live.stage == LiveRun::Stage::Planned && live.run.band == Band::Ring && live.run.attempt == 0 && live.run.due > wall_now();
}

void Jobs::Parts::withdraw_runs_to_come(const LiveJob& job) {
  const std::set<std::int64_t> of_job = job.runs;
  for (const std::int64_t id : of_job) {
    if (LiveRun& live = *find(id); is_to_come(live)) withdraw(live);
  }
}

void Jobs::Parts::withdraw(LiveRun& live) {
  live.is_withdrawn = true;
  const std::vector<std::int64_t> children = live.children;
  const std::string note = "the parent run " + key_of(live.run) + " was withdrawn";
  queue_end(live, {.id = live.run.id, .due = live.run.due, .is_withdrawn = true});
  for (const std::int64_t id : children) {
    LiveRun* const child = find(id);
    if (child == nullptr || has_begun(*child)) continue;
    is_to_come(*child) ? withdraw(*child) : end(*child, RunState::Skipped, note);
  }
}

void Jobs::Parts::drop_runs(std::int64_t job_id) {
  forget_handlerless(job_id);
  const auto job = jobs.find(job_id);
  if (job == jobs.end()) return;
  const std::set<std::int64_t> of_job = job->second.runs;
  for (const std::int64_t id : of_job) {
    LiveRun& live = *find(id);
    live.stop.request_stop();
    let_go(live);
    if (live.ticket) queue(live.priority)->settle_done(*std::exchange(live.ticket, std::nullopt));
    const std::vector<std::int64_t> children = std::move(live.children);
    const std::string note = "the job of the parent run " + key_of(live.run) + " was removed";
    forget(live);
    skip_children(children, note);
  }
}

void Jobs::Parts::end_family(const std::vector<std::int64_t>& children, const JobRun& parent) {
  if (children.empty()) return;
  if (parent.state == RunState::Succeeded) {
    turns.succeeded(parent);
  } else {
    skip_children(children, note_of_parent(parent));
  }
}

void Jobs::Parts::skip_children(const std::vector<std::int64_t>& children, const std::string& note) {
  for (const std::int64_t id : children) {
    LiveRun* const child = find(id);
    if (child != nullptr && !has_begun(*child)) end(*child, RunState::Skipped, note);
  }
}

void Jobs::Parts::store_end(LiveRun& live, RunEnd end) {
  queue_end(live, std::move(end));
  flush_ends();
}

void Jobs::Parts::queue_end(LiveRun& live, RunEnd end) {
  remove_waiting_row(live);
  live.stage = LiveRun::Stage::Ending;
  live.pool.reset();
  live.runs_in.reset();
  live.place_in_line = 0;
  live.is_held = false;
  stop_waiting(live);
  stop_awaiting(live);
  live.deadline = Instant::never();
  live.stop_asked = Instant::never();
  live.verdict.reset();
  live.run.state = end.state;
  live.run.due = end.due;
  live.run.attempt = end.attempt;
  live.run.begun = end.begun;
  live.run.note = end.note;
  if (live.ticket) queue(live.priority)->settle_done(*std::exchange(live.ticket, std::nullopt));
  const WallTime known = std::max(wall_now(), end.ended);
  ends.push_back({std::move(end), live.run.job_id, live.job->job, live.run.scheduled, !is_requested(live.run.band), known});
  LiveJob& job = *live.job;
  job.begun.erase(live.run.id);
  pass_turn(job);
}

void Jobs::Parts::flush_ends() {
  if (ends.empty() || !storing.empty()) return;
  storing = std::exchange(ends, {});
  submit_ends(storing, [this](const Result<bool>& stored) { ends_stored(stored ? Status{} : stored.error()); });
}

/// A schedule "after DURATION" continues from the end of its run as it becomes known here: its next instant is not over then. Unless the
/// job was edited meanwhile: then the edit has set the next time.
std::optional<WallTime> Jobs::Parts::next_of_delay(JobStore& of, Planner& planner, const Ending& ending) {
  if (!is_delay(*ending.job)) return std::nullopt;
  const auto stored = of.find(ending.job->name);
  if (!stored || stored->job.schedule != ending.job->schedule) return std::nullopt;
  const auto next = planner.first_after(*ending.job, ending.job_id, ending.known);
  return next ? *next : std::nullopt;
}

/// The first instant of the job's schedule as it is now, from that of a withdrawn run on, that is still to come. Empty if the job is
/// stopped, or its root decides.
Result<std::optional<WallTime>> Jobs::Parts::next_of_withdrawn(JobStore& of, Planner& planner, const Ending& ending) {
  std::optional<WallTime> next;
  const auto stored = of.find(ending.job->name);
  if (!stored && stored.error().code() != StatusCode::NotFound) return failure(stored.error());
  if (!stored || stored->id != ending.job_id || !stored->is_running || !stored->job.parents.empty()) return next;
  if (is_delay(stored->job)) return next;  // It was started or edited since, which has set its next time.
  const auto first = planner.first_after(stored->job, stored->id, ending.known, ending.scheduled + Duration{-1});
  if (!first) return std::optional{ending.scheduled};  // Its zone cannot be read now.
  return *first;
}

void Jobs::Parts::submit_ends(std::vector<Ending> endings, std::function<void(Result<bool>)> done) {
  std::string work = "finish";
  for (const Ending& ending : endings) {
    work += " " + std::to_string(ending.end.id) + ":";
    work += ending.end.is_withdrawn ? "withdrawn" : to_string(ending.end.state);
  }
  store.submit<bool>(
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
      std::move(done));
}

void Jobs::Parts::ends_stored(const Status& status) {
  ends_status = status;
  if (status.ok()) call_status = {};
  std::vector<Ending> stored = std::exchange(storing, {});
  std::vector<std::int64_t> ended;
  for (const Ending& ending : stored) ended.push_back(ending.end.id);
  if (status.ok()) {
    take_stored(stored);
  } else {  // The next cycle tries again.
    stored.insert(stored.end(), std::make_move_iterator(ends.begin()), std::make_move_iterator(ends.end()));
    ends = std::move(stored);
  }
  report_stored(ended, status);
}

void Jobs::Parts::take_stored(const std::vector<Ending>& stored) {
  bool plans_now = false;
  for (const Ending& ending : stored) {
    LiveRun* const live = find(ending.end.id);
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
      note_end(run);
      end_family(children, run);
      publish_end(run);
    } else {
      live->stop = std::stop_source{};
      live->run.worker.clear();  // As in the store.
      live->ends_attempt = false;
      live->is_recovered = false;
      if (live->verdict) {
        end(*live, *live->verdict, live->verdict_note);
      } else {
        wait_until_due(*live);
      }
    }
  }
  flush_ends();
  if (plans_now && is_started) cycle();
}

void Jobs::Parts::publish_end(const JobRun& run) {
  CallsWithin marks(*this, "ended", run.id);
  if (calls.is_replayed()) return marks.repeat();
  const auto report = [&](const Status& why) { runtime.report_reject("jobs", Change::event("ended", key_of(run), {}), why); };
  if (ended_listener) {
    const Status thrown = call_out([&] { ended_listener(run); }, "the listener of Jobs::on_end() for run " + std::to_string(run.id));
    if (!thrown.ok()) report(thrown);
  } else if (run.state == RunState::Failed || run.state == RunState::TimedOut) {
    report({StatusCode::Internal, "the run " + key_of(run) + " ended as " + std::string{to_string(run.state)} + ": " + run.note});
  }
}

bool Jobs::Parts::when_stored(std::int64_t run, std::uint32_t attempt, std::function<void(const Status& why)> stored) {
  const LiveRun* const live = find(run);
  if (live == nullptr || live->stage != LiveRun::Stage::Ending || live->run.attempt != attempt + 1) return false;
  end_waiters.insert_or_assign(run, std::move(stored));
  return true;
}

void Jobs::Parts::report_stored(const std::vector<std::int64_t>& ended, const Status& why) {
  for (const std::int64_t run : ended) {
    const auto waiter = end_waiters.extract(run);
    CallsWithin marks(*this, "stored", store.answered(), run);
    if (waiter.empty() || !waiter.mapped()) {
      marks.repeat();
      continue;
    }
    // An exception of one waiter must not keep the answer from the others.
    const std::string id = std::to_string(run);
    const Status thrown = call_out([&] { waiter.mapped()(why); }, "the function given to Jobs::when_stored() for run " + id);
    if (!thrown.ok()) runtime.report_reject("jobs", Change::event("stored", id, {}), thrown);
  }
}

/// A row that waits for its turn waits for nothing any more. Without this, it would wait until a sweep of the facts if its table refuses
/// its removal.
void Jobs::Parts::stop_waiting(LiveRun& live) {
  if (std::exchange(live.waits_for_turn, false)) turns.allow(live.run);
}

/// A run that ends without an attempt waits for no fact any more, such as the success of a parent, whose row may be gone before its own
/// end is stored.
void Jobs::Parts::remove_waiting_row(const LiveRun& live) {
  if (live.stage != LiveRun::Stage::Fired || live.ticket) return;
  if (const auto of = queues.find(live.priority.level()); of != queues.end()) of->second->remove(live.run);
}

void Jobs::Parts::forget(LiveRun& live) {
  stop_waiting(live);
  stop_awaiting(live);
  if (const auto of = queues.find(live.priority.level()); of != queues.end()) of->second->remove(live.run);
  LiveJob& job = *live.job;
  const std::int64_t job_id = live.run.job_id;
  job.begun.erase(live.run.id);
  job.runs.erase(live.run.id);
  count_runs(live.run.job, 0, 1);
  runs.erase(live.run.id);
  if (job.runs.empty()) jobs.erase(job_id);
  stats.pending = runs.size();
}

}  // namespace rondo::jobs
