#include "jobs/job_facts.h"

#include <algorithm>

#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {

namespace {

/// For people who ask why the children of a run wait.
std::string stage_of(const LiveRun& live) {
  switch (live.stage) {
    case LiveRun::Stage::Planned: return "which is due at " + calendar::format_rfc3339(live.run.due);
    case LiveRun::Stage::Fired: return "which has not begun";
    case LiveRun::Stage::Running: return "which is running";
    case LiveRun::Stage::Ending: return "whose end is being stored";
  }
  return {};
}

/// "kind:key", with a kind that check() has accepted.
Fact fact_of(const std::vector<FactKind>& kinds, std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto kind = std::ranges::find(kinds, text.substr(0, colon), &FactKind::name);
  return {kind == kinds.end() ? FactKind{} : *kind, std::string{text.substr(colon + 1)}};
}

/// True if the last run succeeded.
Result<bool> last_end_of(JobStore& store, const std::string& job) {
  const auto last = store.last_ended(job);
  if (!last) return failure(last.error());
  return last->has_value() && (*last)->state == RunState::Succeeded;
}

}  // namespace

JobFacts::JobFacts(Core& core, LiveRuns& runs, const HooksOf& hooks) : core_(core), runs_(runs) {
  core_.runtime.explain(kJobTurn, [this, weak = std::weak_ptr(hooks)](std::string_view key) {
    std::vector<FactOrigin> origins;
    const auto owner = weak.lock();
    const std::optional<std::int64_t> id = run_of(key);
    if (!owner || *owner == nullptr || !id) return origins;
    const LiveRun* const live = runs_.find(*id);
    if (live == nullptr) return origins;
    for (const std::int64_t other : live->job->begun) {
      if (const LiveRun* const begun = runs_.find(other))
        origins.push_back({table_of(begun->priority), key_of(begun->run), "another run of the job"});
    }
    return origins;
  });
  core_.runtime.explain(kJobRun, [this, weak = std::weak_ptr(hooks)](std::string_view key) {
    const auto owner = weak.lock();
    const std::optional<std::int64_t> id = run_of(key);
    const LiveRun* const parent = owner && *owner != nullptr && id ? runs_.find(*id) : nullptr;
    if (parent == nullptr) return FactOrigin{};
    return FactOrigin{table_of(parent->stage == LiveRun::Stage::Planned ? parent->job->job->priority : parent->priority),
                      key_of(parent->run), "the run of a parent, " + stage_of(*parent)};
  });
  core_.runtime.explain(kJobSucceeded, [this, weak = std::weak_ptr(hooks)](std::string_view name) {
    std::vector<FactOrigin> origins;
    const auto owner = weak.lock();
    if (!owner || *owner == nullptr) return origins;
    for (const auto& [id, job] : runs_.jobs()) {
      if (job.job->name != name) continue;
      for (const std::int64_t run : job.runs) {
        const LiveRun& live = *runs_.find(run);
        const Priority priority = live.stage == LiveRun::Stage::Planned ? job.job->priority : live.priority;
        origins.push_back({table_of(priority), key_of(live.run), "a run of the job, " + stage_of(live)});
      }
    }
    if (origins.empty()) origins.push_back({{}, {}, "no run of the job '" + std::string{name} + "' is under way"});
    return origins;
  });
}

Status JobFacts::check(const Job& job) const {
  if (job.required_facts.empty()) return {};
  for (const std::string& text : job.required_facts) {
    const Fact fact = fact_of(offered_facts_, text);
    if (!fact.kind.name().empty()) continue;
    std::string known;
    for (const FactKind kind : offered_facts_) known += (known.empty() ? "" : ", ") + std::string{kind.name()};
    return {StatusCode::InvalidArgument, "required_facts: '" + text + "' has an unknown kind of fact; known are " + known};
  }
  return {};
}

std::vector<Fact> JobFacts::missing(const LiveRun& live) const {
  std::vector<Fact> facts;
  for (const std::int64_t parent : live.run.parents) {
    if (const LiveRun* const above = runs_.find(parent)) facts.push_back({kJobRun, key_of(above->run)});
  }
  if (live.job->job->required_facts.empty()) return facts;
  for (const std::string& text : live.job->job->required_facts) {
    Fact fact = fact_of(offered_facts_, text);
    if (!runs_.turns.holds(fact)) facts.push_back(std::move(fact));
  }
  return facts;
}

bool JobFacts::waits_again(LiveRun& live) {
  std::vector<Fact> facts = missing(live);
  const bool is_sure = core_.may_begin(live.run.id);
  if (facts.empty() && is_sure) return false;
  runs_.begin_again(live, is_sure ? Outcome::wait_for(std::move(facts)) : Core::unsure());
  return true;
}

bool JobFacts::has_succeeded(std::string_view job) {
  const auto [place, is_new] = last_ends_.try_emplace(std::string{job});
  if (is_new) {
    core_.record("last end", job);  // `rondo why` may be the first to ask.
    read_last_end(place->first);
  }
  return place->second.value_or(false);
}

void JobFacts::read_last_end(const std::string& job) {
  core_.store.submit<bool>(
      "last end " + job, [job](JobStore& of, Planner&) { return last_end_of(of, job); },
      [this, job](const Result<bool>& succeeded) {
        const auto known = last_ends_.find(job);
        if (known == last_ends_.end() || known->second) return;  // A run has ended meanwhile.
        if (!succeeded) {                                        // The next question asks the store again.
          last_ends_.erase(known);
          return;
        }
        known->second = *succeeded;
        if (*succeeded) runs_.turns.job_ended(job, true);
      });
}

void JobFacts::note_end(const JobRun& run) {
  if (run.begun) note_success(run.job, run.state == RunState::Succeeded);
}

void JobFacts::note_success(const std::string& job, bool succeeded) {
  const auto known = last_ends_.find(job);
  if (known == last_ends_.end() || known->second == succeeded) return;
  known->second = succeeded;
  runs_.turns.job_ended(job, succeeded);
}

}  // namespace rondo::jobs
