#include "jobs/backfill.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/family.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

Status refuse(const std::string& why) { return {StatusCode::InvalidArgument, why}; }

/// 'now' is the time at which the turn of the caller began, so a clock that the caller reads may be ahead of it.
constexpr Duration kAhead = 1s;

Status check_range(const BackfillRange& range, WallTime now) {
  if (range.max < 1 || range.max > limits::kBackfillRuns) return refuse("the limit is 1 to " + std::to_string(limits::kBackfillRuns));
  if (range.from < WallTime{}) return refuse("the range begins before 1970");
  if (range.to > now + kAhead) return refuse("the range ends in the future, at " + calendar::format_rfc3339(range.to));
  if (range.from >= std::min(range.to, now)) return refuse("the range ends before it begins");
  return {};
}

Status check_schedule(const Job& job, const CompiledSchedule& compiled) {
  if (!job.parents.empty()) return refuse("the job '" + job.name + "' runs after its parents: backfill the job above them");
  const bool has_instants = !std::holds_alternative<calendar::TriggerOnly>(compiled.schedule.when) &&
                            !std::holds_alternative<calendar::FixedDelay>(compiled.schedule.when);
  return has_instants ? Status{} : refuse("the schedule '" + job.schedule.when + "' has no instants in the past");
}

/// Of an instant whose run was removed it is not known that it had one.
Status check_removed(JobStore& store, const StoredJob& stored, const BackfillRange& range) {
  const auto removed = store.removed_instants(stored.id);
  if (!removed) return removed.error();
  if (!*removed || range.from > (*removed)->last || range.to <= (*removed)->first) return {};
  const std::string first = calendar::format_rfc3339((*removed)->first);
  const std::string last = calendar::format_rfc3339((*removed)->last);
  return refuse("old runs of the job '" + stored.job.name + "' were removed, with instants from " + first + " to " + last +
                ", so an instant in between could run a second time: begin the range after " + last + ", or end it at " + first);
}

/// The instants of the range.
Result<std::vector<WallTime>> instants_of(const CompiledSchedule& compiled, const BackfillRange& range) {
  std::vector<WallTime> instants;
  WallTime after = range.from + Duration{-1};
  for (auto next = next_after(compiled, after); next && next->scheduled < range.to; next = next_after(compiled, after)) {
    if (instants.size() == limits::kBackfillInstants) {
      return failure(refuse("the range has more than " + std::to_string(limits::kBackfillInstants) + " instants: shorten it"));
    }
    after = next->scheduled;
    instants.push_back(after);
  }
  return instants;
}

}  // namespace

Result<FoundRuns> backfill_job(JobStore& store, Planner& planner, const std::string& name, BackfillRange range, WallTime now) {
  if (Status wrong = check_range(range, now); !wrong.ok()) return failure(std::move(wrong));
  range.to = std::min(range.to, now);
  auto stored = store.find(name);
  if (!stored) return failure(std::move(stored.error()));
  const auto compiled = planner.compiled(stored->job, stored->id);
  if (!compiled) return failure(compiled.error());
  if (Status wrong = check_schedule(stored->job, **compiled); !wrong.ok()) return failure(std::move(wrong));
  if (Status wrong = check_removed(store, *stored, range); !wrong.ok()) return failure(std::move(wrong));
  const auto instants = instants_of(**compiled, range);
  if (!instants) return failure(instants.error());
  const auto taken = store.instants(stored->id, range.from, range.to, limits::kBackfillInstants);
  if (!taken) return failure(taken.error());
  auto descendants = descendants_of(store, name);
  if (!descendants) return failure(std::move(descendants.error()));
  const std::size_t most = std::min(range.max, std::max<std::size_t>(limits::kBackfillRuns / (1 + descendants->size()), 1));
  std::vector<WallTime> open;
  std::ranges::set_difference(*instants, *taken, std::back_inserter(open));
  if (open.size() > most) {
    return failure(refuse(std::to_string(open.size()) + " instants have no run, more than the limit of " + std::to_string(most) +
                          ": shorten the range" + (most == range.max ? ", or raise the limit" : "")));
  }
  FoundRuns found;
  for (const WallTime at : open) {
    append_family(found.runs, {.job_id = stored->id, .job = name, .scheduled = at, .due = now, .band = Band::Backfill}, *descendants);
  }
  if (!range.dry_run && !found.runs.empty()) {
    if (Status status = store.add_runs(found.runs); !status.ok()) return failure(std::move(status));
  }
  found.jobs.emplace(name, std::move(*stored));
  for (Descendant& descendant : *descendants) found.jobs.emplace(descendant.job.job.name, std::move(descendant.job));
  return found;
}

Result<FoundRuns> add_requested_runs(JobStore& store, StoredJob stored, JobRun run) {
  if (!is_readable(stored)) return failure(StatusCode::DataLoss, stored.job.note);
  auto descendants = descendants_of(store, stored.job.name);
  if (!descendants) return failure(std::move(descendants.error()));
  run.job_id = stored.id;
  run.job = stored.job.name;
  FoundRuns added;
  append_family(added.runs, std::move(run), *descendants);
  if (Status status = store.add_runs(added.runs); !status.ok()) return failure(std::move(status));
  std::string name = stored.job.name;
  added.jobs.emplace(std::move(name), std::move(stored));
  for (Descendant& descendant : *descendants) added.jobs.emplace(descendant.job.job.name, std::move(descendant.job));
  return added;
}

Status check_rerun(const JobRun& run) {
  if (is_final(run.state) && run.state != RunState::Succeeded) return {};
  const std::string number = std::to_string(run.id);
  return {StatusCode::FailedPrecondition, run.state == RunState::Succeeded
                                              ? "the run " + number + " has succeeded: `rondo job trigger` runs its job once more"
                                              : "the run " + number + " has not ended: `rondo job kill` ends it"};
}

Result<FoundRuns> rerun_job(JobStore& store, const JobRun& failed, WallTime now) {
  auto stored = store.find(failed.job);
  if (!stored) return failure(std::move(stored.error()));
  if (stored->id != failed.job_id) return failure(StatusCode::NotFound, "the job of the run " + std::to_string(failed.id) + " was removed");
  return add_requested_runs(store, std::move(*stored),
                            {.scheduled = failed.scheduled,
                             .due = now,
                             .band = Band::Backfill,
                             .parameters = failed.parameters,
                             .address = failed.address,
                             .rerun_of = failed.id});
}

}  // namespace rondo::jobs
