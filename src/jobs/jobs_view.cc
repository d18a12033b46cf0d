#include "jobs/jobs_view.h"

#include <algorithm>
#include <iterator>

#include "jobs/jobs_impl.h"
#include "jobs/remote_runs.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

std::string name_of(PoolKind pool) { return pool == PoolKind::Fast ? "pool fast" : "pool slow"; }

/// A run of which the handler was called, or is in the queue of its pool.
RunActivity of_begun_run(const LiveRun& live) {
  RunActivity activity{.stage = RunActivity::Stage::Running};
  if (const auto state = live.async.lock()) {
    activity.place = state->place;
    activity.trouble = state->trouble;
    if (state->waits) {
      activity.stage = RunActivity::Stage::Waiting;
      activity.text = *state->waits;
    } else {
      activity.begun = state->begun;
    }
  } else if (live.runs_in) {
    activity.place = name_of(*live.runs_in);
    const std::int64_t begins = live.begins->load(std::memory_order_relaxed);
    if (begins == 0) return {.stage = RunActivity::Stage::Waiting, .place = activity.place, .text = "waits for a thread of its pool"};
    activity.begun = WallTime::from_nanoseconds(begins);
  }
  if (activity.stage == RunActivity::Stage::Running) {
    activity.text = "runs";
    if (activity.begun) activity.text += " since " + calendar::format_rfc3339(*activity.begun);
    if (!activity.place.empty()) activity.text += ", " + activity.place;
  }
  if (live.verdict) activity.text += "; was asked to stop: " + live.verdict_note;
  if (!activity.trouble.empty()) activity.text += "; " + activity.trouble;
  return activity;
}

std::string note_of_retry(const LiveRun& live) {
  if (live.stage != LiveRun::Stage::Planned || live.run.attempt == 0) return {};
  return live.run.note + (live.run.note.empty() ? "" : "; ") + "next attempt at " + calendar::format_rfc3339(live.fires);
}

std::vector<std::int64_t> runs_that(LiveRuns& runs, std::string_view job, bool (*condition)(const LiveRun&)) {
  std::vector<std::int64_t> found;
  for (const auto& [id, live] : runs.jobs()) {
    if (live.job->name != job) continue;
    std::ranges::copy_if(live.runs, std::back_inserter(found), [&](std::int64_t run) { return condition(*runs.find(run)); });
  }
  return found;
}

bool is_under_way(const LiveRun& live) {
  const auto state = live.async.lock();
  return live.stage == LiveRun::Stage::Running && (state == nullptr || !state->waits);
}

}  // namespace

JobsView::JobsView(Jobs::Impl& parts) : impl_(parts) { impl_.core.expect_here("JobsView"); }

bool JobsView::owns_shards() const { return impl_.planning.is_started() && impl_.core.store.may_begin(impl_.core.now()); }

