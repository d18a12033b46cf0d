// The states of INTF_TABLE rows in the data plane.
#include "switch_agent/facts.h"
#include "switch_agent/interfaces.h"

namespace rondo::switch_agent {

RowInPlane Interfaces::state_of(std::string_view key) const {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return {};
  const auto it = interfaces_.find(parsed->port);
  if (it == interfaces_.end()) return {};
  const RowInPlane gone{PlaneState::Withdrawn, "it went with the device", {{kDevice, parsed->port}}};
  const bool has_device = static_cast<bool>(ids_.find(parsed->port));
  if (!parsed->address) {
    if (!it->second.applied) return {};
    return has_device ? RowInPlane{PlaneState::Installed, {}, {}} : gone;
  }
  const auto entry = it->second.addresses.find(*parsed->address);
  if (entry == it->second.addresses.end() || !entry->second.applied || entry->second.leaving) return {};
  if (!has_device) return gone;
  const Constraint up{kAdminUp, parsed->port};
  if (parsed->address->address.is_v6() && !holds(up)) {
    return {PlaneState::Withdrawn, "the kernel drops the IPv6 addresses of a port that is down", {up}};
  }
  if (entry->second.present) return {PlaneState::Installed, {}, {}};
  return {entry->second.trouble.empty() ? PlaneState::Pending : PlaneState::Withdrawn, entry->second.trouble, {}};
}

PlaneCounts Interfaces::state_counts() const {
  PlaneCounts counts;
  for (const auto& [port, interface] : interfaces_) {
    const bool has_device = static_cast<bool>(ids_.find(port));
    const bool is_up = has_device && holds({kAdminUp, port});
    if (!has_device && interface.applied) ++counts.withdrawn;
    for (const auto& [prefix, address] : interface.addresses) {
      const bool is_dropped = !has_device || (prefix.address.is_v6() && !is_up) || (!address.present && !address.trouble.empty());
      if (address.applied && is_dropped) ++counts.withdrawn;
    }
  }
  counts.installed = applied_ - counts.withdrawn;
  return counts;
}

}  // namespace rondo::switch_agent
