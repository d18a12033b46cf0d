#include "store/redis/sentinel_finder.h"

#include <charconv>

namespace rondo::redis {

SentinelFinder::SentinelFinder(Scheduler& scheduler, ConnectionOptions options,
                               std::vector<std::pair<std::string, std::uint16_t>> sentinels, std::string master, Found found)
    : sentinels_(std::move(sentinels)),
      master_(std::move(master)),
      found_(std::move(found)),
      connection_(scheduler, RedisAddress{}, std::move(options), *this) {}

void SentinelFinder::find() {
  if (searching_) return;
  searching_ = true;
  trouble_ = Status{Code::Unavailable, "asking the Sentinels for the master '" + master_ + "'"};
  ask_next();
  connection_.start();
}

void SentinelFinder::ask_next() {
  const auto& [host, port] = sentinels_[next_++ % sentinels_.size()];
  RedisAddress address;
  address.host = host;
  address.port = port;
  connection_.set_address(std::move(address));
}

void SentinelFinder::connected(Connection& connection) {
  connection.out().command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_});
  connection.expect(1, [this](const Reply& reply, const Status&) { answered(reply); });
}

void SentinelFinder::answered(const Reply& reply) {
  const std::span<const Reply> parts = reply.items();
  std::uint16_t port = 0;
  const std::string_view digits = parts.size() == 2 ? parts[1].text() : std::string_view{};
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || stop != digits.data() + digits.size()) {
    connection_.give_up({Code::NotFound, "this Sentinel knows no master '" + master_ + "'"});
    return;
  }
  searching_ = false;
  trouble_ = Status{};
  const std::string host{parts[0].text()};
  connection_.stop();
  found_(host, port);
}

void SentinelFinder::lost(Connection&, const Status& why, bool) {
  if (!searching_) return;
  trouble_ = why;
  ask_next();
}

}  // namespace rondo::redis
