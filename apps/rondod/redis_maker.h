// Stores on Redis, as far as this program was built with them: redis_maker.cc, or else no_redis.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"

namespace rondo::daemon {

using StoreMaker = std::function<std::unique_ptr<Store>(Scheduler&)>;

/// A store on the Redis at 'url'; see check_store_url() for what is refused.
Result<StoreMaker> redis_maker(const std::string& url, char separator);

}  // namespace rondo::daemon
