// parts.h: from a due run to the end of an attempt.
#include <algorithm>
#include <utility>

#include "jobs/async_state.h"
#include "jobs/parts.h"

namespace rondo::jobs {

namespace {

/// After this time a handler that was asked to stop counts as stuck.
constexpr Duration kStopPatience = 60s;

std::string covered_by(std::int64_t run) { return "covered by the run " + std::to_string(run); }

}  // namespace

void Jobs::Parts::fire(LiveRun& live) {
  live.priority = live.job->job->priority;
  RunQueue* const of = queue(live.priority);
  const Status added = of == nullptr ? Status{StatusCode::Unavailable, planning_trouble} : of->add(live.run);
  if (!added.ok()) {  // A store of tables that is full or away. The run stays due.
    planning_trouble = "the run " + key_of(live.run) + ": " + std::string{added.message()};
    later.emplace(live.fires, live.run.id);
    return;
  }
  live.stage = LiveRun::Stage::Fired;
  ++stats.fired;
}

Outcome Jobs::Parts::begin(std::int64_t run, const Ticket& ticket) {
  LiveRun* const live = find(run);
  if (live == nullptr || live->stage != LiveRun::Stage::Fired || live->ticket) return Outcome::done();
  if (is_draining) return Outcome::retry_after(1s, {StatusCode::Unavailable, "the program ends"});
  stop_awaiting(*live);
  if (live->verdict && !may_be_at_worker(*live)) {  // Its worker, which may have had it, does not have it.
    end(*live, *live->verdict, live->verdict_note);
    return Outcome::done();
  }
  if (Status unknown = check_facts(*live->job->job); !unknown.ok()) {
    end(*live, RunState::Failed, unknown.to_string());
    return Outcome::done();
  }
  // One that was killed before a restart begins for its stop alone.
  std::vector<Fact> facts = live->verdict ? std::vector<Fact>{} : missing_facts(*live);
  if (!facts.empty()) return Outcome::wait_for(std::move(facts));
  LiveJob& job = *live->job;
  const std::string& handler = job.job->handler;
  if (!handlers.contains(handler) && waits_for_handler(handler)) return wait_for_handler(*live);
  if (!job.begun.contains(run)) {
    if (const std::int64_t newer = newer_run(*live); newer != 0) {
      end(*live, RunState::Killed, covered_by(newer));
      return Outcome::done();
    }
    if (job.begun.size() >= job.most()) cover(*live);
    // The others may have ended in cover(), which has passed the turn to this run.
    if (job.begun.size() >= job.most() && !job.begun.contains(run)) return overlap(*live);
    job.begun.insert(run);
  }
  return begin_handler(*live, ticket);
}

std::int64_t Jobs::Parts::newer_run(const LiveRun& live) {
  const LiveJob& job = *live.job;
  if (job.job->overlap != Overlap::Cover || live.run.band == Band::Backfill) return 0;
  const auto is_newer = [&](std::int64_t other) {
    const LiveRun* const run = find(other);
    return other > live.run.id && run != nullptr && run->run.band != Band::Backfill && !run->verdict;
  };
  if (const auto begun = std::ranges::find_if(job.begun, is_newer); begun != job.begun.end()) return *begun;
  const auto waits = std::ranges::find_if(job.waiting, is_newer);
  return waits == job.waiting.end() ? 0 : *waits;
}

/// Overlap::Cover: ends the runs of the job that wait, except backfilled ones, and asks those that run to stop. The run is the next one.
void Jobs::Parts::cover(LiveRun& live) {
  LiveJob& job = *live.job;
  if (job.job->overlap != Overlap::Cover || live.run.band == Band::Backfill) return;
  std::deque<std::int64_t> others = std::exchange(job.waiting, {});
  others.insert(others.end(), job.begun.begin(), job.begun.end());
  live.waits_for_turn = true;
  job.waiting.push_back(live.run.id);
  for (const std::int64_t other : others) {
    LiveRun* const covered = find(other);
    if (covered != nullptr && other != live.run.id) stop(*covered, RunState::Killed, covered_by(live.run.id));
  }
}

/// As many runs of the job as may are running.
Outcome Jobs::Parts::overlap(LiveRun& live) {
  LiveJob& job = *live.job;
  const bool is_backfill = live.run.band == Band::Backfill;
  if (job.job->overlap == Overlap::Discard && !is_backfill) {
    end(live, RunState::Discarded, "another run was running: " + std::to_string(*job.begun.begin()));
    return Outcome::done();
  }
  if (!std::exchange(live.waits_for_turn, true)) {
    std::deque<std::int64_t>& line = is_backfill ? job.backfill : job.waiting;
    // In the order of the instants, which is that of the ids: also a further attempt, and a run that lost its turn by an edit.
    line.insert(std::ranges::upper_bound(line, live.run.id), live.run.id);
  }
  return Outcome::wait_for({kJobTurn, key_of(live.run)});
}

bool Jobs::Parts::may_begin(std::int64_t run) const {
  const auto found = runs.find(run);
  return found == runs.end() || found->second.stage != LiveRun::Stage::Fired || found->second.job->begun.contains(run);
}

void Jobs::Parts::pass_turn(LiveJob& job) {
  while (job.begun.size() < job.most()) {
    std::deque<std::int64_t>& line = job.waiting.empty() ? job.backfill : job.waiting;
    if (line.empty()) return;
    const std::int64_t next = line.front();
    line.pop_front();
    LiveRun* const live = find(next);
    if (live == nullptr || live->stage != LiveRun::Stage::Fired) continue;
    live->waits_for_turn = false;
    job.begun.insert(next);
    turns.allow(live->run);
  }
}

Outcome Jobs::Parts::begin_handler(LiveRun& live, const Ticket& ticket) {
  const Job& job = *live.job->job;
  const auto handler = handlers.find(job.handler);
  if (handler == handlers.end()) {
    end(live, RunState::Failed, no_handler(job.handler));
    return Outcome::done();
  }
  if (handler->second.async != nullptr) return begin_async(live, handler->second, ticket);
  if (handler->second.in_turn) {
    Attempt attempt = attempt_of(live, handler->second);
    {
      const CallOut mark(*this);
      run_attempt(attempt, runtime.clock());
    }
    attempt_ended(attempt);
    return Outcome::done();
  }
  live.ticket = ticket;
  const PoolKind pool = pool_choice.pool(live.run.job_id, wall_now(), options);
  auto& line = waiting[static_cast<std::size_t>(pool)];
  if (line.empty() && pools.has_room(pool)) {
    submit(live, pool, handler->second);
  } else {
    live.pool = pool;
    line.emplace(std::pair{-static_cast<int>(live.priority.level()), next_in_line++}, live.run.id);
  }
  return Outcome::staged();
}

void Jobs::Parts::count_attempt(LiveRun& live) {
  if (live.run.attempt == 0) {
    const Duration lateness = wall_now() - live.run.due;
    stats.lateness_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(lateness.count(), 0)));
  }
  ++stats.attempts;
  ++stats.running;
  live.stage = LiveRun::Stage::Running;
}

