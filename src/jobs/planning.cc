#include "jobs/planning.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <unordered_map>

#include "jobs/store_results.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

constexpr std::size_t kPage = 1000;
constexpr Duration kForgetPeriod = 60s;
constexpr Duration kZonesPeriod = 60s;
/// A smaller change of the wall clock is a slew.
constexpr Duration kClockStep = 1s;
/// Pages of old runs that one cycle removes at most. More than 10,000 runs a second may end.
constexpr int kPagesOfForgetting = 20;
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

/// True if a run is still to come at an instant that its job has no more: the job was edited while no process had the run.
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

/// True if what an edit changed decides when a due run may begin.
bool begins_otherwise(const Job& before, const Job& after) {
  return before.required_facts != after.required_facts || before.overlap != after.overlap || before.overlap_scope != after.overlap_scope ||
         before.concurrency != after.concurrency;
}

}  // namespace

Planning::Planning(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Timetable& timetable, Ends& ends, AsyncRuns& async)
    : core_(core),
      runs_(runs),
      facts_(facts),
      handlers_(handlers),
      timetable_(timetable),
      ends_(ends),
      async_(async),
      cycle_timer_("jobs:planner", Priority{56}, [this] { cycle(); }) {}

void Planning::clock_was_set(Duration step) {
  if (std::chrono::abs(step) < kClockStep) return;
  timetable_.clock_was_set();
  replan_after_ = "";
  replan_page();
}

void Planning::recover() {
  // Without all of them an instant could be planned twice. So it tries again until the store can be read and there is room.
  const auto try_again = [this] { cycle_timer_.arm_at(core_.now() + core_.options.cycle); };
  // No process leaves more of them than kLiveRuns and one cycle.
  if (runs_.all().size() >= limits::kLiveRuns + limits::kRunsOfCycle && runs_.is_full()) return try_again();
  core_.store.submit<FoundRuns>(
      "recover " + std::to_string(runs_.recovered_to),
      [after = runs_.recovered_to, now = core_.wall_now()](JobStore& of, Planner& planner) -> Result<FoundRuns> {
        if (Status claimed = of.claim(); !claimed.ok()) return failure(std::move(claimed));
        return read_unfinished(of, planner, after, now);
      },
      [this, try_again](Result<FoundRuns> found) {
        plan_status_ = found ? Status{} : found.error();
        if (!found) return try_again();
        for (const JobRun& run : found->runs) {
          const bool is_new = runs_.find(run.id) == nullptr;
          if (is_new) ++runs_.stats.recovered;
          timetable_.add(run, found->jobs.at(run.job).job);
          runs_.recovered_to = run.id;
          LiveRun& live = *runs_.find(run.id);
          live.is_recovered = is_new;
          end_recovered(live, why_not_run(*found, run, ends_.is_to_come(live)));
          stop_recovered(live);
        }
        found->runs.size() == kPage ? recover() : begin_planning();
      });
}

void Planning::end_recovered(LiveRun& live, std::string why) {
  for (const std::int64_t id : live.run.parents) {
    const LiveRun* const parent = runs_.find(id);
    if (parent != nullptr && parent->is_withdrawn) why = "the parent run " + key_of(parent->run) + " was withdrawn";
  }
  if (why.empty()) return;
  ends_.is_to_come(live) ? ends_.withdraw(live) : ends_.stop(live, RunState::Skipped, std::move(why));
  ends_.flush();
}

void Planning::stop_recovered(LiveRun& live) {
  if (!live.run.is_killed || live.stage == LiveRun::Stage::Ending) return;
  if (live.run.worker.empty()) {
    ends_.stop(live, RunState::Killed, kKilled);
    ends_.flush();
  } else {  // Its worker may have it: then it is ordered to stop, and the run ends when it has stopped.
    live.verdict = RunState::Killed;
    live.verdict_note = kKilled;
  }
}

void Planning::give_up_killed() {
  std::vector<std::int64_t> killed;
  for (const auto& [id, live] : runs_.all()) {
    if (live.verdict && live.awaits != nullptr) killed.push_back(id);
  }
  std::ranges::sort(killed);
  for (const std::int64_t id : killed) {
    if (LiveRun* const live = runs_.find(id)) ends_.stop(*live, RunState::Killed, kKilled);
  }
  ends_.flush();
}

void Planning::begin_planning() {
  is_started_ = true;
  replan_after_ = "";  // The wall clock may have been set, and zones may have changed, since an earlier process.
  cycle();
  cycle_timer_.arm_every(core_.options.cycle, core_.now() + core_.options.cycle);
}

