// Stores on Redis, as far as this program was built with them: redis_maker.cc, or else no_redis.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"
#include "rondod/config.h"

namespace rondo::daemon {

using StoreMaker = std::function<Result<std::unique_ptr<Store>>(Scheduler&)>;

/// Called in a turn when the Redis of a store is another one than before: its address, and RedisStoreStats::epoch.
using OnFailover = std::function<void(const std::string& store, std::uint64_t epoch)>;

/// Of a store on Redis; as RedisStoreStats and RedisLease have them.
struct RedisFigures {
  std::string lease = "off";  // "off", "asking", "held", "standby", "lost" or "refused".
  std::string holder = {};    // Of the lease, for people.
  std::string lease_refused = {};
  std::string lease_damage = {};  // What stood in place of the last token; empty if that was one.
  std::uint64_t token = 0;
  std::uint64_t connects = 0;
  std::uint64_t epoch = 0;
  std::uint64_t failovers = 0;
  std::uint64_t fenced = 0;
  std::uint64_t unfenced = 0;
  std::uint64_t pops = 0;
  std::uint64_t popped = 0;
  std::uint64_t recovered = 0;
  std::uint64_t malformed = 0;
  std::string last_damage = {};
};

/// A store on Redis of this process. Valid as long as that.
class OpenRedis {
 public:
  virtual ~OpenRedis() = default;
  /// The address, for people.
  virtual std::string where() const = 0;
  /// Accepted writes whose end is not known yet: the end of the store drops them.
  virtual std::size_t unanswered() const = 0;
  virtual RedisFigures figures() const = 0;
  /// It has consumers and does not hold the lease that they need, and its server can be asked.
  virtual bool waits_for_lease() const = 0;
  /// Reads the password files of the address again, for the next connections. True if a password is another one.
  virtual Result<bool> read_passwords() = 0;
  /// RedisStore::release_lease().
  virtual bool release_lease() = 0;
};

struct RedisHooks {
  OnFailover on_failover = {};
  std::function<void(std::unique_ptr<OpenRedis> store)> on_open = {};
  /// Called in a turn when the state of a store's lease changes.
  std::function<void(const StorePlace& place, const std::string& where, const RedisFigures& figures)> on_lease = {};
  /// RedisStoreOptions::may_take_lease, of the store at 'where'.
  std::function<bool(const std::string& where)> may_take_lease = {};
};

/// The files of certificates and keys that 'url', which was checked, names.
std::vector<std::string> redis_files(const std::string& url);

/// A store on the Redis at 'place.url'; see check_store_url() for what is refused.
Result<StoreMaker> redis_maker(const StorePlace& place, RedisHooks hooks);

}  // namespace rondo::daemon
