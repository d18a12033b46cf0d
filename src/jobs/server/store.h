// make_server_store(): jobs and runs in the tables of a database server. What the servers do differently is in Database and Statements.
#pragma once

#include <memory>

#include "jobs/job_store.h"
#include "jobs/server/database.h"
#include "jobs/server/statements.h"

namespace rondo::jobs::server {

/// The tables are there. 'statements' must outlive the store.
std::shared_ptr<JobStore> make_server_store(std::unique_ptr<Database> database, const Statements& statements, const StoreOptions& options);

}  // namespace rondo::jobs::server
