// parts.h: runs of handlers that work elsewhere.
#include <algorithm>
#include <climits>
#include <exception>
#include <functional>
#include <utility>

#include "base/thrown.h"
#include "jobs/async_state.h"
#include "jobs/parts.h"
#include "rondo/base/assert.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

void Jobs::Parts::set_handler(std::string name, HandlerEntry entry) {
  RONDO_EXPECT(!name.empty(), "Jobs was given a handler with an empty name");
  const bool is_function = entry.async != nullptr ? static_cast<bool>(entry.async->basic.begin) : static_cast<bool>(*entry.handler);
  RONDO_EXPECT(is_function || calls.is_replayed(), "Jobs was given the handler '" + name + "' with an empty function");
  handlers[name] = std::move(entry);
  if (handlerless.erase(name) != 0) replan_after = "";  // Other handlers may not have been noted.
  turns.handler_came(name);
}

void Jobs::Parts::remove_handler(std::string_view name) {
  const auto found = handlers.find(name);
  if (found == handlers.end()) return;
  handlers.erase(found);
  if (lacks_handler(name)) replan_after = "";
  turns.handler_went(name);
  // Those that waited for room wait for the handler now.
  for (auto* const of : {&lines, &held}) {
    const auto line = of->extract(std::string{name});
    if (line.empty()) continue;
    for (const auto& [place, run] : line.mapped()) {
      if (LiveRun* const live = find(run); is_in_line(live, std::string{name})) stand_in_line(*live);
    }
  }
}

void Jobs::Parts::check_handler(const StoredJob& stored) {
  if (!stored.is_running || !lacks_handler(stored.job.handler)) return forget_handlerless(stored.id);
  for (auto* const to : {&handlerless, &found_handlerless}) {
    if (to->size() < limits::kTroublesNamed) to->try_emplace(stored.job.handler, stored);
  }
}

void Jobs::Parts::forget_handlerless(std::int64_t job_id) {
  if (std::erase_if(handlerless, [job_id](const auto& one) { return one.second.id == job_id; }) != 0) replan_after = "";
}

const StoredJob* Jobs::Parts::handlerless_job() const {
  const auto found = std::ranges::find_if(handlerless, [this](const auto& one) { return lacks_handler(one.first); });
  return found == handlerless.end() ? nullptr : &found->second;
}

void Jobs::Parts::stand_in_line(LiveRun& live) {
  const std::string& name = live.job->job->handler;
  live.is_held = false;
  if (handlers.contains(name)) {
    if (live.place_in_line == 0) live.place_in_line = next_in_line++;
    lines[name].emplace(place_of(live), live.run.id);
  } else if (waits_for_handler(name)) {
    begin_again(live, wait_for_handler(live));
  } else {
    end(live, RunState::Failed, no_handler(name));
  }
}

void Jobs::Parts::begin_again(LiveRun& live, const Outcome& outcome) {
  live.pool.reset();
  live.is_held = false;
  queue(live.priority)->settle_with(*std::exchange(live.ticket, std::nullopt), outcome);
}

bool Jobs::Parts::waits_for_handler(std::string_view name) const {
  return std::ranges::any_of(awaited_handlers, [name](const auto& prefix) { return name.starts_with(prefix.first); });
}

std::string Jobs::Parts::no_handler(std::string_view name) const {
  for (const auto& [prefix, reason] : awaited_handlers) {
    if (!name.starts_with(prefix)) continue;
    std::string text;
    if (call_out([&] { text = reason(name); }).ok()) return text;  // Otherwise of no use to the reader of `rondo why`.
  }
  const std::string text = "this program has no handler '" + std::string{name} + "'";
  if (awaited_handlers.empty() || name.find('/') != std::string_view::npos) return text;
  const std::string& prefix = awaited_handlers.front().first;
  return text + "; the command '" + std::string{name} + "' of a worker is the handler '" + prefix + std::string{name} + "'";
}

Outcome Jobs::Parts::wait_for_handler(LiveRun& live) {
  const std::string& name = live.job->job->handler;
  stop_awaiting(live);
  live.awaits = &*awaited.try_emplace(name, AwaitedRuns{.since = live.run.due, .waits = runtime.scheduler().now()}).first;
  AwaitedRuns& of = live.awaits->second;
  ++of.runs;
  of.since = std::min(of.since, live.run.due);
  return Outcome::wait_for({kJobHandler, name});
}

