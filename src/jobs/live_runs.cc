#include "jobs/live_runs.h"

#include <algorithm>

#include "jobs/remote_runs.h"
#include "jobs/trace_limits.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

/// A job may have a twentieth of the places that are free: so forty, four hundred or four thousand jobs without a worker all leave room.
constexpr std::size_t kShares = 20;

}  // namespace

LiveRun* LiveRuns::add(const JobRun& run, const Job& job) {
  const auto [place, is_new] = runs_.try_emplace(run.id);
  if (!is_new) return nullptr;
  LiveRun& live = place->second;
  LiveJob& of = jobs_[run.job_id];
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
  stats.pending = runs_.size();
  return &live;
}

void LiveRuns::remove(LiveRun& live) {
  enter(live, LiveRun::Stage::Ending);
  remove_row(live);
  LiveJob& job = *live.job;
  const std::int64_t job_id = live.run.job_id;
  job.begun.erase(live.run.id);
  job.runs.erase(live.run.id);
  count_runs(live.run.job, 0, 1);
  traces_.erase(live.run.id);
  runs_.erase(live.run.id);
  if (job.runs.empty()) jobs_.erase(job_id);
  stats.pending = runs_.size();
}

std::shared_ptr<const TraceContext> LiveRuns::trace(std::int64_t run) const {
  const auto found = traces_.find(run);
  return found == traces_.end() ? nullptr : found->second;
}

void LiveRuns::set_trace(std::int64_t run, const std::shared_ptr<const TraceContext>& trace) {
  std::vector<std::int64_t> next{run};
  while (trace != nullptr && !next.empty() && traces_.size() < limits::kTracedRuns) {
    const LiveRun* const live = find(next.back());
    next.pop_back();
    // A run may be below several others.
    if (live != nullptr && traces_.emplace(live->run.id, trace).second)
      next.insert(next.end(), live->children.begin(), live->children.end());
  }
}

bool LiveRuns::is_full() {
  if (runs_.size() < limits::kLiveRuns) return false;
  const auto most = std::ranges::max_element(jobs_, {}, [](const auto& job) { return job.second.runs.size(); });
  trouble = std::to_string(runs_.size()) + " runs wait, so no more are planned until some have ended; " +
            std::to_string(most->second.runs.size()) + " of them are of job '" + most->second.job->name + "'";
  return true;
}

Status LiveRuns::room_for(const std::string& job, std::size_t more) const {
  const auto found = runs_of_.find(job);
  const std::size_t of_job = found == runs_of_.end() ? 0 : found->second;
  const auto refused = [&](std::size_t wait, const std::string& whose, std::size_t most) {
    return Status{StatusCode::ResourceExhausted, std::to_string(wait) + " runs " + whose + " wait already, and with " +
                                                     std::to_string(more) + " more there would be more than " + std::to_string(most)};
  };
  if (of_job + more > limits::kLiveRunsOfJob) return refused(of_job, "of job '" + job + "'", limits::kLiveRunsOfJob);
  if (runs_.size() + more > limits::kLiveRuns) return refused(runs_.size(), "of all jobs", limits::kLiveRuns);
  return {};
}

void LiveRuns::count_runs(const std::string& job, std::size_t more, std::size_t fewer) {
  const auto place = runs_of_.try_emplace(job).first;
  place->second += more;
  place->second -= fewer;
  if (place->second == 0) runs_of_.erase(place);
}

Planner::Room LiveRuns::room() const {
  Planner::Room room{.runs = limits::kLiveRuns - std::min(limits::kLiveRuns, runs_.size())};
  const std::size_t most = std::min(limits::kLiveRunsOfJob, room.runs / kShares);
  for (const auto& [id, job] : jobs_) {
    if (job.runs.size() > most) room.full_jobs.emplace(id, job.runs.size());
  }
  return room;
}

RunQueue* LiveRuns::queue(Priority priority) {
  const auto known = queues_.find(priority.level());
  if (known != queues_.end()) return known->second;
  const Result<RunQueue*> added = runtime_.try_add<RunQueue>(priority, hooks_);
  if (!added) {
    trouble = added.error().to_string();
    return nullptr;
  }
  queues_.emplace(priority.level(), *added);
  return *added;
}

void LiveRuns::remove_row(const LiveRun& live) {
  if (const auto of = queues_.find(live.priority.level()); of != queues_.end()) of->second->remove(live.run);
}

void LiveRuns::begin_again(LiveRun& live, const Outcome& outcome) {
  live.pool.reset();
  live.is_held = false;
  queue(live.priority)->settle_with(*std::exchange(live.ticket, std::nullopt), outcome);
}

void LiveRuns::pass_turn(LiveJob& job) {
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

bool LiveRuns::may_be_at_worker(const LiveRun& live) const {
  return !live.run.worker.empty() && live.run.id <= recovered_to && (live.is_held || live.place_in_line == 0);
}

void LiveRuns::enter(LiveRun& live, LiveRun::Stage stage) {
  // Its due time changes only in other stages.
  if (live.stage == LiveRun::Stage::Fired) due_.erase({live.run.due, live.run.id});
  live.stage = stage;
  if (stage == LiveRun::Stage::Fired) due_.emplace(live.run.due, live.run.id);
  stats.oldest_due = due_.empty() ? std::nullopt : std::optional{due_.begin()->first};
}

void LiveRuns::count_end(std::uint64_t RunEnds::*end, Band band) {
  ++(stats.*end);
  ++(stats.of_band.at(static_cast<std::size_t>(band)).*end);
}

void LiveRuns::count_attempt(LiveRun& live, WallTime now) {
  // A run below others is as late as they were long, and the begin of one that an earlier process began is not known.
  if (live.run.attempt == 0 && live.run.parents.empty() && !live.is_recovered) {
    const Duration lateness = now - live.run.due;
    stats.lateness_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(lateness.count(), 0)));
  }
  ++stats.attempts;
  ++stats.running;
  enter(live, LiveRun::Stage::Running);
}

}  // namespace rondo::jobs
