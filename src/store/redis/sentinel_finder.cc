#include "store/redis/sentinel_finder.h"

#include <algorithm>
#include <charconv>

namespace rondo::redis {

SentinelFinder::SentinelFinder(Scheduler& scheduler, ConnectionOptions options, RedisAddress address, Found found)
    : owner_(scheduler),
      address_(std::move(address)),
      pause_low_(options.backoff_low),
      pause_high_(options.backoff_high),
      found_(std::move(found)),
      connection_(scheduler, RedisAddress{}, std::move(options), *this) {}

void SentinelFinder::find() {
  if (searching_) return;
  searching_ = true;
  trouble_ = Status{StatusCode::Unavailable, "asking the Sentinels for the master '" + address_.sentinel_master + "'"};
  ask_next();
  const Duration since = owner_.now() - answered_;
  if (since >= pause_high_) pause_ = Duration{};
  connection_.start(std::max(Duration{}, pause_ - since));
  pause_ = std::clamp(pause_ * 2, pause_low_, pause_high_);
}

void SentinelFinder::ask_next() { connection_.set_address(address_.sentinel(next_++ % address_.sentinels.size())); }

void SentinelFinder::connected(Connection& connection) {
  connection.out().command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address_.sentinel_master});
  connection.expect(1, shape::kAny, [this](const Reply& reply, const Status&) { answered(reply); });
}

void SentinelFinder::answered(const Reply& reply) {
  const std::span<const Reply> parts = reply.items();
  std::uint16_t port = 0;
  const std::string_view digits = parts.size() == 2 ? parts[1].text() : std::string_view{};
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || stop != digits.data() + digits.size()) {
    connection_.give_up({StatusCode::NotFound, "this Sentinel knows no master '" + address_.sentinel_master + "'"});
    return;
  }
  searching_ = false;
  answered_ = owner_.now();
  trouble_ = Status{};
  const RedisAddress master = address_.master(parts[0].text(), port);
  connection_.stop();
  found_(master);
}

void SentinelFinder::lost(Connection&, const Status& why, bool) {
  if (!searching_) return;
  trouble_ = why;
  ask_next();
}

}  // namespace rondo::redis
