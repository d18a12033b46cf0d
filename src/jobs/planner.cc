#include "jobs/planner.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/family.h"
#include "jobs/handler_names.h"

namespace rondo::jobs {

namespace {

static_assert(limits::kMisfireRuns < limits::kMissedCounted);

bool is_delay(const CompiledSchedule& compiled) { return std::holds_alternative<calendar::FixedDelay>(compiled.schedule.when); }

/// The firing whose scheduled instant is 'at'.
calendar::Firing firing_at(const CompiledSchedule& compiled, WallTime at) {
  if (const auto firing = next_after(compiled, at + Duration{-1}); firing && firing->scheduled == at) return *firing;
  return {at, at};  // The schedule was edited since, or the instant follows from the end of a run.
}

/// How many of the missed instants of a job get a row. DoNothing has a row, too: it records what was skipped.
std::uint32_t misfire_rows(const Job& job) {
  if (job.misfire == Misfire::FireLast) return job.misfire_runs;
  return job.misfire == Misfire::FireAll ? limits::kMisfireRuns : 1;
}

/// At most 'most' instants after 'from' up to 'until', the earliest first.
std::deque<WallTime> instants_after(const CompiledSchedule& compiled, WallTime from, WallTime until, std::size_t most) {
  std::deque<WallTime> found;
  while (found.size() < most) {
    const auto firing = next_after(compiled, found.empty() ? from : found.back());
    if (!firing || firing->scheduled > until) break;
    found.push_back(firing->scheduled);
  }
  return found;
}

/// The newest 'count' instants up to 'until', where more than that are after 'from'. A schedule cannot be walked backwards, so this bisects
/// the time at which they begin.
std::deque<WallTime> newest_instants(const CompiledSchedule& compiled, WallTime from, WallTime until, std::size_t count) {
  WallTime enough = from;
  WallTime too_few = until;
  while (too_few - enough > Duration{1}) {
    const WallTime middle = enough + (too_few - enough) / 2;
    (instants_after(compiled, middle, until, count).size() == count ? enough : too_few) = middle;
  }
  return instants_after(compiled, enough, until, count);
}

/// The instants of a job that were missed.
struct Missed {
  std::deque<WallTime> newest = {};  // Those that get a row.
  std::uint64_t count = 0;           // Of all.

