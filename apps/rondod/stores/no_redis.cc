// Replaces redis.cc in a rondod that was built without Redis.
#include "rondod/stores/redis.h"

namespace rondo::daemon {

std::vector<std::string> redis_files(const std::string&) { return {}; }

Result<StoreMaker> redis_maker(const StorePlace&, RedisHooks) {
  return failure(Code::Unimplemented, "this rondod was built without Redis (libhiredis-dev and libssl-dev were missing)");
}

}  // namespace rondo::daemon
