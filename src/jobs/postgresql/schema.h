// The tables of a database of jobs in PostgreSQL, and their versions. One thread.
#pragma once

#include "jobs/postgresql/database.h"
#include "rondo/base/status.h"

namespace rondo::jobs::postgresql {

/// The rows of the table shards. Each is owned by one scheduler at a time.
inline constexpr int kShards = 64;

/// Creates the schema rondo, or brings it to the newest version, in one transaction. Several programs may do so at the same time.
/// FailedPrecondition for a later version, or a schema of another program.
Status migrate(Database& database);

}  // namespace rondo::jobs::postgresql
