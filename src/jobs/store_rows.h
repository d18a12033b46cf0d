// Reads rows of the tables 'jobs' and 'runs' of any database, and says which column of a row cannot be used. Another program may have
// written them, so each value is checked before it is narrowed. Also what a store makes of values before it writes them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/time.h"
#include "rondo/jobs/job.h"
#include "rondo/jobs/job_run.h"

namespace rondo::jobs {

/// Times in rows are from 1970 to before 2262: computations with others could overflow.
inline constexpr WallTime kEarliestTime = WallTime::from_nanoseconds(0);
inline constexpr WallTime kTimesEnd = WallTime::from_nanoseconds(9'214'646'400'000'000'000);
/// A scheduled instant may be earlier, from 1678 on: a backfill may begin there.
inline constexpr WallTime kEarliestInstant = WallTime::from_nanoseconds(-9'214'560'000'000'000'000);

/// One row of a database's answer. Columns count from 0.
class StoredRow {
 public:
  virtual ~StoredRow() = default;
  virtual bool is_integer(int column) const = 0;
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual std::string text(int column) const = 0;
  /// Bytes of a text.
  virtual std::size_t bytes(int column) const = 0;
};

/// SELECT and this have the columns that read_job() reads; a FROM follows.
inline constexpr const char* kJobColumns = "jobs.id, jobs.spec, jobs.running, jobs.next, jobs.name ";

/// SELECT and this have the columns that read_run() reads; a FROM follows.
inline constexpr const char* kRunColumns =
    "runs.id, runs.job, jobs.name, runs.scheduled, runs.due, runs.band, runs.state, runs.attempt, runs.missed, runs.begun, runs.ended, "
    "runs.note, runs.parents, runs.worker, runs.killed, runs.parameters, runs.address, runs.rerun_of ";

/// If its definition cannot be used: a job for which is_readable() is false, with the reason in its note. If its next time or its state
/// cannot be used: a job with StoredJob::set_aside.
StoredJob read_job(const StoredRow& row);

/// Reads a row into 'run'. Returns an empty text, or what is wrong: "table runs, run 7 of the job 'a', column state: 300 is none of 0 to
/// 6".
std::string read_run(const StoredRow& row, JobRun& run);

/// The note within limits::kRunNote. The cut is never inside a character of valid UTF-8.
std::string_view cut_note(std::string_view note);

/// The column 'parents' of a run: ids with blanks between them.
std::string parents_text(const std::vector<std::int64_t>& parents);

}  // namespace rondo::jobs
