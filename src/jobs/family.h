// The family of a job: the jobs below it, which run after it, and the jobs above it. A family has one root, which has a schedule or is
// triggered. So one transaction writes the runs of all of them, and each run knows the runs for whose success it waits.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "jobs/job_store.h"
#include "rondo/base/result.h"

namespace rondo::jobs {

/// A job below another one, the top.
struct Descendant {
  StoredJob job;
  std::vector<std::size_t> parents;  // Those of its parents that are the top, 0, or below it: 1 plus the place in the list.
};

/// A started job below another one that cannot run with it.
struct LeftOut {
  std::string job;
  std::string why;
};

/// The jobs below 'top' that run when it runs, each behind its parents. A stopped job is left out, and so are the jobs below it. One query
/// of the store a job. 'left_out' receives the jobs whose rows are damaged: those that cannot be read, and those that are above themselves.
Result<std::vector<Descendant>> descendants_of(JobStore& store, const std::string& top, std::vector<LeftOut>& left_out);
Result<std::vector<Descendant>> descendants_of(JobStore& store, const std::string& top);

/// The same, where 'below' are all jobs below 'top', by name.
std::vector<Descendant> placed_below(const std::string& top, const std::map<std::string, StoredJob>& below);

/// Appends 'top', a run, and unless it has ended a run of each of 'descendants'.
void append_family(std::vector<JobRun>& runs, JobRun top, const std::vector<Descendant>& descendants);

/// What checks of families read of a store, each job once. The store must not change meanwhile.
class FamilyReads {
 public:
  explicit FamilyReads(JobStore& store) : store_(store) {}
  /// NotFound.
  Result<const std::vector<std::string>*> parents_of(const std::string& name);
  /// See JobStore::children().
  Result<const std::vector<std::string>*> children_of(const std::string& name);

 private:
  JobStore& store_;
  std::map<std::string, std::vector<std::string>> parents_;
  std::map<std::string, std::vector<std::string>> children_;
};

/// InvalidArgument if the store must not take 'job', or must not keep it: a parent that does not exist, a cycle, which is named, more than
/// one root, or more than limits::kJobsOfFamily jobs below the root.
Status check_family(FamilyReads& reads, const Job& job);
Status check_family(JobStore& store, const Job& job);

/// See StoredJob::obstacle. O(jobs above it + facts that it requires) queries.
std::string obstacle_of(JobStore& store, const Job& job);
/// What a job counts for limits::kJobsPageBytes.
std::size_t bytes_of(const StoredJob& stored);
/// JobStore::list(), ended by limits::kJobsPageBytes. Two queries, more if the sizes of the jobs differ much.
Result<std::vector<StoredJob>> list_page(JobStore& store, const std::string& after, std::size_t max);
/// JobStore::find() and list_page() with the obstacles of the jobs.
Result<StoredJob> find_with_obstacle(JobStore& store, const std::string& name);
Result<std::vector<StoredJob>> list_with_obstacles(JobStore& store, const std::string& after, std::size_t max);

}  // namespace rondo::jobs