Attempt Jobs::Parts::attempt_of(LiveRun& live, const HandlerEntry& handler) {
  count_attempt(live);
  return {.handler = handler.handler,
          .job = live.job->job,
          .run = live.run.id,
          .scheduled = live.run.scheduled,
          .number = live.run.attempt,
          .is_recovered = live.is_recovered,
          .stop = live.stop.get_token(),
          .begun = {},
          .took = {},
          .status = {}};
}

void Jobs::Parts::watch_timeout(LiveRun& live) {
  const Duration timeout = live.job->job->timeout;
  if (timeout <= Duration{0}) return;
  live.deadline = runtime.scheduler().now() + timeout;
  deadlines.emplace(live.deadline, live.run.id);
  deadline_timer.arm_at(deadlines.begin()->first);
}

void Jobs::Parts::submit(LiveRun& live, PoolKind pool, const HandlerEntry& handler) {
  watch_timeout(live);
  live.runs_in = pool;
  live.begins = std::make_shared<std::atomic<std::int64_t>>(0);
  Attempt begun = attempt_of(live, handler);
  begun.begins = live.begins;
  pools.submit(pool, std::move(begun), [this](Attempt& attempt) { attempt_ended(attempt); });
}

void Jobs::Parts::pool_has_room(PoolKind pool) {
  if (is_draining) return;
  auto& line = waiting[static_cast<std::size_t>(pool)];
  while (!line.empty() && pools.has_room(pool)) {
    const std::int64_t next = line.begin()->second;
    line.erase(line.begin());
    LiveRun* const live = find(next);
    if (live == nullptr || live->pool != pool) continue;  // It was killed meanwhile.
    live->pool.reset();
    if (waits_for_facts_again(*live)) continue;
    const auto handler = handlers.find(live->job->job->handler);
    if (handler == handlers.end() || handler->second.handler == nullptr) {
      end(*live, RunState::Failed, no_handler(live->job->job->handler));
    } else {
      submit(*live, pool, handler->second);
    }
  }
}

void Jobs::Parts::attempt_ended(Attempt& attempt) {
  --stats.running;
  LiveRun* const live = find(attempt.run);
  if (live == nullptr) return;  // Its job was removed.
  pool_choice.ended(live->run.job_id, wall_now(), attempt.took, options);
  end_attempt(*live, attempt);
}

void Jobs::Parts::stop(LiveRun& live, RunState verdict, std::string note) {
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
    live.stop_asked = runtime.scheduler().now();
    stopping.emplace(live.stop_asked, live.run.id);
  }
  live.stop.request_stop();
  CallsWithin marks(*this, "stop", live.run.id, live.run.attempt);
  if (const auto state = live.async.lock()) {
    const CallOut mark(*this);
    state->request_stop();
    marks.repeat();  // The handler may have ended the attempt within the call.
  }
}

void Jobs::Parts::watch_deadlines() {
  const Instant now = runtime.scheduler().now();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    LiveRun* const live = find(deadlines.begin()->second);
    if (live != nullptr && live->stage == LiveRun::Stage::Running && live->deadline <= now) {
      stop(*live, RunState::TimedOut, "the timeout of " + std::to_string(live->job->job->timeout / 1ms) + " ms has passed");
    }
    deadlines.erase(deadlines.begin());
  }
  if (!deadlines.empty()) deadline_timer.arm_at(deadlines.begin()->first);
}

const LiveRun* Jobs::Parts::stuck_run() const {
  const Instant before = runtime.scheduler().now() + -kStopPatience;
  for (auto asked = stopping.begin(); asked != stopping.end() && asked->first <= before; ++asked) {
    const auto found = runs.find(asked->second);
    if (found == runs.end() || found->second.stop_asked != asked->first) continue;
    const LiveRun& live = found->second;
    const bool is_in_queue = live.runs_in && live.begins->load(std::memory_order_relaxed) == 0;
    // Workers has its own account of commands that do not stop.
    if (!is_in_queue && !waits_for_handler(live.job->job->handler)) return &live;
  }
  return nullptr;
}

void Jobs::Parts::forget_stopped() {
  std::erase_if(stopping, [this](const auto& asked) {
    const LiveRun* const live = find(asked.second);
    return live == nullptr || live->stop_asked != asked.first;
  });
}

}  // namespace rondo::jobs
