// Stores on Redis. The functions exist in a build with Redis only; registry.h is for every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/store/redis_store.h"
#include "rondod/configuration/config.h"
#include "rondod/stores/store_maker.h"

namespace rondo::daemon {

/// Called in a turn when a store uses another Redis than before: its address, and RedisStoreStats::epoch.
using OnFailover = std::function<void(const std::string& store, std::uint64_t epoch)>;

/// A store on Redis of this process. Valid as long as that store.
class OpenRedis {
 public:
  virtual ~OpenRedis() = default;
  /// The address, as text for operators.
  virtual std::string where() const = 0;
  /// Accepted writes without a known result: destroying the store drops them.
  virtual std::size_t unanswered() const = 0;
  virtual const RedisStoreStats& stats() const = 0;
  virtual const RedisLease& lease() const = 0;
  /// True if it has consumers, does not hold the lease that they need, and its server can be reached.
  virtual bool waits_for_lease() const = 0;
  /// Reads the password files of the address again, for later connections. Returns true if a password changed.
  virtual Result<bool> read_passwords() = 0;
};

struct RedisHooks {
  OnFailover on_failover = {};
  std::function<void(std::unique_ptr<OpenRedis> store)> on_open = {};
  /// Called in a turn when the state of a store's lease changes.
  std::function<void(const StorePlace& place, const std::string& where, const RedisLease& lease)> on_lease = {};
  /// RedisStoreOptions::may_take_lease of the store at 'where'.
  std::function<bool(const std::string& where)> may_take_lease = {};
};

/// The files of certificates and keys that 'url' names; 'url' must have been checked.
std::vector<std::string> redis_files(const std::string& url);

/// Makes a store on the Redis at 'place.url'. See check_store_url() for refused addresses.
Result<StoreMaker> make_redis(const StorePlace& place, RedisHooks hooks);

}  // namespace rondo::daemon
