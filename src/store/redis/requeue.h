// Requeue: a Staged table hands each change to its consumer once, and the rows stay in Redis. A consumer that has forgotten them, because
// its process ended, gets them again: every row waits once more, as a Set of all its fields under what waits for the same key already.
// Each page is one step in Redis, so that no write of a producer is overtaken. One connection and one walk over the database for any
// number of tables; starts anew when the connection breaks or the server is busy. Scheduler's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/sentinel_finder.h"
#include "store/redis/table_keys.h"

namespace rondo::redis {

class Requeue final : private Connection::User {
 public:
  /// The Staged tables 'tables' of the database that 'address' names, behind Sentinels the master's. Begins in a turn to come.
  Requeue(Scheduler& scheduler, const RedisAddress& address, char separator, const std::vector<std::string>& tables, Priority priority);

  bool is_done() const noexcept { return done_; }
  /// Rows that wait again.
  std::size_t rows() const noexcept { return rows_; }
  /// What Redis refused; ok if nothing. Such rows are left as they are.
  const Status& refused() const noexcept { return refused_; }

 private:
  void connected(Connection& connection) override;
  void lost(Connection& connection, const Status& why, bool was_connected) override;
  void scan(std::string_view cursor);
  /// After what a server says that will serve us later (BUSY, LOADING) the walk starts anew. Any other error is kept in refused().
  bool retries(const Reply& reply, std::string_view what);
  void scanned(const Reply& reply);
  void stage(const TableKeys& table, const std::vector<std::string>& keys);
  void page_done();

  std::vector<TableKeys> tables_;
  std::string cursor_;
  std::size_t unanswered_ = 0;
  std::size_t rows_ = 0;
  bool done_ = false;
  Status refused_;
  Connection connection_;
  std::unique_ptr<SentinelFinder> finder_;  // Where the address names Sentinels.
};

}  // namespace rondo::redis
