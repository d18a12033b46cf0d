#include "jobs/family.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

using JobsByName = std::map<std::string, StoredJob>;

/// All jobs below 'top', also stopped ones. At most one more than a family may have.
Result<JobsByName> below(JobStore& store, const std::string& top) {
  JobsByName found;
  std::vector<std::string> line{top};
  for (std::size_t at = 0; at < line.size() && found.size() <= limits::kJobsOfFamily; ++at) {
    auto children = store.children(line[at]);
    if (!children) return failure(std::move(children.error()));
    for (StoredJob& child : *children) {
      const std::string name = child.job.name;
      if (found.emplace(name, std::move(child)).second) line.push_back(name);
    }
  }
  return found;
}

/// The names of all jobs below 'top'. At most one more than a family may have.
Result<std::set<std::string>> names_below(FamilyReads& reads, const std::string& top) {
  std::set<std::string> found;
  std::vector<std::string> line{top};
  for (std::size_t at = 0; at < line.size() && found.size() <= limits::kJobsOfFamily; ++at) {
    const auto children = reads.children_of(line[at]);
    if (!children) return failure(children.error());
    for (const std::string& child : **children) {
      if (found.insert(child).second) line.push_back(child);
    }
  }
  return found;
}

Status refuse(const std::string& why) { return {StatusCode::InvalidArgument, "parents: " + why}; }

/// The store's jobs with the edited job in place of the stored one.
class Ancestry {
 public:
  Ancestry(FamilyReads& reads, const Job& edited) : reads_(reads), edited_(edited) { parents_.emplace(edited.name, &edited.parents); }

  /// Follows the parents of 'name' upward. An error for a cycle through the edited job, and for a job that does not exist.
  Status climb(const std::string& name) {
    path_.push_back(name);
    if (path_.size() > limits::kFamilyDepth) return too_deep();
    const auto parents = parents_of(name);
    if (!parents) return parents.error();
    for (const std::string& parent : **parents) {
      if (parent == edited_.name) return refuse("a cycle: " + cycle());
      if (!seen_.insert(parent).second) continue;
      if (Status status = climb(parent); !status.ok()) return status;
    }
    path_.pop_back();
    return {};
  }

  Result<std::set<std::string>> roots_of(const std::string& name, std::size_t depth = 0) {
    if (depth > limits::kFamilyDepth) return failure(too_deep());
    if (const auto known = roots_.find(name); known != roots_.end()) return known->second;
    const auto parents = parents_of(name);
    if (!parents) return failure(parents.error());
    // check_family() lets no cycle in: it was written into the database by another program.
    if (!asked_.insert(name).second) return failure(refuse("the stored job '" + name + "' is above itself"));
    std::set<std::string> roots;
    if ((*parents)->empty()) roots.insert(name);
    for (const std::string& parent : **parents) {
      auto of_parent = roots_of(parent, depth + 1);
      if (!of_parent) return of_parent;
      roots.merge(*of_parent);
    }
    roots_.emplace(name, roots);
    return roots;
  }

 private:
  static Status too_deep() { return refuse("more than " + std::to_string(limits::kFamilyDepth) + " jobs are above one another"); }
  Result<const std::vector<std::string>*> parents_of(const std::string& name) {
    if (const auto known = parents_.find(name); known != parents_.end()) return known->second;
    if (parents_.size() >= limits::kFamilyReads)
      return failure(refuse("more than " + std::to_string(limits::kFamilyReads) + " jobs are above the job and those below it"));
    const auto stored = reads_.parents_of(name);
    if (!stored && stored.error().code() == StatusCode::NotFound) return failure(refuse("there is no job '" + name + "'"));
    if (stored) parents_.emplace(name, *stored);
    return stored;
  }
  /// From the top of the cycle down: "a -> b -> a".
  std::string cycle() const {
    std::string text = edited_.name;
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) text += " -> " + *at;
    return text;
  }

  FamilyReads& reads_;
  const Job& edited_;
  std::map<std::string, const std::vector<std::string>*> parents_;
  std::map<std::string, std::set<std::string>> roots_;
  std::set<std::string> asked_;  // By roots_of().
  std::set<std::string> seen_;
  std::vector<std::string> path_;
};