void Jobs::Parts::stop_awaiting(LiveRun& live) {
  auto* const of = std::exchange(live.awaits, nullptr);
  if (of != nullptr && --of->second.runs == 0) awaited.erase(of->first);
}

Outcome Jobs::Parts::begin_async(LiveRun& live, const HandlerEntry& handler, const Ticket& ticket) {
  const std::string name = live.job->job->handler;
  const std::shared_ptr<const RemoteHandler> async = handler.async;  // The handler may remove itself.
  const std::int64_t run = live.run.id;
  bool is_held = false;
  Status thrown;
  const bool may_begin = answer_of(run, thrown, [&] {
    if (async->has_begun && async->has_begun(run)) return true;
    is_held = run <= recovered_to && async->held && !async->held(run).empty();
    return !live.verdict && !is_held && lines[name].empty() && has_room(*async, run);
  });
  if (calls.is_replayed()) is_held = !may_begin && calls.is_next(call_text("held", run));
  if (is_held) record("held", run);
  if (live.stage != LiveRun::Stage::Fired) return Outcome::done();  // The handler has ended the run.
  if (!may_begin && !handlers.contains(name)) {                     // The handler has removed itself.
    if (waits_for_handler(name)) return wait_for_handler(live);
    end(live, RunState::Failed, no_handler(name));
    return Outcome::done();
  }
  if (!may_begin && !is_held && live.verdict) {
    end(live, *live.verdict, live.verdict_note);
    return Outcome::done();
  }
  if (!may_begin) {
    live.ticket = ticket;
    live.place_in_line = next_in_line++;
    live.is_held = is_held;
    (is_held ? held : lines)[name].emplace(place_of(live), run);
    return Outcome::staged();
  }
  start_async(live, *async, std::move(thrown));
  // The handler may have ended the run, put it back, or removed it or itself, before it returned.
  LiveRun* const after = find(run);
  if (after == nullptr || (after->stage != LiveRun::Stage::Running && after->stage != LiveRun::Stage::Fired)) return Outcome::done();
  const bool waits = after->stage == LiveRun::Stage::Fired;
  if (waits && !handlers.contains(name) && waits_for_handler(name)) return wait_for_handler(*after);
  after->ticket = ticket;
  if (waits) stand_in_line(*after);
  return Outcome::staged();
}

bool Jobs::Parts::has_room(const RemoteHandler& handler, std::int64_t run) {
  return !handler.basic.has_room || handler.basic.has_room(run);
}

Status Jobs::Parts::call_out(const std::function<void()>& call, std::string_view who) const {
  const CallOut mark(*this);
  try {
    call();
  } catch (...) {
    return thrown_by(who, std::current_exception());
  }
  return {};
}

void Jobs::Parts::start_async(LiveRun& live, const RemoteHandler& handler, Status thrown) {
  count_attempt(live);
  watch_timeout(live);
  const std::int64_t run = live.run.id;
  const bool was_killed = live.verdict.has_value();  // Before a restart.
  auto state = std::make_shared<AsyncRun::State>();
  state->run = live.run.id;
  state->job = live.job->job;
  state->scheduled = live.run.scheduled;
  state->number = live.run.attempt;
  state->begun = wall_now();
  state->scheduler = &runtime.scheduler();
  state->now = [this] { return wall_now(); };
  state->on_stop_thrown = [this, key = key_of(live.run)](const Status& why) {
    runtime.report_reject("jobs", Change::event("stop", key, {}), why);
  };
  state->on_end = [this](const AsyncRun::State& ended) { async_ended(ended); };
  state->on_left = [this](const AsyncRun::State& left) { async_left(left); };
  state->on_begin_changed = [this](const AsyncRun::State& changed) { async_begin_changed(changed); };
  live.async = state;
  call_begin(std::move(state), handler, std::move(thrown));
  LiveRun* const after = find(run);
  if (was_killed && after != nullptr && after->stage == LiveRun::Stage::Running) stop(*after, RunState::Killed, kKilled);
}

