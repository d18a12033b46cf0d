// RedisSession: a scheduler in this process and one connection to a Redis, for commands that block until they are answered. Stores may use
// the same scheduler (backend.cc). Every wait ends after 'patience' of silence. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/redis_address.h"
#include "store/redis/connection.h"

namespace rondo::cli {

/// A reply that owns its data.
struct RedisAnswer {
  std::string text;                // For texts and states.
  std::int64_t integer = 0;        // For integers.
  std::vector<RedisAnswer> items;  // For lists.
  Status error;                    // For errors.
};

using RedisCommand = std::vector<std::string>;

class RedisSession {
 public:
  explicit RedisSession(Duration patience);
  ~RedisSession();
  RedisSession(const RedisSession&) = delete;
  RedisSession& operator=(const RedisSession&) = delete;

  /// Connects; with Sentinels, to the master that they name. Tries each address of the host once, because the caller waits for the answer.
  /// Unavailable (or PermissionDenied, InvalidArgument) states the address and the reason.
  Status connect(RedisAddress address);
  /// The address of the connection: the master's own address if Sentinels named it.
  const RedisAddress& address() const noexcept { return address_; }

  /// Sends the commands together and waits for all answers; an answer may be an error. Fails only if the connection broke or was silent.
  Result<std::vector<RedisAnswer>> ask(const std::vector<RedisCommand>& commands);
  /// The same for one command; an error reply becomes the result's error.
  Result<RedisAnswer> ask(const RedisCommand& command);

  Scheduler& scheduler() noexcept { return scheduler_; }
  const Clock& clock() const noexcept { return clock_; }
  Duration patience() const noexcept { return patience_; }

  /// Runs turns until 'done()' or the deadline. Returns true if 'done()' became true.
  template <class Done>
  bool run_until(Done done, Instant deadline) {
    for (;;) {
      scheduler_.run_until_idle(kTurns);
      if (done()) return true;
      if (clock_.now() >= deadline) return false;
      scheduler_.wait(deadline);
    }
  }
  template <class Done>
  bool run_until(Done done) {
    return run_until(done, clock_.now() + patience_);
  }

 private:
  static constexpr std::uint64_t kTurns = 1024;
  struct User;
  Status connect_to(const RedisAddress& address);
  Result<RedisAddress> find_master(const RedisAddress& address);

  const Duration patience_;
  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_;
  Scheduler scheduler_;
  RedisAddress address_;
  std::unique_ptr<User> user_;
};

}  // namespace rondo::cli
