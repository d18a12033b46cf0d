// Database: the connection to a PostgreSQL server, its transactions and its errors. All statements go out in libpq's pipeline mode, so that
// BEGIN and the time limits cost no round trip of their own. One thread; the functions block.
//
// A lost connection is an error of the call that meets it, and the next call connects again. After a failed attempt to connect, calls fail
// without a further one for a pause that grows to 5 s. No call waits without a limit.
//
// The time limits of each transaction are set with set_config(..., true), because a pooler drops the settings of a session. They let the
// server end the transaction of a process that was stopped in the middle, whose locks would hold up all others.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jobs/postgresql/options.h"
#include "jobs/postgresql/values.h"
#include "rondo/base/result.h"

namespace rondo::jobs::postgresql {

class Database {
 public:
  /// Connects. InvalidArgument for a wrong url.
  static Result<std::unique_ptr<Database>> open(const std::string& url, const StoreOptions& options);

  /// Executes one statement: in the present transaction, or in one of its own.
  Result<Rows> query(const std::string& statement, const Values& values = {});
  /// query() for one number in one row. 0: there is no row, or it is NULL.
  Result<std::int64_t> number(const std::string& statement, const Values& values = {});
  /// Runs 'work' in a transaction, which an error, an exception, or a failed query of 'work' undoes. Within the work of another transaction
  /// it is a part of that one. See confirm_by() for a connection that is lost during the commit.
  Status transaction(const std::function<Status()>& work);

  bool is_connected() const noexcept { return connection_ != nullptr; }
  /// Counts transactions. The same number: the same transaction.
  std::int64_t transaction_number() const noexcept { return number_; }
  /// Executes 'statement' at the end of the present transaction.
  void before_commit(std::string statement) { last_statement_ = std::move(statement); }
  /// Calls 'call' when the present transaction has been committed.
  void after_commit(std::function<void()> call) { after_commit_.push_back(std::move(call)); }
  /// How to read whether the present transaction has been committed, for the case that the connection is lost during the commit:
  /// 'statement' returns 'written' then, and a lower number otherwise. It must wait for the end of the transaction, by a lock. If the
  /// server cannot be reached, transaction() returns Unavailable, and the next transaction reads the outcome first.
  void confirm_by(std::string statement, Values values, std::int64_t written) {
    confirmation_ = Confirmation{std::move(statement), std::move(values), written};
  }
  /// True if a transaction was committed that had been reported as failed: what its caller knows is not what the database has.
  bool has_missed_commit() const noexcept { return has_missed_commit_; }
  /// Its caller reads everything anew.
  void clear_missed_commit() noexcept { has_missed_commit_ = false; }

 private:
  struct Command {
    const char* text;
    const Values* values;
  };
  struct Confirmation {
    std::string statement;
    Values values;
    std::int64_t written = 0;
  };
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };

  Database(std::string url, const StoreOptions& options);
  Status connect();
  Status connect_now();
  /// Sends all, and returns the answers of all, or the first error.
  Result<std::vector<Rows>> exchange(std::span<const Command> commands);
  /// False: the server has sent nothing within a limit of time.
  bool wait_for_result();
  Status lost(std::string reason);
  Status commit();
  void rollback();
  /// True if the transaction of 'unresolved_' was committed.
  Result<bool> resolve();

  const std::string url_;
  const SystemClock system_clock_;
  const Clock& clock_;
  const std::string limits_;  // A statement that sets the limits of a transaction.
  std::string name_ = "the database of jobs";
  std::unique_ptr<PGconn, Finish> connection_;
  std::string notice_;  // The last one of the server.
  Instant connect_at_;  // No earlier attempt to connect.
  Duration pause_{0};
  Status connect_error_;

  bool is_in_transaction_ = false;
  bool has_begun_ = false;  // BEGIN goes out with the first statement.
  Status failed_;           // The first error in the present transaction.
  std::int64_t number_ = 0;
  std::optional<Confirmation> confirmation_;  // For the present transaction.
  std::string last_statement_;
  std::vector<std::function<void()>> after_commit_;
  std::optional<Confirmation> unresolved_;  // For a transaction whose outcome is not known.
  bool has_missed_commit_ = false;
};

/// The keywords and values for PQconnectdbParams(): those of 'url', and our limits of time for those that it does not have.
/// InvalidArgument.
Result<std::vector<std::pair<std::string, std::string>>> connection_settings(const std::string& url);

}  // namespace rondo::jobs::postgresql
