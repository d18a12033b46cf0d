// Reads rows of the tables 'jobs' and 'runs', and says which column of a row cannot be used. Another program may have written them, so
// each value is checked before it is narrowed. One thread.
#pragma once

#include <optional>
#include <string>

#include "jobs/sqlite/database.h"
#include "rondo/base/status.h"
#include "rondo/jobs/job.h"
#include "rondo/jobs/job_run.h"

namespace rondo::jobs::sqlite {

/// Times in rows are from 1970 to before 2262: computations with others could overflow.
inline constexpr WallTime kEarliestTime = WallTime::from_nanoseconds(0);
inline constexpr WallTime kTimesEnd = WallTime::from_nanoseconds(9'214'646'400'000'000'000);
/// A scheduled instant may be earlier, from 1678 on: a backfill may begin there.
inline constexpr WallTime kEarliestInstant = WallTime::from_nanoseconds(-9'214'560'000'000'000'000);

/// SELECT and this have the columns that read_job() reads; a FROM follows.
inline constexpr const char* kJobColumns = "jobs.id, jobs.spec, jobs.running, jobs.next, jobs.name ";

/// SELECT and this have the columns that read_run() reads; conditions may follow.
inline constexpr const char* kRunColumns =
    "runs.id, runs.job, jobs.name, runs.scheduled, runs.due, runs.band, runs.state, runs.attempt, runs.missed, runs.begun, runs.ended, "
    "runs.note, runs.parents, runs.worker, runs.killed, runs.parameters, runs.address, runs.rerun_of FROM runs JOIN jobs ON jobs.id = "
    "runs.job ";

/// Reads the present row. If its definition cannot be used: a job for which is_readable() is false, with the reason in its note. If its
/// next time or its state cannot be used: a job with StoredJob::set_aside.
StoredJob read_job(const Statement& row);

/// Reads the present row into 'run'. Returns an empty text, or what is wrong: "table runs, run 7 of the job 'a', column state: 300 is none
/// of 0 to 6".
std::string read_run(const Statement& row, JobRun& run);

}  // namespace rondo::jobs::sqlite
