#include "jobs/stops.h"

#include <algorithm>
#include <utility>

#include "jobs/async_state.h"

namespace rondo::jobs {

namespace {

/// After this time a handler that was asked to stop counts as stuck.
constexpr Duration kStopPatience = 60s;

}  // namespace

Stops::Stops(Core& core, LiveRuns& runs, Handlers& handlers, Ends& ends)
    : core_(core), runs_(runs), handlers_(handlers), ends_(ends), deadline_timer_("jobs:timeouts", Priority{56}, [this] {
        watch_deadlines();
      }) {
  core_.runtime.scheduler().add(deadline_timer_);
}

void Stops::watch_timeout(LiveRun& live) {
  const Duration timeout = live.job->job->timeout;
  if (timeout <= Duration{0}) return;
  live.deadline = core_.now() + timeout;
  deadlines_.emplace(live.deadline, live.run.id);
  deadline_timer_.arm_at(deadlines_.begin()->first);
}

void Stops::stop(LiveRun& live, RunState verdict, std::string note) {
  if (live.stage == LiveRun::Stage::Ending) {
    // While the end of an attempt is being stored: no further one follows.
    if (live.is_withdrawn || is_final(live.run.state)) return;
    live.verdict = verdict;
    live.verdict_note = std::move(note);
    return;
  }
  if (live.stage != LiveRun::Stage::Running) return ends_.end(live, verdict, std::move(note));
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

void Stops::watch_deadlines() {
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

const LiveRun* Stops::stuck_run() const {
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

void Stops::forget_stopped() {
  std::erase_if(stopping_, [this](const auto& asked) {
    const LiveRun* const live = runs_.find(asked.second);
    return live == nullptr || live->stop_asked != asked.first;
  });
}

}  // namespace rondo::jobs
