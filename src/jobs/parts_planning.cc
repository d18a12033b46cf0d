// parts.h: from the start to a run that is due.
#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/thrown.h"
#include "jobs/async_state.h"
#include "jobs/named_few.h"
#include "jobs/parts.h"
#include "jobs/put_jobs.h"
#include "rondo/base/assert.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

constexpr std::size_t kPage = 1000;
/// The most runs that fire in one turn of the ring's timer: of the late ones, and as many of the others.
constexpr std::size_t kFiresOfTurn = 256;
constexpr Duration kForgetPeriod = 60s;
/// Pages of old runs that one cycle removes at most. More than 10,000 runs a second may end.
constexpr int kPagesOfForgetting = 20;
/// A job may have a twentieth of the places that are free: so forty, four hundred or four thousand jobs without a worker all leave room.
constexpr std::size_t kShares = 20;

/// Why a run cannot begin any more; empty if the runs of its parents have succeeded, or have no end.
Result<std::string> lost_parent(JobStore& store, const JobRun& run) {
  for (const std::int64_t id : run.parents) {
    const auto parent = store.run(id);
    if (!parent && parent.error().code() != StatusCode::NotFound) return failure(parent.error());
    if (!parent) return "the parent run " + std::to_string(id) + " was removed";
    if (is_final(parent->state) && parent->state != RunState::Succeeded) return note_of_parent(*parent);
  }
  return std::string{};
}

constexpr std::string_view kOutdated = "the job has another schedule";

/// Why a run that an earlier process left does not run any more; empty if it does. An outdated run whose time has come since it was read is
/// a run of the schedule that was in force then.
std::string why_not_run(const FoundRuns& found, const JobRun& run, bool is_to_come) {
  if (const auto lost = found.lost.find(run.id); lost != found.lost.end() && (is_to_come || lost->second != kOutdated)) return lost->second;
  const StoredJob& job = found.jobs.at(run.job);
  if (!is_readable(job)) return job.job.note;
  return job.is_running || is_requested(run.band) ? "" : "the job was stopped";
}

/// Whether a run is still to come at an instant that its job has no more: the job was edited while no process had the run.
bool is_outdated(Planner& planner, const JobRun& run, const StoredJob& job, WallTime now) {
  if (run.band != Band::Ring || run.attempt != 0 || run.due <= now || !is_readable(job)) return false;
  if (run.parents.empty() != job.job.parents.empty()) return true;
  if (!run.parents.empty() || is_delay(job.job)) return false;  // It has no instants of its own.
  const auto compiled = planner.compiled(job.job, job.id);
  if (!compiled) return false;
  const auto instant = next_after(**compiled, run.scheduled + Duration{-1});
  return !instant || instant->scheduled != run.scheduled;
}

Result<FoundRuns> read_unfinished(JobStore& store, Planner& planner, std::int64_t after, WallTime now) {
  FoundRuns found;
  auto runs = store.unfinished(after, kPage);
  if (!runs) return failure(std::move(runs.error()));
  found.runs = std::move(*runs);
  for (const JobRun& run : found.runs) {
    auto lost = lost_parent(store, run);
    if (!lost) return failure(std::move(lost.error()));
    if (!lost->empty()) found.lost.emplace(run.id, std::move(*lost));
    if (!found.jobs.contains(run.job)) {
      auto job = store.find(run.job);
      if (!job) return failure(std::move(job.error()));
      found.jobs.emplace(run.job, std::move(*job));
    }
    if (is_outdated(planner, run, found.jobs.at(run.job), now)) found.lost.emplace(run.id, kOutdated);
  }
  return found;
}

/// Removes at most a page of runs by their age, and at most a page by their number. Returns true if there may be more.
Result<bool> forget_runs(JobStore& store, WallTime before, std::size_t kept) {
  Result<bool> has_more = store.forget(before, kPage);
  if (!has_more || *has_more || kept == 0) return has_more;
  return store.forget_beyond(kept, kPage);
}

}  // namespace

