#include "jobs/dispatch.h"

#include <algorithm>
#include <deque>

#include "jobs/named_few.h"
#include "rondo/base/assert.h"

namespace rondo::jobs {

namespace {

constexpr Duration kDrainPeriod = 5ms;

std::string covered_by(std::int64_t run) { return "covered by the run " + std::to_string(run); }

}  // namespace

Dispatch::Dispatch(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Ends& ends, AsyncRuns& async)
    : core_(core),
      runs_(runs),
      facts_(facts),
      handlers_(handlers),
      ends_(ends),
      async_(async),
      pools_(core.runtime.scheduler(), core.runtime.clock(), core.options, [this](PoolKind pool) { pool_has_room(pool); }),
      drain_timer_("jobs:drain", Priority{56}, [this] { watch_drain(); }) {}

Outcome Dispatch::begin(std::int64_t run, const Ticket& ticket) {
  LiveRun* const live = runs_.find(run);
  if (live == nullptr || live->stage != LiveRun::Stage::Fired || live->ticket) return Outcome::done();
  if (runs_.is_draining) return Outcome::retry_after(1s, {StatusCode::Unavailable, "the program ends"});
  if (!core_.may_begin(run)) return Core::unsure();
  handlers_.stop_awaiting(*live);
  if (live->verdict && !runs_.may_be_at_worker(*live)) {  // Its worker, which may have had it, does not have it.
    ends_.end(*live, *live->verdict, live->verdict_note);
    return Outcome::done();
  }
  if (Status unknown = facts_.check(*live->job->job); !unknown.ok()) {
    ends_.end(*live, RunState::Failed, unknown.to_string());
    return Outcome::done();
  }
  // One that was killed before a restart begins for its stop alone.
  std::vector<Fact> facts = live->verdict ? std::vector<Fact>{} : facts_.missing(*live);
  if (!facts.empty()) return Outcome::wait_for(std::move(facts));
  LiveJob& job = *live->job;
  const std::string& handler = job.job->handler;
  if (!handlers_.contains(handler) && handlers_.waits_for(handler)) return handlers_.wait_for(*live);
  const HandlerEntry* const entry = handlers_.find(handler);
  const bool is_applied = entry != nullptr && entry->async != nullptr && entry->async->applies_overlap;
  if (is_applied && job.job->overlap_scope == OverlapScope::Executor && live->run.band != Band::Backfill) {
    job.begun.insert(run);
  } else if (!job.begun.contains(run)) {
    if (const std::int64_t newer = newer_run(*live); newer != 0) {
      ends_.end(*live, RunState::Killed, covered_by(newer));
      return Outcome::done();
    }
    if (job.begun.size() >= job.most()) cover(*live);
    // The others may have ended in cover(), which has passed the turn to this run.
    if (job.begun.size() >= job.most() && !job.begun.contains(run)) return overlap(*live);
    job.begun.insert(run);
  }
  return begin_handler(*live, ticket);
}

std::int64_t Dispatch::newer_run(const LiveRun& live) const {
  const LiveJob& job = *live.job;
  if (job.job->overlap != Overlap::Cover || live.run.band == Band::Backfill) return 0;
  const auto is_newer = [&](std::int64_t other) {
    const LiveRun* const run = runs_.find(other);
    return other > live.run.id && run != nullptr && run->run.band != Band::Backfill && !run->verdict;
  };
  if (const auto begun = std::ranges::find_if(job.begun, is_newer); begun != job.begun.end()) return *begun;
  const auto waits = std::ranges::find_if(job.waiting, is_newer);
  return waits == job.waiting.end() ? 0 : *waits;
}

/// Overlap::Cover: ends the runs of the job that wait, except backfilled ones, and asks those that run to stop. The run is the next one.
void Dispatch::cover(LiveRun& live) {
  LiveJob& job = *live.job;
  if (job.job->overlap != Overlap::Cover || live.run.band == Band::Backfill) return;
  std::deque<std::int64_t> others = std::exchange(job.waiting, {});
  others.insert(others.end(), job.begun.begin(), job.begun.end());
  live.waits_for_turn = true;
  job.waiting.push_back(live.run.id);
  for (const std::int64_t other : others) {
    LiveRun* const covered = runs_.find(other);
    if (covered != nullptr && other != live.run.id) ends_.stop(*covered, RunState::Killed, covered_by(live.run.id));
  }
}

/// As many runs of the job as may are running.
Outcome Dispatch::overlap(LiveRun& live) {
  LiveJob& job = *live.job;
  const bool is_backfill = live.run.band == Band::Backfill;
  if (job.job->overlap == Overlap::Discard && !is_backfill) {
    ends_.end(live, RunState::Discarded, "another run was running: " + std::to_string(*job.begun.begin()));
    return Outcome::done();
  }
  if (!std::exchange(live.waits_for_turn, true)) {
    std::deque<std::int64_t>& line = is_backfill ? job.backfill : job.waiting;
    // In the order of the instants, which is that of the ids: also a further attempt, and a run that lost its turn by an edit.
    line.insert(std::ranges::upper_bound(line, live.run.id), live.run.id);
  }
  return Outcome::wait_for({kJobTurn, key_of(live.run)});
}

bool Dispatch::may_begin(std::int64_t run) const {
  const LiveRun* const live = runs_.find(run);
  return live == nullptr || live->stage != LiveRun::Stage::Fired || live->job->begun.contains(run);
}

Outcome Dispatch::begin_handler(LiveRun& live, const Ticket& ticket) {
  const Job& job = *live.job->job;
  const HandlerEntry* const handler = handlers_.find(job.handler);
  if (handler == nullptr) {
    ends_.end(live, RunState::Failed, handlers_.why_absent(job.handler));
    return Outcome::done();
  }
  if (handler->async != nullptr) return async_.begin(live, *handler, ticket);
  if (handler->in_turn) {
    Attempt attempt = attempt_of(live, *handler);
    {
      const Core::CallOut mark(core_);
      run_attempt(attempt, core_.runtime.clock());
    }
    attempt_ended(attempt);
    return Outcome::done();
  }
  live.ticket = ticket;
  const PoolKind pool = pool_choice_.pool(live.run.job_id, core_.wall_now(), core_.options);
  auto& line = waiting_[static_cast<std::size_t>(pool)];
  if (line.empty() && pools_.has_room(pool)) {
    submit(live, pool, *handler);
  } else {
    live.pool = pool;
    line.emplace(std::pair{-static_cast<int>(live.priority.level()), next_in_line_++}, live.run.id);
  }
  return Outcome::staged();
}

Attempt Dispatch::attempt_of(LiveRun& live, const HandlerEntry& handler) {
  runs_.count_attempt(live, core_.wall_now());
  return {.handler = handler.handler,
          .job = live.job_of_attempt(),
          .run = live.run.id,
          .scheduled = live.run.scheduled,
          .number = live.run.attempt,
          .is_recovered = live.is_recovered,
          .stop = live.stop.get_token(),
          .begun = {},
          .took = {},
          .status = {}};
}

void Dispatch::submit(LiveRun& live, PoolKind pool, const HandlerEntry& handler) {
  ends_.watch_timeout(live);
  live.runs_in = pool;
  live.begins = std::make_shared<std::atomic<std::int64_t>>(0);
  Attempt begun = attempt_of(live, handler);
  begun.begins = live.begins;
  pools_.submit(pool, std::move(begun), [this](Attempt& attempt) { attempt_ended(attempt); });
}

void Dispatch::pool_has_room(PoolKind pool) {
  if (runs_.is_draining) return;
  auto& line = waiting_[static_cast<std::size_t>(pool)];
  while (!line.empty() && pools_.has_room(pool)) {
    const std::int64_t next = line.begin()->second;
    line.erase(line.begin());
    LiveRun* const live = runs_.find(next);
    if (live == nullptr || live->pool != pool) continue;  // It was killed meanwhile.
    live->pool.reset();
    if (facts_.waits_again(*live)) continue;
    const HandlerEntry* const handler = handlers_.find(live->job->job->handler);
    if (handler == nullptr || handler->handler == nullptr) {
      ends_.end(*live, RunState::Failed, handlers_.why_absent(live->job->job->handler));
    } else {
      submit(*live, pool, *handler);
    }
  }
}

void Dispatch::attempt_ended(Attempt& attempt) {
  --runs_.stats.running;
  LiveRun* const live = runs_.find(attempt.run);
  if (live == nullptr) return;  // Its job was removed.
  pool_choice_.ended(live->run.job_id, core_.wall_now(), attempt.took, core_.options);
  ends_.end_attempt(*live, attempt);
}

void Dispatch::drain(Duration patience, std::function<void(const Status&)> done) {
  RONDO_EXPECT(!std::exchange(runs_.is_draining, true), "Jobs::drain() was called twice");
  const Instant now = core_.now();
  drained_at_ = now + patience;
  drained_ = std::move(done);
  drain_timer_.arm_every(kDrainPeriod, now);
}

void Dispatch::watch_drain() {
  const bool is_over = runs_.stats.running == 0 && ends_.pending() == 0;
  if (!is_over && core_.now() < drained_at_) return;
  drain_timer_.disarm();
  const std::string open =
      std::to_string(runs_.stats.running) + " attempts are under way, and " + std::to_string(ends_.pending()) + " ends are not stored";
  const Status result = is_over ? Status{} : Status{StatusCode::DeadlineExceeded, open};
  Core::CallsWithin{core_, "drained"}.make([&] {
    const auto done = std::exchange(drained_, {});
    if (!done) return;
    const Status thrown = core_.call_out([&] { done(result); }, "the 'done' of Jobs::drain()");
    if (!thrown.ok()) core_.report(Change::event("drained", "jobs", {}), thrown);
  });
}

void Dispatch::end_pools() {
  pools_.end(core_.options.end_notice, [this](const std::vector<std::string>& left) {
    NamedFew names;
    for (const std::string& key : left) names.add(key);
    const Status waits{StatusCode::DeadlineExceeded, "Jobs::~Jobs() waits for handlers that were asked to stop " +
                                                         std::to_string(core_.options.end_notice / 1ms) +
                                                         " ms ago and have not returned: " + names.text("more", "more")};
    core_.report(Change::event("call", "jobs", {}), waits);
  });
}

}  // namespace rondo::jobs
