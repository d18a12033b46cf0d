#include "rondod/fpm/fpm_feed.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "base/counted.h"
#include "base/user_name.h"
#include "fpm/peer_user.h"
#include "rondod/configuration/user_names.h"

namespace rondo::daemon {

namespace {
/// How often it looks whether the rows of an earlier run can be read. A connection to a Redis takes some milliseconds.
constexpr Duration kAdoptLook = 20ms;
/// Routes that one step of count_absent() checks.
constexpr std::size_t kCounted = 2048;
}  // namespace

FpmFeed::FpmFeed(Runtime& runtime, switch_agent::SwitchAgent& agent, const FpmChoice& choice, RedisWatch& redis, Log& log)
    : runtime_(runtime), agent_(agent), choice_(choice), redis_(redis), log_(log), adopt_timer_("fpm adoption", Priority{8}, [this] {
        adopt();
      }) {}

FpmFeed::~FpmFeed() {
  agent_.on_route_answers({});
  redis_.on_loss({});
}

Result<std::unique_ptr<FpmFeed>> FpmFeed::open(Runtime& runtime, switch_agent::SwitchAgent& agent, const FpmChoice& choice,
                                               RedisWatch& redis, Log& log) {
  std::unique_ptr<FpmFeed> feed{new FpmFeed(runtime, agent, choice, redis, log)};
  if (!choice.users.empty()) feed->find_users();
  feed->wait_until_ = runtime.clock().now() + std::chrono::seconds{choice.wait_s};
  auto server = fpm::Server::open(runtime.scheduler(), runtime.store(), feed->options(runtime.store()));
  if (!server) return failure(server.error());
  feed->server_ = std::move(*server);
  agent.on_route_answers([server = feed->server_.get()] { server->routes_answered(); });
  redis.on_loss([server = feed->server_.get()] { server->rows_were_lost(); });
  feed->server_->on_event([self = feed.get()](const fpm::Event& event) { self->report(event); });
  feed->tap();
  runtime.scheduler().add(feed->adopt_timer_);
  feed->adopt();
  return feed;
}

void FpmFeed::adopt() {
  if (redis_.waits_for_lease()) return adopt_timer_.arm_at(runtime_.scheduler().now() + kAdoptLook);
  server_->adopt([this](const Status& status) { adopted(status); });
}

/// Reports changes of the server's rows, and of rows of others, to the server. Without taps, as for tables that a worker consumes, it
/// learns of them from its comparisons.
void FpmFeed::tap() {
  const fpm::BookOptions& tables = server_->book().options();
  auto routes = runtime_.tap_taken(tables.routes, [server = server_.get()](const Change& change) { server->route_taken(change); });
  auto groups = runtime_.tap_taken(tables.groups, [server = server_.get()](const Change& change) { server->group_taken(change); });
  if (routes) routes_tap_ = std::move(*routes);
  if (groups) groups_tap_ = std::move(*groups);
}

RowClaim FpmFeed::claim_of(std::string_view table, std::string_view key) const {
  const fpm::RouteBook& book = server_->book();
  const bool is_route = table == book.options().routes;
  if (is_route && book.is_in_conflict(key)) {
    return {.owner = {}, .note = "zebra has a route for this prefix, too: it takes the row's place when the row is deleted"};
  }
  if (table == book.options().groups && key.starts_with(fpm::kOwned) && !book.owns_group(key)) {
    return {.owner = "names that begin with 'fpm:' belong to the FPM server, which would delete it", .note = {}};
  }
  const bool owns = is_route ? book.owns_route(key) : table == book.options().groups && book.owns_group(key);
  if (!owns) return {};
  return {.owner = "it belongs to the FPM server, which would write it again: change the route in FRR", .note = {}};
}

/// Without the rows of the earlier run, those that zebra does not send would stay: so a store that is not there yet is asked again. Rows
/// that are adopted twice change nothing.
void FpmFeed::adopted(const Status& status) {
  const bool is_passing = status.code() == StatusCode::Unavailable || status.code() == StatusCode::DeadlineExceeded;
  if (is_passing) return adopt_timer_.arm_at(runtime_.scheduler().now() + kAdoptLook);
  if (!status.ok()) log_.warn("FPM: rows of an earlier run cannot be read, those that zebra does not send stay", {{"why", status}});
  server_->begin();
}

/// A user that this machine does not have, such as frr without FRR, cannot connect either.
void FpmFeed::find_users() {
  for (const std::string& name : choice_.users) {
    if (const auto user = user_named(name)) {
      users_.insert(*user);
    } else {
      log_.info("FPM: a user of [fpm] users is unknown", {{"user", name}});
    }
  }
  users_.insert(::geteuid());
}

Status FpmFeed::may_connect(int connection) const {
  const auto user = fpm::user_at_other_end(connection);
  if (!user && user.error().code() == StatusCode::NotFound)
    return {};  // Its program is on another machine, or in another network namespace.
  if (!user) return user.error();
  if (users_.contains(*user)) return {};
  const std::string name = user_name(*user);
  return {StatusCode::PermissionDenied, "[fpm] users does not name " + (name.empty() ? std::to_string(*user) : name)};
}

fpm::ServerOptions FpmFeed::options(const Store& store) {
  fpm::ServerOptions options;
  options.address = choice_.address;
  options.port = choice_.port;
  options.weights = choice_.plain_weights ? fpm::HopWeights::Plain : fpm::HopWeights::MinusOne;
  options.quiet = std::chrono::milliseconds{choice_.quiet_ms};
  options.silence = std::chrono::seconds{choice_.wait_s};
  options.book.table = choice_.table;
  options.book.vrf_name = [this](std::uint32_t table) { return agent_.vrf_of_table(table); };
  options.book.device_name = [this](std::uint32_t device) { return std::string{agent_.port_ids().name(IfIndex{device})}; };
  options.may_delete = [this](std::uint64_t stale, std::uint64_t total) {
    return agent_.safety().allows(kHeld, stale, total, counted(stale, "route"));
  };
  options.under_way = [this, &store, table = options.book.routes] {
    const auto size = store.size(table);
    return (size ? size->staged : 0) + agent_.programmer().in_flight();
  };
  if (choice_.offload_answers) {
    options.is_programmed = is_programmed();
    options.vrf_id = [this](std::string_view vrf) { return agent_.port_ids().find(vrf).value(); };
  }
  if (!choice_.users.empty()) options.may_connect = [this](int connection) { return may_connect(connection); };
  options.none_stale = [this] { agent_.safety().forget(kHeld); };
  return options;
}

fpm::RouteBook::IsProgrammed FpmFeed::is_programmed() const {
  return [this](std::string_view vrf, const Prefix& prefix, std::string_view group, bool blackhole, const IpAddress& source) {
    return agent_.routes().is_programmed(vrf, prefix, group, blackhole, source);
  };
}

bool FpmFeed::count_absent(fpm::RouteBook::Absent& absent) const { return server_->book().count_absent(kCounted, is_programmed(), absent); }

void FpmFeed::link_event(const LinkEvent& event) {
  if (agent_.port_ids().name(event.port) != event.name) server_->devices_changed();
}

void FpmFeed::report(const fpm::Event& event) {
  switch (event.kind) {
    case fpm::Event::Kind::Connected: return log_.info("FPM: zebra connected", {{"peer", event.peer}});
    case fpm::Event::Kind::Closed:
    case fpm::Event::Kind::Replaced:
      return log_.warn("FPM: the session ended, its routes stay", {{"peer", event.peer}, {"why", event.why}, {"messages", event.messages}});
    case fpm::Event::Kind::Refused:
      return log_.warn("FPM: refused a connection; further ones of the next minute are only counted",
                       {{"peer", event.peer}, {"why", event.why}});
    case fpm::Event::Kind::Malformed:
      return log_.error("FPM: the session was closed for malformed input, its routes stay",
                        {{"peer", event.peer}, {"why", event.why}, {"messages", event.messages}});
    case fpm::Event::Kind::Resynced:
      return log_.info("FPM: zebra has sent its routes", {{"peer", event.peer}, {"messages", event.messages}, {"removed", event.removed}});
  }
}

}  // namespace rondo::daemon