Result<Jobs::JobSource> Jobs::JobSource::take(Runtime& runtime) {
  JobSource source{.hooks = std::make_shared<std::unique_ptr<RunHooks>>(std::make_unique<RunHooks>())};
  const Result<JobTurns*> added = runtime.try_add<JobTurns>(source.hooks);
  if (!added) return failure(StatusCode::AlreadyExists, "a runtime has one Jobs: " + std::string{added.error().message()});
  source.turns = *added;
  return source;
}

Jobs::JobSource Jobs::JobSource::taken(Runtime& runtime) {
  Result<JobSource> source = take(runtime);
  RONDO_EXPECT(source.has_value(), source.error().to_string() + "; use Jobs::open() to be told");
  return std::move(*source);
}

Jobs::Parts::Parts(Runtime& of_runtime, std::shared_ptr<JobStore> of_store, const JobsOptions& of_options, JobSource source,
                   std::function<bool(std::string_view)> repeat)
    : runtime(of_runtime),
      options(of_options),
      hooks(std::move(source.hooks)),
      turns(*source.turns),
      calls(runtime.scheduler(), "jobs", std::move(repeat)),
      store(
          runtime.scheduler(), std::move(of_store), {.window = options.window, .grace = options.grace},
          [this](Duration difference) { clocks_read(difference); },
          [this](const std::string& work, const std::exception_ptr& thrown) {
            runtime.report_reject("jobs", Change::event("done", work, {}), thrown_by("the 'done' of " + call_of_work(work), thrown));
          }),
      pools(runtime.scheduler(), runtime.clock(), options, [this](PoolKind pool) { pool_has_room(pool); }),
      cycle_timer("jobs:planner", Priority{56}, [this] { cycle(); }),
      ring_timer("jobs:ring", Priority{56}, [this] { fire_due(); }),
      deadline_timer("jobs:timeouts", Priority{56}, [this] { watch_deadlines(); }),
      line_timer("jobs:lines", Priority{56}, [this] { serve_lines_again(); }),
      drain_timer("jobs:drain", Priority{56}, [this] { watch_drain(); }) {
  RONDO_EXPECT(store.has_store() || calls.is_replayed(), "Jobs needs a store: it may be null only in a replay");
  RONDO_EXPECT(options.window >= 1s && options.window <= 50s, "JobsOptions::window is 1 to 50 s");
  RONDO_EXPECT(options.grace >= options.window, "JobsOptions::grace is at least the window");
  RONDO_EXPECT(options.cycle > Duration{0} && options.cycle <= options.window / 2,
               "JobsOptions::cycle is above 0, and at most half of the window");
  (*hooks)->begin = [this](std::int64_t run, const Ticket& ticket) { return begin(run, ticket); };
  (*hooks)->may_begin = [this](std::int64_t run) { return may_begin(run); };
  (*hooks)->has_succeeded = [this](std::int64_t run) { return !runs.contains(run); };
  (*hooks)->has_job_succeeded = [this](std::string_view job) { return has_job_succeeded(job); };
  (*hooks)->has_handler = [this](std::string_view handler) { return handlers.contains(handler); };
  (*hooks)->row_state = [this](std::string_view key) { return row_state(key); };
  explain_facts();
  for (TimerSource* const timer : {&cycle_timer, &ring_timer, &deadline_timer, &line_timer, &drain_timer}) runtime.scheduler().add(*timer);
}

Jobs::Parts::~Parts() {
  hooks->reset();  // The Orchs outlive it.
  for (auto& [id, live] : runs) {
    live.stop.request_stop();
    // Work elsewhere goes on: its run has no stored end, so it is begun again after the next start.
    if (const auto state = live.async.lock()) state->on_end = {};
  }
  submit_last_ends();
  pools.end(options.end_notice, [this](const std::vector<std::string>& left) {
    NamedFew names;
    for (const std::string& key : left) names.add(key);
    const Status waits{StatusCode::DeadlineExceeded, "Jobs::~Jobs() waits for handlers that were asked to stop " +
                                                         std::to_string(options.end_notice / 1ms) +
                                                         " ms ago and have not returned: " + names.text("more", "more")};
    runtime.report_reject("jobs", Change::event("call", "jobs", {}), waits);
  });
}

/// The store's thread stores them before it ends. Recorded as a call, because a replay makes what comes between turns only for a record of
/// a call.
void Jobs::Parts::submit_last_ends() {
  if (ends.empty()) return;
  record("last ends");
  submit_ends(std::exchange(ends, {}), {});
}

