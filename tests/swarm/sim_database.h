// SimDatabase: a database server of several schedulers in simulated time. SQLite in memory carries out the statements of
// jobs::server, with the store, the ownership and the transactions of the product; only the connection and the dialect are other ones.
//
// A connection can be cut, a commit can be stored without an answer or be lost, and a scheduler can stop inside a transaction, whose locks
// the server holds until it ends the transaction. The server checks that each scheduler that
// writes owns the jobs, and knows who owned them at any time. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/server/database.h"

struct sqlite3;

namespace rondo::swarm {

class SimDatabase {
 public:
  /// What the server gets wrong, for the tests of its checks.
  enum class Broken : std::uint8_t {
    No,
    ForgetsOwners,  // A scheduler does not see that another one owns the jobs.
    FencesNothing,  // A scheduler that has lost the jobs renews its lease, and its writes are stored.
    LosesCommits,   // One commit in 16 answers ok, and is not stored.
  };
  enum class Commit : std::uint8_t { Answered, StoredWithoutAnswer, Lost };

  /// The way of one scheduler to the server: what goes wrong on it. It must outlive the stores that use it.
  struct Line {
    Instant down_until{};  // No connection before.
    Commit next_commit = Commit::Answered;
    Duration stops_in_transaction{0};  // Above 0: the scheduler stops for this time within its next transaction.
    std::function<void(Duration)> on_stop = {};
  };
  /// A process of a scheduler at the server.
  class Session {
   public:
    /// Ends the process without another request to the server.
    void cut() noexcept { is_cut_ = true; }

   private:
    friend class SimDatabase;
    Session(Line& line, const Clock& clock) : line_(line), clock_(clock) {}
    Line& line_;
    const Clock& clock_;
    bool is_cut_ = false;
    std::string taken_;  // The owner that the present transaction takes the jobs for.
    std::string owner_;  // The owner for which its last commit that took the jobs took them.
  };

  SimDatabase(const Clock& clock, Broken broken);
  ~SimDatabase();
  SimDatabase(const SimDatabase&) = delete;
  SimDatabase& operator=(const SimDatabase&) = delete;

  std::shared_ptr<Session> session(Line& line, const Clock& clock) { return std::shared_ptr<Session>{new Session(line, clock)}; }
  std::shared_ptr<jobs::JobStore> make_store(std::shared_ptr<Session> session, Duration lease);
  WallTime wall(Instant now) const { return wall_ + (now - start_); }

  /// Returns true if this process owned the jobs at that time.
  bool is_owner(const Session& session, Instant now) const;
  /// The first number of the first row; 0 without one.
  std::int64_t number(const std::string& statement) const;
  /// Returns all cells of all rows, with blanks between them.
  std::string text(const std::string& statement) const;
  /// The first fault that the server saw.
  const Status& trouble() const noexcept { return trouble_; }
  /// How often the jobs were taken.
  std::size_t takeovers() const noexcept { return owners_.size(); }

 private:
  class Connection;
  struct Owner {
    Instant since;
    std::string id;
  };
  Result<jobs::server::Rows> execute(const std::string& text, Instant now);
  Result<jobs::server::Rows> commit(Session& session);
  std::string present_owner() const;
  void fail(std::string what);

  sqlite3* database_ = nullptr;
  const Instant start_;
  const WallTime wall_;
  const Broken broken_;
  std::int64_t now_us_ = 0;   // For the statement that is being executed.
  Instant locked_until_;      // The rows of the shards are locked by a scheduler that was stopped.
  std::int64_t written_ = 0;  // Rows of jobs and runs that the present transaction has changed.
  std::uint64_t commits_ = 0;
  std::vector<Owner> owners_;
  Status trouble_;
};

}  // namespace rondo::swarm
