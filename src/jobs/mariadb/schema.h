// The tables of a database of jobs in MariaDB, and their versions. One thread.
#pragma once

#include "jobs/server/database.h"
#include "rondo/base/status.h"

namespace rondo::jobs::mariadb {

/// Creates the tables, or brings them to the newest version. MariaDB commits at each change of a table, so a migration that was interrupted
/// is continued by the next one. Several programs may do so at the same time. FailedPrecondition for a later version, or a database of
/// another program.
Status migrate(server::Database& database);

}  // namespace rondo::jobs::mariadb