void Jobs::Parts::recover() {
  // Without all of them an instant could be planned twice. So it tries again until the store can be read and there is room.
  const auto try_again = [this] { cycle_timer.arm_at(runtime.scheduler().now() + options.cycle); };
  // No process leaves more of them than kLiveRuns and one cycle.
  if (runs.size() >= limits::kLiveRuns + limits::kRunsOfCycle && is_full()) return try_again();
  store.submit<FoundRuns>(
      "recover " + std::to_string(recovered_to),
      [after = recovered_to, now = wall_now()](JobStore& of, Planner& planner) -> Result<FoundRuns> {
        if (Status claimed = of.claim(); !claimed.ok()) return failure(std::move(claimed));
        return read_unfinished(of, planner, after, now);
      },
      [this, try_again](Result<FoundRuns> found) {
        plan_status = found ? Status{} : found.error();
        if (!found) return try_again();
        for (const JobRun& run : found->runs) {
          const bool is_new = find(run.id) == nullptr;
          if (is_new) ++stats.recovered;
          adopt(run, found->jobs.at(run.job).job);
          recovered_to = run.id;
          LiveRun& live = *find(run.id);
          live.is_recovered = is_new;
          end_recovered(live, why_not_run(*found, run, is_to_come(live)));
          stop_recovered(live);
        }
        found->runs.size() == kPage ? recover() : begin_planning();
      });
}

void Jobs::Parts::end_recovered(LiveRun& live, std::string why) {
  for (const std::int64_t id : live.run.parents) {
    const LiveRun* const parent = find(id);
    if (parent != nullptr && parent->is_withdrawn) why = "the parent run " + key_of(parent->run) + " was withdrawn";
  }
  if (why.empty()) return;
  is_to_come(live) ? withdraw(live) : stop(live, RunState::Skipped, std::move(why));
  flush_ends();
}

void Jobs::Parts::stop_recovered(LiveRun& live) {
  if (!live.run.is_killed || live.stage == LiveRun::Stage::Ending) return;
  if (live.run.worker.empty()) {
    stop(live, RunState::Killed, kKilled);
    flush_ends();
  } else {  // Its worker may have it: then it is ordered to stop, and the run ends when it has stopped.
    live.verdict = RunState::Killed;
    live.verdict_note = kKilled;
  }
}

void Jobs::Parts::give_up_killed() {
  std::vector<std::int64_t> killed;
  for (const auto& [id, live] : runs) {
    if (live.verdict && live.awaits != nullptr) killed.push_back(id);
  }
  std::ranges::sort(killed);
  for (const std::int64_t id : killed) {
    if (LiveRun* const live = find(id)) stop(*live, RunState::Killed, kKilled);
  }
  flush_ends();
}

bool Jobs::Parts::is_full() {
  if (runs.size() < limits::kLiveRuns) return false;
  const auto most = std::ranges::max_element(jobs, {}, [](const auto& job) { return job.second.runs.size(); });
  planning_trouble = std::to_string(runs.size()) + " runs wait, so no more are planned until some have ended; " +
                     std::to_string(most->second.runs.size()) + " of them are of job '" + most->second.job->name + "'";
  return true;
}

Status Jobs::Parts::room_for(const std::string& job, std::size_t more) const {
  const auto found = runs_of.find(job);
  const std::size_t of_job = found == runs_of.end() ? 0 : found->second;
  const auto refused = [&](std::size_t wait, const std::string& whose, std::size_t most) {
    return Status{StatusCode::ResourceExhausted, std::to_string(wait) + " runs " + whose + " wait already, and with " +
                                                     std::to_string(more) + " more there would be more than " + std::to_string(most)};
  };
  if (of_job + more > limits::kLiveRunsOfJob) return refused(of_job, "of job '" + job + "'", limits::kLiveRunsOfJob);
  if (runs.size() + more > limits::kLiveRuns) return refused(runs.size(), "of all jobs", limits::kLiveRuns);
  return {};
}

void Jobs::Parts::count_runs(const std::string& job, std::size_t more, std::size_t fewer) {
  const auto place = runs_of.try_emplace(job).first;
  place->second += more;
  place->second -= fewer;
  if (place->second == 0) runs_of.erase(place);
}

