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

/// What a store on Redis of this process has accepted. Valid as long as that.
class RedisWrites {
 public:
  virtual ~RedisWrites() = default;
  /// The address, for people.
  virtual std::string where() const = 0;
  /// Writes whose end is not known yet: the end of the store drops them.
  virtual std::size_t unanswered() const = 0;
};

struct RedisHooks {
  OnFailover on_failover = {};
  std::function<void(std::unique_ptr<RedisWrites> writes)> on_open = {};
};

/// A store on the Redis at 'place.url'; see check_store_url() for what is refused.
Result<StoreMaker> redis_maker(const StorePlace& place, RedisHooks hooks);

}  // namespace rondo::daemon
