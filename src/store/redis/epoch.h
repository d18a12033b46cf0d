// Epoch: detects that the server, or its data, is another one than before. The hash RONDO_EPOCH of the database holds the run id of the
// server to which a store last connected. It also holds a number that grows with each such server. It is replicated and saved with the
// tables, so all stores agree on it (ADR 0011). If a server refuses the script, only its run id distinguishes it. The cost is one small
// script after each connect, and one each tick. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "rondo/store/redis_store.h"
#include "store/redis/connection.h"

namespace rondo::redis {

class Epoch {
 public:
  /// 'while_connected': the earlier server, or its data, was seen on this same connection.
  using Changed = std::function<void(bool while_connected)>;

  Epoch(Connection& commands, RedisStoreStats& stats, Changed changed) : commands_(commands), stats_(stats), changed_(std::move(changed)) {}

  /// Sends the script, unless the server refused it or an answer is outstanding. Only while connected.
  void ask();
  /// Call this when the connection is lost.
  void lost() {
    asking_ = refused_ = seen_here_ = false;
    stats_.epoch = 0;
  }

 private:
  void answered(const Reply& reply);

  Connection& commands_;
  RedisStoreStats& stats_;
  const Changed changed_;
  std::string run_id_;        // The run id of the last server.
  std::uint64_t number_ = 0;  // The last known number.
  bool asking_ = false;
  bool refused_ = false;
  bool seen_here_ = false;  // An answer arrived on this connection.
};

}  // namespace rondo::redis
