// make_postgresql_job_store(): jobs and their runs in a PostgreSQL database. The component postgresql.
#pragma once

#include <memory>
#include <string>

#include "rondo/base/result.h"

namespace rondo::jobs {

class JobStore;

/// Returns a store in a database of PostgreSQL 10 or later. 'url' is libpq's: "postgresql://user@host/database", or "host=... dbname=...".
/// The call connects, which may take the connect_timeout of 'url' (default 5 s) for each of its hosts, and creates the schema "rondo" with
/// its tables if they are missing; it migrates an earlier version. If the server cannot be reached, refuses the user, or is a standby, the
/// store's functions fail with Unavailable and the server's reason, and go on connecting.
///
/// Errors: InvalidArgument if 'url' cannot be parsed; PermissionDenied if the user may not create the schema or use its tables;
/// FailedPrecondition for a later version of the tables, or a schema "rondo" of another program.
///
/// 'reached_at' is where people reach this scheduler, such as "http://db1:8700": other schedulers show it beside host and process.
///
/// One scheduler at a time owns the jobs, by a lease of 6 s in the database. A store whose lease another scheduler has taken fails each
/// later write with FailedPrecondition: its user must end. The functions of the store block.
Result<std::shared_ptr<JobStore>> make_postgresql_job_store(const std::string& url, const std::string& reached_at = {});

}  // namespace rondo::jobs
