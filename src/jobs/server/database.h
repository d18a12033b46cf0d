// Database: the connection to a database server, and its transactions. A class for each kind of server connects and exchanges statements
// with answers. What goes out together, such as the begin of a transaction, its limits of time and its first statement, costs one round
// trip. One thread; the functions block.
//
// A lost connection is an error of the call that meets it, and the next call connects again. After a failed attempt to connect, calls fail
// without a further one for a pause that grows to 5 s. No call waits without a limit.
//
// The limits are set in each transaction, because a pooler drops the settings of a session. They let the server end the transaction of a
// process that was stopped in the middle, whose locks would hold up all others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jobs/server/values.h"
#include "rondo/base/clock.h"
#include "rondo/base/result.h"

namespace rondo::jobs::server {

/// What tests change about a store on a database server, and where people reach its scheduler: empty if they cannot.
struct StoreOptions {
  std::string reached_at = {};
  /// How long the jobs stay claimed after a renewal. A third of it after the last one, the next transaction renews.
  Duration lease{6s};
  /// A statement that waits longer for a lock fails.
  Duration lock_timeout{2s};
  /// For the lease, the pause between two connections, and the comparison with the server's clock. It must outlive the store. None: the
  /// system's.
  const Clock* clock = nullptr;
};

class Database {
 public:
  virtual ~Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// 'prepare' is called once, when there is a connection for the first time, and again after an error of it.
  void on_first_connection(std::function<Status()> prepare) { prepare_ = std::move(prepare); }
  Status connect();
  /// Executes one statement: in the present transaction, or in one of its own.
  Result<Rows> query(const std::string& statement, const Values& values = {});
  /// query() for one number in one row. 0: there is no row, or it is NULL.
  Result<std::int64_t> number(const std::string& statement, const Values& values = {});
  /// query() without an answer.
  Status execute(const std::string& statement, const Values& values = {});
  /// Runs 'work' in a transaction, which an error, an exception, or a failed query of 'work' undoes. Within the work of another transaction
  /// it is a part of that one. See confirm_by() for a connection that is lost during the commit.
  Status transaction(const std::function<Status()>& work);

  virtual bool is_connected() const noexcept = 0;
  /// Counts transactions. The same number: the same transaction.
  std::int64_t transaction_number() const noexcept { return number_; }
  /// Executes a statement without an answer in the present transaction, together with the next one or with the commit, whose error an error
  /// of it is. 'values' is called at that time, so that changes of several calls can be one statement. There may be one at a time.
  void defer(const char* statement, std::function<Values()> values) { deferred_ = Deferred{statement, std::move(values)}; }
  bool has_deferred() const noexcept { return deferred_.has_value(); }
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

 protected:
  struct Command {
    const char* text;
    const Values* values;
  };
  /// What goes out before a statement.
  struct Openings {
    std::vector<std::string> transaction;  // The first one of a transaction.
    std::vector<std::string> alone;        // One that is a transaction of its own.
    std::vector<std::string> confirmation;
  };

  Database(const StoreOptions& options, Openings openings);
  virtual Status connect_now() = 0;
  virtual void disconnect() noexcept = 0;
  /// Sends all, and returns the answer of the last one, or the first error. The connection is open.
  virtual Result<Rows> exchange(std::span<const Command> commands) = 0;
  /// Drops the connection.
  Status lost(const std::string& reason);

  std::string name_ = "the database of jobs";
  const SystemClock system_clock_;

 private:
  struct Deferred {
    const char* statement;
    std::function<Values()> values;
  };
  struct Confirmation {
    std::string statement;
    Values values;
    std::int64_t written = 0;
  };

  Result<Rows> send(const std::vector<std::string>& opening, const std::string& statement, const Values& values);
  Status commit();
  void rollback();
  /// True if the transaction of 'unresolved_' was committed.
  Result<bool> resolve();

  const Clock& clock_;
  const Openings openings_;
  Instant connect_at_;  // No earlier attempt to connect.
  Duration pause_{0};
  Status connect_error_;
  std::function<Status()> prepare_;

  bool is_in_transaction_ = false;
  bool has_begun_ = false;  // The begin goes out with the first statement.
  Status failed_;           // The first error in the present transaction.
  std::int64_t number_ = 0;
  std::optional<Confirmation> confirmation_;  // For the present transaction.
  std::optional<Deferred> deferred_;
  std::string last_statement_;
  std::vector<std::function<void()>> after_commit_;
  std::optional<Confirmation> unresolved_;  // For a transaction whose outcome is not known.
  bool has_missed_commit_ = false;
};

}  // namespace rondo::jobs::server
