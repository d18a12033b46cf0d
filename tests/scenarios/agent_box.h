// AgentBox: a switch in simulation: a world, a simulated kernel with ports, a runtime and the agent upon it. DesiredState is the plain model beside it:
// rows as a person thinks of them, and what the kernel must hold for them. Both are rendered as sorted lines, so that a difference reads well.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/sim_dataplane.h"
#include "rondo/sim/world.h"

namespace rondo::agent {

using Lines = std::vector<std::string>;

/// What is there and should not be (+), and what is missing (-). Both sorted.
inline Lines difference(const Lines& actual, const Lines& expected) {
  Lines extra, missing, all;
  std::ranges::set_difference(actual, expected, std::back_inserter(extra));
  std::ranges::set_difference(expected, actual, std::back_inserter(missing));
  for (const std::string& line : extra) all.push_back("+ " + line);
  for (const std::string& line : missing) all.push_back("- " + line);
  return all;
}

class AgentBox {
 public:
  explicit AgentBox(std::uint64_t seed = 1, sim::SimDataPlaneOptions options = {})
      : world(seed), plane(with_cost(std::move(options))), runtime(runtime_options()), agent(runtime, plane, {.mode = Programmer::Mode::Inline}) {
    runtime.on_reject([this](std::string_view, const Change&, const Status& why) { rejects.push_back(why.to_string()); });
  }

  void start() { ASSERT_TRUE(agent.start().ok()); }
  void set(std::string_view table, std::string_view key, std::initializer_list<Field> fields) {
    ASSERT_TRUE(runtime.table(table).set(key, fields).ok());
  }
  void remove(std::string_view table, std::string_view key) { ASSERT_TRUE(runtime.table(table).remove(key).ok()); }
  void run_for(Duration time) { world.run_for(runtime.scheduler(), time); }

  ConsumerStats stats(std::string_view table) {
    for (const ConsumerStats& stats : runtime.consumers()) {
      if (stats.table == table) return stats;
    }
    ADD_FAILURE() << "no consumer of " << table;
    return {};
  }
  /// Nothing is owed for the key: neither in the table nor in the ledger.
  bool is_settled(std::string_view table, std::string_view key) {
    return stats(table).queued == 0 && runtime.why(table, key).chain.front().state == WhyLink::State::Absent;
  }
  /// Rows that some consumer still owes an outcome.
  std::size_t owed() {
    std::size_t rows = 0;
    for (const ConsumerStats& stats : runtime.consumers()) rows += stats.queued + stats.parked + stats.in_flight;
    return rows;
  }
  /// `why` as one line.
  std::string why(std::string_view table, std::string_view key) {
    std::string text;
    for (const WhyLink& link : runtime.why(table, key).chain) {
      text.append(text.empty() ? "" : " -> ").append(link.table).append(":").append(link.key);
      if (!link.facts.empty()) text.append(" waits for ").append(link.facts.front().to_string());
      if (!link.note.empty()) text.append(" (").append(link.note).append(")");
    }
    return text;
  }
  std::vector<LinkEvent> links() { return plane.links().value(); }
  /// What the kernel holds, with next hops by what they are and not by number.
  Lines actual() {
    std::map<IfIndex, std::string> ports;
    for (const LinkEvent& link : links()) ports[link.port] = link.name;
    Lines lines;
    const std::vector<AddressEntry> addresses = plane.addresses().value();
    for (const AddressEntry& entry : addresses) lines.push_back("address " + ports[entry.port] + " " + entry.address.to_string());
    const std::vector<NeighborEntry> neighbors = plane.neighbors().value();
    for (const NeighborEntry& entry : neighbors) {
      lines.push_back("neighbor " + ports[entry.port] + " " + entry.address.to_string() + " " + entry.mac.to_string());
    }
    std::map<NexthopId, std::string> texts;
    const std::vector<NexthopEntry> nexthops = plane.nexthops().value();
    for (const NexthopEntry& entry : nexthops) {
      if (!entry.members.empty()) continue;
      texts[entry.id] = ports[entry.port] + " " + entry.gateway.to_string();
      lines.push_back("nexthop " + texts[entry.id]);
    }
    for (const NexthopEntry& entry : nexthops) {
      if (entry.members.empty()) continue;
      Lines members;
      for (const GroupMember& member : entry.members) members.push_back(texts[member.nexthop] + "*" + std::to_string(member.weight));
      texts[entry.id] = group_text(std::move(members));
      lines.push_back("group " + texts[entry.id]);
    }
    EXPECT_TRUE(plane.routes([&](const RouteEntry& route) { lines.push_back(route_line(route, texts)); }).ok());
    std::ranges::sort(lines);
    return lines;
  }
  static std::string group_text(Lines members) {
    std::ranges::sort(members);
    std::string text;
    for (const std::string& member : members) text.append(text.empty() ? "{" : ", ").append(member);
    return text + "}";
  }

  sim::World world;
  sim::SimDataPlane plane;
  Runtime runtime;
  Agent agent;
  Lines rejects;

 private:
  sim::SimDataPlaneOptions with_cost(sim::SimDataPlaneOptions options) {
    options.seed = world.seed();
    options.spend = [this](Duration time) { world.clock().advance(time); };
    return options;
  }
  RuntimeOptions runtime_options() {
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    return options;
  }
  static std::string route_line(const RouteEntry& route, std::map<NexthopId, std::string>& texts) {
    const std::string name = "route " + route.prefix.to_string();
    return route.type == RouteType::Unicast ? name + " via " + texts[route.nexthop] : name + " blackhole";
  }
};

/// Rows that all refer to rows that are there (see close()), and what the kernel must hold for them.
struct DesiredState {
  struct Hop {
    std::string port;
    std::string gateway;
    int weight = 1;
    friend auto operator<=>(const Hop&, const Hop&) = default;
  };
  using Hops = std::set<Hop>;
  struct Route {
    std::string group;  // Empty: 'hops', or a blackhole when these are empty, too.
    Hops hops;
  };
  std::set<std::pair<std::string, std::string>> addresses;            // Port, prefix.
  std::map<std::pair<std::string, std::string>, std::string> neighbors;  // Port, address -> MAC.
  std::map<std::string, Hops> groups;
  std::map<std::string, Route> routes;

  /// What the kernel must hold when the devices are as 'links' say.
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
        lines.push_back("route " + prefix + " blackhole");
      } else if (Lines texts = members(hops); !texts.empty()) {
        lines.push_back("route " + prefix + " via " + AgentBox::group_text(std::move(texts)));
      }
    }
    lines.insert(lines.end(), nexthops.begin(), nexthops.end());
    std::ranges::sort(lines);
    return lines;
  }

 private:
  static void add_group(Lines& lines, Lines members) {
    if (!members.empty()) lines.push_back("group " + AgentBox::group_text(std::move(members)));
  }
};

}  // namespace rondo::agent