  void add(WallTime at, std::size_t rows) {
    ++count;
    newest.push_back(at);
    if (newest.size() > rows) newest.pop_front();
  }
};

std::vector<JobRun> misfires_of(const StoredJob& stored, const Missed& missed, WallTime now) {
  std::vector<JobRun> runs;
  for (const WallTime at : missed.newest) {
    runs.push_back({.job_id = stored.id, .job = stored.job.name, .scheduled = at, .due = now, .band = Band::Misfire});
    if (stored.job.misfire != Misfire::DoNothing) continue;
    runs.back().state = RunState::Skipped;
    runs.back().ended = now;
    runs.back().note = "too late";
  }
  runs.front().missed = missed.count - runs.size();
  return runs;
}

}  // namespace

std::optional<calendar::Firing> next_after(const CompiledSchedule& compiled, WallTime after) {
  if (is_delay(compiled)) return std::nullopt;
  return calendar::next_firing(compiled.schedule, *compiled.zone, after);
}

std::optional<calendar::Firing> first_due(const CompiledSchedule& compiled, WallTime now, WallTime after) {
  const calendar::Schedule& schedule = compiled.schedule;
  if (is_delay(compiled)) return calendar::next_firing(schedule, *compiled.zone, now);
  // No earlier instant is due after 'now'. A job has a bounded number of instants within its jitter.
  auto firing = calendar::next_firing(schedule, *compiled.zone, std::max(after, now + -schedule.jitter.most));
  while (firing && firing->due <= now) firing = calendar::next_firing(schedule, *compiled.zone, firing->scheduled);
  return firing;
}

Plan plan_job(const StoredJob& stored, const CompiledSchedule& compiled, WallTime now, const PlannerOptions& options,
              std::size_t runs_max) {
  Plan plan{.job_id = stored.id, .next = stored.next, .runs = {}};
  const auto move_on = [&](WallTime after) {
    const auto firing = next_after(compiled, after);
    plan.next = firing ? std::optional{firing->scheduled} : std::nullopt;
  };
  const std::size_t rows = std::min<std::size_t>(misfire_rows(stored.job), runs_max);
  // All instants up to this one are missed, whatever their jitter is.
  const WallTime last_missed = now + -options.grace + -compiled.schedule.jitter.most + Duration{-1};
  Missed missed;
  while (plan.next && *plan.next <= now + options.window && plan.runs.size() < runs_max) {
    const WallTime at = *plan.next;
    const calendar::Firing firing = firing_at(compiled, at);
    const Duration late = now - firing.due;
    if (late > options.grace) {
      missed.add(at, rows);
      if (missed.count < limits::kMissedCounted || at > last_missed) {
        move_on(at);
      } else {  // After a long outage of a frequent job the instants in between are not counted.
        missed.newest = newest_instants(compiled, *stored.next + Duration{-1}, last_missed, rows);
        move_on(last_missed);
      }
      continue;
    }
    plan.runs.push_back({.job_id = stored.id,
                         .job = stored.job.name,
                         .scheduled = at,
                         .due = firing.due,
                         .band = late > options.window ? Band::Direct : Band::Ring});
    move_on(at);
  }
  if (missed.count == 0) return plan;
  const std::vector<JobRun> misfires = misfires_of(stored, missed, now);
  plan.runs.insert(plan.runs.begin(), misfires.begin(), misfires.end());
  // No run will end from which a fixed delay could go on.
  if (is_delay(compiled) && stored.job.misfire == Misfire::DoNothing) {
    const auto firing = calendar::next_firing(compiled.schedule, *compiled.zone, now);
    plan.next = firing ? std::optional{firing->scheduled} : std::nullopt;
  }
  return plan;
}

namespace {

/// The first of these jobs of which too many runs wait.
const StoredJob* full_job(const StoredJob& job, const std::vector<Descendant>& below, const Planner::Room& room) {
  if (room.full_jobs.contains(job.id)) return &job;
  const auto found =
      std::ranges::find_if(below, [&room](const Descendant& descendant) { return room.full_jobs.contains(descendant.job.id); });
  return found == below.end() ? nullptr : &found->job;
}

/// One query for all of them. Most jobs have no children.
Result<std::set<std::string, std::less<>>> parents_of(JobStore& store, const std::vector<StoredJob>& jobs) {
  std::vector<std::string> names;
  names.reserve(jobs.size());
  for (const StoredJob& job : jobs) names.push_back(job.job.name);
  if (names.empty()) return std::set<std::string, std::less<>>{};
  return store.parents_among(names);
}

}  // namespace

void Planner::add_trouble(const std::string& job, std::string_view why) {
  walk_.troubles.add("job '" + job.substr(0, limits::kJobName) + "': " + std::string{why});
}

Result<Planner::Cycle> Planner::run(JobStore& store, WallTime now, const Room& room) {
  Cycle cycle;
  const Result<bool> changed = room.plans_changed ? Result<bool>{false} : store.is_changed_elsewhere();
  if (!changed) return failure(changed.error());
  if (*changed) {
    cycle.is_changed = true;
    cycle.trouble = trouble_;
    return cycle;
  }
  const auto before = walk_;
  auto due = store.due(now + options_.window, walk_.place, limits::kJobsOfCycle);
  if (!due) return failure(std::move(due.error()));
  const auto parents = parents_of(store, *due);
  if (!parents) return failure(parents.error());
  const std::size_t rows_max = std::min(limits::kRunsOfCycle, room.runs);
  std::size_t rows = 0;
  bool is_over = due->size() < limits::kJobsOfCycle || !due->back().next;  // Behind a job without a usable time is no place to go on.
  for (StoredJob& job : *due) {
    if (rows >= rows_max) {
      is_over = false;
      break;
    }
    auto descendants = plannable(store, job, parents->contains(job.job.name), room);
    if (!descendants) {
      walk_ = before;
      return failure(std::move(descendants.error()));
    }
    if (job.next) walk_.place = {*job.next, job.id};
    if (!*descendants) continue;  // It keeps its next time until it can be planned again.
    Plan plan = plan_family(job, std::move(**descendants), now, rows_max - rows, cycle);
    walk_.has_rest = walk_.has_rest || (plan.next && *plan.next <= now + options_.window);
    job.next = plan.next;
    rows += plan.runs.size();
    cycle.plans.push_back(std::move(plan));
    cycle.jobs.push_back(std::move(job));
  }
  const auto unusable = store.unusable_rows();
  Status status = !unusable ? unusable.error() : is_over ? check_families(store) : Status{};
  if (status.ok() && !cycle.plans.empty()) status = store.plan(cycle.plans);
  if (!status.ok()) {
    walk_ = before;
    return failure(std::move(status));
  }
  cycle.is_complete = is_over && !walk_.has_rest;
  if (is_over) trouble_ = std::exchange(walk_, {}).troubles.text("more job is not planned", "more jobs are not planned");
  cycle.trouble = trouble_ + (trouble_.empty() || unusable->empty() ? "" : "; ") + *unusable;
  return cycle;
}

Status Planner::check_families(JobStore& store) {
  std::size_t in_turn = limits::kTroublesNamed;  // An examination costs the queries of a family.
  const std::string behind = std::exchange(examined_family_, {});
  for (auto root = damaged_families_.begin(); root != damaged_families_.end();) {
    if (!walk_.troubles.names_more()) {
      if (in_turn == 0 || root->first <= behind) {
        walk_.troubles.add_unnamed(root->second);
        ++root;
        continue;
      }
      if (--in_turn == 0) examined_family_ = root->first;
    }
    std::vector<LeftOut> left_out;
    const auto stored = store.find(root->first);
    if (!stored && stored.error().code() != StatusCode::NotFound) return stored.error();
    if (stored && stored->is_running) {
      if (const auto descendants = descendants_of(store, root->first, left_out); !descendants) return descendants.error();
    }
    for (const LeftOut& below : left_out) add_trouble(below.job, below.why);
    root->second = left_out.size();
    root = left_out.empty() ? damaged_families_.erase(root) : std::next(root);
  }
  return {};
}

Result<std::optional<std::vector<Descendant>>> Planner::plannable(JobStore& store, const StoredJob& job, bool may_have_children,
                                                                  const Room& room) {
  using Found = std::optional<std::vector<Descendant>>;
  if (Status wrong = can_be_planned(job); !wrong.ok()) {
    add_trouble(job.job.name, wrong.message());
    return Found{};
  }
  std::vector<LeftOut> left_out;
  auto descendants =
      may_have_children ? descendants_of(store, job.job.name, left_out) : Result<std::vector<Descendant>>{std::vector<Descendant>{}};
  if (!descendants) return failure(std::move(descendants.error()));
  const bool is_counted = damaged_families_.size() < limits::kUnusableRuns || damaged_families_.contains(job.job.name);
  if (!left_out.empty() && is_counted) damaged_families_.insert_or_assign(job.job.name, left_out.size());
  if (const StoredJob* const full = full_job(job, *descendants, room)) {
    add_trouble(full->job.name,
                std::to_string(room.full_jobs.at(full->id)) + " of its runs wait, so no more are planned until some have ended");
    return Found{};
  }
  return Found{std::move(*descendants)};
}

Status Planner::can_be_planned(const StoredJob& job) {
  if (!is_readable(job)) return {StatusCode::DataLoss, job.job.note};
  if (!job.set_aside.empty()) return {StatusCode::DataLoss, job.set_aside};
  const auto compiled = this->compiled(job.job, job.id);
  return compiled ? Status{} : compiled.error();
}

Plan Planner::plan_family(const StoredJob& job, std::vector<Descendant> descendants, WallTime now, std::size_t room, Cycle& cycle) {
  const std::size_t runs_max = std::max<std::size_t>(std::min(limits::kRunsOfPlan, room) / (1 + descendants.size()), 1);
  Plan plan = plan_job(job, **compiled(job.job, job.id), now, options_, runs_max);  // can_be_planned() has compiled it.
  if (descendants.empty()) return plan;
  for (JobRun& run : std::exchange(plan.runs, {})) append_family(plan.runs, std::move(run), descendants);
  for (Descendant& descendant : descendants) cycle.children.push_back(std::move(descendant.job));
  return plan;
}

bool Planner::is_in_order(const StoredJob& stored, const CompiledSchedule& compiled, WallTime now) const {
  const WallTime next = *stored.next;
  // The end of a run, from which a fixed delay counts, is not known here.
  if (const auto* const delay = std::get_if<calendar::FixedDelay>(&compiled.schedule.when)) return next <= now + delay->delay;
  const auto instant = next_after(compiled, next + Duration{-1});
  const auto latest = next_after(compiled, now + options_.window);  // All instants before it may have runs already.
  return instant && instant->scheduled == next && (!latest || next <= latest->scheduled);
}

Result<Planner::Replanned> Planner::replan(JobStore& store, const std::string& after, WallTime now,
                                           const std::set<std::string, std::less<>>& known_handlers) {
  auto jobs = store.list(after, limits::kJobsOfReplan);
  if (!jobs) return failure(std::move(jobs.error()));
  std::vector<Plan> plans;
  for (const StoredJob& job : *jobs) {
    if (!job.is_running || !is_readable(job) || !job.next || *job.next <= now) continue;
    const auto compiled = this->compiled(job.job, job.id);
    if (!compiled || is_in_order(job, **compiled, now)) continue;  // run() reports a schedule that cannot be compiled.
    const auto first = first_due(**compiled, now);
    plans.push_back({.job_id = job.id, .next = first ? std::optional{first->scheduled} : std::nullopt, .runs = {}});
  }
  if (!plans.empty()) {
    if (Status status = store.plan(plans); !status.ok()) return failure(std::move(status));
  }
  Replanned page{.last = jobs->empty() ? after : jobs->back().job.name, .is_complete = jobs->size() < limits::kJobsOfReplan};
  std::set<std::string_view> unhandled;
  for (const StoredJob& job : *jobs) {
    const bool is_new = job.is_running && is_readable(job) && serving(known_handlers, job.job.handler) == known_handlers.end() &&
                        unhandled.size() < limits::kTroublesNamed && unhandled.insert(job.job.handler).second;
    if (is_new) page.unhandled.push_back(job);
  }
  return page;
}

Result<const CompiledSchedule*> Planner::compiled(const Job& job, std::int64_t id) {
  const auto known = schedules_.find(id);
  if (known != schedules_.end() && known->second.text == job.schedule) return &known->second;
  auto schedule = compile(job.schedule, static_cast<std::uint64_t>(id));
  if (!schedule) return failure(std::move(schedule.error()));
  std::string zone_name = job.schedule.zone;
  if (const auto* const cron = std::get_if<calendar::Cron>(&schedule->when); cron != nullptr && !cron->zone().empty()) {
    zone_name = cron->zone();
  }
  auto zone = zones_.find(zone_name.empty() ? "UTC" : zone_name);
  if (!zone) return failure(zone.error().with_context("schedule.zone"));
  if (schedules_.size() >= limits::kCompiledSchedules) schedules_.clear();
  CompiledSchedule& kept = schedules_[id];
  kept = {job.schedule, std::move(*schedule), std::move(*zone)};
  return &kept;
}

Result<std::optional<WallTime>> Planner::first_after(const Job& job, std::int64_t id, WallTime now, WallTime after) {
  const auto compiled = this->compiled(job, id);
  if (!compiled) return failure(compiled.error());
  const auto firing = first_due(**compiled, now, after);
  return firing ? std::optional{firing->scheduled} : std::nullopt;
}

bool Planner::refresh_zones() {
  if (zones_.refresh().empty()) return false;
  schedules_.clear();
  return true;
}

}  // namespace rondo::jobs
