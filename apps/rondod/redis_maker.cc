// See redis_maker.h.
#include "rondod/redis_maker.h"

#include <utility>

#include "agent/priorities.h"
#include "rondo/store/redis_address.h"
#include "rondo/store/redis_store.h"

namespace rondo::daemon {

Result<StoreMaker> redis_maker(const std::string& url, char separator) {
  Result<RedisAddress> address = parse_redis_address(url);
  if (!address) return failure(address.error());
  const bool from_file = url.find("?password_file=") != std::string::npos || url.find("&password_file=") != std::string::npos;
  if (!address->password.empty() && !from_file) {
    return failure(Code::InvalidArgument, "it holds a password, which --check-config would print: write ?password_file=FILE");
  }
  if (!address->sentinels.empty()) return failure(Code::Unimplemented, "rondod does not follow Sentinels: give the master's address");
  RedisStoreOptions options;
  options.address = std::move(*address);
  options.separator = separator;
  options.priority = agent::kStores;
  options.name = "store " + options.address.to_string();
  return StoreMaker{[options](Scheduler& scheduler) { return std::make_unique<RedisStore>(scheduler, options); }};
}

}  // namespace rondo::daemon
