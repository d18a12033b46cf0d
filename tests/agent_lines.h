// lines_of() returns the content of a data plane as sorted lines of text, and DesiredState is the plain model of the expected content. For
// tests of the agent on the simulated kernel and on the real one: differences are readable.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/assert.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::switch_agent {

using Lines = std::vector<std::string>;

/// The unexpected lines (+) and the missing ones (-). Both inputs are sorted.
inline Lines difference(const Lines& actual, const Lines& expected) {
  Lines extra, missing, all;
  std::ranges::set_difference(actual, expected, std::back_inserter(extra));
  std::ranges::set_difference(expected, actual, std::back_inserter(missing));
  for (const std::string& line : extra) all.push_back("+ " + line);
  for (const std::string& line : missing) all.push_back("- " + line);
  return all;
}

inline std::string group_text(Lines members) {
  std::ranges::sort(members);
  std::string text;
  for (const std::string& member : members) text.append(text.empty() ? "{" : ", ").append(member);
  return text + "}";
}

inline std::string_view type_text(RouteType type) {
  if (type == RouteType::Unreachable) return " unreachable";
  return type == RouteType::Prohibit ? " prohibit" : " blackhole";
}

/// The content of 'plane', with next hops described by their content instead of their numbers. On a kernel, 'plane' must not be that of an
/// agent in this process: its audit may read with it in a thread.
inline Lines lines_of(DataPlane& plane) {
  std::map<IfIndex, std::string> ports;
  const std::vector<LinkEvent> links = plane.links().value();
  for (const LinkEvent& link : links) ports[link.port] = link.name;
  Lines lines;
  for (const LinkEvent& link : links) {
    const auto master = std::ranges::find(links, link.master, &LinkEvent::port);
    if (master != links.end() && (master->vrf_table != 0 || master->bridge || master->bond != BondMode::None))
      lines.push_back("port " + link.name + " in " + master->name);
  }
  const std::vector<AddressEntry> addresses = plane.addresses().value();
  for (const AddressEntry& entry : addresses) {
    lines.push_back("address " + ports[entry.port] + " " + entry.address.to_string() + (entry.expires ? " expires" : ""));
  }
  const std::vector<NeighborEntry> neighbors = plane.neighbors().value();
  for (const NeighborEntry& entry : neighbors) {
    lines.push_back("neighbor " + ports[entry.port] + " " + entry.address.to_string() + " " + entry.mac.to_string());
  }
  const std::vector<FdbEntry> entries = plane.fdb().value();
  for (const FdbEntry& entry : entries) {
    lines.push_back("entry " + ports[entry.bridge] + " " + entry.mac.to_string() + " " + ports[entry.port] +
                    (entry.is_sticky ? "" : " movable"));
  }
  std::map<NexthopId, std::string> texts;
  const std::vector<NexthopEntry> nexthops = plane.nexthops().value();
  for (const NexthopEntry& entry : nexthops) {
    if (!entry.members.empty()) continue;
    texts[entry.id] = ports[entry.port] + " " + entry.gateway.to_string() + (entry.onlink ? " onlink" : "");
    lines.push_back("nexthop " + texts[entry.id]);
  }
  for (const NexthopEntry& entry : nexthops) {
    if (entry.members.empty()) continue;
    Lines members;
    for (const GroupMember& member : entry.members) members.push_back(texts[member.nexthop] + "*" + std::to_string(member.weight));
    texts[entry.id] = group_text(std::move(members));
    lines.push_back("group " + texts[entry.id]);
  }
  const Status read = plane.routes([&](const RouteEntry& route) {
    std::string name = object_name(route.gone());
    const std::string source = route.source == IpAddress{} ? "" : " src " + route.source.to_string();
    lines.push_back(route.type == RouteType::Unicast ? name + " via " + texts[route.nexthop] + source : name.append(type_text(route.type)));
  });
  RONDO_EXPECT(read.ok(), "the routes cannot be read: " + read.to_string());
  std::ranges::sort(lines);
  return lines;
}

