#include "managers/learned_fdb.h"

#include "switch_agent/fdb.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

std::string LearnedFdb::vlan_of(IfIndex bridge) const {
  const auto device = devices_.find(bridge);
  return device != devices_.end() && rows_.contains(device->second.name) ? device->second.name : std::string{};
}

void LearnedFdb::set_row(std::string_view vlan, bool has_row) {
  const std::string name{vlan};
  if (has_row ? !rows_.insert(name).second : rows_.erase(name) == 0) return;
  const auto bridge = numbers_.find(name);
  if (bridge == numbers_.end()) return;
  for (auto it = stations_.lower_bound({bridge->second, {}}); it != stations_.end() && it->first.first == bridge->second; ++it) {
    note(it->first, name);
  }
}

std::string LearnedFdb::port_name(IfIndex device) const {
  const auto found = devices_.find(device);
  if (found == devices_.end()) return {};
  if (found->second.vlan == 0) return found->second.name;
  const auto lower = devices_.find(found->second.lower);
  return lower == devices_.end() ? std::string{} : lower->second.name;
}

void LearnedFdb::note(const Place& place, std::string_view vlan) const {
  if (!vlan.empty()) changed_(switch_agent::fdb_key(vlan, place.second));
}

void LearnedFdb::fdb_event(const FdbEvent& event) {
  const Place place{event.bridge, event.mac};
  if (const auto known = stations_.find(place); known != stations_.end()) forget(known);
  if (!event.removed) {
    stations_.emplace(place, event.port);
    behind_[event.port].insert(place);
  }
  note(place, vlan_of(event.bridge));
}

void LearnedFdb::forget(std::map<Place, IfIndex>::iterator station) {
  const auto behind = behind_.find(station->second);
  behind->second.erase(station->first);
  if (behind->second.empty()) behind_.erase(behind);
  stations_.erase(station);
}

void LearnedFdb::note_behind(IfIndex device) const {
  const auto behind = behind_.find(device);
  if (behind == behind_.end()) return;
  for (const Place& place : behind->second) note(place, vlan_of(place.first));
}

/// The events of a device and of what it learned come by different ways, in any order.
void LearnedFdb::link_event(const LinkEvent& event) {
  const auto known = devices_.find(event.port);
  const bool is_same = known != devices_.end() && !event.removed && known->second.name == event.name && known->second.vlan == event.vlan &&
                       known->second.lower == event.lower;
  if (is_same) return;
  const std::string vlan_before = vlan_of(event.port);
  if (known != devices_.end()) {
    if (const auto number = numbers_.find(known->second.name); number != numbers_.end() && number->second == event.port)
      numbers_.erase(number);
    if (const auto on_port = tagged_.find(known->second.lower); on_port != tagged_.end()) {
      on_port->second.erase(event.port);
      if (on_port->second.empty()) tagged_.erase(on_port);
    }
  }
  if (event.removed) {
    devices_.erase(event.port);
  } else {
    devices_.insert_or_assign(event.port, Device{event.name, event.vlan, event.lower});
    numbers_.insert_or_assign(event.name, event.port);
    if (event.vlan != 0) tagged_[event.lower].insert(event.port);
  }
  const std::string vlan_now = vlan_of(event.port);
  for (auto it = stations_.lower_bound({event.port, {}}); it != stations_.end() && it->first.first == event.port; ++it) {
    note(it->first, vlan_before);
    note(it->first, vlan_now);
  }
  note_behind(event.port);
  if (const auto on_port = tagged_.find(event.port); on_port != tagged_.end()) {
    for (const IfIndex device : on_port->second) note_behind(device);
  }
}

std::optional<std::string> LearnedFdb::port_of(std::string_view key) const {
  const auto parsed = switch_agent::parse_fdb_key(key);
  if (!parsed || !rows_.contains(parsed->vlan)) return std::nullopt;
  const auto bridge = numbers_.find(parsed->vlan);
  if (bridge == numbers_.end()) return std::nullopt;
  const auto station = stations_.find({bridge->second, parsed->mac});
  if (station == stations_.end()) return std::nullopt;
  const std::string port = port_name(station->second);
  return port.empty() ? std::nullopt : std::optional{port};
}

std::vector<Operation> LearnedFdb::to_flush(FlushWalk& walk, std::size_t limit) const {
  std::vector<Operation> orders;
  auto it = walk.after ? stations_.upper_bound(*walk.after) : stations_.begin();
  for (; it != stations_.end() && limit > 0; ++it, --limit) {
    const auto& [place, device] = *it;
    walk.after = place;
    const std::string name = vlan_of(place.first);
    if (name.empty() || (!walk.vlan.empty() && name != walk.vlan) || (!walk.port.empty() && port_name(device) != walk.port)) continue;
    orders.push_back({FdbDelete{device, place.second}, {}});
  }
  walk.at_end = it == stations_.end();
  return orders;
}

}  // namespace rondo::managers
