// AgentLife: a random life of the whole switch agent compared with a plain model: rows in any order, ports that flap, disappear and
// return, failing orders, and all faults of a FaultPlan. When the world has calmed down, the kernel must match the model.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../agent_lines.h"
#include "life.h"
#include "switch_agent/agent.h"

namespace rondo::swarm {

using switch_agent::DesiredState;
using switch_agent::Lines;

inline constexpr std::uint64_t kPorts = 4;
inline constexpr std::uint64_t kHosts = 3;  // Neighbours per family on a port.

/// The names of a port and of the objects on it, made once.
struct PortNames {
  using OfFamily = std::array<std::string, 2>;  // Indexed by whether it is IPv6.
  std::string port;
  std::array<OfFamily, 2> addresses;
  std::array<OfFamily, kHosts> gateways;

  explicit PortNames(std::uint64_t of) : port("Eth" + std::to_string(of)) {
    const std::string number = std::to_string(of + 1);
    const OfFamily subnet{"10." + number + ".0.", "2001:db8:" + number + "::"};
    for (std::size_t which = 0; which < addresses.size(); ++which) {
      const std::string host = std::to_string(which + 1);
      addresses[which] = {subnet[0] + host + "/24", subnet[1] + host + "/64"};
    }
    for (std::size_t which = 0; which < gateways.size(); ++which) {
      const std::string host = "1" + std::to_string(which);
      gateways[which] = {subnet[0] + host, subnet[1] + host};
    }
  }
  static const PortNames& of(std::uint64_t port) {
    static const std::array<PortNames, kPorts> kAll{PortNames{0}, PortNames{1}, PortNames{2}, PortNames{3}};
    return kAll[port];
  }
};

inline const std::string& port_name(std::uint64_t port) { return PortNames::of(port).port; }
inline const std::string& address_of(std::uint64_t port, std::uint64_t which, bool ipv6) {
  return PortNames::of(port).addresses[which][ipv6 ? 1 : 0];
}
inline const std::string& gateway_of(std::uint64_t port, std::uint64_t host, bool ipv6) {
  return PortNames::of(port).gateways[host][ipv6 ? 1 : 0];
}

class AgentLife final : public Life {
 public:
  /// The seed determines its world: the store, the faults, the policy.
  explicit AgentLife(std::uint64_t seed);
  static sim::WorldOptions drawn_world(std::uint64_t seed);
  /// Whether other programs change the kernel and audits repair that.
  enum class Others { Leave, Meddle, MeddleWithVrfs, MeddleWithVlans, MeddleWithLags };
  AgentLife(std::uint64_t seed, sim::WorldOptions options, Others others = Others::Leave);

  sim::World& world() override { return *world_; }
  void act() override;
  void calm_down() override;
  /// Every port comes up, and then some are removed: the kernel must match the rows and the ports exactly.
  void end() override;

 private:
  struct Process;

  Status check() const;
  std::string told_wrong() const;
  bool owes() const;
  std::string waiting() const;

  // --- The box.

