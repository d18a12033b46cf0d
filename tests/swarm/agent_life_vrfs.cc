// VRFs in a random life of the switch agent.
#include <algorithm>
#include <string>
#include <vector>

#include "agent_life.h"

namespace rondo::swarm {

void AgentLife::set_vrf() {
  if (!may_set("VRF_TABLE", "Vrf1")) return;
  world_->set("VRF_TABLE", "Vrf1", {{"NULL", "NULL"}});
  desired_.has_vrf = true;
}

void AgentLife::set_vrf_of(const std::string& port, const std::string& vrf) {
  if (!may_set("INTF_TABLE", port)) return;
  world_->set("INTF_TABLE", port, {{"vrf_name", vrf}});
  desired_.port_vrfs[port] = vrf;
}

void AgentLife::operate_vrfs() {
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

void AgentLife::meddle_with_vrfs(const std::string& port) {
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

void AgentLife::close_vrfs() {
  if (desired_.has_vrf) return;
  for (const auto& [key, route] : std::map{desired_.routes}) {
    if (key.starts_with("Vrf1:")) erase_route(key);
  }
  for (const auto& [port, vrf] : std::map{desired_.port_vrfs}) {
    if (!vrf.empty()) set_vrf_of(port, "");
  }
}

}  // namespace rondo::swarm
