// Lease: which store may consume the Staged and Queue tables of a database. Two that pop one table split its rows, and each is sure to have
// them all. The key RONDO_LEASE of the database names the holder and expires; the hash RONDO_EPOCH keeps a token that grows with each new
// holder, and who the last one was. Every script that pops or acknowledges compares the key first (the fence), so a holder that slept for
// longer than its lease changes nothing when it wakes up (ADR 0019). One small script for each third of the lease. Scheduler's thread.
#pragma once

#include <functional>
#include <string>

#include "rondo/store/redis_store.h"
#include "store/redis/connection.h"
#include "store/redis/end.h"

namespace rondo::redis {

class Lease {
 public:
  struct Hooks {
    std::function<void()> granted;  // Consumers may go on.
    std::function<void()> paused;   // They must stop: the lease may be another store's.
  };

  Lease(Link& link, Hooks hooks);

  bool is_off() const noexcept { return state_.state == RedisLease::State::Off; }
  /// Consumers may be online.
  bool allows() const noexcept { return is_off() || state_.state == RedisLease::State::Refused || held_; }
  /// Takes or renews it if that is due. 'wanted': there is a consumer.
  void ask(bool wanted);
  /// The connection is gone.
  void lost();
  /// The server refused what only the holder may do.
  void fenced();
  /// Gives it back; true when that is done. It is not taken again.
  bool release();
  const RedisLease& state() const noexcept { return state_; }
  /// Why consumers get nothing; ok while they may, and for a standby.
  Status trouble() const;

 private:
  void send(std::string_view gone_holder);
  void answered(const Reply& reply, Instant sent);
  void grant(std::uint64_t token, Instant sent);
  void held_by_another(std::string_view value);
  void move_to(RedisLease::State state, std::string holder);

  Link& link_;
  const Hooks hooks_;
  const std::string me_;
  RedisLease state_;
  Status trouble_;
  std::string tried_;  // What a holder that is gone had left, and was to be taken from it.
  Instant next_;       // When the next renewal is due.
  bool held_ = false;  // On this connection.
  bool asking_ = false;
  bool released_ = false;
  bool releasing_ = false;
};

}  // namespace rondo::redis