  SimDataPlane& plane() { return world_->plane(); }
  bool is_settled(std::string_view table, std::string_view key) const;
  void add_device(std::uint64_t port) {
    plane().add_port(port_name(port));
    devices_.insert(port);
  }
  void later(std::function<void()> what) { world_->after(Duration{static_cast<std::int64_t>(random_.below(400'000))}, std::move(what)); }

  // A deleted row is set again only when its Delete is handled: until then the Set waits behind it.

  bool may_set(std::string_view table, std::string_view key) {
    std::set<std::string, std::less<>>& deleted = deleted_[table];
    const auto found = deleted.find(key);
    if (found == deleted.end()) return true;
    if (!is_settled(table, key)) return false;
    deleted.erase(found);
    return true;
  }
  void erase(std::string_view table, const std::string& key) {
    deleted_[table].insert(key);
    world_->remove(table, key);
  }
  void set_port(std::uint64_t port, bool up) {
    world_->set("PORT_TABLE", port_name(port), {{"admin_status", up ? "up" : "down"}, {"mtu", "9100"}});
  }
  void set_base(std::uint64_t port) {
    if (!may_set("INTF_TABLE", port_name(port))) return;
    world_->set("INTF_TABLE", port_name(port), {});
    bases_.insert(port);
  }
  void set_address(std::uint64_t port, std::uint64_t which, bool ipv6) {
    const std::string& prefix = address_of(port, which, ipv6);
    const std::string key = port_name(port) + ":" + prefix;
    if (!may_set("INTF_TABLE", key)) return;
    world_->set("INTF_TABLE", key, {{"scope", "global"}});
    desired_.addresses.insert({port_name(port), prefix});
  }
  void erase_address(const std::pair<std::string, std::string>& address) {
    erase("INTF_TABLE", address.first + ":" + address.second);
    desired_.addresses.erase(address);
  }
  void set_neighbor(std::uint64_t port, std::uint64_t host, bool ipv6) {
    const std::string& gateway = gateway_of(port, host, ipv6);
    const std::string key = port_name(port) + ":" + gateway;
    if (!may_set("NEIGH_TABLE", key)) return;
    const std::string mac = "02:00:00:00:00:0" + std::to_string(random_.below(10));
    world_->set("NEIGH_TABLE", key, {{"neigh", mac}, {"family", ipv6 ? "IPv6" : "IPv4"}});
    desired_.neighbors[{port_name(port), gateway}] = mac;
  }
  void erase_neighbor(const std::pair<std::string, std::string>& place) {
    erase("NEIGH_TABLE", place.first + ":" + place.second);
    desired_.neighbors.erase(place);
  }
  DesiredState::Hops random_hops(bool ipv6) {
    DesiredState::Hops hops;
    for (std::uint64_t i = 0, n = 1 + random_.below(3); i < n; ++i) {
      const std::uint64_t port = random_.below(kPorts);
      const std::string& gateway = gateway_of(port, random_.below(kHosts), ipv6);
      std::erase_if(hops, [&gateway](const DesiredState::Hop& hop) { return hop.gateway == gateway; });  // The last one counts.
      hops.insert({port_name(port), gateway, static_cast<int>(1 + random_.below(2))});
    }
    return hops;
  }
  struct HopFields {
    std::string gateways, ports, weights;
  };
  static HopFields fields_of(const DesiredState::Hops& hops) {
    HopFields fields;
    for (const DesiredState::Hop& hop : hops) {
      const char* comma = fields.gateways.empty() ? "" : ",";
      fields.gateways.append(comma).append(hop.gateway);
      fields.ports.append(comma).append(hop.port);
      fields.weights.append(comma).append(std::to_string(hop.weight));
    }
    return fields;
  }
  void set_group(std::uint64_t group) {
    // Odd groups are IPv6: the kernel refuses to turn a group with IPv6 routes into an IPv4 one.
    const std::string name = std::to_string(group);
    if (!may_set("NEXTHOP_GROUP_TABLE", name)) return;
    DesiredState::Hops hops = random_hops(group % 2 == 1);
    const HopFields fields = fields_of(hops);
    world_->set("NEXTHOP_GROUP_TABLE", name, {{"nexthop", fields.gateways}, {"ifname", fields.ports}, {"weight", fields.weights}});
    desired_.groups[name] = std::move(hops);
  }
  void erase_group(const std::string& name) {
    erase("NEXTHOP_GROUP_TABLE", name);
    desired_.groups.erase(name);
  }
  /// Odd numbers are IPv6.
  static std::string route_of(std::uint64_t number) {
    return number % 2 == 1 ? "fd00:" + std::to_string(number) + "::/32" : "192.168." + std::to_string(number) + ".0/24";
  }
  void set_route(std::uint64_t number, const char* vrf = "") {
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
  void erase_route(const std::string& prefix) {
    world_->remove("ROUTE_TABLE", prefix);
    desired_.routes.erase(prefix);
  }
  template <class Container>
  auto any_of(const Container& container) {
    return std::next(container.begin(), static_cast<std::ptrdiff_t>(random_.below(container.size())));
  }

  // --- What happens.

  void operate() {
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
  void set_vrf() {
    if (!may_set("VRF_TABLE", "Vrf1")) return;
    world_->set("VRF_TABLE", "Vrf1", {{"NULL", "NULL"}});
    desired_.has_vrf = true;
  }
  void set_vrf_of(const std::string& port, const std::string& vrf) {
    if (!may_set("INTF_TABLE", port)) return;
    world_->set("INTF_TABLE", port, {{"vrf_name", vrf}});
    desired_.port_vrfs[port] = vrf;
  }
  void operate_vrfs() {
    const std::string& port = port_name(random_.below(kPorts));
    switch (random_.below(6)) {
      case 0:
        if (!desired_.has_vrf) {
          set_vrf();
        } else if (random_.chance(0.3)) {
          erase("VRF_TABLE", "Vrf1");
          desired_.has_vrf = false;
        }
        break;
      case 1: set_vrf_of(port, random_.chance(0.5) ? "Vrf1" : ""); break;
      case 2:
      case 3:
        for (int i = 0; i < 4; ++i) set_route(random_.below(20), "Vrf1:");
        break;
      case 4: {
        const std::string key = "Vrf1:" + route_of(random_.below(20));
        if (desired_.routes.contains(key)) erase_route(key);
        break;
      }
      default: meddle_with_vrfs(port);
    }
  }
  void meddle_with_vrfs(const std::string& port) {
    const std::vector<LinkEvent> links = plane().links().value();
    const auto device = [&links](const std::string& name) {
      const auto found = std::ranges::find(links, name, &LinkEvent::name);
      return found == links.end() ? IfIndex{4000} : found->port;
    };
    const Prefix route = Prefix::parse(route_of(random_.below(20))).value();
    const Prefix any{random_.chance(0.5) ? IpAddress::v4(0) : IpAddress::v6({}), 0};
    switch (random_.below(6)) {
      case 0: meddle(DeviceDelete{device("Vrf1")}); break;
      case 1: meddle(LinkSet{device("Vrf1"), false}); break;
      case 2: meddle(LinkSet{device(port), {}, {}, IfIndex{}}); break;
      case 3: meddle(RouteDelete{route, 1001}); break;
      case 4: meddle(RouteSet{.prefix = route, .table = 1001, .type = RouteType::Prohibit}); break;
      default: meddle(RouteDelete{any, 1001, kLastResortMetric}); break;
    }
  }
  /// Without the VRF, no row may name it.
  void close_vrfs() {
    if (desired_.has_vrf) return;
    for (const auto& [key, route] : std::map{desired_.routes}) {
      if (key.starts_with("Vrf1:")) erase_route(key);
    }
    for (const auto& [port, vrf] : std::map{desired_.port_vrfs}) {
      if (!vrf.empty()) set_vrf_of(port, "");
    }
  }

  // --- VLANs: of ports of their own, because the others are interfaces of the router.

  static constexpr std::array kVlanNames{"Vlan10", "Vlan20"};
  static constexpr std::array kVlanPortNames{"V0", "V1"};
  static constexpr const char* kVlanAddress = "10.77.0.1/24";  // Of the first VLAN.
  static constexpr std::uint64_t kStations = 4;
  static std::string station(std::uint64_t number) { return "02:00:00:00:77:0" + std::to_string(number); }

  void begin_vlans() {
    for (const char* const port : kVlanPortNames) {
      plane().add_port(port);
      world_->set("PORT_TABLE", port, {{"admin_status", "up"}});
    }
    for (const char* const vlan : kVlanNames) set_vlan(vlan);
    set_vlan_interface();
  }
  void set_vlan(const std::string& vlan) {
    if (!may_set("VLAN_TABLE", vlan)) return;
    world_->set("VLAN_TABLE", vlan, {{"mtu", random_.chance(0.5) ? "1500" : "9000"}});
    desired_.vlans.insert(vlan);
  }
  void set_vlan_interface() {
    const std::string vlan = kVlanNames[0];
    if (!may_set("INTF_TABLE", vlan) || !may_set("INTF_TABLE", vlan + ":" + kVlanAddress)) return;
    world_->set("INTF_TABLE", vlan, {{"NULL", "NULL"}});
    world_->set("INTF_TABLE", vlan + ":" + kVlanAddress, {{"NULL", "NULL"}});
    desired_.addresses.insert({vlan, kVlanAddress});
    has_vlan_interface_ = true;
  }
  /// operate() may have deleted the address alone.
  void erase_vlan_interface() {
    const std::string vlan = kVlanNames[0];
    if (desired_.addresses.contains({vlan, kVlanAddress})) erase_address({vlan, kVlanAddress});
    if (std::exchange(has_vlan_interface_, false)) erase("INTF_TABLE", vlan);
  }
  /// A port is an untagged member of one VLAN at most.
  void set_member(const std::string& vlan, const std::string& port, bool tagged) {
    const bool is_taken = std::ranges::any_of(desired_.vlan_members, [&](const auto& member) {
      return member.first.first != vlan && member.first.second == port && member.second == port;
    });
    if ((!tagged && is_taken) || !may_set("VLAN_MEMBER_TABLE", vlan + ":" + port)) return;
    world_->set("VLAN_MEMBER_TABLE", vlan + ":" + port, {{"tagging_mode", tagged ? "tagged" : "untagged"}});
    desired_.vlan_members[{vlan, port}] = tagged ? port + "." + vlan.substr(4) : port;
  }
  void erase_member(const std::pair<std::string, std::string>& place) {
    erase("VLAN_MEMBER_TABLE", place.first + ":" + place.second);
    desired_.vlan_members.erase(place);
  }
  void erase_entry(const std::pair<std::string, std::string>& place) {
    erase("FDB_TABLE", place.first + ":" + place.second);
    desired_.vlan_entries.erase(place);
  }
  void operate_vlans() {
    const std::string vlan = kVlanNames[random_.below(2)];
    const std::string port = kVlanPortNames[random_.below(2)];
    const std::string mac = station(random_.below(kStations));
    switch (random_.below(10)) {
      case 0: set_vlan(vlan); break;
      case 1:
        if (!desired_.vlans.contains(vlan) || random_.chance(0.7)) break;
        erase("VLAN_TABLE", vlan);
        desired_.vlans.erase(vlan);
        break;
      case 2:
      case 3: set_member(vlan, port, random_.chance(0.5)); break;
      case 4:
        if (desired_.vlan_members.contains({vlan, port})) erase_member({vlan, port});
        break;
      case 5:
      case 6:
        if (!may_set("FDB_TABLE", vlan + ":" + mac)) break;
        world_->set("FDB_TABLE", vlan + ":" + mac, {{"port", port}, {"type", "static"}});
        desired_.vlan_entries[{vlan, mac}] = port;
        break;
      case 7:
        if (desired_.vlan_entries.contains({vlan, mac})) erase_entry({vlan, mac});
        break;
      case 8: random_.chance(0.5) ? set_vlan_interface() : erase_vlan_interface(); break;
      default: meddle_with_vlans(vlan, port, mac);
    }
  }
  void meddle_with_vlans(const std::string& vlan, const std::string& port, const std::string& mac) {
    const std::vector<LinkEvent> links = plane().links().value();
    const auto device = [&links](const std::string& name) {
      const auto found = std::ranges::find(links, name, &LinkEvent::name);
      return found == links.end() ? IfIndex{4000} : found->port;
    };
    const IfIndex tagged = device(port + "." + vlan.substr(4));
    const MacAddress of = MacAddress::parse(mac).value();
    switch (random_.below(10)) {
      case 0: meddle(DeviceDelete{device(vlan)}); break;
      case 1: meddle(DeviceDelete{tagged}); break;
      case 2: meddle(LinkSet{device(port), {}, {}, IfIndex{}}); break;
      case 3: meddle(LinkSet{tagged, {}, {}, IfIndex{}}); break;
      case 4: meddle(FdbDelete{random_.chance(0.5) ? device(port) : tagged, of}); break;
      case 5: meddle(FdbSet{random_.chance(0.5) ? device(port) : tagged, of}); break;
      case 6:
        later([this, port, of] {
          if (has_device(port)) plane().hear(port, of);
        });
        break;
      case 7:
        later([this, vlan, port, of, is_external = random_.chance(0.7)] {
          if (!is_in(port, vlan)) return;
          is_external ? plane().add_external_entry(port, of) : plane().add_movable_entry(port, of);
        });
        break;
      case 8:
        later([this, vlan, of] {
          if (has_device(vlan)) plane().remove_external_entry(vlan, of);
        });
        break;
      default:
        later([this, port] {
          if (has_device(port)) plane().remove_port(port);
        });
        later([this, port] {
          if (!has_device(port)) plane().add_port(port);
        });
    }
  }
  bool has_device(const std::string& name) {
    const std::vector<LinkEvent> links = plane().links().value();
    return std::ranges::find(links, name, &LinkEvent::name) != links.end();
  }
  bool is_in(const std::string& port, const std::string& vlan) {
    const std::vector<LinkEvent> links = plane().links().value();
    const auto found = std::ranges::find(links, port, &LinkEvent::name);
    const auto bridge = std::ranges::find(links, vlan, &LinkEvent::name);
    return found != links.end() && bridge != links.end() && found->master == bridge->port;
  }
  /// Without its VLAN or its port there is no member, and without the member no entry. Entries of another control plane go.
  void close_vlans() {
    if (others_ != Others::MeddleWithVlans) return;
    for (const char* const vlan : kVlanNames) {
      for (std::uint64_t number = 0; number < kStations && has_device(vlan); ++number) {
        plane().remove_external_entry(vlan, MacAddress::parse(station(number)).value());
      }
    }
    for (const char* const port : kVlanPortNames) {
      if (!has_device(port)) plane().add_port(port);
    }
    for (const auto& [place, device] : std::map{desired_.vlan_members}) {
      if (!desired_.vlans.contains(place.first)) erase_member(place);
    }
    for (const auto& [place, port] : std::map{desired_.vlan_entries}) {
      if (!desired_.vlan_members.contains({place.first, port})) erase_entry(place);
    }
    if (!desired_.vlans.contains(kVlanNames[0])) erase_vlan_interface();
  }

  // --- LAGs: of ports of their own, too. The first one has an address, a neighbour and a route.

  static constexpr std::array kLagNames{"PortChannel1", "PortChannel2"};
  static constexpr std::array kLagPortNames{"L0", "L1", "L2"};
  static constexpr const char* kLagAddress = "10.78.0.1/24";
  static constexpr const char* kLagNeighbor = "10.78.0.2";
  static constexpr const char* kLagRoute = "172.16.0.0/12";

  void begin_lags() {
    for (const char* const port : kLagPortNames) {
      plane().add_port(port);
      world_->set("PORT_TABLE", port, {{"admin_status", "up"}, {"mtu", "1600"}});
    }
    for (const char* const lag : kLagNames) set_lag(lag);
    set_lag_interface();
  }
  void set_lag(const std::string& lag) {
    if (!may_set("LAG_TABLE", lag)) return;
    world_->set("LAG_TABLE", lag,
                {{"mtu", random_.chance(0.5) ? "1500" : "9000"},
                 {"static", random_.chance(0.3) ? "true" : "false"},
                 {"min_links", random_.chance(0.5) ? "1" : "2"}});
    desired_.lags.insert(lag);
  }
  void set_lag_interface() {
    const std::string lag = kLagNames[0];
    if (!may_set("INTF_TABLE", lag) || !may_set("INTF_TABLE", lag + ":" + kLagAddress)) return;
    world_->set("INTF_TABLE", lag, {{"NULL", "NULL"}});
    world_->set("INTF_TABLE", lag + ":" + kLagAddress, {{"NULL", "NULL"}});
    desired_.addresses.insert({lag, kLagAddress});
    has_lag_interface_ = true;
    if (!may_set("NEIGH_TABLE", lag + ":" + kLagNeighbor)) return;
    world_->set("NEIGH_TABLE", lag + ":" + kLagNeighbor, {{"neigh", "02:00:00:00:78:02"}});
    desired_.neighbors[{lag, kLagNeighbor}] = "02:00:00:00:78:02";
    world_->set("ROUTE_TABLE", kLagRoute, {{"nexthop", kLagNeighbor}, {"ifname", lag}});
    desired_.routes[kLagRoute] = {.group = {}, .hops = {{lag, kLagNeighbor, 1}}};
  }
  void erase_lag_interface() {
    const std::string lag = kLagNames[0];
    if (desired_.routes.contains(kLagRoute)) erase_route(kLagRoute);
    if (desired_.neighbors.contains({lag, kLagNeighbor})) erase_neighbor({lag, kLagNeighbor});
    if (desired_.addresses.contains({lag, kLagAddress})) erase_address({lag, kLagAddress});
    if (std::exchange(has_lag_interface_, false)) erase("INTF_TABLE", lag);
  }
  void erase_lag_member(const std::string& port) {
    const auto member = desired_.lag_members.find(port);
    if (member == desired_.lag_members.end()) return;
    erase("LAG_MEMBER_TABLE", member->second + ":" + port);
    desired_.lag_members.erase(member);
  }
  void operate_lags() {
    const std::string lag = kLagNames[random_.below(2)];
    const std::string port = kLagPortNames[random_.below(3)];
    switch (random_.below(9)) {
      case 0: set_lag(lag); break;
      case 1:
        if (!desired_.lags.contains(lag) || random_.chance(0.7)) break;
        erase("LAG_TABLE", lag);
        desired_.lags.erase(lag);
        break;
      case 2:
      case 3:
      case 4:
        if (desired_.lag_members.contains(port) && desired_.lag_members[port] != lag) erase_lag_member(port);
        if (!may_set("LAG_MEMBER_TABLE", lag + ":" + port)) break;
        world_->set("LAG_MEMBER_TABLE", lag + ":" + port, {{"status", "enabled"}});
        desired_.lag_members[port] = lag;
        break;
      case 5: erase_lag_member(port); break;
      case 6: random_.chance(0.7) ? set_lag_interface() : erase_lag_interface(); break;
      default: meddle_with_lags(lag, port);
    }
  }
  void meddle_with_lags(const std::string& lag, const std::string& port) {
    const std::vector<LinkEvent> links = plane().links().value();
    const auto device = [&links](const std::string& name) {
      const auto found = std::ranges::find(links, name, &LinkEvent::name);
      return found == links.end() ? IfIndex{4000} : found->port;
    };
    const bool signal = random_.chance(0.5);
    switch (random_.below(5)) {
      case 0: meddle(DeviceDelete{device(lag)}); break;
      case 1: meddle(LinkSet{device(port), {}, {}, IfIndex{}}); break;
      case 2: meddle(LinkSet{device(port), {}, {}, device(kLagNames[random_.below(2)])}); break;
      case 3:
        later([this, port, signal] {
          if (has_device(port)) plane().set_carrier(port, signal);
        });
        break;
      default:
        later([this, port] {
          if (has_device(port)) plane().remove_port(port);
        });
        later([this, port] {
          if (!has_device(port)) plane().add_port(port);
        });
    }
  }
  /// Without its LAG there is no member, and without a member no carrier and so no interface.
  void close_lags() {
    if (others_ != Others::MeddleWithLags) return;
    for (const char* const port : kLagPortNames) {
      if (!has_device(port)) plane().add_port(port);
    }
    raise_lag_ports();
    for (const auto& [port, lag] : std::map{desired_.lag_members}) {
      if (!desired_.lags.contains(lag)) erase_lag_member(port);
    }
    take_out_strange_ports();
    for (const std::string& lag : desired_.lags) world_->set("LAG_TABLE", lag, {{"min_links", "1"}});
    const bool has_members = std::ranges::any_of(desired_.lag_members, [](const auto& member) { return member.second == kLagNames[0]; });
    if (!has_members) erase_lag_interface();
  }
  /// A port without a row that another program puts into a bond of ours stays there until the next restart (docs/guide/from-sonic.md).
  /// The other program takes it out, and sets it up again.
  void take_out_strange_ports() {
    const std::vector<LinkEvent> links = plane().links().value();
    for (const LinkEvent& link : links) {
      const bool is_lag_port = std::ranges::find(kLagPortNames, link.name) != kLagPortNames.end();
      if (!is_lag_port || !link.master || desired_.lag_members.contains(link.name)) continue;
      static_cast<void>(plane().meddle(LinkSet{link.port, {}, {}, IfIndex{}}));
      static_cast<void>(plane().meddle(LinkSet{link.port, true}));
    }
  }
  void raise_lag_ports() {
    for (const char* const port : kLagPortNames) {
      if (has_device(port)) plane().set_carrier(port, true);
    }
  }
  void flap(std::uint64_t port) {
    const bool signal = random_.chance(0.5);
    const auto set_signal = [this, port](bool on) {
      if (devices_.contains(port)) plane().set_carrier(port_name(port), on);
    };
    later([set_signal, signal] { set_signal(signal); });
    if (random_.chance(0.5)) later([set_signal, signal] { set_signal(!signal); });
  }
  void replace_device(std::uint64_t port) {
    if (random_.chance(0.5)) return;
    later([this, port] {
      if (devices_.erase(port) > 0) plane().remove_port(port_name(port));
    });
    later([this, port] {
      if (!devices_.contains(port)) add_device(port);
    });
  }
  static constexpr std::array<NexthopId, 2> kForeign{NexthopId{7}, NexthopId{8}};  // Indexed by whether it is IPv6.
  static bool is_ipv6(const NexthopEntry& one, const std::vector<NexthopEntry>& all) {
    if (one.members.empty()) return one.gateway.is_v6();
    const auto member = std::ranges::find(all, one.members.front().nexthop, &NexthopEntry::id);
    return member != all.end() && member->gateway.is_v6();
  }
  /// Another program changes an object, or creates one with our number. Changes that the kernel refuses have no effect.
  void meddle() {
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
  void meddle(const Order& order) {
    later([this, order] { static_cast<void>(plane().meddle(order)); });
  }
  void trouble() {
    const auto kind = static_cast<OrderKind>(random_.below(others_ == Others::MeddleWithVlans ? 7 : 6));
    if (random_.chance(0.3)) {
      plane().fail_nth(kind, 1 + random_.below(4), ENOBUFS);
    } else {
      plane().fail_by_chance(kind, random_.chance(0.5) ? 0.3 : 0.0, ENOBUFS);
    }
  }

  // --- The end.

  /// Deletes rows that refer to missing rows, from the top down.
  void close() {
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
  bool has_address(const std::string& port, const std::string& gateway) const {
    const bool ipv6 = gateway.find(':') != std::string::npos;
    return std::ranges::any_of(desired_.addresses, [&](const auto& address) {
      return address.first == port && (address.second.find(':') != std::string::npos) == ipv6;
    });
  }

  std::unique_ptr<sim::World> world_;
  Random random_;
  const Others others_;
  Lines rejects_;
  DesiredState desired_;
  std::set<std::uint64_t> devices_;
  std::set<std::uint64_t> bases_;
  bool has_lag_interface_ = false;                                          // The row of the first LAG in INTF_TABLE.
  bool has_vlan_interface_ = false;                                         // The row of the first VLAN in INTF_TABLE.
  std::map<std::string_view, std::set<std::string, std::less<>>> deleted_;  // Keys by table.
  bool is_whole_ = false;                                                   // Every port has been up since the last change.
};

}  // namespace rondo::swarm
