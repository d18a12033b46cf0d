#include "managers/static_route_manager.h"

#include <utility>

#include "managers/facts.h"
#include "managers/priorities.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/row_check.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

std::string source_of(std::string_view key) { return "STATIC_ROUTE|" + std::string{key}; }

struct RouteTexts {
  std::string nexthop;
  std::string ifname;
  void add(const IpAddress& gateway, const std::string& port) {
    nexthop.append(nexthop.empty() ? "" : ",").append(gateway.to_string());
    ifname.append(ifname.empty() ? "" : ",").append(port);
  }
};

}  // namespace

StaticRouteManager::StaticRouteManager(Runtime& runtime, ManagedRows& rows, Subnets& subnets)
    : Manager(runtime, "static-route-manager", kStaticRoutes, rows), subnets_(subnets) {
  consume("STATIC_ROUTE", this, &StaticRouteManager::set, &StaticRouteManager::remove, {.kind = TableKind::Watched});
  explain_made("STATIC_ROUTE", [](std::string_view key) -> std::optional<Target> {
    const Result<std::string> route = route_key_of(key);
    return route ? std::optional{Target{"ROUTE_TABLE", *route}} : std::nullopt;
  });
}

Outcome StaticRouteManager::set(std::string_view key, const Fields& fields) {
  const std::string source = source_of(key);
  if (auto waits = begin(source)) return *waits;
  const Result<std::string> route = route_key_of(key);
  if (!route) return Outcome::reject_key(route.error());
  const Result<switch_agent::RouteKey> place = switch_agent::parse_route_key(*route);
  if (!place) return Outcome::reject_key(place.error());
  const Result<StaticRouteRow> row = parse_static_route(fields, place->vrf, place->prefix.address.is_v6());
  if (!row) return Outcome::reject(row.error());
  const Target target{"ROUTE_TABLE", *route};
  watch(source, *row);
  if (row->blackhole) {
    const Field wanted[] = {{"blackhole", "true"}, {"protocol", "static"}};
    return put(source, target, wanted, [] { return Outcome::done(); });
  }
  RouteTexts texts;
  std::vector<Fact> connected;
  for (const StaticHop& hop : row->hops) {
    const Gateway gateway{hop.vrf, hop.gateway};
    const std::string port = hop.port.empty() ? subnets_.port_of(gateway) : hop.port;
    // The route is handled again when the subnet comes.
    if (port.empty()) {
      const Fact read{kConfigRead, std::string{kAllTables}};
      if (!holds(read)) return Outcome::wait_for(read);  // Its subnet may be read next.
      const Fact fact{kConnected, gateway.name()};
      return drop(source, target, [fact] { return Outcome::wait_for(fact); });
    }
    if (hop.port.empty()) connected.emplace_back(kConnected, gateway.name());
    texts.add(hop.gateway, port);
  }
  const Field wanted[] = {{"nexthop", texts.nexthop}, {"ifname", texts.ifname}, {"protocol", "static"}};
  if (Status checked = switch_agent::check_row(target.table, target.key, Record::make(target.key, wanted).fields()); !checked.ok()) {
    return Outcome::reject(std::move(checked));
  }
  return put(source, target, wanted,
             [connected = std::move(connected)] { return connected.empty() ? Outcome::done() : Outcome::done_while(connected); });
}

Outcome StaticRouteManager::remove(std::string_view key) {
  const Result<std::string> route = route_key_of(key);
  if (!route) return Outcome::reject_key(route.error());
  const std::string source = source_of(key);
  watch(source, {});
  return source_deleted(source, {"ROUTE_TABLE", *route}, [] { return Outcome::done(); });
}

void StaticRouteManager::watch(const std::string& source, const StaticRouteRow& row) {
  std::vector<Gateway> wanted;
  for (const StaticHop& hop : row.hops) {
    if (hop.port.empty()) wanted.push_back({hop.vrf, hop.gateway});
  }
  for (const Gateway& gateway : wanted) subnets_.watch(gateway);
  for (const Gateway& gateway : gateways_[source]) subnets_.forget(gateway);
  if (wanted.empty()) {
    gateways_.erase(source);
  } else {
    gateways_[source] = std::move(wanted);
  }
}

}  // namespace rondo::managers
