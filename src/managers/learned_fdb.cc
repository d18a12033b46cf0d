#include "managers/learned_fdb.h"

#include "switch_agent/fdb.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

std::string LearnedFdb::vlan_of(IfIndex bridge) const {
  const auto device = devices_.find(bridge);
  return device != devices_.end() && switch_agent::is_vlan_name(device->second.name) ? device->second.name : std::string{};
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
  if (event.removed) {
    stations_.erase(place);
  } else {
    stations_.insert_or_assign(place, event.port);
  }
  note(place, vlan_of(event.bridge));
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
  }
  if (event.removed) {
    devices_.erase(event.port);
  } else {
    devices_.insert_or_assign(event.port, Device{event.name, event.vlan, event.lower});
    numbers_.insert_or_assign(event.name, event.port);
  }
  const std::string vlan_now = vlan_of(event.port);
  for (const auto& [place, device] : stations_) {
    if (place.first == event.port) {
      note(place, vlan_before);
      note(place, vlan_now);
    } else if (device == event.port) {
      note(place, vlan_of(place.first));
    }
  }
}

std::optional<std::string> LearnedFdb::port_of(std::string_view key) const {
  const auto parsed = switch_agent::parse_fdb_key(key);
  if (!parsed) return std::nullopt;
  const auto bridge = numbers_.find(parsed->vlan);
  if (bridge == numbers_.end()) return std::nullopt;
  const auto station = stations_.find({bridge->second, parsed->mac});
  if (station == stations_.end()) return std::nullopt;
  const std::string port = port_name(station->second);
  return port.empty() ? std::nullopt : std::optional{port};
}

std::vector<Operation> LearnedFdb::to_flush(std::string_view port, std::string_view vlan) const {
  std::vector<Operation> orders;
  for (const auto& [place, device] : stations_) {
    const std::string name = vlan_of(place.first);
    if (name.empty() || (!vlan.empty() && name != vlan) || (!port.empty() && port_name(device) != port)) continue;
    orders.push_back({FdbDelete{device, place.second}, {}});
  }
  return orders;
}

}  // namespace rondo::managers
