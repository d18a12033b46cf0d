// Ownership: the lease of the jobs for one scheduler, as rows of the table shards, and the fence of its transactions.
//
// The owner is a number that is drawn at random for each store, and each claim begins a new epoch. A renewal and each transaction that
// writes name both. So a scheduler that was stopped, and whose lease another one has taken meanwhile, cannot write when it goes on: the
// check writes the number of the transaction to a row of the table, and the other scheduler waits for its end before it takes that row. The
// number also shows whether a transaction was committed whose commit got no answer.
//
// The lease counts from the time when its renewal was sent, by the monotonic clock. The end in the table is the database's time alone.
// One thread, except as stated.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jobs/server/database.h"
#include "jobs/server/statements.h"
#include "rondo/base/status.h"
#include "rondo/jobs/scheduler_claim.h"

namespace rondo::jobs::server {

class Ownership {
 public:
  /// 'database' and 'statements' must outlive it.
  Ownership(Database& database, const Statements& statements, const StoreOptions& options);
  /// Gives the jobs up.
  ~Ownership();
  Ownership(const Ownership&) = delete;
  Ownership& operator=(const Ownership&) = delete;

  /// JobStore::claim(). FailedPrecondition also if the clocks of the database and of this machine differ by more than half a lease.
  Status claim();
  /// Called in each transaction before it writes: renews, or checks, what is claimed. Without a claim it counts the transaction for the
  /// owner.
  Status check();
  /// JobStore::is_changed_elsewhere(). Renews.
  Result<bool> is_changed_elsewhere();
  /// JobStore::schedulers().
  Result<std::vector<SchedulerClaim>> schedulers();
  /// JobStore::may_begin() and is_taken_over(). Any thread.
  bool may_begin(Instant now) const noexcept { return now.nanoseconds() < trusted_until_; }
  bool is_taken_over() const noexcept { return is_lost_; }
  /// JobStore::clock_difference(). Any thread.
  Duration clock_difference() const noexcept { return Duration{clock_difference_}; }

 private:
  /// AlreadyExists if another store owns a shard.
  Status check_others();
  Status take();
  /// check() for a transaction that only renews: whether its commit is stored does not matter.
  Status check_lease();
  Status renew();
  /// Writes to the rows of these shards, which must still be its own.
  Status check_shards(std::span<const int> shards);
  bool is_renewal_due() const { return clock_.now() >= renewed_at_ + lease_ / 3; }
  void note_renewal(Instant sent);
  Status lose(std::string why);
  Status check_clock(WallTime before, std::int64_t microseconds);

  Database& database_;
  const Statements& statements_;
  const SystemClock system_clock_;
  const Clock& clock_;
  const Duration lease_;
  const std::string owner_;
  const std::string name_;  // "process 123 on host, http://host:8700"
  bool is_claimed_ = false;
  std::int64_t epoch_ = 0;
  Instant renewed_at_;  // When the last renewal was sent.
  std::atomic<std::int64_t> trusted_until_ = INT64_MIN;
  std::atomic<bool> is_lost_ = false;
  std::atomic<Duration::rep> clock_difference_ = 0;
  std::int64_t checked_in_ = 0;  // In this transaction.
  std::int64_t changes_ = 0;     // The version that was read last.
  Status lost_;                  // Once it is set, nothing is written any more.
};

}  // namespace rondo::jobs::server
