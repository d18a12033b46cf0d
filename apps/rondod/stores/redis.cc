// See redis.h.
#include "rondod/stores/redis.h"

#include <chrono>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/store/durable_limits.h"
#include "rondo/store/redis_address.h"
#include "switch_agent/priorities.h"

namespace rondo::daemon {
namespace {

class OpenedRedis final : public OpenRedis {
 public:
  OpenedRedis(RedisStore& store, std::string where, std::string url, RedisAddress address)
      : store_(store), where_(std::move(where)), url_(std::move(url)), address_(std::move(address)) {}
  std::string where() const override { return where_; }
  std::size_t unanswered() const override { return store_.unanswered(); }
  const RedisStoreStats& stats() const override { return store_.stats(); }
  const RedisLease& lease() const override { return store_.lease(); }
  bool waits_for_lease() const override {
    using State = RedisLease::State;
    const RedisLease& lease = store_.lease();
    // An unreachable store delays the others only at the start, because it may answer a moment later.
    const bool may_answer = store_.health().ok() || clock_.now() < opened_ + kStart;
    return lease.wanted && (lease.state == State::Standby || (lease.state == State::Asking && may_answer));
  }
  Result<bool> read_passwords() override {
    Result<RedisAddress> read = parse_redis_address(url_);
    if (!read) return failure(read.error());
    const bool differs = read->password != address_.password || read->sentinel_password != address_.sentinel_password;
    if (differs) store_.set_passwords(read->password, read->sentinel_password);
    address_ = std::move(*read);
    return differs;
  }

 private:
  static constexpr Duration kStart = 5s;
  RedisStore& store_;
  const std::string where_;
  const std::string url_;
  RedisAddress address_;  // The address as last read.
  const SystemClock clock_;
  const Instant opened_ = clock_.now();
};

}  // namespace

std::vector<std::string> redis_files(const std::string& url) {
  std::vector<std::string> files;
  const Result<RedisAddress> address = parse_redis_address(url);
  if (!address) return files;
  for (const std::string& file : {address->ca_file, address->cert_file, address->key_file}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

Result<StoreMaker> make_redis(const StorePlace& place, RedisHooks hooks) {
  const std::string& url = place.url;
  Result<RedisAddress> address = parse_redis_address(url);
  if (!address) return failure(address.error());
  const bool from_file = url.find("?password_file=") != std::string::npos || url.find("&password_file=") != std::string::npos;
  if (!address->password.empty() && !from_file) {
    return failure(StatusCode::InvalidArgument, "it holds a password, which --check-config would print: write ?password_file=FILE");
  }
  RedisStoreOptions options;
  options.address = std::move(*address);
  options.separator = place.separator.front();
  options.replicas = place.replicas;
  options.replicas_timeout = std::chrono::milliseconds{place.replicas_timeout_ms};
  options.priority = switch_agent::kStores;
  options.writes_max = limits::kWaitingWrites;
  options.write_bytes_max = limits::kWaitingWriteBytes;
  options.name = "store " + options.address.to_string();
  const std::string where = options.address.to_string();
  options.log_unreachable = false;  // Daemon::watch_store() logs it.
  options.notify_each_key = place.notify_each_key;
  options.lease = std::chrono::milliseconds{place.lease_ms};
  options.on_failover = [told = std::move(hooks.on_failover), where](std::uint64_t epoch) { told(where, epoch); };
  options.on_lease = [told = std::move(hooks.on_lease), place, where](const RedisLease& lease) { told(place, where, lease); };
  options.may_take_lease = [may = std::move(hooks.may_take_lease), where] { return may(where); };
  return StoreMaker{[options, where, url, on_open = std::move(hooks.on_open)](Scheduler& scheduler) {
    auto store = std::make_unique<RedisStore>(scheduler, options);
    on_open(std::make_unique<OpenedRedis>(*store, where, url, options.address));
    return store;
  }};
}

}  // namespace rondo::daemon
