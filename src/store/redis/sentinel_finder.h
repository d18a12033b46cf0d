// SentinelFinder: asks Redis Sentinels, one after the other, where the master is. Nothing here waits. Scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/connection.h"

namespace rondo::redis {

class SentinelFinder final : Connection::User {
 public:
  using Found = std::function<void(const std::string& host, std::uint16_t port)>;

  /// 'sentinels' is not empty. 'found' is called in a turn of the finder's connection, once for each search that has an answer.
  SentinelFinder(Scheduler& scheduler, ConnectionOptions options, std::vector<std::pair<std::string, std::uint16_t>> sentinels,
                 std::string master, Found found);

  /// Begins a search, if none is under way. It ends with an answer, however long that takes.
  void find();
  /// Why there is no answer yet; ok when there is no search.
  const Status& trouble() const noexcept { return trouble_; }

 private:
  void connected(Connection& connection) override;
  void lost(Connection& connection, const Status& why, bool was_connected) override;
  void answered(const Reply& reply);
  void ask_next();

  const std::vector<std::pair<std::string, std::uint16_t>> sentinels_;
  const std::string master_;
  const Found found_;
  std::size_t next_ = 0;
  bool searching_ = false;
  Status trouble_;
  Connection connection_;
};

}  // namespace rondo::redis
