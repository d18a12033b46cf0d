// kernel_bridges.cc: bridges of the simulated kernel, the 802.1Q devices that are put into them, and their forwarding databases.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "dataplane/kernel_status.h"
#include "dataplane/simulated/kernel.h"
#include "rondo/base/assert.h"

namespace rondo {

namespace {

constexpr Verdict kDone{};
constexpr Verdict kNoDevice{ENODEV, ""};

}  // namespace

Verdict SimKernel::apply(const BridgeSet& order) {
  if (order.device) {
    const auto bridge = ports_.find(order.device);
    if (bridge == ports_.end()) return kNoDevice;
    if (!bridge->second.bridge) return {EINVAL, ""};
    bridge->second.altered = false;
    changed(order.device);
    return kDone;
  }
  if (port_named(order.name) != ports_.end()) return {EEXIST, ""};
  add_bridge(order.name, true);
  return kDone;
}

void SimKernel::alter(std::string_view name) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no device '" + std::string{name} + "'");
  found->second.altered = true;
  changed(found->first);
}

IfIndex SimKernel::add_bridge(std::string name, bool ours) {
  const IfIndex index = add_port(std::move(name));
  events_.pop_back();
  Port& device = ports_.at(index);
  device.admin_up = true;
  device.ours = ours;
  device.bridge = true;
  changed(index);
  return index;
}

Verdict SimKernel::apply(const TaggedPortSet& order) {
  if (port_named(order.name) != ports_.end()) return {EEXIST, ""};
  const Port* const lower = port(order.port);
  if (lower == nullptr) return kNoDevice;
  const bool is_taken = std::ranges::any_of(
      ports_, [&order](const auto& entry) { return entry.second.vlan == order.vlan && entry.second.lower == order.port; });
  if (is_taken) return {EEXIST, ""};
  const Port* const master = port(order.bridge);
  if (master == nullptr) return {EINVAL, ""};
  if (!master->bridge) return {EOPNOTSUPP, ""};
  const IfIndex index = add_port(order.name);
  events_.pop_back();
  Port& device = ports_.at(index);
  device.ours = true;
  device.vlan = order.vlan;
  device.lower = order.port;
  device.mtu = lower->mtu;
  device.mac = lower->mac;
  device.signal = lower->carrier();
  set_master(index, order.bridge);
  return kDone;
}

/// An 802.1Q device goes up and down with its port, and cannot be up without it.
Verdict SimKernel::set_up(IfIndex index, bool up) {
  Port& device = ports_.at(index);
  if (device.admin_up == up) return kDone;
  if (up && device.vlan != 0 && !ports_.at(device.lower).admin_up) return {ENETDOWN, ""};
  device.admin_up = up;
  if (!up) went_down(index);
  for (const auto& [other, port] : ports_) {
    if (port.vlan == 0 || port.lower != index) continue;
    set_up(other, up);
    changed(other);
  }
  carrier_changed(index);
  return kDone;
}

/// What is on the port follows its carrier: its 802.1Q devices, and the bridge that it is in. A bridge itself has none to follow.
void SimKernel::carrier_changed(IfIndex index) {
  const Port& device = ports_.at(index);
  for (auto& [other, port] : ports_) {
    if (port.vlan == 0 || port.lower != index || port.signal == device.carrier()) continue;
    port.signal = device.carrier();
    if (!port.signal) lost_carrier(other);
    changed(other);
    carrier_changed(other);
  }
  if (device.bridge && !device.admin_up) forget_stations(index, {}, true);
  if (is_bond(device.master)) follow_members(device.master);
  if (bridge_of(index) == nullptr) return;
  if (!device.carrier()) forget_stations(device.master, index, true);
  follow_ports(device.master);
}

/// An 802.1Q device has at most the MTU of its port, and does not follow a greater one.
void SimKernel::lower_tagged_mtus(IfIndex index) {
  const std::uint32_t mtu = ports_.at(index).mtu;
  for (auto& [other, port] : ports_) {
    if (port.vlan == 0 || port.lower != index || port.mtu <= mtu) continue;
    port.mtu = mtu;
    changed(other);
    if (bridge_of(other) != nullptr) follow_ports(port.master);
  }
}

SimKernel::Port* SimKernel::bridge_of(IfIndex index) {
  Port* const master = port(ports_.at(index).master);
  return master != nullptr && master->bridge ? master : nullptr;
}

/// A bridge has carrier while a port has. It takes the lowest address and the smallest MTU of its ports unless an order has set them.
void SimKernel::follow_ports(IfIndex bridge) {
  Port& device = ports_.at(bridge);
  const bool had_carrier = device.carrier();
  std::optional<std::uint32_t> mtu;
  std::optional<MacAddress> mac;
  device.signal = false;
  for (const auto& [index, port] : ports_) {
    if (port.master != bridge) continue;
    mtu = std::min(mtu.value_or(port.mtu), port.mtu);
    mac = std::min(mac.value_or(port.mac), port.mac);
    device.signal = device.signal || port.carrier();
  }
  if (!device.has_own_mtu) device.mtu = mtu.value_or(1500);
  if (!device.has_own_mac) set_mac(bridge, mac.value_or(MacAddress{}));
  if (had_carrier && !device.carrier()) lost_carrier(bridge);
  changed(bridge);
  if (had_carrier != device.carrier()) carrier_changed(bridge);
}

// --- Forwarding databases of bridges.

void SimKernel::report_fdb(IfIndex bridge, const MacAddress& mac, const Port::Station& station, bool removed) {
  if (station.kind == Port::EntryKind::Learned)
    fdb_events_.push_back({.bridge = bridge, .port = station.port, .mac = mac, .removed = removed});
}

