// make_mariadb_job_store(): jobs and their runs in a MariaDB database. The component mariadb.
#pragma once

#include <memory>
#include <string>

#include "rondo/base/result.h"

namespace rondo::jobs {

class JobStore;

/// Returns a store in a database of MariaDB 10.5 or later: "mariadb://[USER[:PASSWORD]@][HOST[:PORT]]/DATABASE[?OPTION=VALUE&...]". A '%'
/// and two hexadecimal digits are a byte. Options: socket=FILE, a Unix socket; passfile=FILE, whose first line is the password, and which
/// nobody but its owner may read; ssl-ca=FILE, TLS to a server whose certificate this authority has signed; ssl-verify=on, the same with
/// the system's authorities; ssl-verify=off, TLS without a check of the certificate.
///
/// The call connects, and creates the tables if they are missing; it migrates an earlier version. The database exists, and has no tables of
/// other programs. If the server cannot be reached, refuses the user, is older, or is read-only, the store's functions fail with
/// Unavailable and the server's reason, and go on connecting.
///
/// Errors: InvalidArgument if 'url' cannot be parsed; PermissionDenied if the user may not create or use the tables; FailedPrecondition for
/// a later version of the tables, or a database of another program.
///
/// One scheduler at a time owns the jobs, as in PostgreSQL: see make_postgresql_job_store(). The functions of the store block.
Result<std::shared_ptr<JobStore>> make_mariadb_job_store(const std::string& url, const std::string& reached_at = {});

}  // namespace rondo::jobs