/// Of the jobs 'below' a top, those that are not 'placed' because rows are damaged. Stopped jobs, and those below them, are none of them.
std::vector<LeftOut> damaged_of(const JobsByName& below, const std::vector<Descendant>& placed) {
  std::vector<LeftOut> damaged;
  std::set<std::string> waiting;
  for (const auto& [name, job] : below) {
    if (!job.is_running) continue;
    is_readable(job) ? static_cast<void>(waiting.insert(name)) : damaged.push_back({name, job.job.note});
  }
  for (const Descendant& one : placed) waiting.erase(one.job.job.name);
  // What remains behind the jobs that wait for one that does not run is on a cycle, or below one.
  const auto waits_for_none = [&](const std::string& name) {
    return std::ranges::none_of(below.at(name).job.parents, [&](const std::string& parent) { return waiting.contains(parent); });
  };
  while (std::erase_if(waiting, waits_for_none) > 0) {
  }
  for (const std::string& name : waiting) damaged.push_back({name, "it is above itself, or below a job that is"});
  return damaged;
}

Status check_root(Ancestry& ancestry, const std::string& name) {
  const auto roots = ancestry.roots_of(name);
  if (!roots) return roots.error();
  if (roots->size() == 1) return {};
  return refuse("the job '" + name + "' would have more than one root: '" + *roots->begin() + "' and '" + *roots->rbegin() + "'");
}

/// Why a run that waits for the success of a job does not begin; empty if it may.
std::string obstacle_of_required(JobStore& store, const std::string& fact) {
  constexpr std::string_view kKind = "job-succeeded:";
  if (!fact.starts_with(kKind)) return {};
  const std::string name = fact.substr(kKind.size());
  const auto required = store.find(name);
  if (!required && required.error().code() == StatusCode::NotFound) return "it requires " + fact + ", and there is no job '" + name + "'";
  if (!required || required->is_running) return {};
  const auto last = store.last_ended(name);
  if (!last || (last->has_value() && (*last)->state == RunState::Succeeded)) return {};
  return "it requires " + fact + ", and the job '" + name + "' is stopped" +
         (last->has_value() ? ", and its last run did not succeed" : ", and has never run");
}

}  // namespace

std::string obstacle_of(JobStore& store, const Job& job) {
  std::vector<std::string> above = job.parents;
  std::set<std::string> seen(above.begin(), above.end());
  for (std::size_t at = 0; at < above.size() && at < limits::kFamilyReads; ++at) {
    const auto stored = store.find(above[at]);
    if (!stored) return {};  // A database that cannot be read is no obstacle of this job.
    if (!stored->is_running) return "the job '" + above[at] + "' above it is stopped";
    for (const std::string& parent : stored->job.parents) {
      if (seen.insert(parent).second) above.push_back(parent);
    }
  }
  for (const std::string& fact : job.required_facts) {
    if (std::string obstacle = obstacle_of_required(store, fact); !obstacle.empty()) return obstacle;
  }
  return {};
}

Result<StoredJob> find_with_obstacle(JobStore& store, const std::string& name) {
  auto stored = store.find(name);
  if (stored) stored->obstacle = obstacle_of(store, stored->job);
  return stored;
}

std::size_t bytes_of(const StoredJob& stored) {
  const Job& job = stored.job;
  constexpr std::size_t kText = 32;  // Not sizeof: another build that replays a page decides the same about it.
  constexpr std::size_t kRest = 512;
  std::size_t bytes = kRest + job.name.size() + job.handler.size() + job.parameters.size() + job.owner.size() + job.note.size();
  for (const auto* const texts : {&job.tags, &job.parents, &job.required_facts}) {
    for (const std::string& text : *texts) bytes += kText + text.size();
  }
  return bytes;
}

Result<std::vector<StoredJob>> list_page(JobStore& store, const std::string& after, std::size_t max) {
  constexpr std::size_t kFirst = 8;
  std::vector<StoredJob> page;
  std::size_t bytes = 0;
  for (std::size_t count = std::min(max, kFirst); count > 0;) {
    auto more = store.list(page.empty() ? after : page.back().job.name, count);
    if (!more) return more;
    const bool is_last = more->size() < count;
    for (StoredJob& stored : *more) {
      bytes += bytes_of(stored);
      page.push_back(std::move(stored));
      if (bytes >= limits::kJobsPageBytes) return page;
    }
    if (is_last) break;
    // As many as there is room for if they are as large as those before them.
    const std::size_t room = (limits::kJobsPageBytes - bytes) / (bytes / page.size()) + 1;
    count = std::min(room, max - page.size());
  }
  return page;
}

