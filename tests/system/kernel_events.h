// For tests: the kernel's notifications about devices, addresses, neighbours, next hops and routes of a namespace as lines of text, and
// its content as lines with the same beginnings. So a test can check which objects a program touched. One thread.
#pragma once

#include <gtest/gtest.h>

#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../agent_lines.h"
#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/network_namespace.h"
#include "dataplane/netlink/socket.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::restart {

using switch_agent::Lines;

/// Devices of ours are "swpN"; excludes the kernel's own addresses and the other ends of the cables.
inline bool is_foreign(const std::string& line) {
  const bool is_of_the_kernel = line.find("address ") != std::string::npos && line.find(" fe80:") != std::string::npos;
  return is_of_the_kernel || line.starts_with("link old") || line.find(" line") != std::string::npos ||
         line.find(" lo") != std::string::npos;
}

/// "link swp1 up mtu 1500", and of a bond also its mode and its min_links.
inline std::string link_text(const LinkEvent& link) {
  std::string text = "link " + link.name + (link.admin_up ? " up" : " down") + " mtu " + std::to_string(link.mtu);
  if (link.bond == BondMode::None) return text;
  return text + (link.bond == BondMode::Lacp ? " lacp" : " static") + " min_links " + std::to_string(link.min_links);
}

/// The kernel's content: the lines of agent_lines.h and of link_text(). Without the IPv6 addresses of devices that are down: the
/// kernel drops them then, and accepts new ones.
inline Lines kernel_lines(DataPlane& plane) {
  Lines lines = switch_agent::lines_of(plane);
  const std::vector<LinkEvent> links = plane.links().value();
  for (const LinkEvent& link : links) {
    if (!link.admin_up)
      std::erase_if(lines, [&link](const std::string& line) {
        return line.starts_with("address " + link.name + " ") && line.find(':') != std::string::npos;
      });
    lines.push_back(link_text(link));
  }
  std::erase_if(lines, is_foreign);
  std::ranges::sort(lines);
  return lines;
}

/// The order that deletes an object, with the beginning of its line. Excludes devices.
inline std::vector<std::pair<std::string, DeleteOrder>> deletes_by_line(DataPlane& plane) {
  std::map<IfIndex, std::string> ports;
  const std::vector<LinkEvent> links = plane.links().value();
  for (const LinkEvent& link : links) ports[link.port] = link.name;
  std::vector<std::pair<std::string, DeleteOrder>> found;
  const auto add_route = [&found](const RouteEntry& route) {
    found.emplace_back("route " + route.prefix.to_string(), RouteDelete{route.prefix, route.table});
  };
  EXPECT_TRUE(plane.routes(add_route).ok());
  const std::vector<AddressEntry> addresses = plane.addresses().value();
  for (const AddressEntry& entry : addresses) {
    if (!entry.ours) continue;
    found.emplace_back("address " + ports[entry.port] + " " + entry.address.to_string(), AddressDelete{entry.port, entry.address});
  }
  const std::vector<NeighborEntry> neighbors = plane.neighbors().value();
  for (const NeighborEntry& entry : neighbors) {
    found.emplace_back("neighbor " + ports[entry.port] + " " + entry.address.to_string(), NeighborDelete{entry.port, entry.address});
  }
  std::map<NexthopId, std::string> texts;
  const std::vector<NexthopEntry> nexthops = plane.nexthops().value();
  for (const NexthopEntry& entry : nexthops) texts[entry.id] = ports[entry.port] + " " + entry.gateway.to_string();
  for (const NexthopEntry& entry : nexthops) {
    const bool is_group = !entry.members.empty();
    found.emplace_back(is_group ? "group {" + texts[entry.members.front().nexthop] : "nexthop " + texts[entry.id], NexthopDelete{entry.id});
  }
  return found;
}

/// The object of a line: its words without the state.
inline std::string object_of(const std::string& line) {
  const auto up_to = [&line](std::size_t words) {
    std::size_t end = 0;
    for (; words > 0 && end != std::string::npos; --words) end = line.find(' ', end + 1);
    return line.substr(0, end);
  };
  if (line.starts_with("link ") || line.starts_with("route ")) return up_to(2);
  if (line.starts_with("neighbor ")) return up_to(3);
  return line;
}

/// Listens from its construction on.
class KernelEvents {
 public:
  KernelEvents(const std::string& network_namespace, DataPlane& plane)
      : socket_(netlink::Socket::open(netlink::NetworkNamespace::open(network_namespace).value(),
                                      {.receive_buffer_bytes = 8 << 20,
                                       .groups = {RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
                                                  RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP}})
                    .value()),
        buffer_(netlink::kDatagramBytes) {
    const std::vector<LinkEvent> links = plane.links().value();
    for (const LinkEvent& link : links) ports_[link.port] = link.name;
    const std::vector<NexthopEntry> nexthops = plane.nexthops().value();
    for (const NexthopEntry& entry : nexthops) learn(entry);
  }

