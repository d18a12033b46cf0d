// Lease: decides which store may consume the Staged and Queue tables of a database. Two stores that pop one table would split its rows, and
// each would assume that it has all of them. The key RONDO_LEASE of the database names the holder and expires. The hash RONDO_EPOCH keeps
// a token that grows with each new holder, and the name of the last one. Every script that pops or acknowledges compares the key first (the
// fence). So a holder that slept longer than its lease changes nothing when it wakes (ADR 0019). The cost is one small script for each
// third of the lease. Scheduler's thread.
#pragma once

#include <functional>
#include <string>

#include "rondo/store/redis_store.h"
#include "store/redis/connection.h"
#include "store/redis/remote_subscription.h"

namespace rondo::redis {

class Lease {
 public:
  struct Hooks {
    std::function<void()> granted;  // Consumers may continue.
    std::function<void()> paused;   // Consumers must stop: another store may hold the lease.
  };

  Lease(Link& link, Hooks hooks);

  bool is_off() const noexcept { return state_.state == RedisLease::State::Off; }
  /// True if consumers may be online.
  bool allows() const noexcept { return is_off() || state_.state == RedisLease::State::Refused || held_; }
  /// Takes or renews the lease if that is due. 'wanted': there is a consumer.
  void ask(bool wanted);
  /// Call this when the connection is lost.
  void lost();
  /// Call this when the server refused an operation that only the holder may do.
  void fenced();
  /// Releases the lease; true when that is done. It is not taken again.
  bool release();
  const RedisLease& state() const noexcept { return state_; }
  /// Why consumers get nothing; ok while they may consume, and for a standby.
  Status trouble() const;

 private:
  bool may_take();
  void send(std::string_view gone_holder);
  void answered(const Reply& reply, Instant sent);
  void expire();
  void grant(std::uint64_t token, Instant sent);
  void held_by_another(std::string_view value);
  void move_to(RedisLease::State state, std::string holder);

  Link& link_;
  const Hooks hooks_;
  const std::string me_;
  RedisLease state_;
  Status trouble_;
  Status may_take_thrown_;  // What RedisStoreOptions::may_take_lease threw when it was called last.
  std::string tried_;       // The lease value of a terminated holder, after the attempt to take it over.
  Instant next_;            // When the next renewal is due.
  bool held_ = false;       // The lease is held on this connection.
  bool asking_ = false;
  bool released_ = false;
  bool releasing_ = false;
};

}  // namespace rondo::redis
