#include "jobs/put_jobs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "jobs/family.h"
#include "jobs/job_json.h"
#include "rondo/base/text.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

using Running = JobEdit::Running;

std::string name_of(const JobEdit& edit) { return "job '" + edit.job.name + "'"; }

/// The next time of a job after an edit, where 'first' is the first instant from now on. With the same schedule no missed instant is lost,
/// and a run that is planned stays.
std::optional<WallTime> next_of_edited(const StoredJob& before, const Job& job, std::optional<WallTime> first) {
  if (!before.is_running) return std::nullopt;
  const bool is_in_order = before.job.schedule == job.schedule && before.job.parents == job.parents;
  return is_in_order && (before.next || is_delay(job)) ? before.next : first;  // A delay has no next time while a run is under way.
}

/// Equal but for the note on why it was stopped, which is no part of a definition, and the note for people.
bool is_same(const Job& stored, const Job& job) {
  Job known = stored;
  known.note = job.note;
  known.stop_note = job.stop_note;
  return known == job;
}

/// Stores a definition. A new job is stopped.
Result<StoredJob> put_definition(JobStore& store, Planner& planner, const Job& job, const StoredJob* known, WallTime now) {
  if (known == nullptr) return store.put(job, std::nullopt);
  const auto next = planner.first_after(job, known->id, now);
  if (!next) return failure(next.error());
  Job edited = job;
  edited.stop_note = known->job.stop_note;
  return store.put(edited, next_of_edited(*known, job, *next));
}

/// 'known' is the stored job, or NotFound.
Result<StoredJob> put_job(JobStore& store, Planner& planner, const JobEdit& edit, const Result<StoredJob>& known, WallTime now) {
  if (known && edit.running == Running::IfNew && is_same(known->job, edit.job)) return known;
  auto stored = put_definition(store, planner, edit.job, known ? &*known : nullptr, now);
  if (!stored) return stored;
  if (edit.running == Running::Stopped && stored->is_running) return stop_job(store, edit.job.name, edit.job.stop_note);
  const bool starts = edit.running == Running::Started || (edit.running == Running::IfNew && !known);
  return starts ? start_job(store, planner, edit.job.name, now) : stored;
}

/// 'changed' with StoredJob::before, which the store has read.
Result<StoredJob> with_before(Result<StoredJob> changed, const Result<StoredJob>& before) {
  if (changed && before) changed->before = std::make_shared<const StoredJob>(*before);
  return changed;
}

}  // namespace

Status check_edits(std::span<const JobEdit> edits, Planner& planner, WallTime now) {
  if (edits.size() > limits::kJobsOfPut)
    return {StatusCode::InvalidArgument,
            std::to_string(edits.size()) + " jobs: one call stores at most " + std::to_string(limits::kJobsOfPut)};
  std::set<std::string_view> names;
  for (const JobEdit& edit : edits) {
    if (Status wrong = check(edit.job); !wrong.ok()) return wrong.with_context(name_of(edit));
    if (!names.insert(edit.job.name).second) return {StatusCode::InvalidArgument, name_of(edit) + " is there twice"};
    // The zone is looked up before anything is stored.
    if (const auto first = planner.first_after(edit.job, 0, now); !first)
      return as_wrong_definition(first.error()).with_context(name_of(edit));
  }
  return {};
}