  /// Returns the events since the last call, in order: lines in the form of kernel_lines(), with "gone: " before that of a deleted object.
  /// Counts only the last event of a group, because a line identifies a group by its members: a group that gets its members one after the
  /// other would otherwise look like several groups.
  Lines take() {
    Lines lines;
    std::map<NexthopId, std::size_t> groups;  // Where in 'lines' the last event of a group is.
    for (;;) {
      const auto datagram = socket_.receive(buffer_, Duration{0});
      if (!datagram) {
        ADD_FAILURE() << datagram.error().to_string();
        return lines;
      }
      if (datagram->empty()) {
        std::erase(lines, "");
        return lines;
      }
      netlink::MessageReader reader{*datagram};
      for (netlink::Message message; reader.next(message);) {
        std::string line = line_of(message);
        if (line.empty() || is_foreign(line)) continue;
        if (const auto group = netlink::decode_nexthop(message, kProtocol); group && !group->members.empty()) {
          if (const auto earlier = groups.find(group->id); earlier != groups.end()) lines[earlier->second].clear();
          groups[group->id] = lines.size();
        }
        lines.push_back(std::move(line));
      }
    }
  }

 private:
  static constexpr std::uint8_t kProtocol = 201;

  /// Empty for events of another program or of the kernel itself.
  std::string line_of(netlink::Message message) {
    std::uint16_t& type = message.header.nlmsg_type;
    const bool gone = type == RTM_DELLINK || type == RTM_DELADDR || type == RTM_DELNEIGH || type == RTM_DELNEXTHOP || type == RTM_DELROUTE;
    if (const auto link = netlink::decode_link(message)) {
      ports_[link->event.port] = link->event.name;
      return (gone ? "gone: " : "") + link_text(link->event);
    }
    if (gone) --type;  // RTM_DELx follows RTM_NEWx.
    std::string line = object_line(message);
    return gone && !line.empty() ? "gone: " + line : line;
  }
  std::string object_line(const netlink::Message& message) {
    if (const auto address = netlink::decode_address(message, kProtocol)) {
      return "address " + ports_[address->port] + " " + address->address.to_string();
    }
    if (const auto neighbor = netlink::decode_neighbor(message, kProtocol)) {
      return "neighbor " + ports_[neighbor->port] + " " + neighbor->address.to_string() + " " + neighbor->mac.to_string();
    }
    if (const auto nexthop = netlink::decode_nexthop(message, kProtocol)) {
      learn(*nexthop);
      return (nexthop->members.empty() ? "nexthop " : "group ") + text_of(nexthop->id);
    }
    if (const auto route = netlink::decode_route(message, {.protocol = kProtocol, .metric = 201})) {
      const std::string name = "route " + route->prefix.to_string();
      return route->type == RouteType::Unicast ? name + " via " + text_of(route->nexthop) : name + " blackhole";
    }
    return {};
  }
  void learn(const NexthopEntry& entry) { nexthops_[entry.id] = entry; }
  /// In the form of agent_lines.h.
  std::string text_of(NexthopId id) {
    const NexthopEntry& entry = nexthops_[id];
    if (entry.members.empty()) return ports_[entry.port] + " " + entry.gateway.to_string();
    Lines members;
    for (const GroupMember& member : entry.members) members.push_back(text_of(member.nexthop) + "*" + std::to_string(member.weight));
    return switch_agent::group_text(std::move(members));
  }

  netlink::Socket socket_;
  std::vector<std::byte> buffer_;
  std::map<IfIndex, std::string> ports_;
  std::map<NexthopId, NexthopEntry> nexthops_;
};

/// The events about objects that were correct: those whose lines are equal in 'before' and 'after'.
inline Lines needless(const Lines& events, const Lines& before, const Lines& after) {
  std::set<std::string> changed;
  for (const std::string& difference : switch_agent::difference(after, before)) {
    const std::string line = difference.substr(2);
    changed.insert(object_of(line));
    if (!line.starts_with("port ")) continue;  // "port swp9 in Vlan9": it entered or left, which is an event of both devices.
    const std::size_t in = line.find(" in ");
    changed.insert("link " + line.substr(5, in - 5));
    changed.insert("link " + line.substr(5, std::min(in, line.find('.')) - 5));  // The port below an 802.1Q device.
    changed.insert("link " + line.substr(in + 4));
  }
  Lines found;
  for (const std::string& event : events) {
    const std::string line = event.starts_with("gone: ") ? event.substr(6) : event;
    if (!changed.contains(object_of(line))) found.push_back(event);
  }
  return found;
}

}  // namespace rondo::restart
