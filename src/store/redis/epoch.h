// Epoch: which server this is, told apart from the one before. The hash RONDO_EPOCH of the database holds the run id of the server that a
// store of ours last came up on, and a number that grows with each such server; it is replicated and saved with the tables, so all stores
// agree on it (ADR 0011). A server that refuses the script is told apart by its run id alone. One small script when the connection comes,
// and one each tick. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "rondo/store/redis_store.h"
#include "store/redis/connection.h"

namespace rondo::redis {

class Epoch {
 public:
  /// 'while_connected': the connection is the one on which the earlier server, or its data, was seen.
  using Changed = std::function<void(bool while_connected)>;

  Epoch(Connection& commands, RedisStoreStats& stats, Changed changed) : commands_(commands), stats_(stats), changed_(std::move(changed)) {}

  /// Asks, if the server lets us and owes no answer already. Only while connected.
  void ask();
  /// The connection is gone.
  void lost() {
    asking_ = refused_ = seen_here_ = false;
    stats_.epoch = 0;
  }

 private:
  void answered(const Reply& reply);

  Connection& commands_;
  RedisStoreStats& stats_;
  const Changed changed_;
  std::string run_id_;        // Of the last server.
  std::uint64_t number_ = 0;  // The last one that was known.
  bool asking_ = false;
  bool refused_ = false;
  bool seen_here_ = false;  // There was an answer on this connection.
};

}  // namespace rondo::redis