Planner::Room Jobs::Parts::room() const {
  Planner::Room room{.runs = limits::kLiveRuns - std::min(limits::kLiveRuns, runs.size()), .plans_changed = has_followed};
  const std::size_t most = std::min(limits::kLiveRunsOfJob, room.runs / kShares);
  for (const auto& [id, job] : jobs) {
    if (job.runs.size() > most) room.full_jobs.emplace(id, job.runs.size());
  }
  return room;
}

void Jobs::Parts::begin_planning() {
  is_started = true;
  replan_after = "";  // The wall clock may have been set, and zones may have changed, since an earlier process.
  cycle();
  cycle_timer.arm_every(options.cycle, runtime.scheduler().now() + options.cycle);
}

void Jobs::Parts::cycle() {
  if (!is_started) return recover();
  flush_ends();
  refresh_zones();
  replan_page();
  forget_stopped();
  const WallTime now = wall_now();
  while (!later.empty() && ring.push({later.begin()->first, later.begin()->second}, now)) later.erase(later.begin());
  arm_ring();  // The wall clock may have jumped.
  forget_old();
  // A plan before the rows of withdrawn runs are removed would leave out their instants. ends_stored() calls this again.
  if (std::ranges::any_of(ends, [](const Ending& ending) { return ending.end.is_withdrawn; })) return;
  plans_again = is_planning;
  if (is_planning || is_full()) return;
  is_planning = true;
  if (must_follow) return follow_changes();
  store.submit<Planner::Cycle>(
      "plan", [now, room = room()](JobStore& of, Planner& planner) { return planner.run(of, now, room); },
      [this](Result<Planner::Cycle> found) {
        has_followed = false;
        plan_status = found ? Status{} : found.error();
        if (found && found->is_changed) return follow_changes();
        is_planning = false;
        if (found) planned(*found);
      });
}

void Jobs::Parts::follow_changes() {
  must_follow = true;
  ++stats.edits;
  if (!handlerless.empty()) replan_after = "";  // Another program may have repaired or removed such a job.
  follow_page(0);
}

void Jobs::Parts::follow_page(std::int64_t after) {
  std::map<std::int64_t, std::string> page;
  for (const auto& [id, job] : jobs) {
    if (id <= after) continue;
    page.emplace(id, job.job->name);
    if (page.size() > limits::kJobsOfReplan) page.erase(std::prev(page.end()));
  }
  const auto read = [page](JobStore& of, Planner&) -> Result<std::vector<StoredJob>> {
    std::vector<StoredJob> found;
    for (const auto& [id, name] : page) {
      auto stored = of.find(name);
      if (!stored && stored.error().code() != StatusCode::NotFound) return failure(std::move(stored.error()));
      if (stored && stored->id == id) found.push_back(std::move(*stored));
    }
    return found;
  };
  store.submit<std::vector<StoredJob>>("follow " + std::to_string(after), read,
                                       [this, page = std::move(page)](const Result<std::vector<StoredJob>>& stored) {
                                         plan_status = stored ? Status{} : stored.error();
                                         if (stored) follow(page, *stored);
                                         if (stored && page.size() == limits::kJobsOfReplan) return follow_page(page.rbegin()->first);
                                         is_planning = false;
                                         if (!stored) return;  // The next cycle tries again.
                                         must_follow = false;
                                         has_followed = true;
                                         cycle();
                                       });
}

void Jobs::Parts::follow(const std::map<std::int64_t, std::string>& page, const std::vector<StoredJob>& stored) {
  std::set<std::int64_t> found;
  for (const StoredJob& job : stored) {
    found.insert(job.id);
    if (!is_readable(job)) continue;  // Its runs go on as they were planned.
    if (!job.is_running) end_runs_of_stopped(job.id);
    take_over(job);
  }
  for (const auto& [id, name] : page) {
    if (found.contains(id)) continue;
    drop_runs(id);
    note_success(name, false);
  }
}

