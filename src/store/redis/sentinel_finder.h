// SentinelFinder: requests the master's address from Redis Sentinels, one after the other. No call blocks. Scheduler's thread.
#pragma once

#include <cstddef>
#include <functional>

#include "store/redis/connection.h"

namespace rondo::redis {

class SentinelFinder final : Connection::User {
 public:
  /// Receives the address of the master itself, without Sentinels.
  using Found = std::function<void(const RedisAddress& master)>;

  /// 'address' names Sentinels. 'found' is called in a turn of the finder's connection, once for each search that has an answer.
  SentinelFinder(Scheduler& scheduler, ConnectionOptions options, RedisAddress address, Found found);

  /// Begins a search unless one is running. A search continues until it has an answer. The delay between consecutive searches grows,
  /// because the Sentinels name a dead master until they have agreed on another.
  void find();
  /// Sets the password of the master, and the password of the Sentinels for the next attempt on.
  void set_passwords(const std::string& password, const std::string& sentinel_password) {
    address_.password = password;
    address_.sentinel_password = sentinel_password;
  }
  /// Why there is no answer yet; ok when no search is running.
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
  Duration pause_{};  // The delay between the last answer and the next search.
  Instant answered_;
  Status trouble_;
  Connection connection_;
};

}  // namespace rondo::redis
