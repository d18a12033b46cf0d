// make_server_store(): jobs and runs in the tables of a database server. What the servers do differently is in Database and Statements.
#pragma once

#include <memory>

#include "jobs/job_store.h"
#include "jobs/server/database.h"
#include "jobs/server/statements.h"

namespace rondo::jobs::server {

/// 'migrate' makes the tables. Connects; while the server cannot be reached, the calls of the store fail, and each tries to. The errors of
/// 'migrate' and of connecting, without Unavailable. 'statements' must outlive the store.
Result<std::shared_ptr<JobStore>> make_server_store(std::unique_ptr<Database> database, const Statements& statements,
                                                    const StoreOptions& options, Status (*migrate)(Database& database));

}  // namespace rondo::jobs::server
