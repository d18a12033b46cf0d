// See redis_watch.h.
#include "rondod/stores/redis_watch.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "commands/answers.h"
#include "commands/notify.h"

namespace rondo::daemon {

namespace {
using commands::notify;
using commands::sentence;
using commands::text;
using State = RedisLease::State;
}  // namespace

RedisHooks RedisWatch::hooks() {
  RedisHooks hooks;
  hooks.on_failover = [this](const std::string& where, std::uint64_t epoch) {
    const auto store = std::ranges::find(stores_, where, [](const std::unique_ptr<OpenRedis>& one) { return one->where(); });
    log_.warn("the Redis may have lost data, what another server process had not saved or replicated is lost",
              {{"store", where}, {"epoch", epoch}, {"why", store == stores_.end() ? std::string{} : (*store)->stats().last_failover}});
    if (on_loss_) on_loss_();
  };
  hooks.on_open = [this](std::unique_ptr<OpenRedis> store) { stores_.push_back(std::move(store)); };
  hooks.on_lease = [this](const StorePlace& place, const std::string& where, const RedisLease& lease) {
    report_lease(place, where, lease);
  };
  hooks.may_take_lease = [this](const std::string& where) { return may_take_lease(where); };
  return hooks;
}

void RedisWatch::report_lease(const StorePlace& place, const std::string& where, const RedisLease& lease) {
  if (lease.state == State::Held) {
    log_.info("consuming the tables on the Redis, the lease is ours", {{"store", where}, {"token", lease.token}});
    if (!lease.damage.empty()) {
      log_.warn("unknown lease token in RONDO_EPOCH (field 'lease'), restarting the count", {{"store", where}, {"was", lease.damage}});
    }
    static_cast<void>(notify("STATUS=serving"));
  } else if (lease.state == State::Standby) {
    if (place.standby == Standby::Refuse) {
      return end_({StatusCode::AlreadyExists, lease.described + " has the lease of the tables on " + where +
                                                  ", and two would split their rows: end that process, or set store.standby = \"wait\""});
    }
    log_.warn("standby: the lease of the tables on the Redis is not ours, waiting for its end",
              {{"store", where}, {"holder", lease.described}});
    static_cast<void>(notify("STATUS=standby for " + lease.described));
  } else if (lease.state == State::Asking) {
    log_.warn("the lease of the tables on the Redis has ended, no row is consumed until it is ours again; 'rondo health' says why",
              {{"store", where}});
    static_cast<void>(notify("STATUS=waiting for the lease of the tables"));
  } else if (lease.state == State::Refused) {
    log_.warn("Redis refuses the lease, consuming without it: a second rondod is not prevented",
              {{"store", where}, {"why", lease.refused}});
  }
}

bool RedisWatch::may_take_lease(const std::string& where) const {
  return plane_holder_().empty() && std::ranges::none_of(stores_, [&where](const std::unique_ptr<OpenRedis>& store) {
           return store->where() < where && store->waits_for_lease();
         });
}

/// A store that may not ask for its lease yet is a standby, too: for the process that programs our namespace, or for the holder of another
/// lease that comes first.
RedisLease RedisWatch::lease_of(const OpenRedis& store) const {
  RedisLease lease = store.lease();
  if (lease.state != State::Asking || may_take_lease(store.where())) return lease;
  lease.described = plane_holder_();
  for (auto other = stores_.begin(); other != stores_.end() && lease.described.empty(); ++other) {
    if ((*other)->lease().state == State::Standby) lease.described = (*other)->lease().described;
  }
  if (!lease.described.empty()) lease.state = State::Standby;
  return lease;
}

bool RedisWatch::waits_for_lease() const {
  return std::ranges::any_of(stores_, [](const std::unique_ptr<OpenRedis>& store) { return store->waits_for_lease(); });
}

std::uint64_t RedisWatch::recent_losses(const Clock& clock) {
  check(clock);
  return failovers_.recent(clock.now());
}

void RedisWatch::check(const Clock& clock) {
  damage_reported_.resize(stores_.size());
  std::uint64_t failovers = 0;
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    const RedisStoreStats& figures = stores_[i]->stats();
    failovers += figures.failovers;
    const std::uint64_t damaged = figures.malformed - figures.bad_events;
    const std::uint64_t news = damaged - std::exchange(damage_reported_[i], damaged);
    if (news == 0) continue;
    log_.error("what was on the Redis could not be read and was dropped",
               {{"store", stores_[i]->where()}, {"count", news}, {"newest", figures.last_damage}});
  }
  failovers_.check(failovers, {}, clock);
  check_bad_events(clock);
}

void RedisWatch::check_bad_events(const Clock& clock) {
  std::uint64_t all = 0;
  for (const std::unique_ptr<OpenRedis>& store : stores_) {
    const RedisStoreStats& figures = store->stats();
    all += figures.bad_events;
    if (!figures.last_bad_event.empty()) last_bad_event_ = store->where() + ": " + figures.last_bad_event;
  }
  const Instant now = clock.now();
  if (std::exchange(bad_events_, all) != all) last_bad_event_seen_ = now;
  if (bad_events_logged_ == all || (bad_events_logged_at_ && now - *bad_events_logged_at_ < kBadEventReported)) return;
  log_.warn("malformed events of other programs were dropped",
            {{"count", all - std::exchange(bad_events_logged_, all)}, {"newest", last_bad_event_}});
  bad_events_logged_at_ = now;
}

boost::json::array RedisWatch::figures() const {
  boost::json::array rows;
  for (const std::unique_ptr<OpenRedis>& store : stores_) {
    const RedisStoreStats& figures = store->stats();
    const RedisLease lease = lease_of(*store);
    rows.push_back(boost::json::object{{"store", text(store->where())},
                                       {"lease", to_string(lease.state)},
                                       {"holder", sentence(lease.described)},
                                       {"token", lease.token},
                                       {"unanswered", store->unanswered()},
                                       {"connects", figures.connects},
                                       {"epoch", figures.epoch},
                                       {"failovers", figures.failovers},
                                       {"fenced", figures.fenced},
                                       {"unfenced", figures.unfenced},
                                       {"pops", figures.pops},
                                       {"popped", figures.popped},
                                       {"recovered", figures.recovered},
                                       {"malformed", figures.malformed},
                                       {"last_damage", sentence(figures.last_damage)},
                                       {"bad_events", figures.bad_events},
                                       {"last_bad_event", sentence(figures.last_bad_event)}});
  }
  return rows;
}

void RedisWatch::add_health(const Clock& clock, boost::json::array& notes) {
  for (const std::unique_ptr<OpenRedis>& store : stores_) {
    // The store itself reports the holder of its own lease.
    const RedisLease lease = lease_of(*store);
    if (lease.state != State::Standby || store->lease().state == State::Standby) continue;
    notes.push_back(sentence("standby: " + lease.described + " holds what comes before the lease of the tables on " + store->where() +
                             "; this rondod goes on when that process ends"));
  }
  check(clock);
  if (last_bad_event_seen_ && clock.now() - *last_bad_event_seen_ < kBadEventReported) {
    notes.push_back(sentence("malformed events of other programs were dropped, " + std::to_string(bad_events_) +
                             " since the start: " + last_bad_event_));
  }
}

}  // namespace rondo::daemon
