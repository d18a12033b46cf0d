// What the works of the store's thread return, beyond jobs and runs; and the text of each result, for the journal. A replay gives the
// recorded results in place of the store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/planner.h"
#include "rondo/base/result.h"

namespace rondo::jobs {

/// Runs with their jobs, as a start reads them and a trigger adds them.
struct FoundRuns {
  std::vector<JobRun> runs;
  std::map<std::string, StoredJob> jobs;       // By name.
  std::map<std::int64_t, std::string> lost{};  // Runs that cannot begin, because the run of a parent did not succeed, with the reason.
};

/// JSON. T: bool, std::size_t, std::string, StoredJob, JobRun, vectors of both and of SchedulerClaim, FoundRuns, Planner::Cycle or
/// Planner::Replanned.
template <class T>
void write_result(const T& result, std::string& text);
/// False if 'text' is no such result.
template <class T>
bool read_result(std::string_view text, T& result);

}  // namespace rondo::jobs
