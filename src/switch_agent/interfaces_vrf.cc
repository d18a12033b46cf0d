// The VRFs of interfaces: which ports have to enter or leave one, and when a VRF has no ports left.
#include <algorithm>
#include <utility>

#include "rondo/orch/runtime.h"
#include "switch_agent/facts.h"
#include "switch_agent/interfaces.h"
#include "switch_agent/program.h"
#include "switch_agent/schema.h"

namespace rondo::switch_agent {

void Interfaces::provide_vrf_facts() {
  provide(kSubnet, [this](std::string_view key) { return has_subnet(key); });  // A subnet is one of the VRF of its port.
  provide(kNoSubnet, [this](std::string_view key) { return !has_subnet(key); });
  provide(kVrfPortsGone, [this](std::string_view vrf) { return !vrf_ports_.contains(vrf); });
  runtime().explain(kVrfPortsGone, [this](std::string_view vrf) {
    const auto one = std::ranges::find_if(interfaces_, [vrf](const auto& entry) { return entry.second.vrf == vrf; });
    return FactOrigin{"", "", one == interfaces_.end() ? std::string{} : "INTF_TABLE " + one->first + " still names " + std::string{vrf}};
  });
}

/// The row wants the port in the VRF; empty: in the default one. Returns nothing if the port is there. A port in a device that rows cannot
/// name stays there: a bridge, or a VRF whose name does not begin with Vrf. No earlier run has put it into such a device.
std::optional<IfIndex> Interfaces::master_to_order(const std::string& port, const std::string& vrf) const {
  const IfIndex now = ids_.device(port).master;
  if (!vrf.empty()) return now == ids_.find(vrf) ? std::nullopt : std::optional{ids_.find(vrf)};
  if (!now) return std::nullopt;
  const std::string_view name = ids_.name(now);
  const PortIds::Device device = ids_.device(name);
  const bool is_left = device.vrf_table != 0 && (device.ours || check_vrf_name(name).ok());
  return is_left ? std::optional{IfIndex{}} : std::nullopt;
}

/// The same when the row goes: the port leaves the VRF that the row has named, or one of ours.
std::optional<IfIndex> Interfaces::master_to_leave(const std::string& port, const std::string& vrf) const {
  const std::string_view name = ids_.name(ids_.device(port).master);
  const PortIds::Device device = ids_.device(name);
  const bool is_left = device.vrf_table != 0 && (device.ours || name == vrf);
  return is_left ? std::optional{IfIndex{}} : std::nullopt;
}

void Interfaces::set_vrf(const std::string& port, Interface& interface, std::string vrf) {
  if (interface.vrf == vrf) return;
  const std::string before = std::exchange(interface.vrf, std::move(vrf));
  for (const auto& [prefix, address] : interface.addresses) {
    tell_subnet(port, before, prefix);
    tell_subnet(port, interface.vrf, prefix);
  }
  if (!interface.vrf.empty() && vrf_ports_[interface.vrf]++ == 0) withdraw({kVrfPortsGone, interface.vrf});
  if (before.empty()) return;
  if (--vrf_ports_.find(before)->second > 0) return;
  vrf_ports_.erase(before);
  announce({kVrfPortsGone, before});
}

/// At the end of a restart: an earlier run may have left ports in VRFs that no row asks for any more.
void Interfaces::release_ports() {
  ids_.for_each_device([this](const std::string& port, const PortIds::Device& device) {
    const PortIds::Device master = ids_.device(ids_.name(device.master));
    if (!master.ours || master.vrf_table == 0) return;
    const auto it = interfaces_.find(port);
    if (it != interfaces_.end() && !it->second.vrf.empty()) return;
    program(programmer_, LinkSet{ids_.find(port), std::nullopt, std::nullopt, IfIndex{}}, [](const Status&) {});
  });
}

}  // namespace rondo::switch_agent
