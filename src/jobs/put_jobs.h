// How jobs are added, edited, started and stopped in the store: the works of Jobs::put_all(), start() and stop().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/planner.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/jobs/jobs.h"

namespace rondo::jobs {

/// Jobs of one call that have StoredJob::before: each may have 64 KiB of parameters, and a log has no more of them.
inline constexpr std::size_t kJobsWithBefore = 16;

/// InvalidArgument for what is wrong with the edits themselves, whatever the store has.
Status check_edits(std::span<const JobEdit> edits, Planner& planner, WallTime now);

/// See Jobs::put_all(). 'edits' have passed check_edits(). O(edits * jobs of their families).
Result<std::vector<StoredJob>> put_jobs(JobStore& store, Planner& planner, std::span<const JobEdit> edits, WallTime now, bool is_dry);

/// See Jobs::start() and Jobs::stop().
Result<StoredJob> start_job(JobStore& store, Planner& planner, const std::string& name, WallTime now);
Result<StoredJob> stop_job(JobStore& store, const std::string& name, const std::string& note);

/// The edits as JSON, for the journal.
std::string to_json(std::span<const JobEdit> edits);
Result<std::vector<JobEdit>> edits_from_json(std::string_view text);
/// For people: the call of Jobs that a work of the store's thread follows from, such as "Jobs::define() of job 'a'".
std::string call_of_work(std::string_view work);

}  // namespace rondo::jobs
