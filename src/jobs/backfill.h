// Backfill: the runs of past instants that have none.
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

}  // namespace rondo::jobs
