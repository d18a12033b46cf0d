// See redis_maker.h.
#include "rondod/redis_maker.h"

#include <chrono>
#include <utility>

#include "agent/priorities.h"
#include "rondo/base/limits.h"
#include "rondo/store/redis_address.h"
#include "rondo/store/redis_store.h"

namespace rondo::daemon {
namespace {

class OpenWrites final : public RedisWrites {
 public:
  OpenWrites(const RedisStore& store, std::string where) : store_(store), where_(std::move(where)) {}
  std::string where() const override { return where_; }
  std::size_t unanswered() const override { return store_.unanswered(); }

 private:
  const RedisStore& store_;
  const std::string where_;
};

}  // namespace

Result<StoreMaker> redis_maker(const StorePlace& place, RedisHooks hooks) {
  const std::string& url = place.url;
  Result<RedisAddress> address = parse_redis_address(url);
  if (!address) return failure(address.error());
  const bool from_file = url.find("?password_file=") != std::string::npos || url.find("&password_file=") != std::string::npos;
  if (!address->password.empty() && !from_file) {
    return failure(Code::InvalidArgument, "it holds a password, which --check-config would print: write ?password_file=FILE");
  }
  RedisStoreOptions options;
  options.address = std::move(*address);
  options.separator = place.separator.front();
  options.replicas = place.replicas;
  options.replicas_timeout = std::chrono::milliseconds{place.replicas_timeout_ms};
  options.priority = agent::kStores;
  options.writes_max = limits::kWaitingWrites;
  options.write_bytes_max = limits::kWaitingWriteBytes;
  options.name = "store " + options.address.to_string();
  const std::string where = options.address.to_string();
  options.on_failover = [told = std::move(hooks.on_failover), where](std::uint64_t epoch) { told(where, epoch); };
  return StoreMaker{[options, where, on_open = std::move(hooks.on_open)](Scheduler& scheduler) {
    auto store = std::make_unique<RedisStore>(scheduler, options);
    on_open(std::make_unique<OpenWrites>(*store, where));
    return store;
  }};
}

}  // namespace rondo::daemon