Result<std::vector<StoredJob>> put_jobs(JobStore& store, Planner& planner, std::span<const JobEdit> edits, WallTime now, bool is_dry) {
  std::vector<StoredJob> stored;
  bool is_right = false;
  Status status = store.atomically([&]() -> Status {
    std::vector<const JobEdit*> moved;  // Those whose families change.
    for (const JobEdit& edit : edits) {
      const auto known = store.find(edit.job.name);
      if (!known && known.error().code() != StatusCode::NotFound) return known.error();
      if (edit.job.parents != (known ? known->job.parents : std::vector<std::string>{})) moved.push_back(&edit);
      auto one = put_job(store, planner, edit, known, now);
      if (!one) return one.error().with_context(name_of(edit));
      one->before = nullptr;
      stored.push_back(stored.size() < kJobsWithBefore ? *with_before(std::move(one), known) : std::move(*one));
    }
    FamilyReads reads(store);  // All of them are stored: a parent may be behind its children.
    for (const JobEdit* const edit : moved) {
      if (Status wrong = check_family(reads, edit->job); !wrong.ok()) return wrong.with_context(name_of(*edit));
    }
    for (StoredJob& one : stored) one.obstacle = obstacle_of(store, one.job);
    is_right = true;
    return is_dry ? Status{StatusCode::Cancelled, "a dry run"} : Status{};
  });
  if (!status.ok() && !(is_dry && is_right)) return failure(std::move(status));
  return stored;
}

Result<StoredJob> start_job(JobStore& store, Planner& planner, const std::string& name, WallTime now) {
  const auto stored = store.find(name);
  if (stored && !is_readable(*stored)) return failure(StatusCode::DataLoss, stored->job.note);
  if (!stored || stored->is_running) return with_before(stored, stored);
  const auto next = planner.first_after(stored->job, stored->id, now);
  if (!next) return failure(next.error());
  if (Status started = store.set_running(name, true, *next, {}); !started.ok()) return failure(std::move(started));
  return with_before(store.find(name), stored);
}

Result<StoredJob> stop_job(JobStore& store, const std::string& name, const std::string& note) {
  if (!is_utf8(note)) return failure(StatusCode::InvalidArgument, "the note is not UTF-8");
  if (note.size() > limits::kJobText)
    return failure(StatusCode::InvalidArgument, "the note has more than " + std::to_string(limits::kJobText) + " bytes");
  const auto before = store.find(name);
  if (!before) return before;
  if (Status stopped = store.set_running(name, false, std::nullopt, note); !stopped.ok()) return failure(std::move(stopped));
  return with_before(store.find(name), before);
}

std::string to_json(std::span<const JobEdit> edits) {
  json::array all;
  for (const JobEdit& edit : edits) all.push_back(json::array{to_json(edit.job), static_cast<std::int64_t>(edit.running)});
  std::string text;
  append_json(text, all);
  return text;
}

std::string call_of_work(std::string_view work) {
  const std::size_t blank = std::min(work.find(' '), work.size());
  const auto edits = edits_from_json(work.substr(std::min(blank + 1, work.size())));
  if (!edits || edits->empty()) return "'" + std::string{work} + "'";
  const bool is_one = edits->size() == 1 && work.starts_with("put ");
  const char* const one = edits->front().running == Running::IfNew ? "define" : "put";
  const std::string others = edits->size() == 1 ? "" : " and " + std::to_string(edits->size() - 1) + " more";
  return "Jobs::" + std::string{is_one ? one : "put_all"} + "() of " + name_of(edits->front()) + others;
}

Result<std::vector<JobEdit>> edits_from_json(std::string_view text) {
  const Status no_edits{StatusCode::InvalidArgument, "these are no edits of jobs"};
  boost::system::error_code error;
  const json::value all = json::parse(text, error);
  if (error || !all.is_array()) return failure(no_edits);
  std::vector<JobEdit> edits;
  for (const json::value& one : all.get_array()) {
    const json::array* const pair = one.if_array();
    const bool is_pair = pair != nullptr && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_int64();
    const std::int64_t running = is_pair ? (*pair)[1].get_int64() : -1;
    if (running < 0 || running > static_cast<std::int64_t>(Running::Stopped)) return failure(no_edits);
    auto job = job_from_json(view((*pair)[0].get_string()));
    if (!job) return failure(job.error());
    edits.push_back({std::move(*job), static_cast<Running>(running)});
  }
  return edits;
}

}  // namespace rondo::jobs
