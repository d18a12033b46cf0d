// Backfill: the runs of past instants that have none, and other runs for which someone asks.
#pragma once

#include <string>

#include "jobs/job_store.h"
#include "jobs/planner.h"
#include "jobs/store_results.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/jobs/jobs.h"

namespace rondo::jobs {

/// See Jobs::backfill(). Stores the runs in one transaction, unless the range is a dry run. The runs of jobs below are in the result, too.
/// O(instants of the range), at most limits::kBackfillInstants.
Result<FoundRuns> backfill_job(JobStore& store, Planner& planner, const std::string& name, BackfillRange range, WallTime now);

/// Stores 'run', and the runs of the jobs below it, for a job that 'stored' describes. DataLoss if its row is damaged.
Result<FoundRuns> add_requested_runs(JobStore& store, StoredJob stored, JobRun run);

/// FailedPrecondition if Jobs::rerun() refuses the run.
Status check_rerun(const JobRun& run);
/// See Jobs::rerun(). 'failed' is a run that check_rerun() accepts.
Result<FoundRuns> rerun_job(JobStore& store, const JobRun& failed, WallTime now);

}  // namespace rondo::jobs
