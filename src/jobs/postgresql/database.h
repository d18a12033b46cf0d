// PostgresqlDatabase: the connection to a PostgreSQL server. All statements go out in libpq's pipeline mode, so that BEGIN and the limits
// of time cost no round trip of their own; the limits are set with set_config(..., true). One thread; the functions block.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/server/database.h"
#include "rondo/base/result.h"

namespace rondo::jobs::postgresql {

class PostgresqlDatabase final : public server::Database {
 public:
  /// Does not connect. InvalidArgument for a wrong url.
  static Result<std::unique_ptr<server::Database>> open(const std::string& url, const server::StoreOptions& options);

  bool is_connected() const noexcept override { return connection_ != nullptr; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };

  PostgresqlDatabase(std::string url, const server::StoreOptions& options);
  PostgresqlDatabase(std::string url, const server::StoreOptions& options, const std::string& limits);
  Status connect_now() override;
  void disconnect() noexcept override { connection_.reset(); }
  Result<server::Rows> exchange(std::span<const Command> commands) override;
  /// False: the server has sent nothing within a limit of time.
  bool wait_for_result();
  /// Empty: the server's own reason.
  Status lost_because(std::string reason);

  const std::string url_;
  std::unique_ptr<PGconn, Finish> connection_;
  std::string notice_;  // The last one of the server.
};

/// The keywords and values for PQconnectdbParams(): those of 'url', and our limits of time for those that it does not have.
/// InvalidArgument.
Result<std::vector<std::pair<std::string, std::string>>> connection_settings(const std::string& url);

/// Creates the tables, or brings them to the newest version. Several programs may do so at the same time. See server::Migration.
Status migrate(server::Database& database);

/// make_postgresql_job_store() with options.
Result<std::shared_ptr<JobStore>> make_store(const std::string& url, const server::StoreOptions& options);

}  // namespace rondo::jobs::postgresql
