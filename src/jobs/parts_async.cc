// parts.h: runs of handlers that work elsewhere.
#include <algorithm>
#include <exception>
#include <utility>

#include "jobs/async_state.h"
#include "jobs/parts.h"

namespace rondo::jobs {

void Jobs::Parts::set_handler(std::string name, HandlerEntry entry) {
  handlers[name] = std::move(entry);
  turns.handler_came(name);
}

void Jobs::Parts::remove_handler(std::string_view name) {
  const auto found = handlers.find(name);
  if (found == handlers.end()) return;
  handlers.erase(found);
  turns.handler_went(name);
  const auto line = lines.extract(std::string{name});
  if (line.empty()) return;
  // Those that waited for room wait for the handler now.
  for (const auto& [place, run] : line.mapped()) {
    LiveRun* const live = find(run);
    if (live == nullptr || live->stage != LiveRun::Stage::Fired || !live->ticket) continue;
    const Ticket ticket = *std::exchange(live->ticket, std::nullopt);
    if (waits_for_handler(name)) {
      queue(live->priority)->settle_with(ticket, Outcome::wait_for({kJobHandler, std::string{name}}));
    } else {
      live->ticket = ticket;
      end(*live, RunState::Failed, no_handler(name));
    }
  }
}

bool Jobs::Parts::waits_for_handler(std::string_view name) const {
  return std::ranges::any_of(awaited_handlers, [name](const auto& awaited) { return name.starts_with(awaited.first); });
}

std::string Jobs::Parts::no_handler(std::string_view name) const {
  for (const auto& [prefix, reason] : awaited_handlers) {
    if (name.starts_with(prefix)) return reason(name);
  }
  return "this program has no handler '" + std::string{name} + "'";
}

Outcome Jobs::Parts::begin_async(LiveRun& live, const HandlerEntry& handler, const Ticket& ticket) {
  const std::string& name = live.job->job->handler;
  const std::shared_ptr<const AsyncHandler> async = handler.async;  // The handler may remove itself.
  auto& line = lines[name];
  const bool may_begin = answer_of(
      live.run.id, [&] { return (async->has_begun && async->has_begun(live.run.id)) || (line.empty() && has_room(*async, live.run.id)); });
  if (!may_begin) {
    live.ticket = ticket;
    line.emplace(std::pair{-static_cast<int>(live.priority.level()), next_in_line++}, live.run.id);
    return Outcome::staged();
  }
  const std::int64_t run = live.run.id;
  start_async(live, *async);
  // The handler may have ended the run, or removed it, before it returned.
  LiveRun* const after = find(run);
  if (after == nullptr || after->stage != LiveRun::Stage::Running) return Outcome::done();
  after->ticket = ticket;
  return Outcome::staged();
}

bool Jobs::Parts::has_room(const AsyncHandler& handler, std::int64_t run) { return !handler.has_room || handler.has_room(run); }

void Jobs::Parts::start_async(LiveRun& live, const AsyncHandler& handler) {
  count_attempt(live);
  watch_timeout(live);
  const auto state = std::make_shared<AsyncRun::State>();
  state->run = live.run.id;
  state->job = live.job->job;
  state->scheduled = live.run.scheduled;
  state->number = live.run.attempt;
  state->begun = wall_now();
  state->on_end = [this](const AsyncRun::State& ended) { async_ended(ended); };
  live.async = state;
  if (calls.is_replayed()) {
    replayed.insert_or_assign(live.run.id, state);
    return calls.repeat();
  }
  try {
    handler.begin(AsyncRun{state});
  } catch (const std::exception& error) {
    state->end({StatusCode::Internal, std::string{"the handler threw: "} + error.what()}, {});
  }
}

void Jobs::Parts::serve_line(const std::string& name) {
  if (!served_lines.insert(name).second) return;  // Within a call for the same line, which goes on.
  for (;;) {
    // Each begin may change handlers and lines.
    const auto handler = handlers.find(name);
    const auto line = lines.find(name);
    if (handler == handlers.end() || handler->second.async == nullptr || line == lines.end() || line->second.empty()) break;
    const std::shared_ptr<const AsyncHandler> async = handler->second.async;
    const std::int64_t next = line->second.begin()->second;
    LiveRun* const live = find(next);
    const bool still_waits = live != nullptr && live->stage == LiveRun::Stage::Fired && live->ticket && live->job->job->handler == name;
    if (still_waits && !answer_of(next, [&] { return has_room(*async, next); })) break;
    line->second.erase(line->second.begin());
    if (still_waits) start_async(*live, *async);
  }
  served_lines.erase(name);
}

void Jobs::Parts::async_ended(const AsyncRun::State& ended) {
  record("end", ended.run, ended.number, static_cast<std::int64_t>(ended.status.code()), ended.status.origin_errno(),
         ended.status.message(), ended.note);
  --stats.running;
  LiveRun* const live = find(ended.run);
  if (live == nullptr) return;
  live->async.reset();
  const Attempt attempt{.handler = {},
                        .job = ended.job,
                        .run = ended.run,
                        .scheduled = ended.scheduled,
                        .number = ended.number,
                        .stop = {},
                        .begun = ended.begun,
                        .took = {},
                        .status = ended.status,
                        .note = ended.note,
                        .is_timed_out = ended.status.code() == StatusCode::DeadlineExceeded};
  end_attempt(*live, attempt);
}

bool Jobs::Parts::repeat_end(std::int64_t run, std::uint32_t attempt, Status status, std::string note) {
  const auto found = replayed.find(run);
  if (found == replayed.end() || found->second->number != attempt) return false;
  const std::shared_ptr<AsyncRun::State> state = std::move(replayed.extract(found).mapped());
  state->end(std::move(status), std::move(note));
  return true;
}

void Jobs::Parts::let_go(LiveRun& live) {
  const auto state = std::exchange(live.async, {}).lock();
  if (state == nullptr || !state->on_end) return;
  --stats.running;
  state->on_end = {};
  state->request_stop();
  replayed.erase(live.run.id);
}

std::optional<Progress> Jobs::Parts::progress(std::int64_t run) const {
  const auto found = runs.find(run);
  if (found == runs.end()) return std::nullopt;
  const auto state = found->second.async.lock();
  return state ? std::optional{state->progress} : std::nullopt;
}

}  // namespace rondo::jobs