/// 'port' 0: those of all ports.
void SimKernel::forget_stations(IfIndex bridge, IfIndex port, bool learned_only) {
  std::erase_if(ports_.at(bridge).fdb, [&](const auto& entry) {
    const auto& [mac, station] = entry;
    if ((port && station.port != port) || (learned_only && station.kind != Port::EntryKind::Learned)) return false;
    report_fdb(bridge, mac, station, true);
    return true;
  });
}

bool SimKernel::is_own_address(IfIndex bridge, const MacAddress& mac) const {
  return ports_.at(bridge).mac == mac ||
         std::ranges::any_of(ports_, [&](const auto& entry) { return entry.second.master == bridge && entry.second.mac == mac; });
}

/// Who has the entry, if an order leaves it alone; otherwise null.
const char* SimKernel::holder_of(IfIndex bridge, const MacAddress& mac) const {
  if (is_own_address(bridge, mac)) return kAddressOfDevice;
  const auto& fdb = ports_.at(bridge).fdb;
  const auto entry = fdb.find(mac);
  return entry != fdb.end() && entry->second.kind == Port::EntryKind::External ? kHeldByControlPlane : nullptr;
}

Verdict SimKernel::apply(const FdbSet& order) {
  if (port(order.port) == nullptr) return kNoDevice;
  Port* const bridge = bridge_of(order.port);
  if (bridge == nullptr) return {EOPNOTSUPP, ""};
  const IfIndex number = ports_.at(order.port).master;
  if (const char* const holder = holder_of(number, order.mac); holder != nullptr) return {EEXIST, holder};
  const auto [entry, added] = bridge->fdb.try_emplace(order.mac, Port::Station{order.port});
  if (added) return kDone;
  report_fdb(number, order.mac, entry->second, true);  // It is not learned any more.
  entry->second = {order.port};
  return kDone;
}

Verdict SimKernel::apply(const FdbDelete& order) {
  if (port(order.port) == nullptr) return kNoDevice;
  Port* const bridge = bridge_of(order.port);
  if (bridge == nullptr) return {EOPNOTSUPP, ""};
  if (const char* const holder = holder_of(ports_.at(order.port).master, order.mac); holder != nullptr) return {ENOENT, holder};
  const auto entry = bridge->fdb.find(order.mac);
  if (entry == bridge->fdb.end() || entry->second.port != order.port) return {ENOENT, ""};
  report_fdb(ports_.at(order.port).master, order.mac, entry->second, true);
  bridge->fdb.erase(entry);
  return kDone;
}

void SimKernel::hear(std::string_view name, const MacAddress& station) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no port '" + std::string{name} + "'");
  Port* const bridge = bridge_of(found->first);
  if (bridge == nullptr || !bridge->admin_up || !found->second.carrier()) return;
  if (is_own_address(found->second.master, station)) return;
  const auto [entry, added] = bridge->fdb.try_emplace(station, Port::Station{found->first, Port::EntryKind::Learned});
  Port::Station& known = entry->second;
  const bool may_move = known.kind == Port::EntryKind::Learned || known.kind == Port::EntryKind::Movable;
  if (!added && (!may_move || known.port == found->first)) return;
  known.port = found->first;
  report_fdb(found->second.master, station, known, false);
}

void SimKernel::age(std::string_view name, const MacAddress& station) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no bridge '" + std::string{name} + "'");
  const auto entry = found->second.fdb.find(station);
  if (entry == found->second.fdb.end() || entry->second.kind != Port::EntryKind::Learned) return;
  report_fdb(found->first, station, entry->second, true);
  found->second.fdb.erase(entry);
}

IfIndex SimKernel::add_entry(std::string_view name, const MacAddress& station, Port::EntryKind kind) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no port '" + std::string{name} + "'");
  Port* const bridge = bridge_of(found->first);
  RONDO_EXPECT(bridge != nullptr, "the port '" + std::string{name} + "' is in no bridge");
  const auto [entry, added] = bridge->fdb.try_emplace(station);
  if (!added) report_fdb(found->second.master, station, entry->second, true);
  entry->second = {found->first, kind};
  return found->first;
}

IfIndex SimKernel::remove_external_entry(std::string_view name, const MacAddress& station) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no bridge '" + std::string{name} + "'");
  const auto entry = found->second.fdb.find(station);
  if (entry == found->second.fdb.end() || entry->second.kind != Port::EntryKind::External) return {};
  const IfIndex port = entry->second.port;
  found->second.fdb.erase(entry);
  return port;
}

std::vector<FdbEntry> SimKernel::fdb() const {
  std::vector<FdbEntry> entries;
  for (const auto& [index, port] : ports_) {
    for (const auto& [mac, station] : port.fdb) {
      const bool is_sticky = station.kind == Port::EntryKind::Static;
      if (!port.ours || (!is_sticky && station.kind != Port::EntryKind::Movable)) continue;
      entries.push_back({.bridge = index, .port = station.port, .mac = mac, .is_sticky = is_sticky});
    }
  }
  return entries;
}

std::vector<FdbEvent> SimKernel::learned() const {
  std::vector<FdbEvent> entries;
  for (const auto& [index, port] : ports_) {
    for (const auto& [mac, station] : port.fdb) {
      if (station.kind == Port::EntryKind::Learned) entries.push_back({.bridge = index, .port = station.port, .mac = mac});
    }
  }
  return entries;
}

}  // namespace rondo
