#include "job_witness.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/testing/passing_job_store.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::swarm {

using jobs::JobRun;
using jobs::Plan;
using jobs::RunEnd;
using jobs::RunState;
using jobs::StoredJob;

namespace {

std::uint64_t most_misfires(const jobs::Job& job) {
  if (job.misfire == jobs::Misfire::FireLast) return job.misfire_runs;
  return job.misfire == jobs::Misfire::FireAll ? limits::kMisfireRuns : 1;
}

std::string text_of(const JobRun& run) { return run.job + "#" + std::to_string(run.id) + " of " + calendar::format_rfc3339(run.scheduled); }

}  // namespace

class JobWitness::ReportingStore final : public jobs::test::PassingJobStore {
 public:
  explicit ReportingStore(JobWitness& witness) : PassingJobStore(witness.store_), witness_(witness) {}

  Result<StoredJob> put(const jobs::Job& job, std::optional<WallTime> next) override {
    auto stored = store().put(job, next);
    if (stored) witness_.allow(*stored);
    return stored;
  }
  Status remove(std::string_view name) override {
    const auto stored = store().find(name);
    Status status = store().remove(name);
    if (status.ok() && stored) witness_.removed(stored->id);
    return status;
  }
  Status set_running(std::string_view name, bool is_running, std::optional<WallTime> next, std::string_view note) override {
    Status status = store().set_running(name, is_running, next, note);
    if (status.ok() && !is_running) witness_.stopped_.insert(store().find(name).value().id);
    return status;
  }
  Result<std::vector<StoredJob>> list(std::string_view after, std::size_t max) override {
    auto jobs = store().list(after, max);
    if (jobs) witness_.read(*jobs);
    return jobs;
  }
  Result<std::vector<StoredJob>> due(WallTime until, jobs::DuePlace after, std::size_t max) override {
    auto due = store().due(until, after, max);
    if (due) witness_.read(*due);
    return due;
  }
  Status plan(std::span<Plan> plans) override {
    Status status = store().plan(plans);
    if (!status.ok()) return status;
    for (const Plan& plan : plans) witness_.planned(plan);
    return status;
  }
  Status add_runs(std::span<JobRun> runs) override {
    Status status = store().add_runs(runs);
    if (!status.ok()) return status;
    for (const JobRun& run : runs) witness_.add(run);
    return status;
  }
  Status finish(std::span<const RunEnd> ends) override {
    Status status = store().finish(ends);
    if (!status.ok()) return status;
    for (const RunEnd& end : ends) witness_.end(end);
    return status;
  }

 private:
  JobWitness& witness_;
};

JobWitness::JobWitness(jobs::JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}
JobWitness::~JobWitness() = default;

std::shared_ptr<jobs::JobStore> JobWitness::store_of_process() { return std::make_unique<ReportingStore>(*this); }

void JobWitness::fail(std::string what) {
  if (failure_.ok()) failure_ = {StatusCode::Internal, std::move(what)};
}

Status JobWitness::see(const sim::World&, const sim::Event& event) {
  if (event.kind == sim::Event::Kind::Begins) called_.clear();
  if (event.kind == sim::Event::Kind::Fault && event.text.starts_with("the wall clock is set")) wall_is_steady_ = false;
  return failure_;
}

Status JobWitness::after_turn(const sim::World&) { return failure_; }

Status JobWitness::at_rest(const sim::World&) {
  if (!failure_.ok()) return failure_;
  const auto unfinished = store_.unfinished(0, 1);
  if (!unfinished) return unfinished.error();
  if (!unfinished->empty()) return {StatusCode::Internal, "the run " + text_of(unfinished->front()) + " has no end"};
  if (!open_.empty()) return {StatusCode::Internal, "the run " + text_of(runs_.at(*open_.begin()).run) + " has gone without an end"};
  return {};
}

void JobWitness::allow(const StoredJob& stored) {
  Allowed& allowed = allowed_[stored.id];
  allowed.overlaps.insert(stored.job.overlap);
  allowed.retries_least = std::min(allowed.retries_least, stored.job.retries);
  allowed.has_timeout = allowed.has_timeout || stored.job.timeout > Duration{0};
  allowed.lacks_handler = allowed.lacks_handler || stored.job.handler == "none";
}

