#include "jobs/async_runs.h"

#include <algorithm>
#include <climits>

#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

/// A line of a handler that serves many names: room is no matter of the line, but of each run.
bool is_shared(std::string_view line) { return line.ends_with('/'); }

/// The most runs without room that a turn passes over.
constexpr std::size_t kPassed = 64;

}  // namespace

AsyncRuns::AsyncRuns(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Ends& ends)
    : core_(core), runs_(runs), facts_(facts), handlers_(handlers), ends_(ends), line_timer_("jobs:lines", Priority{56}, [this] {
        serve_lines_again();
      }) {}

void AsyncRuns::leave_line(const std::string& name) {
  for (auto* const of : {&lines_, &held_}) {
    const auto line = of->extract(name);
    if (line.empty()) continue;
    for (const auto& [place, run] : line.mapped()) {
      if (LiveRun* const live = runs_.find(run); is_in_line(live, name)) stand_in_line(*live);
    }
  }
}

void AsyncRuns::leave_all() {
  for (auto& [id, live] : runs_.all()) {
    live.stop.request_stop();
    // Work elsewhere goes on: its run has no stored end, so it is begun again after the next start.
    if (const auto state = live.async.lock()) state->owner = nullptr;
  }
}

void AsyncRuns::stand_in_line(LiveRun& live) {
  const std::string& name = live.job->job->handler;
  live.is_held = false;
  if (handlers_.contains(name)) {
    if (live.place_in_line == 0) live.place_in_line = next_in_line_++;
    live.line = handlers_.line_of(name);
    lines_[live.line].emplace(place_of(live), live.run.id);
  } else if (handlers_.waits_for(name)) {
    runs_.begin_again(live, handlers_.wait_for(live));
  } else {
    ends_.end(live, RunState::Failed, handlers_.why_absent(name));
  }
}

Outcome AsyncRuns::begin(LiveRun& live, const HandlerEntry& handler, const Ticket& ticket) {
  const std::string name = live.job->job->handler;
  const std::string line = live.line = handlers_.line_of(name);
  const std::shared_ptr<const RemoteHandler> async = handler.async;  // The handler may remove itself.
  const std::int64_t run = live.run.id;
  bool is_held = false;
  Status thrown;
  const bool may_begin = answer_of(run, thrown, [&] {
    if (async->has_begun && async->has_begun(run)) return true;
    is_held = run <= runs_.recovered_to && async->held && !async->held(run).empty();
    return !live.verdict && !is_held && (is_shared(line) || lines_[line].empty()) && has_room(*async, run);
  });
  is_held = !may_begin && core_.told(is_held, "held", run);
  if (is_held) core_.record("held", run);
  if (live.stage != LiveRun::Stage::Fired) return Outcome::done();  // The handler has ended the run.
  if (!may_begin && !handlers_.contains(name)) {                    // The handler has removed itself.
    if (handlers_.waits_for(name)) return handlers_.wait_for(live);
    ends_.end(live, RunState::Failed, handlers_.why_absent(name));
    return Outcome::done();
  }
  if (!may_begin && !is_held && live.verdict) {
    ends_.end(live, *live.verdict, live.verdict_note);
    return Outcome::done();
  }
  if (!may_begin) {
    live.ticket = ticket;
    live.place_in_line = next_in_line_++;
    live.is_held = is_held;
    (is_held ? held_ : lines_)[line].emplace(place_of(live), run);
    return Outcome::staged();
  }
  start(live, *async, std::move(thrown));
  // The handler may have ended the run, put it back, or removed it or itself, before it returned.
  LiveRun* const after = runs_.find(run);
  if (after == nullptr || (after->stage != LiveRun::Stage::Running && after->stage != LiveRun::Stage::Fired)) return Outcome::done();
  const bool waits = after->stage == LiveRun::Stage::Fired;
  if (waits && !handlers_.contains(name) && handlers_.waits_for(name)) return handlers_.wait_for(*after);
  after->ticket = ticket;
  if (waits) stand_in_line(*after);
  return Outcome::staged();
}

bool AsyncRuns::has_room(const RemoteHandler& handler, std::int64_t run) { return !handler.basic.has_room || handler.basic.has_room(run); }