void Jobs::Parts::call_begin(std::shared_ptr<AsyncRun::State> of_attempt, const RemoteHandler& handler, Status thrown) {
  CallsWithin marks(*this, "begin", of_attempt->run, of_attempt->number);
  const auto state = std::move(of_attempt);  // The marks are also around the end of a run that the handler drops.
  if (calls.is_replayed()) {
    replayed.insert_or_assign(state->run, state);
    return marks.repeat();
  }
  if (thrown.ok()) thrown = call_out([&] { handler.basic.begin(AsyncRun{state}); });
  if (!thrown.ok()) state->end(std::move(thrown), {});
}

void Jobs::Parts::serve_line(const std::string& name) {
  if (is_draining) return;
  if (!served_lines.insert(name).second) return;  // Within a call for the same line, which goes on.
  Line::key_type last{INT_MIN, 0};
  for (;;) {
    // Each begin may change handlers and lines, and a run that is put back stands at its old place.
    const auto handler = handlers.find(name);
    const auto line = lines.find(name);
    if (handler == handlers.end() || handler->second.async == nullptr || line == lines.end()) break;
    const auto place = line->second.upper_bound(last);
    if (place == line->second.end()) break;
    const std::shared_ptr<const RemoteHandler> async = handler->second.async;
    const Line::key_type at = place->first;
    const std::int64_t next = place->second;
    if (LiveRun* const live = find(next); is_in_line(live, name) && waits_for_facts_again(*live)) {
      last = at;
      if (const auto rest = lines.find(name); rest != lines.end()) rest->second.erase(at);
      continue;
    }
    Status thrown;
    if (is_in_line(find(next), name) && !answer_of(next, thrown, [&] { return has_room(*async, next); })) break;
    last = at;
    // The handler may have removed itself, with its line, or ended the run.
    const auto rest = lines.find(name);
    if (rest == lines.end() || rest->second.erase(at) == 0) continue;
    if (LiveRun* const live = find(next); is_in_line(live, name)) start_async(*live, *async, std::move(thrown));
  }
  served_lines.erase(name);
}

void Jobs::Parts::take_room(const std::string& name) {
  serve_line(name);
  if (within.empty()) return;
  // A run whose begin() has called it may stand in the line only afterwards. And a handler may call it each time that it is asked.
  lines_to_serve.insert(name);
  line_timer.arm_at(runtime.scheduler().now());
}

void Jobs::Parts::serve_lines_again() {
  for (const std::string& name : std::exchange(lines_to_serve, {})) serve_line(name);
}

void Jobs::Parts::check_again(const std::string& name) {
  const auto handler = handlers.find(name);
  const auto found = held.find(name);
  if (handler == handlers.end() || handler->second.async == nullptr || found == held.end()) return;
  const std::shared_ptr<const RemoteHandler> async = handler->second.async;
  std::vector<std::pair<std::int64_t, Status>> begun;
  const auto is_held = [&name](const LiveRun* live) { return is_in_line(live, name) && live->is_held; };
  for (const auto& [place, run] : std::exchange(found->second, {})) {
    if (!is_held(find(run))) continue;
    bool has_begun = false;
    bool stays = false;
    Status thrown;
    if (handlers.contains(name)) {
      thrown = ask(run, [&, id = run] {
        has_begun = async->has_begun && async->has_begun(id);
        stays = !has_begun && async->held && !async->held(id).empty();
      });
      if (calls.is_replayed()) stays = calls.is_next(call_text("held", run));
    }
    // The handler may have ended the run. It may have removed itself, too: then this run and those behind it wait for the handler.
    LiveRun* const live = find(run);
    if (!is_held(live)) continue;
    if (stays && handlers.contains(name)) {
      record("held", run);
      held[name].emplace(place, run);
      continue;
    }
    stand_in_line(*live);
    bool begins = has_begun || !thrown.ok();
    if (calls.is_replayed()) begins = calls.is_next(call_text("answer", run, true));
    record("answer", run, begins);
    if (begins) {
      begun.emplace_back(run, std::move(thrown));
    } else if (live->verdict && is_in_line(live, name)) {
      end(*live, *live->verdict, live->verdict_note);
    }
  }
  // Each may change handlers and lines.
  for (auto& [run, thrown] : begun) {
    LiveRun* const live = find(run);
    const auto line = lines.find(name);
    if (is_in_line(live, name) && line != lines.end() && line->second.erase(place_of(*live)) != 0)
      start_async(*live, *async, std::move(thrown));
  }
  serve_line(name);
}

