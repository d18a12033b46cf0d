// JobStore: keeps the jobs of a Jobs and the rows of their runs. It is used only through Jobs, so its functions are private.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rondo/base/result.h"

namespace rondo::jobs {

class JobStore;

enum class Durability : std::uint8_t {
  Normal,  // A crash of the machine may lose the last transactions; one of the process loses none.
  Full,    // Each transaction is synchronised to the disk.
};

/// A store in an SQLite database in WAL mode. A relative path counts from the present folder of the program, also when that changes.
/// Creates the file, readable by its user alone, and its tables; a database of an earlier version is migrated. FailedPrecondition for a
/// database of a later version, or of another program.
Result<std::shared_ptr<JobStore>> make_sqlite_job_store(const std::string& path, Durability durability = Durability::Normal);

}  // namespace rondo::jobs