void AsyncRuns::start(LiveRun& live, const RemoteHandler& handler, Status thrown) {
  runs_.count_attempt(live, core_.wall_now());
  ends_.watch_timeout(live);
  const std::int64_t run = live.run.id;
  const bool was_killed = live.verdict.has_value();  // Before a restart.
  auto state = std::make_shared<AsyncRun::State>();
  state->run = live.run.id;
  state->job = live.job_of_attempt();
  state->scheduled = live.run.scheduled;
  state->number = live.run.attempt;
  state->begun = core_.wall_now();
  state->core = &core_;
  state->owner = this;
  live.async = state;
  call_begin(std::move(state), handler, std::move(thrown));
  LiveRun* const after = runs_.find(run);
  if (was_killed && after != nullptr && after->stage == LiveRun::Stage::Running) ends_.stop(*after, RunState::Killed, kKilled);
}

void AsyncRuns::call_begin(std::shared_ptr<AsyncRun::State> of_attempt, const RemoteHandler& handler, Status thrown) {
  Core::CallsWithin marks(core_, "begin", of_attempt->run, of_attempt->number);
  const auto state = std::move(of_attempt);  // The marks are also around the end of a run that the handler drops.
  if (core_.calls.is_replayed()) replayed_.insert_or_assign(state->run, state);
  marks.make([&] {
    if (thrown.ok()) thrown = core_.call_out([&] { handler.basic.begin(AsyncRun{state}); });
    if (!thrown.ok()) state->end(std::move(thrown), {});
  });
}

void AsyncRuns::serve_line(const std::string& name) {
  if (runs_.is_draining) return;
  if (!served_lines_.insert(name).second) return;  // Within a call for the same line, which goes on.
  Line::key_type last{INT_MIN, 0};
  std::size_t passed = 0;
  for (;;) {
    // Each begin may change handlers and lines, and a run that is put back stands at its old place.
    const HandlerEntry* const handler = handlers_.find(name);
    const auto line = lines_.find(name);
    if (handler == nullptr || handler->async == nullptr || line == lines_.end()) break;
    const auto place = line->second.upper_bound(last);
    if (place == line->second.end()) break;
    const std::shared_ptr<const RemoteHandler> async = handler->async;
    const Line::key_type at = place->first;
    const std::int64_t next = place->second;
    if (LiveRun* const live = runs_.find(next); is_in_line(live, name) && facts_.waits_again(*live)) {
      last = at;
      if (const auto rest = lines_.find(name); rest != lines_.end()) rest->second.erase(at);
      continue;
    }
    Status thrown;
    if (is_in_line(runs_.find(next), name) && !answer_of(next, thrown, [&] { return has_room(*async, next); })) {
      if (!is_shared(name) || ++passed > kPassed) break;
      last = at;
      continue;
    }
    last = at;
    // The handler may have removed itself, with its line, or ended the run.
    const auto rest = lines_.find(name);
    if (rest == lines_.end() || rest->second.erase(at) == 0) continue;
    if (LiveRun* const live = runs_.find(next); is_in_line(live, name)) start(*live, *async, std::move(thrown));
  }
  served_lines_.erase(name);
}

void AsyncRuns::take_room(const std::string& name) {
  serve_line(name);
  if (core_.within.empty()) return;
  // A run whose begin() has called it may stand in the line only afterwards. And a handler may call it each time that it is asked.
  lines_to_serve_.insert(name);
  line_timer_.arm_at(core_.now());
}

void AsyncRuns::serve_lines_again() {
  for (const std::string& name : std::exchange(lines_to_serve_, {})) serve_line(name);
}

void AsyncRuns::check_again(const std::string& name) {
  const HandlerEntry* const handler = handlers_.find(name);
  const auto found = held_.find(name);
  if (handler == nullptr || handler->async == nullptr || found == held_.end()) return;
  const std::shared_ptr<const RemoteHandler> async = handler->async;
  std::vector<std::pair<std::int64_t, Status>> begun;
  const auto is_held = [this, &name](const LiveRun* live) { return is_in_line(live, name) && live->is_held; };
  for (const auto& [place, run] : std::exchange(found->second, {})) {
    if (!is_held(runs_.find(run))) continue;
    bool has_begun = false;
    bool stays = false;
    Status thrown;
    if (handlers_.contains(name)) {
      thrown = ask(run, [&, id = run] {
        has_begun = async->has_begun && async->has_begun(id);
        stays = !has_begun && async->held && !async->held(id).empty();
      });
      stays = core_.told(stays, "held", run);
    }
    // The handler may have ended the run. It may have removed itself, too: then this run and those behind it wait for the handler.
    LiveRun* const live = runs_.find(run);
    if (!is_held(live)) continue;
    if (stays && handlers_.contains(name)) {
      core_.record("held", run);
      held_[name].emplace(place, run);
      continue;
    }
    stand_in_line(*live);
    const bool begins = core_.told(has_begun || !thrown.ok(), "answer", run, true);
    core_.record("answer", run, begins);
    if (begins) {
      begun.emplace_back(run, std::move(thrown));
    } else if (live->verdict && is_in_line(live, name)) {
      ends_.end(*live, *live->verdict, live->verdict_note);
    }
  }
  // Each may change handlers and lines.
  for (auto& [run, thrown] : begun) {
    LiveRun* const live = runs_.find(run);
    const auto line = lines_.find(name);
    if (is_in_line(live, name) && line != lines_.end() && line->second.erase(place_of(*live)) != 0) start(*live, *async, std::move(thrown));
  }
  serve_line(name);
}

