#include "switch_agent/vlans.h"

#include <utility>
#include <vector>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

Vlans::Vlans(Runtime& runtime, Programmer& programmer, const PortIds& ids, MtuRows& mtus)
    : Orch(runtime, "vlans", kVlans), programmer_(programmer), ids_(ids), mtus_(mtus) {
  consume("VLAN_TABLE", this, &Vlans::set, &Vlans::remove, {.set_replaces_delete = true});
  provide(kVlan, [this](std::string_view name) {
    const auto it = vlans_.find(name);
    return it != vlans_.end() && it->second.usable;
  });
  runtime.explain(kVlan, [](std::string_view name) { return FactOrigin{"VLAN_TABLE", std::string{name}, ""}; });
}

/// A row is handled again when its device goes. Another device may have the name by then.
void Vlans::note_device(const std::string& name, Vlan& vlan) {
  if (!vlan.usable || ids_.find(name) == vlan.device) return;
  vlan.usable = false;
  withdraw({kVlan, name});
}

Outcome Vlans::set(std::string_view key, const Fields& fields) {
  if (const auto name = parse_vlan_name(key); !name) return Outcome::reject_key(name.error());
  const Result<VlanRow> row = parse_vlan(fields);
  if (!row) return Outcome::reject(row.error());
  const std::string name{key};
  Vlan& vlan = vlans_[name];
  note_device(name, vlan);
  const IfIndex device = ids_.find(name);
  vlan.trouble.clear();
  if (device && !ids_.device(name).bridge) {
    vlan.trouble = "the device " + name + " exists, and it is no bridge: rename or delete it";
    return Outcome::retry_after(kForeignRetry, Status{StatusCode::AlreadyExists, vlan.trouble});
  }
  const MtuRows::Mtu mtu_before = mtus_.port_row(name);
  mtus_.set_port_row(name, row->mtu);
  vlan.wanted_up = row->admin_up;
  vlan.wanted_mac = row->mac;
  const bool is_set_up = device && !vlan.asked && row->admin_up && ids_.up_number(name) == 0;
  std::vector<Operation> orders;
  if (!device || !vlan.asked) orders.push_back({BridgeSet{name}, {}});
  if (ids_.device(name).altered) orders.push_back({BridgeSet{name, device}, {}});
  if (device) orders.push_back({LinkSet{device, row->admin_up, mtus_.wanted(name), std::nullopt, row->mac}, {}});
  program_all(programmer_, std::move(orders), [this, name, device, is_set_up, mtu_before, ticket = current_ticket()](const Status& status) {
    Outcome outcome = answered(name, device, is_set_up, status);
    if (outcome.kind() == Outcome::Kind::Reject) {
      mtus_.set_port_row(name, mtu_before);
      if (const auto it = vlans_.find(name); it != vlans_.end() && !it->second.applied) vlans_.erase(it);
    }
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

/// The event of a device that was just made may still be on its way; what the row asks for is set when it has come.
Outcome Vlans::answered(const std::string& name, IfIndex device, bool is_set_up, const Status& status) {
  Vlan& vlan = vlans_[name];
  if (!status.ok()) {
    Outcome outcome =
        outcome_of_set(status.code() == StatusCode::Unimplemented ? status.with_context("this kernel has no bridges") : status);
    vlan.trouble = std::string{outcome.why().message()};
    return outcome;
  }
  const Duration soon = std::exchange(vlan.asked, true) ? kSoon : kEventRetry;
  if (!device) {
    vlan.unreported.confirmed();
    return Outcome::retry_after(soon, not_reported(name));
  }
  if (ids_.find(name) != device) return Outcome::retry_after(kSoon, device_changed(name));
  if (is_set_up && on_set_up_) on_set_up_(name);
  vlan.unreported.reported();
  vlan.applied = true;
  vlan.device = device;
  if (!std::exchange(vlan.usable, true)) announce({kVlan, name});
  return Outcome::done_while({kDevice, name});
}

Outcome Vlans::remove(std::string_view key) {
  const auto it = vlans_.find(key);
  if (it == vlans_.end()) return Outcome::done();
  const std::string name{key};
  Vlan& vlan = it->second;
  note_device(name, vlan);
  const Fact members{kVlanMembersGone, name};
  const Fact interface { kPortUnused, name };
  if (!holds(members) || !holds(interface)) return Outcome::wait_for({members, interface});
  if (vlan.unreported.must_wait(ids_.find(name))) return Outcome::retry_after(kEventRetry, not_reported(name));
  if (std::exchange(vlan.usable, false)) withdraw({kVlan, name});
  vlan.asked = false;
  std::vector<Operation> orders;
  // Otherwise it belongs to another program.
  if (const PortIds::Device device = ids_.device(name); device.ours && device.bridge) orders.push_back({DeviceDelete{ids_.find(name)}, {}});
  program_all(programmer_, std::move(orders),
              [this, name, ticket = current_ticket()](const Status& status) { settle(ticket, deleted(name, status)); });
  return Outcome::staged();
}

Outcome Vlans::deleted(const std::string& name, const Status& status) {
  Outcome outcome = outcome_of_delete(status);
  if (outcome.kind() != Outcome::Kind::Done) return outcome;
  mtus_.set_port_row(name, std::nullopt);
  vlans_.erase(name);
  return outcome;
}

void Vlans::restore_settings(const std::string& name) {
  const auto it = vlans_.find(name);
  if (it == vlans_.end() || !it->second.usable || it->second.device != ids_.find(name)) return;
  program(programmer_, BridgeSet{name, it->second.device}, [](const Status&) {});
}

/// What another program changed of what the row asks for, and how to set it again; empty if it changed nothing.
std::string Vlans::find_loss(const std::string& name, const Vlan& vlan) const {
  const auto changed = [&name](const std::string& what, const std::string& field, const std::string& wanted) {
    return "another program " + what + "; 'rondo set VLAN_TABLE " + name + " " + field + "=" + wanted + "' sets it " +
           (field == "mac" ? "" : wanted + " ") + "again";
  };
  const bool is_up = ids_.up_number(name) != 0;
  if (is_up != vlan.wanted_up) return changed(is_up ? "set it up" : "set it down", "admin_status", vlan.wanted_up ? "up" : "down");
  const PortIds::Device device = ids_.device(name);
  if (vlan.wanted_mac && *vlan.wanted_mac != device.mac) {
    return changed("changed its MAC address to " + device.mac.to_string(), "mac", vlan.wanted_mac->to_string());
  }
  if (device.altered) return "another program switched VLAN filtering on, or gave its ports a VLAN; that is being undone";
  return mtus_.interface_row(name) ? std::string{} : mtus_.trouble(name);
}

void Vlans::add_differences(std::vector<Drift>& found) const {
  for (const auto& [name, vlan] : vlans_) {
    if (!vlan.applied || !vlan.usable || !vlan.trouble.empty()) continue;
    const MacAddress mac = ids_.device(name).mac;
    const bool is_of_interface = mtus_.interface_row(name).has_value();
    add_difference(found, "VLAN_TABLE", name,
                   {{vlan.wanted_up ? "up" : "down", ids_.up_number(name) != 0 ? "up" : "down"},
                    {"MAC " + vlan.wanted_mac.value_or(mac).to_string(), "MAC " + mac.to_string()},
                    {"without VLAN filtering", ids_.device(name).altered ? "with VLAN filtering" : "without VLAN filtering"},
                    is_of_interface ? Setting{} : mtus_.setting(name)});
    if (is_of_interface) add_difference(found, "INTF_TABLE", name, {mtus_.setting(name)});
  }
}

RowInPlane Vlans::state_of(std::string_view key) const {
  const auto it = vlans_.find(key);
  if (it == vlans_.end()) return {};
  const Vlan& vlan = it->second;
  if (!vlan.trouble.empty()) {
    const bool is_foreign = ids_.find(key) && !ids_.device(key).bridge;
    return {is_foreign ? PlaneState::Foreign : PlaneState::Refused, vlan.trouble, {}};
  }
  if (!vlan.applied) return {};
  if (!vlan.usable) return {PlaneState::Pending, "its device went; it is made again", {}};
  if (std::string loss = find_loss(it->first, vlan); !loss.empty()) return {PlaneState::Lost, std::move(loss), {}};
  return {PlaneState::Installed, ids_.up_number(key) != 0 ? std::string{} : "the device is set down", {}};
}

PlaneCounts Vlans::state_counts() const {
  PlaneCounts counts;
  for (const auto& [name, vlan] : vlans_) {
    if (!vlan.trouble.empty() && (!ids_.find(name) || ids_.device(name).bridge)) ++counts.refused;
    if (!vlan.trouble.empty() || !vlan.applied) continue;
    ++(!vlan.usable ? counts.pending : !find_loss(name, vlan).empty() ? counts.lost : counts.installed);
  }
  return counts;
}

}  // namespace rondo::switch_agent