void Jobs::Parts::async_begin_changed(const AsyncRun::State& changed) {
  LiveRun* const live = find(changed.run);
  if (live == nullptr) return;
  if (changed.waits) {
    record("begins later", changed.run, changed.number, *changed.waits);
    live->deadline = Instant::never();
  } else {
    record("began", changed.run, changed.number);
    watch_timeout(*live);
  }
}

bool Jobs::Parts::begins_later(const LiveRun& live) {
  const auto state = live.async.lock();
  return state != nullptr && state->waits.has_value();
}

void Jobs::Parts::async_ended(const AsyncRun::State& ended) {
  if (ended.is_put_back) return async_put_back(ended);
  record("end", ended.run, ended.number, static_cast<std::int64_t>(ended.status.code()), ended.status.origin_errno(),
         ended.status.message(), ended.note);
  --stats.running;
  LiveRun* const live = find(ended.run);
  if (live == nullptr) return;
  live->async.reset();
  // The work was done before it could hear of the timeout, for instance because this process stood still meanwhile.
  if (ended.status.ok() && live->verdict == RunState::TimedOut) live->verdict.reset();
  const Attempt attempt{.handler = {},
                        .job = ended.job,
                        .run = ended.run,
                        .scheduled = ended.scheduled,
                        .number = ended.number,
                        .stop = {},
                        .begun = ended.begun,
                        .ended = ended.ended,
                        .took = {},
                        .status = ended.status,
                        .note = ended.note,
                        .is_timed_out = ended.status.code() == StatusCode::DeadlineExceeded};
  end_attempt(*live, attempt);
}

void Jobs::Parts::async_put_back(const AsyncRun::State& ended) {
  record("put back", ended.run, ended.number);
  --stats.running;
  --stats.attempts;
  LiveRun* const live = find(ended.run);
  if (live == nullptr) return;
  live->async.reset();
  live->deadline = Instant::never();
  live->stop_asked = Instant::never();
  if (live->verdict == RunState::Killed) return end(*live, RunState::Killed, live->verdict_note);
  live->verdict.reset();
  live->stop = std::stop_source{};
  live->stage = LiveRun::Stage::Fired;
  if (live->ticket) stand_in_line(*live);  // Otherwise begin_async() does.
}

void Jobs::Parts::async_left(const AsyncRun::State& left) {
  record("left", left.run, left.number);
  --stats.running;
}

bool Jobs::Parts::repeat_begin(std::int64_t run, std::uint32_t attempt, std::optional<std::string> waits) {
  const auto found = replayed.find(run);
  if (found == replayed.end() || found->second->number != attempt) return false;
  found->second->change_begin(std::move(waits));
  return true;
}

std::shared_ptr<AsyncRun::State> Jobs::Parts::take_replayed(std::int64_t run, std::uint32_t attempt) {
  const auto found = replayed.find(run);
  if (found == replayed.end() || found->second->number != attempt) return nullptr;
  return std::move(replayed.extract(found).mapped());
}

bool Jobs::Parts::repeat_end(std::int64_t run, std::uint32_t attempt, Status status, std::string note) {
  const auto state = take_replayed(run, attempt);
  if (state != nullptr) state->end(std::move(status), std::move(note));
  return state != nullptr;
}

bool Jobs::Parts::repeat_left(std::int64_t run, std::uint32_t attempt) {
  const auto state = take_replayed(run, attempt);
  if (state != nullptr) state->leave();
  return state != nullptr;
}

bool Jobs::Parts::repeat_put_back(std::int64_t run, std::uint32_t attempt) {
  const auto state = take_replayed(run, attempt);
  if (state != nullptr) state->put_back();
  return state != nullptr;
}

void Jobs::Parts::let_go(LiveRun& live) {
  const auto state = std::exchange(live.async, {}).lock();
  if (state == nullptr || !state->on_end) return;
  --stats.running;
  state->on_end = {};
  CallsWithin marks(*this, "let go", live.run.id, live.run.attempt);
  const CallOut mark(*this);
  state->request_stop();
  marks.repeat();
  replayed.erase(live.run.id);
}

std::optional<Progress> Jobs::Parts::progress(std::int64_t run) const {
  const auto found = runs.find(run);
  if (found == runs.end()) return std::nullopt;
  const auto state = found->second.async.lock();
  return state ? std::optional{state->progress} : std::nullopt;
}

}  // namespace rondo::jobs