void Planning::cycle() {
  if (!is_started_) return recover();
  ends_.flush();
  refresh_zones();
  replan_page();
  ends_.forget_stopped();
  timetable_.renew();  // The wall clock may have jumped.
  forget_old();
  if (ends_.are_withdrawn()) return;
  plans_again_ = is_planning_;
  if (is_planning_ || runs_.is_full()) return;
  is_planning_ = true;
  if (must_follow_) return follow_changes();
  Planner::Room room = runs_.room();
  room.plans_changed = has_followed_;
  core_.store.submit<Planner::Cycle>(
      "plan", [now = core_.wall_now(), room = std::move(room)](JobStore& of, Planner& planner) { return planner.run(of, now, room); },
      [this](Result<Planner::Cycle> found) {
        has_followed_ = false;
        plan_status_ = found ? Status{} : found.error();
        if (found && found->is_changed) return follow_changes();
        is_planning_ = false;
        if (found) planned(*found);
      });
}

void Planning::follow_changes() {
  must_follow_ = true;
  ++runs_.stats.edits;
  handlers_.jobs_changed();  // Another program may have repaired or removed such a job.
  follow_page(0);
}

void Planning::follow_page(std::int64_t after) {
  std::map<std::int64_t, std::string> page;
  for (const auto& [id, job] : runs_.jobs()) {
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
  core_.store.submit<std::vector<StoredJob>>("follow " + std::to_string(after), read,
                                             [this, page = std::move(page)](const Result<std::vector<StoredJob>>& stored) {
                                               plan_status_ = stored ? Status{} : stored.error();
                                               if (stored) follow(page, *stored);
                                               if (stored && page.size() == limits::kJobsOfReplan) return follow_page(page.rbegin()->first);
                                               is_planning_ = false;
                                               if (!stored) return;  // The next cycle tries again.
                                               must_follow_ = false;
                                               has_followed_ = true;
                                               cycle();
                                             });
}

void Planning::follow(const std::map<std::int64_t, std::string>& page, const std::vector<StoredJob>& stored) {
  std::set<std::int64_t> found;
  for (const StoredJob& job : stored) {
    found.insert(job.id);
    if (!is_readable(job)) continue;  // Its runs go on as they were planned.
    if (!job.is_running) end_runs_of_stopped(job.id);
    take_over(job);
  }
  for (const auto& [id, name] : page) {
    if (!found.contains(id)) drop(id, name);
  }
}

/// The runs of jobs below follow that of their root, which Job::misfire decided.
void Planning::count_misfire(const JobRun& run) {
  if (run.band != Band::Misfire || !run.parents.empty()) return;
  const bool is_skipped = is_final(run.state);
  if (!is_skipped) ++runs_.stats.misfired;
  runs_.stats.misfire_skipped += run.missed + (is_skipped ? 1 : 0);
}

void Planning::planned(Planner::Cycle& found) {
  runs_.trouble = found.trouble;
  if (!found.plans.empty()) core_.call_status = {};  // They were written.
  for (const StoredJob& job : found.jobs) handlers_.check(job);
  std::unordered_map<std::int64_t, const Job*> children;
  for (const StoredJob& child : found.children) children.emplace(child.id, &child.job);
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    for (const JobRun& run : found.plans[i].runs) {
      if (run.id == 0) continue;  // The instant has a row.
      ++runs_.stats.planned;
      count_misfire(run);
      is_final(run.state) ? runs_.count_end(&RunEnds::not_run, run.band)
                          : timetable_.add(run, run.job_id == found.jobs[i].id ? found.jobs[i].job : *children.at(run.job_id));
    }
  }
  if (plans_again_ || !found.is_complete) cycle();
}

void Planning::forget_old() {
  const Instant now = core_.now();
  if (last_forget_ != Instant{} && now - last_forget_ < kForgetPeriod) return;
  last_forget_ = now;
  forget_page(kPagesOfForgetting);
}

void Planning::forget_page(int pages) {
  const WallTime before = core_.wall_now() + -core_.options.kept;
  core_.store.submit<bool>(
      "forget", [before, kept = core_.options.kept_runs](JobStore& of, Planner&) { return forget_runs(of, before, kept); },
      [this, pages](Result<bool> has_more) {
        if (!has_more || !*has_more) return;
        if (pages > 1) return forget_page(pages - 1);
        last_forget_ = Instant{};  // The next cycle goes on.
      });
}

void Planning::refresh_zones() {
  const Instant now = core_.now();
  if (now - last_zones_ < kZonesPeriod) return;
  last_zones_ = now;
  core_.store.submit<bool>(
      "refresh zones", [](JobStore&, Planner& planner) -> Result<bool> { return planner.refresh_zones(); },
      [this](const Result<bool>& changed) {
        if (!changed || !*changed) return;
        replan_after_ = "";
        replan_page();
      });
}

void Planning::replan_page() {
  if (is_replanning_) return;
  if (handlers_.must_read()) replan_after_ = "";
  if (!replan_after_) return;
  is_replanning_ = true;
  const std::string after = *std::exchange(replan_after_, std::nullopt);
  const WallTime now = core_.wall_now();
  if (after.empty()) handlers_.begin_reading();
  core_.store.submit<Planner::Replanned>(
      "replan " + after,
      [after, now, known = handlers_.names()](JobStore& of, Planner& planner) { return planner.replan(of, after, now, known); },
      [this, after](Result<Planner::Replanned> page) {
        is_replanning_ = false;
        if (handlers_.must_read()) replan_after_ = "";
        if (replan_after_) return replan_page();  // It begins again.
        if (!page) {                              // The next cycle tries again.
          replan_after_ = after;
          return;
        }
        handlers_.read(page->unhandled, page->is_complete);
        if (page->is_complete) return;
        replan_after_ = std::move(page->last);
        replan_page();
      });
}

