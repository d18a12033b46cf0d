// MariadbDatabase: the connection to a MariaDB server. What goes out together is one text of several statements. The limits of time are set
// in the session, but before each transaction. One thread; the functions block.
#pragma once

#include <mysql.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "jobs/job_store.h"
#include "jobs/mariadb/address.h"
#include "jobs/server/database.h"
#include "rondo/base/result.h"

namespace rondo::jobs::mariadb {

class MariadbDatabase final : public server::Database {
 public:
  /// Does not connect. InvalidArgument for a wrong url.
  static Result<std::unique_ptr<server::Database>> open(const std::string& url, const server::StoreOptions& options);

  bool is_connected() const noexcept override { return connection_ != nullptr; }

 private:
  struct Close {
    void operator()(MYSQL* connection) const noexcept { mysql_close(connection); }
  };

  MariadbDatabase(Address address, const server::StoreOptions& options, const std::string& limits);
  Status connect_now() override;
  void disconnect() noexcept override { connection_.reset(); }
  Result<server::Rows> exchange(std::span<const Command> commands) override;
  /// Refuses a server that cannot be used.
  Status check_server();
  /// The last error of the connection, which may be lost.
  Status error();

  const Address address_;
  std::unique_ptr<MYSQL, Close> connection_;
  std::size_t most_bytes_ = 0;  // The longest text that the server takes.
};

/// Creates the tables, or brings them to the newest version. Several programs may do so at the same time. See server::Migration.
Status migrate(server::Database& database);

/// make_mariadb_job_store() with options.
Result<std::shared_ptr<JobStore>> make_store(const std::string& url, const server::StoreOptions& options);

}  // namespace rondo::jobs::mariadb