Result<std::vector<StoredJob>> list_with_obstacles(JobStore& store, const std::string& after, std::size_t max) {
  auto page = list_page(store, after, max);
  if (!page) return page;
  for (StoredJob& stored : *page) stored.obstacle = obstacle_of(store, stored.job);
  return page;
}

Result<std::vector<Descendant>> descendants_of(JobStore& store, const std::string& top, std::vector<LeftOut>& left_out) {
  auto found = below(store, top);
  if (!found) return failure(std::move(found.error()));
  auto placed = placed_below(top, *found);
  if (placed.size() < found->size()) left_out = damaged_of(*found, placed);
  return placed;
}

Result<std::vector<Descendant>> descendants_of(JobStore& store, const std::string& top) {
  std::vector<LeftOut> left_out;
  return descendants_of(store, top, left_out);
}

std::vector<Descendant> placed_below(const std::string& top, const std::map<std::string, StoredJob>& below) {
  std::vector<Descendant> placed;
  std::map<std::string, std::size_t> places{{top, 0}};
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const auto& [name, job] : below) {
      if (places.contains(name) || !job.is_running || !is_readable(job)) continue;
      Descendant next{.job = job, .parents = {}};
      bool is_ready = true;
      for (const std::string& parent : job.job.parents) {
        const auto place = places.find(parent);
        if (place != places.end()) next.parents.push_back(place->second);
        // A parent elsewhere in the family does not run now: the top was triggered.
        is_ready = is_ready && (place != places.end() || !below.contains(parent));
      }
      if (!is_ready) continue;
      placed.push_back(std::move(next));
      places.emplace(name, placed.size());
      goes_on = true;
    }
  }
  return placed;
}

void append_family(std::vector<JobRun>& runs, JobRun top, const std::vector<Descendant>& descendants) {
  const std::size_t first = runs.size();
  const JobRun run = top;
  runs.push_back(std::move(top));
  if (is_final(run.state)) return;
  for (const Descendant& descendant : descendants) {
    JobRun below{.job_id = descendant.job.id,
                 .job = descendant.job.job.name,
                 .scheduled = run.scheduled,
                 .due = run.due,
                 .band = run.band,
                 .rerun_of = run.rerun_of};
    for (const std::size_t parent : descendant.parents) below.parents.push_back(static_cast<std::int64_t>(first + parent));
    runs.push_back(std::move(below));
  }
}

Result<const std::vector<std::string>*> FamilyReads::parents_of(const std::string& name) {
  if (const auto known = parents_.find(name); known != parents_.end()) return &known->second;
  auto stored = store_.find(name);
  if (!stored) return failure(std::move(stored.error()));
  return &parents_.emplace(name, std::move(stored->job.parents)).first->second;
}

Result<const std::vector<std::string>*> FamilyReads::children_of(const std::string& name) {
  if (const auto known = children_.find(name); known != children_.end()) return &known->second;
  const auto stored = store_.children(name);
  if (!stored) return failure(stored.error());
  std::vector<std::string> names;
  for (const StoredJob& child : *stored) names.push_back(child.job.name);
  return &children_.emplace(name, std::move(names)).first->second;
}

Status check_family(FamilyReads& reads, const Job& job) {
  Ancestry ancestry(reads, job);
  if (Status status = ancestry.climb(job.name); !status.ok()) return status;
  if (Status status = check_root(ancestry, job.name); !status.ok()) return status;
  auto descendants = names_below(reads, job.name);
  if (!descendants) return descendants.error();
  for (const std::string& child : *descendants) {
    if (Status status = check_root(ancestry, child); !status.ok()) return status;
  }
  const std::string root = *ancestry.roots_of(job.name)->begin();
  auto family = names_below(reads, root);
  if (!family) return family.error();
  family->merge(*descendants);
  if (root != job.name) family->insert(job.name);
  if (family->size() <= limits::kJobsOfFamily) return {};
  return refuse("the root '" + root + "' would have more than " + std::to_string(limits::kJobsOfFamily) + " jobs below it");
}

Status check_family(JobStore& store, const Job& job) {
  FamilyReads reads(store);
  return check_family(reads, job);
}

}  // namespace rondo::jobs