std::optional<RunActivity> JobsView::activity(std::int64_t run) const {
  const LiveRun* const live = impl_.runs.find(run);
  return live == nullptr ? std::nullopt : std::optional{activity_of(*live)};
}
std::vector<EndedAttempt> JobsView::attempts(std::int64_t run) const { return impl_.ends.attempts(run); }
std::string JobsView::retry_note(std::int64_t run) const {
  const LiveRun* const live = impl_.runs.find(run);
  return live == nullptr ? std::string{} : note_of_retry(*live);
}
std::optional<WallTime> JobsView::next_of(const StoredJob& stored) const {
  if (!stored.is_running || !stored.job.parents.empty()) return std::nullopt;
  std::optional<WallTime> next = stored.next;
  const auto live = impl_.runs.jobs().find(stored.id);
  if (live == impl_.runs.jobs().end()) return next;
  for (const std::int64_t id : live->second.runs) {
    const LiveRun& run = *impl_.runs.find(id);
    // Further attempts and late runs fire, too, but their instants are over.
    const bool is_ahead = run.stage == LiveRun::Stage::Planned && run.run.attempt == 0 && run.run.band == Band::Ring;
    if (is_ahead && (!next || run.run.scheduled < *next)) next = run.run.scheduled;
  }
  return next;
}
std::optional<Progress> JobsView::progress(std::int64_t run) const {
  const LiveRun* const live = impl_.runs.find(run);
  const auto state = live == nullptr ? nullptr : live->async.lock();
  return state ? std::optional{state->progress} : std::nullopt;
}
std::vector<std::int64_t> JobsView::under_way(std::string_view job) const { return runs_that(impl_.runs, job, is_under_way); }
std::vector<std::int64_t> JobsView::retried(std::string_view job) const {
  return runs_that(impl_.runs, job, [](const LiveRun& live) { return !note_of_retry(live).empty(); });
}
std::string JobsView::handler_trouble(std::string_view handler) const {
  if (impl_.handlers.contains(handler)) return {};
  if (impl_.planning.is_standby()) return std::string{kAskOwner};
  std::string text = impl_.handlers.why_absent(handler);
  const auto found = impl_.handlers.awaited().find(handler);
  if (found == impl_.handlers.awaited().end()) return text;
  const AwaitedRuns& of = found->second;
  return text + ": " + std::to_string(of.runs) + (of.runs == 1 ? " run waits" : " runs wait") + " since " +
         calendar::format_rfc3339(of.since);
}
std::vector<std::string> JobsView::awaited_handlers(Duration late, Duration waited) const {
  std::vector<std::string> names;
  const Instant now = impl_.core.now();
  const WallTime since = impl_.core.wall_now() + -late;
  for (const auto& [name, runs] : impl_.handlers.awaited()) {
    if (runs.since <= since && now - runs.waits >= waited) names.push_back(name);
  }
  return names;
}

RunActivity JobsView::activity_of(const LiveRun& live) const {
  switch (live.stage) {
    case LiveRun::Stage::Planned: {
      const std::string at = calendar::format_rfc3339(live.fires);
      const bool is_retry = live.run.attempt > 0;
      return {.stage = RunActivity::Stage::Planned,
              .text = is_retry ? "waits for attempt " + std::to_string(live.run.attempt + 1) + " at " + at : "waits for its time, " + at};
    }
    case LiveRun::Stage::Fired: return of_due_run(live);
    case LiveRun::Stage::Running: return of_begun_run(live);
    case LiveRun::Stage::Ending: return of_ending_run(live);
  }
  return {};
}

RunActivity JobsView::of_ending_run(const LiveRun& live) const {
  const bool is_over = is_final(live.run.state);
  std::string text = is_over ? "has ended as " + std::string{to_string(live.run.state)} : "has ended an attempt";
  if (!live.run.note.empty()) text += ": " + live.run.note;
  text += "; its end is being stored";
  if (!impl_.ends.status().ok()) text += ", and the last try failed: " + std::string{impl_.ends.status().message()};
  RunActivity activity{.stage = RunActivity::Stage::Ending, .text = std::move(text)};
  if (live.ends_attempt) activity.begun = live.run.begun;
  return activity;
}

std::string JobsView::why_no_room(const std::shared_ptr<const RemoteHandler>& handler, std::int64_t run) const {
  if (handler == nullptr || !handler->why_no_room) return {};
  std::string why;
  const Status thrown = impl_.core.call_out([&] { why = handler->why_no_room(run); });
  if (!thrown.ok()) why = thrown.message();
  return why.empty() ? why : ": " + why;
}

