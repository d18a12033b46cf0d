// parts.h: what the live runs do at present, and what is wrong, for people.
#include <algorithm>
#include <iterator>

#include "jobs/async_state.h"
#include "jobs/parts.h"
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

}  // namespace

std::vector<std::int64_t> Jobs::Parts::runs_that(std::string_view job, bool (*condition)(const LiveRun&)) const {
  std::vector<std::int64_t> found;
  for (const auto& [id, live] : jobs) {
    if (live.job->name != job) continue;
    std::ranges::copy_if(live.runs, std::back_inserter(found), [&](std::int64_t run) { return condition(runs.at(run)); });
  }
  return found;
}

std::string Jobs::Parts::retry_note(const LiveRun& live) {
  if (live.stage != LiveRun::Stage::Planned || live.run.attempt == 0) return {};
  return live.run.note + (live.run.note.empty() ? "" : "; ") + "next attempt at " + calendar::format_rfc3339(live.fires);
}

std::string Jobs::Parts::trouble_of_absent(std::string_view handler) const {
  const std::string text = no_handler(handler);
  const auto found = awaited.find(handler);
  if (found == awaited.end()) return text;
  const AwaitedRuns& of = found->second;
  return text + ": " + std::to_string(of.runs) + (of.runs == 1 ? " run waits" : " runs wait") + " since " +
         calendar::format_rfc3339(of.since);
}

RunActivity Jobs::Parts::activity_of(const LiveRun& live) const {
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

RunActivity Jobs::Parts::of_ending_run(const LiveRun& live) const {
  const bool is_over = is_final(live.run.state);
  std::string text = is_over ? "has ended as " + std::string{to_string(live.run.state)} : "has ended an attempt";
  if (!live.run.note.empty()) text += ": " + live.run.note;
  text += "; its end is being stored";
  if (!ends_status.ok()) text += ", and the last try failed: " + std::string{ends_status.message()};
  RunActivity activity{.stage = RunActivity::Stage::Ending, .text = std::move(text)};
  if (live.ends_attempt) activity.begun = live.run.begun;
  return activity;
}

bool Jobs::Parts::may_be_at_worker(const LiveRun& live) const {
  return !live.run.worker.empty() && live.run.id <= recovered_to && (live.is_held || live.place_in_line == 0);
}

std::string Jobs::Parts::why_no_room(const std::shared_ptr<const RemoteHandler>& handler) const {
  if (handler == nullptr || !handler->why_no_room) return {};
  std::string why;
  const Status thrown = call_out([&] { why = handler->why_no_room(); });
  if (!thrown.ok()) why = thrown.message();
  return why.empty() ? why : ": " + why;
}

RunActivity Jobs::Parts::of_due_run(const LiveRun& live) const {
  RunActivity activity{.stage = RunActivity::Stage::Waiting};
  const std::string& handler = live.job->job->handler;
  if (live.pool) {
    activity.place = name_of(*live.pool);
    activity.text = "waits for a place in its pool";
  } else if (live.ticket) {
    const auto entry = handlers.find(handler);
    const auto async = entry == handlers.end() ? nullptr : entry->second.async;  // The handler may remove itself.
    if (live.is_held && async != nullptr && async->held) {
      const Status thrown = call_out([&] { activity.text = async->held(live.run.id); });
      if (!thrown.ok()) activity.text = thrown.message();
    }
    if (activity.text.empty()) activity.text = "waits for room at the handler " + handler + why_no_room(async);
  } else if (const std::vector<Fact> facts = missing_facts(live); !facts.empty()) {
    activity.text = "waits for " + facts.front().to_string();
  } else if (!handlers.contains(handler) && waits_for_handler(handler)) {
    activity.text = "waits: " + no_handler(handler);
    if (may_be_at_worker(live)) {
      const std::string worker = live.run.worker == kUnknownWorker ? "a worker" : "worker " + live.run.worker;
      activity.place = live.run.worker == kUnknownWorker ? std::string{} : worker;
      activity.text = "may run at " + worker + ", which has not come back since the start of this program; " + activity.text;
    }
  } else if (live.waits_for_turn && !live.job->begun.empty()) {
    activity.text = "waits for run " + std::to_string(*live.job->begun.begin()) + " of the job";
  } else {
    activity.text = "is about to begin";
  }
  if (live.verdict) activity.text += "; was asked to stop: " + live.verdict_note;
  return activity;
}

void Jobs::Parts::note_ended(const JobRun& run, WallTime ended) {
  std::string how = "it ended at " + calendar::format_rfc3339(ended) + " as " + std::string{to_string(run.state)};
  if (!run.note.empty()) how += ": " + run.note;
  last_ended.insert_or_assign(run.id, EndedRun{key_of(run), std::move(how)});
  if (last_ended.size() > limits::kEndedRuns) last_ended.erase(last_ended.begin());
}

RowInPlane Jobs::Parts::state_of_ended(std::int64_t run, std::string_view key) const {
  const auto found = last_ended.find(run);
  if (found != last_ended.end() && found->second.key == key) return {.note = found->second.how};
  const std::string job{key.substr(0, key.rfind('#'))};
  return {.note = "no such run waits or runs: see 'rondo job runs " + job + "'"};
}

RowInPlane Jobs::Parts::row_state(std::string_view key) {
  const std::optional<std::int64_t> id = run_of(key);
  const LiveRun* const live = id ? find(*id) : nullptr;
  if (id && live == nullptr) return state_of_ended(*id, key);
  if (live == nullptr || key_of(live->run) != key) return {};
  RunActivity activity = activity_of(*live);
  const bool is_planned = activity.stage == RunActivity::Stage::Planned;
  return {is_planned ? PlaneState::Waiting : PlaneState::Pending, std::move(activity.text)};
}

Status Jobs::health() const {
  parts_->expect_here("health");
  if (!parts_->was_started) return {StatusCode::FailedPrecondition, "Jobs::start() was not called: nothing is planned"};
  if (!parts_->plan_status.ok()) return parts_->plan_status;
  if (!parts_->ends_status.ok()) return parts_->ends_status;
  if (!parts_->not_stored.empty()) {
    const auto& [name, why] = *parts_->not_stored.begin();
    return why.with_context("job '" + name + "' is not as it was defined, define it again");
  }
  // The planner reads, which a full disk permits.
  constexpr Duration kCallStands = 60s;
  if (!parts_->call_status.ok() && parts_->runtime.scheduler().now() < parts_->call_failed + kCallStands) {
    return parts_->call_status.with_context("a call failed within the last minute");
  }
  if (!parts_->planning_trouble.empty()) return {StatusCode::FailedPrecondition, parts_->planning_trouble};
  if (const LiveRun* const stuck = parts_->stuck_run(); stuck != nullptr) {
    const std::string pool = stuck->runs_in ? ", and keeps a thread of its pool" : "";
    return {StatusCode::FailedPrecondition, "the handler of run " + key_of(stuck->run) + " was asked to stop more than a minute ago (" +
                                                stuck->verdict_note + "). It still runs" + pool};
  }
  if (const StoredJob* const job = parts_->handlerless_job(); job != nullptr) {
    return {StatusCode::FailedPrecondition,
            "job '" + job->job.name + "' is started, and this program has no handler '" + job->job.handler + "': its runs fail"};
  }
  return {};
}

}  // namespace rondo::jobs
