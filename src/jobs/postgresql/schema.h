// The tables of a database of jobs in PostgreSQL, and their versions. One thread.
#pragma once

#include "jobs/server/database.h"
#include "rondo/base/status.h"

namespace rondo::jobs::postgresql {

/// Creates the schema rondo, or brings it to the newest version, in one transaction. Several programs may do so at the same time.
/// FailedPrecondition for a later version, or a schema of another program.
Status migrate(server::Database& database);

}  // namespace rondo::jobs::postgresql
