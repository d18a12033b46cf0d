// LAGs and their members in a random life of the switch agent.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent_life.h"

namespace rondo::swarm {

void AgentLife::begin_lags() {
  for (const char* const port : kLagPortNames) {
    plane().add_port(port);
    world_->set("PORT_TABLE", port, {{"admin_status", "up"}, {"mtu", "1600"}});
  }
  for (const char* const lag : kLagNames) set_lag(lag);
  set_lag_interface();
}

void AgentLife::set_lag(const std::string& lag) {
  if (!may_set("LAG_TABLE", lag)) return;
  world_->set("LAG_TABLE", lag,
              {{"mtu", random_.chance(0.5) ? "1500" : "9000"},
               {"static", random_.chance(0.3) ? "true" : "false"},
               {"min_links", random_.chance(0.5) ? "1" : "2"}});
  desired_.lags.insert(lag);
}

void AgentLife::set_lag_interface() {
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

void AgentLife::erase_lag_interface() {
  const std::string lag = kLagNames[0];
  if (desired_.routes.contains(kLagRoute)) erase_route(kLagRoute);
  if (desired_.neighbors.contains({lag, kLagNeighbor})) erase_neighbor({lag, kLagNeighbor});
  if (desired_.addresses.contains({lag, kLagAddress})) erase_address({lag, kLagAddress});
  if (std::exchange(has_lag_interface_, false)) erase("INTF_TABLE", lag);
}

void AgentLife::erase_lag_member(const std::string& port) {
  const auto member = desired_.lag_members.find(port);
  if (member == desired_.lag_members.end()) return;
  erase("LAG_MEMBER_TABLE", member->second + ":" + port);
  desired_.lag_members.erase(member);
}

void AgentLife::operate_lags() {
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

void AgentLife::meddle_with_lags(const std::string& lag, const std::string& port) {
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

void AgentLife::close_lags() {
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

void AgentLife::take_out_strange_ports() {
  const std::vector<LinkEvent> links = plane().links().value();
  for (const LinkEvent& link : links) {
    const bool is_lag_port = std::ranges::find(kLagPortNames, link.name) != kLagPortNames.end();
    if (!is_lag_port || !link.master || desired_.lag_members.contains(link.name)) continue;
    static_cast<void>(plane().meddle(LinkSet{link.port, {}, {}, IfIndex{}}));
    static_cast<void>(plane().meddle(LinkSet{link.port, true}));
  }
}

void AgentLife::raise_lag_ports() {
  for (const char* const port : kLagPortNames) {
    if (has_device(port)) plane().set_carrier(port, true);
  }
}

}  // namespace rondo::swarm