void AsyncRuns::begin_changed(const AsyncRun::State& changed) {
  LiveRun* const live = runs_.find(changed.run);
  if (live == nullptr) return;
  if (changed.waits) {
    core_.record("begins later", changed.run, changed.number, *changed.waits);
    live->deadline = Instant::never();
  } else {
    core_.record("began", changed.run, changed.number);
    ends_.watch_timeout(*live);
  }
}

void AsyncRuns::ended(const AsyncRun::State& ended) {
  if (ended.is_put_back) return put_back(ended);
  core_.record("end", ended.run, ended.number, static_cast<std::int64_t>(ended.status.code()), ended.status.origin_errno(),
               ended.status.message(), ended.note);
  --runs_.stats.running;
  replayed_.erase(ended.run);
  LiveRun* const live = runs_.find(ended.run);
  if (live == nullptr) return;
  live->async.reset();
  // The work was done before it could hear of the timeout, for instance because this process stood still meanwhile.
  if (ended.status.ok() && (live->verdict == RunState::TimedOut || was_over(*live, ended))) live->verdict.reset();
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
  ends_.end_attempt(*live, attempt);
}

/// True if the attempt had ended, by its report, before it was asked to stop: at a worker that was away, or while another scheduler had the
/// jobs.
bool AsyncRuns::was_over(const LiveRun& live, const AsyncRun::State& ended) {
  if (!live.verdict || live.stop_asked == Instant::never()) return false;
  const WallTime asked = core_.wall_now() + -(core_.now() - live.stop_asked);
  const bool was_over = core_.told(ended.ended.has_value() && *ended.ended < asked, "was over", ended.run);
  if (was_over) core_.record("was over", ended.run);
  return was_over;
}

void AsyncRuns::put_back(const AsyncRun::State& ended) {
  core_.record("put back", ended.run, ended.number);
  --runs_.stats.running;
  --runs_.stats.attempts;
  replayed_.erase(ended.run);
  LiveRun* const live = runs_.find(ended.run);
  if (live == nullptr) return;
  live->async.reset();
  live->deadline = Instant::never();
  live->stop_asked = Instant::never();
  if (live->verdict == RunState::Killed || live->verdict == RunState::Discarded)
    return ends_.end(*live, *live->verdict, live->verdict_note);
  live->verdict.reset();
  live->stop = std::stop_source{};
  runs_.enter(*live, LiveRun::Stage::Fired);
  if (live->ticket) stand_in_line(*live);  // Otherwise begin() does.
}

void AsyncRuns::left(const AsyncRun::State& left) {
  core_.record("left", left.run, left.number);
  --runs_.stats.running;
  replayed_.erase(left.run);
}

std::shared_ptr<AsyncRun::State> AsyncRuns::replayed(std::int64_t run, std::uint32_t attempt) const {
  const auto found = replayed_.find(run);
  return found == replayed_.end() || found->second->number != attempt ? nullptr : found->second;
}

void AsyncRuns::let_go(LiveRun& live) {
  const auto state = std::exchange(live.async, {}).lock();
  if (state == nullptr || state->owner == nullptr) return;
  --runs_.stats.running;
  state->owner = nullptr;
  Core::CallsWithin marks(core_, "let go", live.run.id, live.run.attempt);
  const Core::CallOut mark(core_);
  state->request_stop();
  marks.repeat();
  replayed_.erase(live.run.id);
}

}  // namespace rondo::jobs