RunActivity JobsView::of_due_run(const LiveRun& live) const {
  RunActivity activity{.stage = RunActivity::Stage::Waiting};
  const std::string& handler = live.job->job->handler;
  if (live.pool) {
    activity.place = name_of(*live.pool);
    activity.text = "waits for a place in its pool";
  } else if (live.ticket) {
    const HandlerEntry* const entry = impl_.handlers.find(handler);
    const auto async = entry == nullptr ? nullptr : entry->async;  // The handler may remove itself.
    if (live.is_held && async != nullptr && async->held) {
      const Status thrown = impl_.core.call_out([&] { activity.text = async->held(live.run.id); });
      if (!thrown.ok()) activity.text = thrown.message();
    }
    if (activity.text.empty()) activity.text = "waits for room at the handler " + handler + why_no_room(async, live.run.id);
  } else if (const std::vector<Fact> facts = impl_.facts.missing(live); !facts.empty()) {
    activity.text = "waits for " + facts.front().to_string();
  } else if (!impl_.handlers.contains(handler) && impl_.handlers.waits_for(handler)) {
    activity.text = "waits: " + impl_.handlers.why_absent(handler);
    if (impl_.runs.may_be_at_worker(live)) {
      const std::string worker = live.run.worker == kUnknownWorker ? "a worker" : "worker " + live.run.worker;
      activity.place = live.run.worker == kUnknownWorker ? std::string{} : worker;
      activity.text = "may run at " + worker + ", which has not come back since the start of this program; " + activity.text;
    }
  } else if (live.waits_for_turn && !live.job->begun.empty()) {
    activity.text = "waits for run " + std::to_string(*live.job->begun.begin()) + " of the job";
  } else if (!impl_.core.store.may_begin(impl_.core.now())) {
    activity.text = "waits: " + std::string{kUnsure};
  } else {
    activity.text = "is about to begin";
  }
  if (live.verdict) activity.text += "; was asked to stop: " + live.verdict_note;
  return activity;
}

const Log2Histogram& JobsView::commits() const noexcept { return impl_.core.store.commits(); }

RowInPlane JobsView::row_state(std::string_view key) const {
  const std::optional<std::int64_t> id = run_of(key);
  const LiveRun* const live = id ? impl_.runs.find(*id) : nullptr;
  if (id && live == nullptr) return impl_.ends.state_of_ended(*id, key);
  if (live == nullptr || key_of(live->run) != key) return {};
  RunActivity activity = activity_of(*live);
  const bool is_planned = activity.stage == RunActivity::Stage::Planned;
  return {is_planned ? PlaneState::Waiting : PlaneState::Pending, std::move(activity.text)};
}

Status Jobs::health() const {
  impl_->core.expect_here("health");
  if (!impl_->timetable.was_started()) return {StatusCode::FailedPrecondition, "Jobs::start() was not called: nothing is planned"};
  constexpr Duration kStoreSilence = 10s;  // No page of work takes so long, unless a disk or a server hangs.
  if (const Duration silence = impl_->core.store.silence(impl_->core.now()); silence > kStoreSilence)
    return {StatusCode::Unavailable, "the database of jobs has not answered for " + std::to_string(silence / 1s) + " s"};
  if (!impl_->planning.status().ok()) return impl_->planning.status();
  if (impl_->planning.is_started() && !impl_->core.store.may_begin(impl_->core.now()))
    return {StatusCode::Unavailable, "no run begins: " + std::string{kUnsure}};
  if (!impl_->ends.status().ok()) return impl_->ends.status();
  if (!impl_->not_stored.empty()) {
    const auto& [name, why] = *impl_->not_stored.begin();
    return why.with_context("job '" + name + "' is not as it was defined, define it again");
  }
  // The planner reads, which a full disk permits.
  constexpr Duration kCallStands = 60s;
  if (!impl_->core.call_status.ok() && impl_->core.now() < impl_->core.call_failed + kCallStands) {
    return impl_->core.call_status.with_context("a call failed within the last minute");
  }
  if (!impl_->runs.trouble.empty()) return {StatusCode::FailedPrecondition, impl_->runs.trouble};
  if (const LiveRun* const stuck = impl_->ends.stuck_run(); stuck != nullptr) {
    const std::string pool = stuck->runs_in ? ", and keeps a thread of its pool" : "";
    return {StatusCode::FailedPrecondition, "the handler of run " + key_of(stuck->run) + " was asked to stop more than a minute ago (" +
                                                stuck->verdict_note + "). It still runs" + pool};
  }
  if (const StoredJob* const job = impl_->handlers.handlerless_job(); job != nullptr) {
    return {StatusCode::FailedPrecondition,
            "job '" + job->job.name + "' is started, and this program has no handler '" + job->job.handler + "': its runs fail"};
  }
  return {};
}

}  // namespace rondo::jobs
