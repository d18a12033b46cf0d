// RedisWatch: monitors rondod's stores on Redis: their leases, which decide whether this rondod consumes or stands by; data that they
// could not read; and their figures for log, stats and health. Scheduler thread only.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "commands/incidents.h"
#include "rondo/base/clock.h"
#include "rondod/stores/redis.h"

namespace rondo::daemon {

class RedisWatch {
 public:
  /// Calls 'end' when this rondod must stop because another one consumes its tables. Takes no lease while 'plane_holder' returns the name
  /// of a process that programs our namespace; empty: this one does.
  RedisWatch(Log& log, std::function<void(Status why)> end, std::function<std::string()> plane_holder)
      : log_(log), end_(std::move(end)), plane_holder_(std::move(plane_holder)) {}

  /// 'handler' is called when a Redis was emptied, or another one took its place: it may lack rows that this rondod wrote.
  void on_loss(std::function<void()> handler) { on_loss_ = std::move(handler); }
  /// The hooks for the stores. This must outlive the stores.
  RedisHooks hooks();
  const std::vector<std::unique_ptr<OpenRedis>>& stores() const noexcept { return stores_; }
  /// Logs data that was dropped because it could not be read. Called every second.
  void check(const Clock& clock);

  /// True while a store lacks a lease that its consumers need, and may get it.
  bool waits_for_lease() const;
  /// How often a Redis was emptied or replaced, if that is a trouble still; else 0. It may lack rows that are programmed.
  std::uint64_t recent_losses(const Clock& clock);
  boost::json::array figures() const;
  void add_health(const Clock& clock, boost::json::array& notes);

 private:
  /// How long health has a note of a malformed event, and the least time between two lines of the log about them. Any client can publish
  /// such events, so they must neither make this rondod unwell nor fill its log.
  static constexpr Duration kBadEventReported = 60s;
  void report_lease(const StorePlace& place, const std::string& where, const RedisLease& lease);
  /// Makes two rondods with the same stores take the leases in the same order, so that neither holds some of them and waits for the rest.
  bool may_take_lease(const std::string& where) const;
  RedisLease lease_of(const OpenRedis& store) const;
  void check_bad_events(const Clock& clock);

  Log& log_;
  const std::function<void(Status why)> end_;
  const std::function<std::string()> plane_holder_;
  std::function<void()> on_loss_;
  std::vector<std::unique_ptr<OpenRedis>> stores_;
  std::vector<std::uint64_t> damage_reported_;  // By store.
  commands::Incident failovers_{"times that a Redis came back as another server process or without its data"};
  std::uint64_t bad_events_ = 0;
  std::uint64_t bad_events_logged_ = 0;
  std::string last_bad_event_;
  std::optional<Instant> last_bad_event_seen_;
  std::optional<Instant> bad_events_logged_at_;
};

}  // namespace rondo::daemon
