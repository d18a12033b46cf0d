// SentinelFinder: asks Redis Sentinels, one after the other, where the master is. Nothing here waits. Scheduler's thread.
#pragma once

#include <cstddef>
#include <functional>

#include "store/redis/connection.h"

namespace rondo::redis {

class SentinelFinder final : Connection::User {
 public:
  /// The address of the master itself, without Sentinels.
  using Found = std::function<void(const RedisAddress& master)>;

  /// 'address' names Sentinels. 'found' is called in a turn of the finder's connection, once for each search that has an answer.
  SentinelFinder(Scheduler& scheduler, ConnectionOptions options, RedisAddress address, Found found);

  /// Begins a search, if none is under way. It ends with an answer, however long that takes. Searches that follow each other are more and
  /// more apart: the Sentinels name a dead master until they have agreed on another.
  void find();
  /// Of the master, and of the Sentinels from the next of them on.
  void set_passwords(const std::string& password, const std::string& sentinel_password) {
    address_.password = password;
    address_.sentinel_password = sentinel_password;
  }
  /// Why there is no answer yet; ok when there is no search.
  const Status& trouble() const noexcept { return trouble_; }

 private:
  void connected(Connection& connection) override;
  void lost(Connection& connection, const Status& why, bool was_connected) override;
  void answered(const Reply& reply);
  void ask_next();

  Scheduler& owner_;
  RedisAddress address_;
  const Duration pause_low_;
  const Duration pause_high_;
  const Found found_;
  std::size_t next_ = 0;
  bool searching_ = false;
  Duration pause_{};  // Between the last answer and the next search.
  Instant answered_;
  Status trouble_;
  Connection connection_;
};

}  // namespace rondo::redis