/// Rows that refer only to existing rows (see close()), and the expected content of the kernel for them.
struct DesiredState {
  struct Hop {
    std::string port;
    std::string gateway;
    int weight = 1;
    friend auto operator<=>(const Hop&, const Hop&) = default;
  };
  using Hops = std::set<Hop>;
  struct Route {
    std::string group;  // Empty: 'hops', or a blackhole if these are empty, too.
    Hops hops;
  };
  std::set<std::pair<std::string, std::string>> addresses;               // Port, prefix.
  std::map<std::pair<std::string, std::string>, std::string> neighbors;  // Port, address -> MAC.
  std::map<std::string, Hops> groups;
  std::map<std::string, Route> routes;           // By the key of their row.
  bool has_vrf = false;                          // Vrf1: the only one, so that its table is the first one.
  std::map<std::string, std::string> port_vrfs;  // Port -> VRF.
  std::set<std::string> vlans;
  std::set<std::string> lags;
  std::map<std::string, std::string> lag_members;                           // Port -> LAG.
  std::map<std::pair<std::string, std::string>, std::string> vlan_members;  // VLAN, port -> the device in the bridge.
  std::map<std::pair<std::string, std::string>, std::string> vlan_entries;  // VLAN, MAC -> port.

  /// "10.0.0.0/8", or "10.0.0.0/8 table 1001": a route as its line begins.
  static std::string shown(const std::string& key) {
    return key.starts_with("Vrf1:") ? key.substr(key.find(':') + 1) + " table 1001" : key;
  }

  /// Returns the expected content of the kernel if the devices are as in 'links'.
  Lines expected(const std::vector<LinkEvent>& links) const {
    std::map<std::string, LinkEvent> ports;
    for (const LinkEvent& link : links) ports[link.name] = link;
    Lines lines;
    for (const auto& [port, prefix] : addresses) {
      if (ports.contains(port)) lines.push_back("address " + port + " " + prefix);
    }
    for (const auto& [place, mac] : neighbors) {
      if (ports[place.first].admin_up) lines.push_back("neighbor " + place.first + " " + place.second + " " + mac);
    }
    std::set<Hops> sets;
    std::set<std::string> nexthops;
    const auto members = [&](const Hops& hops) {
      Lines texts;
      for (const Hop& hop : hops) {
        if (!ports[hop.port].carrier) continue;
        nexthops.insert("nexthop " + hop.port + " " + hop.gateway);
        texts.push_back(hop.port + " " + hop.gateway + "*" + std::to_string(hop.weight));
      }
      return texts;
    };
    for (const auto& [name, hops] : groups) add_group(lines, members(hops));
    for (const auto& [prefix, route] : routes) {
      const Hops& hops = route.group.empty() ? route.hops : groups.at(route.group);
      if (route.group.empty() && !hops.empty() && sets.insert(hops).second) add_group(lines, members(hops));
      if (hops.empty()) {
        lines.push_back("route " + shown(prefix) + " blackhole");
      } else if (Lines texts = members(hops); !texts.empty()) {
        lines.push_back("route " + shown(prefix) + " via " + group_text(std::move(texts)));
      }
    }
    lines.insert(lines.end(), nexthops.begin(), nexthops.end());
    for (const auto& [port, vrf] : port_vrfs) {
      if (has_vrf && !vrf.empty() && ports[port].port) lines.push_back("port " + port + " in " + vrf);
    }
    for (const auto& [port, lag] : lag_members) {
      if (lags.contains(lag) && ports[port].port) lines.push_back("port " + port + " in " + lag);
    }
    for (const auto& [place, device] : vlan_members) {
      if (vlans.contains(place.first) && ports[place.second].port) lines.push_back("port " + device + " in " + place.first);
    }
    for (const auto& [place, port] : vlan_entries) {
      const auto member = vlan_members.find({place.first, port});
      if (member == vlan_members.end() || !vlans.contains(place.first) || !ports[port].port) continue;
      lines.push_back("entry " + place.first + " " + place.second + " " + member->second);
    }
    for (const std::string any : {"0.0.0.0/0", "::/0"}) {
      if (has_vrf) lines.push_back("route " + any + " table 1001 metric " + std::to_string(kLastResortMetric) + " unreachable");
    }
    std::ranges::sort(lines);
    return lines;
  }

 private:
  static void add_group(Lines& lines, Lines members) {
    if (!members.empty()) lines.push_back("group " + group_text(std::move(members)));
  }
};

}  // namespace rondo::switch_agent
