// A database of jobs as a file: what it is like, and who uses it. For `rondo job doctor`, and for the start of rondod.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::jobs {

/// The version of the databases that make_sqlite_job_store() makes.
std::size_t sqlite_job_store_version() noexcept;

/// The process that has claimed the jobs of the database; 0: none, or it is unknown. Not while this process has the database open.
pid_t owner_of_sqlite_job_store(const std::string& path);

/// Ok if make_sqlite_job_store() would take the file, as far as reading it tells; also if there is none and its folder can have one.
/// Otherwise its error. It changes nothing, and takes no lock.
Status check_sqlite_job_store(const std::string& path);

/// Something about a database of jobs, for people.
struct JobDatabaseFinding {
  enum class Level : std::uint8_t { Ok, Advice, Problem };
  Level level = Level::Ok;
  std::string setting;  // What was looked at: "schema", "integrity", "runs due for an hour".
  std::string value;
  std::string meaning;  // These two are empty with Ok.
  std::string remedy;
};

/// Examines the database of a make_sqlite_job_store(), which a process may be using: schema, integrity, definitions, and rows that look
/// stuck at 'now'. It changes nothing. NotFound; FailedPrecondition as above. Reads all of the file.
Result<std::vector<JobDatabaseFinding>> examine_sqlite_job_store(const std::string& path, WallTime now);

}  // namespace rondo::jobs