void Jobs::Parts::planned(Planner::Cycle& found) {
  planning_trouble = found.trouble;
  if (!found.plans.empty()) call_status = {};  // They were written.
  for (const StoredJob& job : found.jobs) check_handler(job);
  std::unordered_map<std::int64_t, const Job*> children;
  for (const StoredJob& child : found.children) children.emplace(child.id, &child.job);
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    for (const JobRun& run : found.plans[i].runs) {
      if (run.id == 0) continue;  // The instant has a row.
      ++stats.planned;
      is_final(run.state) ? static_cast<void>(++stats.not_run)
                          : adopt(run, run.job_id == found.jobs[i].id ? found.jobs[i].job : *children.at(run.job_id));
    }
  }
  if (plans_again || !found.is_complete) cycle();
}

void Jobs::Parts::forget_old() {
  const Instant now = runtime.scheduler().now();
  if (last_forget != Instant{} && now - last_forget < kForgetPeriod) return;
  last_forget = now;
  forget_page(kPagesOfForgetting);
}

void Jobs::Parts::forget_page(int pages) {
  const WallTime before = wall_now() + -options.kept;
  store.submit<bool>(
      "forget", [before, kept = options.kept_runs](JobStore& of, Planner&) { return forget_runs(of, before, kept); },
      [this, pages](Result<bool> has_more) {
        if (!has_more || !*has_more) return;
        if (pages > 1) return forget_page(pages - 1);
        last_forget = Instant{};  // The next cycle goes on.
      });
}

void Jobs::Parts::adopt(const JobRun& run, const Job& job) {
  const auto [place, is_new] = runs.try_emplace(run.id);
  if (!is_new) return;
  LiveRun& live = place->second;
  LiveJob& of = jobs[run.job_id];
  if (of.job == nullptr || *of.job != job) of.job = std::make_shared<const Job>(job);
  of.runs.insert(run.id);
  live.run = run;
  live.job = &of;
  count_runs(run.job, 1, 0);
  // A worker may have it: no other run of the job begins before it.
  if (!run.worker.empty() && run.worker != kUnknownWorker) of.begun.insert(run.id);
  for (const std::int64_t parent : run.parents) {
    if (LiveRun* const above = find(parent)) above->children.push_back(run.id);
  }
  stats.pending = runs.size();
  wait_until_due(live);
}

void Jobs::Parts::wait_until_due(LiveRun& live) {
  live.stage = LiveRun::Stage::Planned;
  live.run.due = due_of(live);
  live.fires = std::max(live.run.due, wall_now());
  if (live.run.due <= wall_now()) {
    late.insert(live.run.id);
  } else {
    late.erase(live.run.id);
    if (!ring.push({live.fires, live.run.id}, wall_now())) later.emplace(live.fires, live.run.id);
  }
  static_cast<void>(queue(live.job->job->priority));  // So that `why` knows the table of a run that waits for its time.
  arm_ring();
}

void Jobs::Parts::arm_ring() {
  const std::optional<WallTime> due = late.empty() ? ring.next_due() : wall_now();
  if (!due || !was_started) return ring_timer.disarm();
  const Instant at = runtime.scheduler().now() + std::max(Duration{0}, *due - wall_now());
  ring_timer.arm_at(at);
}

void Jobs::Parts::fire_due() {
  if (is_draining) return;
  std::vector<TimeRing::Entry> due;
  while (due.size() < kFiresOfTurn && !late.empty()) {
    const std::int64_t run = late.extract(late.begin()).value();
    if (const LiveRun* const live = find(run)) due.push_back({live->fires, run});
  }
  ring.take(wall_now(), kFiresOfTurn, due);
  for (const TimeRing::Entry& entry : due) {
    LiveRun* const live = find(entry.run);
    // A run that was killed or skipped meanwhile, or whose time has changed, is not due here.
    if (live != nullptr && live->stage == LiveRun::Stage::Planned && live->fires == entry.due) fire(*live);
  }
  arm_ring();
}

RunQueue* Jobs::Parts::queue(Priority priority) {
  const auto known = queues.find(priority.level());
  if (known != queues.end()) return known->second;
  const Result<RunQueue*> added = runtime.try_add<RunQueue>(priority, hooks);
  if (!added) {
    planning_trouble = added.error().to_string();
    return nullptr;
  }
  queues.emplace(priority.level(), *added);
  return *added;
}

}  // namespace rondo::jobs