void JobWitness::removed(std::int64_t job) {
  std::erase_if(open_, [&](std::int64_t run) { return runs_.at(run).run.job_id == job; });
  read_.erase(job);
}

void JobWitness::read(std::span<const StoredJob> jobs) {
  for (const StoredJob& job : jobs) read_.insert_or_assign(job.id, job);
}

void JobWitness::planned(const Plan& plan) {
  const StoredJob& before = read_.at(plan.job_id);
  if (!before.is_running) fail("the job " + before.job.name + " is stopped, and was planned");
  if (!wall_is_steady_ && plan.runs.empty() && plan.next < before.next) return;  // It continues from a clock that was set back.
  check_instants(before, plan);
  for (const JobRun& run : plan.runs) {
    if (run.id != 0) add(run);
  }
}

void JobWitness::check_instants(const StoredJob& before, const Plan& plan) {
  const auto schedule = compile(before.job.schedule, static_cast<std::uint64_t>(before.id));
  const auto zone = zones_.find(before.job.schedule.zone.empty() ? "UTC" : before.job.schedule.zone);
  const bool is_delay = std::holds_alternative<calendar::FixedDelay>(schedule->when);
  std::uint64_t missed = 0;
  std::uint64_t misfires = 0;
  for (const JobRun& run : plan.runs) {
    missed += run.missed;  // The runs of jobs below have none.
    misfires += run.job_id == plan.job_id && run.band == jobs::Band::Misfire ? 1 : 0;
  }
  missed_ += missed;
  if (misfires > most_misfires(before.job)) fail("the job " + before.job.name + " has " + std::to_string(misfires) + " misfires at once");
  if (missed + misfires >= limits::kMissedCounted) return;  // The planner has not counted them all.
  std::set<WallTime> instants;
  for (std::optional<WallTime> at = before.next; at && at != plan.next && instants.size() <= 2 * limits::kMissedCounted;) {
    instants.insert(*at);
    const auto next = is_delay ? std::nullopt : next_firing(*schedule, **zone, *at);
    at = next ? std::optional{next->scheduled} : std::nullopt;
  }
  for (const JobRun& run : plan.runs) {
    if (run.job_id == plan.job_id && instants.erase(run.scheduled) == 0) fail("the run " + text_of(run) + " is of no instant that was due");
  }
  if (missed != instants.size()) {
    const auto text = [](std::optional<WallTime> at) { return at ? calendar::format_rfc3339(*at) : "never"; };
    fail("the next time of the job " + before.job.name + " (" + before.job.schedule.when + ") moves from " + text(before.next) + " to " +
         text(plan.next) + ", and has " + std::to_string(instants.size()) + " instants without a run, of which " + std::to_string(missed) +
         " are counted as missed");
  }
}

void JobWitness::add(const JobRun& run) {
  ++planned_;
  if (!runs_.try_emplace(run.id, SeenRun{.run = run}).second) fail("the id of the run " + text_of(run) + " was given before");
  if (is_final(run.state)) {
    ++ends_[run.state];
  } else {
    open_.insert(run.id);
  }
}

void JobWitness::end(const RunEnd& end) {
  const auto found = runs_.find(end.id);
  if (found == runs_.end()) return fail("a run without a row has an end: " + std::to_string(end.id));
  SeenRun& seen = found->second;
  if (!open_.contains(end.id)) return;  // The first end counts, and a removed job has no runs.
  if (end.is_withdrawn) return withdrawn(seen);
  if (const std::string why = reason_against(seen, end); !why.empty()) {
    fail("the run " + text_of(seen.run) + " ended as " + std::string{to_string(end.state)} + ", but " + why);
  }
  seen.run.state = end.state;
  seen.run.attempt = end.attempt;
  seen.run.due = end.due;
  if (!is_final(end.state)) return;
  ++ends_[end.state];
  open_.erase(end.id);
}