void Planning::end_runs_of_stopped(std::int64_t job_id) {
  const auto job = runs_.jobs().find(job_id);
  if (job == runs_.jobs().end()) return;
  ends_.withdraw_runs_to_come(job->second);
  const std::set<std::int64_t> of_job = job->second.runs;
  for (const std::int64_t id : of_job) {
    LiveRun& live = *runs_.find(id);
    if (!live.has_begun() && !is_requested(live.run.band)) ends_.end(live, RunState::Skipped, "the job was stopped");
  }
  ends_.flush();
}

void Planning::take_over(const StoredJob& stored) {
  if (is_readable(stored)) handlers_.check(stored);
  const auto found = runs_.jobs().find(stored.id);
  bool is_changed = true;
  if (found != runs_.jobs().end()) {
    LiveJob& live = found->second;
    is_changed = live.job->schedule != stored.job.schedule || live.job->parents != stored.job.parents;
    const std::shared_ptr<const Job> before = std::exchange(live.job, std::make_shared<const Job>(stored.job));
    if (before->handler != stored.job.handler) leave_lines(live);
    if (begins_otherwise(*before, stored.job)) decide_again(live);
    if (is_changed) ends_.withdraw_runs_to_come(live);
  }
  if (is_changed && stored.is_running) replan_roots(stored.job.parents);
  ends_.flush();
}

void Planning::leave_lines(const LiveJob& job) {
  for (const std::int64_t id : job.runs) {
    LiveRun& live = *runs_.find(id);
    if (live.awaits != nullptr) static_cast<void>(runs_.queue(live.priority)->add(live.run));  // Handled again, with its new handler.
    if (live.stage == LiveRun::Stage::Fired && live.ticket)
      runs_.begin_again(live, Outcome::retry_after(Duration{0}, {StatusCode::Unavailable, "the handler of the job was changed"}));
  }
}

void Planning::decide_again(LiveJob& job) {
  std::vector<LiveRun*> due;  // Without those that wait for their turn.
  for (const std::int64_t id : job.runs) {
    LiveRun* const live = runs_.find(id);
    if (live->stage == LiveRun::Stage::Fired && !live->waits_for_turn && !runs_.may_be_at_worker(*live)) due.push_back(live);
  }
  // If fewer runs may begin now, the newest lose their turn. The others keep it, so that no later run overtakes them.
  for (auto live = due.rbegin(); live != due.rend() && job.begun.size() > job.most(); ++live) job.begun.erase((*live)->run.id);
  for (LiveRun* const live : due) {
    if (live->ticket) {
      runs_.begin_again(*live, Outcome::retry_after(Duration{0}, {StatusCode::Unavailable, "the job was edited"}));
    } else {
      static_cast<void>(runs_.queue(live->priority)->add(live->run));  // Its row waits for facts, or is still to be handled.
    }
  }
  runs_.pass_turn(job);
}

void Planning::replan_roots(const std::vector<std::string>& parents) {
  if (parents.empty()) return;
  std::unordered_map<std::string_view, const LiveJob*> by_name;
  for (const auto& [id, job] : runs_.jobs()) by_name.emplace(job.job->name, &job);
  std::vector<std::string> line = parents;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const auto found = by_name.find(line[at]);
    if (found == by_name.end()) continue;
    const LiveJob& job = *found->second;
    by_name.erase(found);  // Once is enough.
    // A run of a delay has no instant of the calendar that could be planned again: the child takes part in the run after it.
    if (job.job->parents.empty() && !is_delay(*job.job)) ends_.withdraw_runs_to_come(job);
    line.insert(line.end(), job.job->parents.begin(), job.job->parents.end());
  }
}

void Planning::drop(std::int64_t job_id, const std::string& name) {
  drop_runs(job_id);
  facts_.note_success(name, false);
}

void Planning::drop_runs(std::int64_t job_id) {
  handlers_.forget_handlerless(job_id);
  const auto job = runs_.jobs().find(job_id);
  if (job == runs_.jobs().end()) return;
  const std::set<std::int64_t> of_job = job->second.runs;
  for (const std::int64_t id : of_job) {
    LiveRun& live = *runs_.find(id);
    live.stop.request_stop();
    async_.let_go(live);
    if (live.ticket) runs_.queue(live.priority)->settle_done(*std::exchange(live.ticket, std::nullopt));
    const std::vector<std::int64_t> children = std::move(live.children);
    const std::string note = "the job of the parent run " + key_of(live.run) + " was removed";
    ends_.forget(live);
    ends_.skip_children(children, note);
  }
}

}  // namespace rondo::jobs
