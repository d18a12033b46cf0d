// Ports, rows of routes and what other programs change, in a random life of the switch agent.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent_life.h"

namespace rondo::swarm {

void AgentLife::add_device(std::uint64_t port) {
  plane().add_port(port_name(port));
  devices_.insert(port);
}

bool AgentLife::may_set(std::string_view table, std::string_view key) {
  std::set<std::string, std::less<>>& deleted = deleted_[table];
  const auto found = deleted.find(key);
  if (found == deleted.end()) return true;
  if (!is_settled(table, key)) return false;
  deleted.erase(found);
  return true;
}

void AgentLife::erase(std::string_view table, const std::string& key) {
  deleted_[table].insert(key);
  world_->remove(table, key);
}

void AgentLife::set_port(std::uint64_t port, bool up) {
  world_->set("PORT_TABLE", port_name(port), {{"admin_status", up ? "up" : "down"}, {"mtu", "9100"}});
}

void AgentLife::set_base(std::uint64_t port) {
  if (!may_set("INTF_TABLE", port_name(port))) return;
  world_->set("INTF_TABLE", port_name(port), {});
  bases_.insert(port);
}

void AgentLife::set_address(std::uint64_t port, std::uint64_t which, bool ipv6) {
  const std::string& prefix = address_of(port, which, ipv6);
  const std::string key = port_name(port) + ":" + prefix;
  if (!may_set("INTF_TABLE", key)) return;
  world_->set("INTF_TABLE", key, {{"scope", "global"}});
  desired_.addresses.insert({port_name(port), prefix});
}

void AgentLife::erase_address(const std::pair<std::string, std::string>& address) {
  erase("INTF_TABLE", address.first + ":" + address.second);
  desired_.addresses.erase(address);
}

void AgentLife::set_neighbor(std::uint64_t port, std::uint64_t host, bool ipv6) {
  const std::string& gateway = gateway_of(port, host, ipv6);
  const std::string key = port_name(port) + ":" + gateway;
  if (!may_set("NEIGH_TABLE", key)) return;
  const std::string mac = "02:00:00:00:00:0" + std::to_string(random_.below(10));
  world_->set("NEIGH_TABLE", key, {{"neigh", mac}, {"family", ipv6 ? "IPv6" : "IPv4"}});
  desired_.neighbors[{port_name(port), gateway}] = mac;
}

void AgentLife::erase_neighbor(const std::pair<std::string, std::string>& place) {
  erase("NEIGH_TABLE", place.first + ":" + place.second);
  desired_.neighbors.erase(place);
}

DesiredState::Hops AgentLife::random_hops(bool ipv6) {
  DesiredState::Hops hops;
  for (std::uint64_t i = 0, n = 1 + random_.below(3); i < n; ++i) {
    const std::uint64_t port = random_.below(kPorts);
    const std::string& gateway = gateway_of(port, random_.below(kHosts), ipv6);
    std::erase_if(hops, [&gateway](const DesiredState::Hop& hop) { return hop.gateway == gateway; });  // The last one counts.
    hops.insert({port_name(port), gateway, static_cast<int>(1 + random_.below(2))});
  }
  return hops;
}

AgentLife::HopFields AgentLife::fields_of(const DesiredState::Hops& hops) {
  HopFields fields;
  for (const DesiredState::Hop& hop : hops) {
    const char* comma = fields.gateways.empty() ? "" : ",";
    fields.gateways.append(comma).append(hop.gateway);
    fields.ports.append(comma).append(hop.port);
    fields.weights.append(comma).append(std::to_string(hop.weight));
  }
  return fields;
}

void AgentLife::set_group(std::uint64_t group) {
  // Odd groups are IPv6: the kernel refuses to turn a group with IPv6 routes into an IPv4 one.
  const std::string name = std::to_string(group);
  if (!may_set("NEXTHOP_GROUP_TABLE", name)) return;
  DesiredState::Hops hops = random_hops(group % 2 == 1);
  const HopFields fields = fields_of(hops);
  world_->set("NEXTHOP_GROUP_TABLE", name, {{"nexthop", fields.gateways}, {"ifname", fields.ports}, {"weight", fields.weights}});
  desired_.groups[name] = std::move(hops);
}

void AgentLife::erase_group(const std::string& name) {
  erase("NEXTHOP_GROUP_TABLE", name);
  desired_.groups.erase(name);
}

std::string AgentLife::route_of(std::uint64_t number) {
  return number % 2 == 1 ? "fd00:" + std::to_string(number) + "::/32" : "192.168." + std::to_string(number) + ".0/24";
}

void AgentLife::set_route(std::uint64_t number, const char* vrf) {
  const bool ipv6 = number % 2 == 1;
  const std::string prefix = vrf + route_of(number);
  DesiredState::Route route;
  switch (random_.below(4)) {
    case 0: world_->set("ROUTE_TABLE", prefix, {{"blackhole", "true"}}); break;
    case 1: {
      route.hops = random_hops(ipv6);
      const HopFields fields = fields_of(route.hops);
      world_->set("ROUTE_TABLE", prefix,
                  {{"nexthop", fields.gateways},
                   {"ifname", fields.ports},
                   {"weight", fields.weights},
                   {"nexthop_group", ""},
                   {"blackhole", "false"}});
      break;
    }
    default:
      route.group = std::to_string(random_.below(3) * 2 + (ipv6 ? 1 : 0));
      world_->set("ROUTE_TABLE", prefix,
                  {{"nexthop_group", route.group}, {"nexthop", ""}, {"ifname", ""}, {"weight", ""}, {"blackhole", "false"}});
  }
  desired_.routes[prefix] = std::move(route);
}

void AgentLife::erase_route(const std::string& prefix) {
  world_->remove("ROUTE_TABLE", prefix);
  desired_.routes.erase(prefix);
}

void AgentLife::operate() {
  const std::uint64_t port = random_.below(kPorts);
  const bool ipv6 = random_.chance(0.5);
  switch (random_.below(16)) {
    case 0: set_port(port, random_.chance(0.7)); break;
    case 1: flap(port); break;
    case 2: replace_device(port); break;
    case 3: set_base(port); break;
    case 4: set_address(port, random_.below(2), ipv6); break;
    case 5:
      if (!desired_.addresses.empty() && random_.chance(0.3)) erase_address(*any_of(desired_.addresses));
      break;
    case 6:
    case 7:
    case 8: set_neighbor(port, random_.below(kHosts), ipv6); break;
    case 9:
      if (!desired_.neighbors.empty() && random_.chance(0.5)) erase_neighbor(any_of(desired_.neighbors)->first);
      break;
    case 10:
    case 11: set_group(random_.below(6)); break;
    case 12:
      if (!desired_.groups.empty() && random_.chance(0.5)) erase_group(any_of(desired_.groups)->first);
      break;
    case 13:
      for (int i = 0; i < 8; ++i) set_route(random_.below(40));
      break;
    case 14:
      if (!desired_.routes.empty()) erase_route(any_of(desired_.routes)->first);
      break;
    default: trouble();
  }
  if (others_ != Others::Leave && random_.chance(0.3)) meddle();
  if (others_ == Others::MeddleWithVrfs && random_.chance(0.4)) operate_vrfs();
  if (others_ == Others::MeddleWithVlans && random_.chance(0.5)) operate_vlans();
  if (others_ == Others::MeddleWithLags && random_.chance(0.5)) operate_lags();
}

void AgentLife::flap(std::uint64_t port) {
  const bool signal = random_.chance(0.5);
  const auto set_signal = [this, port](bool on) {
    if (devices_.contains(port)) plane().set_carrier(port_name(port), on);
  };
  later([set_signal, signal] { set_signal(signal); });
  if (random_.chance(0.5)) later([set_signal, signal] { set_signal(!signal); });
}

void AgentLife::replace_device(std::uint64_t port) {
  if (random_.chance(0.5)) return;
  later([this, port] {
    if (devices_.erase(port) > 0) plane().remove_port(port_name(port));
  });
  later([this, port] {
    if (!devices_.contains(port)) add_device(port);
  });
}

bool AgentLife::is_ipv6(const NexthopEntry& one, const std::vector<NexthopEntry>& all) {
  if (one.members.empty()) return one.gateway.is_v6();
  const auto member = std::ranges::find(all, one.members.front().nexthop, &NexthopEntry::id);
  return member != all.end() && member->gateway.is_v6();
}

void AgentLife::meddle() {
  const IfIndex port{static_cast<std::uint32_t>(1 + random_.below(2 * kPorts))};
  const std::uint64_t of = random_.below(kPorts);
  const bool ipv6 = random_.chance(0.5);
  const Prefix address = Prefix::parse_interface(address_of(of, random_.below(2), ipv6)).value();
  const IpAddress gateway = IpAddress::parse(gateway_of(of, random_.below(kHosts), ipv6)).value();
  const Prefix route = Prefix::parse(route_of(random_.below(40))).value();
  const std::vector<NexthopEntry> nexthops = plane().nexthops().value();
  const NexthopEntry nexthop = nexthops.empty() ? NexthopEntry{} : nexthops[random_.below(nexthops.size())];
  // Of the same family and kind: otherwise orders of later rows are refused permanently, and no audit writes such rows again.
  const bool of_ipv6 = is_ipv6(nexthop, nexthops);
  const NexthopId foreign = kForeign[of_ipv6 ? 1 : 0];
  const NexthopId id = nexthop.id ? nexthop.id : foreign;
  const bool is_group = !nexthop.members.empty();
  const IpAddress other = IpAddress::parse(gateway_of(of, random_.below(kHosts), of_ipv6)).value();
  switch (random_.below(11)) {
    case 0: meddle(AddressDelete{port, address}); break;
    case 1: meddle(AddressSet{port, address}); break;
    case 2: meddle(NeighborDelete{port, gateway}); break;
    case 3: meddle(NeighborSet{port, gateway, MacAddress{{2, 0xff, 0, 0, 0, 1}}}); break;
    case 4: meddle(NexthopDelete{id}); break;
    case 5: meddle(NexthopSet{is_group ? foreign : id, other, port}); break;
    case 6: meddle(NexthopSet{kForeign[ipv6 ? 1 : 0], gateway, port}); break;
    case 7: meddle(GroupSet{.id = is_group ? id : NexthopId{9}, .members = {{foreign, 2}}}); break;
    case 8: meddle(RouteSet{.prefix = route, .nexthop = {}, .type = RouteType::Prohibit}); break;
    case 9: meddle(RouteSet{.prefix = route, .nexthop = id}); break;
    default: meddle(RouteDelete{route}); break;
  }
}

void AgentLife::meddle(const Order& order) {
  later([this, order] { static_cast<void>(plane().meddle(order)); });
}

void AgentLife::trouble() {
  const auto kind = static_cast<OrderKind>(random_.below(others_ == Others::MeddleWithVlans ? 7 : 6));
  if (random_.chance(0.3)) {
    plane().fail_nth(kind, 1 + random_.below(4), ENOBUFS);
  } else {
    plane().fail_by_chance(kind, random_.chance(0.5) ? 0.3 : 0.0, ENOBUFS);
  }
}

void AgentLife::close() {
  close_vrfs();
  close_vlans();
  close_lags();
  const auto has_neighbors = [&](const DesiredState::Hops& hops) {
    return std::ranges::all_of(hops, [&](const auto& hop) {
      return has_address(hop.port, hop.gateway) && desired_.neighbors.contains({hop.port, hop.gateway});
    });
  };
  const auto is_whole = [&](const DesiredState::Route& route) {
    if (route.group.empty()) return has_neighbors(route.hops);
    const auto group = desired_.groups.find(route.group);
    return group != desired_.groups.end() && has_neighbors(group->second);
  };
  for (const auto& [prefix, route] : std::map{desired_.routes}) {
    if (!is_whole(route)) erase_route(prefix);
  }
  for (const auto& [name, hops] : std::map{desired_.groups}) {
    if (!has_neighbors(hops)) erase_group(name);
  }
  for (const auto& [place, mac] : std::map{desired_.neighbors}) {
    if (!has_address(place.first, place.second)) erase_neighbor(place);
  }
}

bool AgentLife::has_address(const std::string& port, const std::string& gateway) const {
  const bool ipv6 = gateway.find(':') != std::string::npos;
  return std::ranges::any_of(desired_.addresses, [&](const auto& address) {
    return address.first == port && (address.second.find(':') != std::string::npos) == ipv6;
  });
}

}  // namespace rondo::swarm