void JobWitness::withdrawn(const SeenRun& seen) {
  // A clock that was set back, and a crash before the end was stored: its instant is to come a second time.
  if (wall_is_steady_ && !seen.attempts.empty()) fail("the run " + text_of(seen.run) + " was withdrawn after its handler was called");
  if (is_requested(seen.run.band)) fail("the run " + text_of(seen.run) + " was withdrawn, but a user asked for it");
  ++withdrawn_;
  open_.erase(seen.run.id);
}

std::string JobWitness::reason_against(const SeenRun& seen, const RunEnd& end) const {
  const Allowed& allowed = allowed_.at(seen.run.job_id);
  switch (end.state) {
    case RunState::Due: return end.attempt == seen.run.attempt + 1 ? "" : "the number of its attempts is wrong";
    case RunState::Succeeded: return seen.succeeded ? "" : "no handler returned ok";
    case RunState::Failed:
      if (allowed.lacks_handler || end.attempt > allowed.retries_least) return "";
      return end.attempt > 0 && may_lose_attempts(seen, end) ? "" : "it has attempts left";
    case RunState::TimedOut: return allowed.has_timeout ? "" : "its job has no timeout";
    case RunState::Killed: return killed_.contains(end.id) || allowed.overlaps.contains(jobs::Overlap::Cover) ? "" : "nobody killed it";
    case RunState::Discarded: return allowed.overlaps.contains(jobs::Overlap::Discard) ? "" : "its job does not discard";
    case RunState::Skipped:
      return stopped_.contains(seen.run.job_id) || has_lost_parent(seen.run) ? "" : "neither its job was stopped nor did a parent fail";
  }
  return "that is no state";
}

/// Something else may have ended the attempts that are left after a failed one.
bool JobWitness::may_lose_attempts(const SeenRun& seen, const RunEnd& end) const {
  const std::set<jobs::Overlap>& overlaps = allowed_.at(seen.run.job_id).overlaps;
  return killed_.contains(end.id) || stopped_.contains(seen.run.job_id) || has_lost_parent(seen.run) ||
         overlaps.contains(jobs::Overlap::Cover) || overlaps.contains(jobs::Overlap::Discard);
}

bool JobWitness::has_lost_parent(const JobRun& run) const {
  return std::ranges::any_of(run.parents,
                             [this](std::int64_t id) { return !open_.contains(id) && runs_.at(id).run.state != RunState::Succeeded; });
}

void JobWitness::called(const jobs::JobContext& context, bool succeeds) {
  ++calls_;
  const auto found = runs_.find(context.run);
  if (found == runs_.end()) return fail("a handler is called for a run without a row: " + std::to_string(context.run));
  SeenRun& seen = found->second;
  const std::string run = text_of(seen.run);
  if (context.attempt != seen.run.attempt) {
    fail("the attempt " + std::to_string(context.attempt) + " of the run " + run + " is called, not " + std::to_string(seen.run.attempt));
  }
  if (!open_.contains(context.run) && seen.run.state != RunState::Due) fail("a handler is called for the ended run " + run);
  const bool is_early =
      std::ranges::any_of(seen.run.parents, [this](std::int64_t id) { return runs_.at(id).run.state != RunState::Succeeded; });
  if (is_early) fail("the run " + run + " is called before the success of its parent's run");
  if (!called_.emplace(context.run, context.attempt).second) fail("an attempt of the run " + run + " is called twice in one process");
  // An edit may shorten the pause before a further attempt.
  if (wall_is_steady_ && context.attempt == 0 && clock_.wall_now() < seen.run.due) fail("the run " + run + " is called before its time");
  if (!seen.attempts.insert(context.attempt).second) ++calls_again_;
  seen.succeeded = seen.succeeded || succeeds;
}

std::int64_t JobWitness::unfinished_run(std::uint64_t which) const {
  if (open_.empty()) return 0;
  return *std::next(open_.begin(), static_cast<std::ptrdiff_t>(which % open_.size()));
}

}  // namespace rondo::swarm
