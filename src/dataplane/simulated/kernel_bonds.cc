// kernel_bonds.cc: bonds of the simulated kernel, as the bonding driver of Linux has them (drivers/net/bonding/bond_main.c). The partner of
// each port agrees to LACP, so that a port with carrier is active.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "dataplane/simulated/kernel.h"

namespace rondo {

namespace {

constexpr Verdict kDone{};

}  // namespace

Verdict SimKernel::apply(const BondSet& order) {
  if (!capacity_.bonding) return {EOPNOTSUPP, "Unknown device type"};
  if (!order.device) {
    if (port_named(order.name) != ports_.end()) return {EEXIST, ""};
    add_bond(order.name, order.mode, order.min_links, true);
    return kDone;
  }
  Port* const bond = port(order.device);
  if (bond == nullptr) return {ENODEV, ""};
  if (bond->bond == BondMode::None) return {EINVAL, ""};
  bond->min_links = order.min_links;
  bond->altered = false;
  changed(order.device);
  follow_members(order.device);
  return kDone;
}

/// A bond without ports has no carrier.
IfIndex SimKernel::add_bond(std::string name, BondMode mode, std::uint16_t min_links, bool ours) {
  const IfIndex index = add_port(std::move(name));
  events_.pop_back();
  Port& device = ports_.at(index);
  device.admin_up = true;
  device.signal = false;
  device.ours = ours;
  device.bond = mode;
  device.min_links = min_links;
  changed(index);
  return index;
}

bool SimKernel::is_bond(IfIndex device) const {
  const auto found = ports_.find(device);
  return found != ports_.end() && found->second.bond != BondMode::None;
}

/// A port leaves the device that it is in first: a bond sets it down then, a bridge does not.
Verdict SimKernel::check_bond(const Port& port, const Port& bond) const {
  if (port.bond != BondMode::None || port.vrf_table != 0) return {EPERM, "Device type (master device) cannot be enslaved"};
  if (port.in_use) return {EBUSY, "Device is in use and cannot be enslaved"};
  if (port.admin_up && !is_bond(port.master)) return {EPERM, "Device can not be enslaved while up"};
  if (bond.mtu > port.mtu_max) return {EINVAL, ""};
  return kDone;
}

std::vector<IfIndex> SimKernel::ports_of(IfIndex bond) const {
  std::vector<IfIndex> ports;
  for (const auto& [index, port] : ports_) {
    if (port.master == bond) ports.push_back(index);
  }
  return ports;
}

void SimKernel::enter_bond(IfIndex index, IfIndex bond) {
  Port& port = ports_.at(index);
  Port& device = ports_.at(bond);
  if (!device.has_own_mac && ports_of(bond).size() == 1) {
    set_mac(bond, port.mac);  // The first port decides.
    changed(bond);
  }
  port.own_mtu = std::exchange(port.mtu, device.mtu);
  port.own_mac = port.mac;
  set_mac(index, device.mac);
  set_up(index, true);
  changed(index);
  follow_members(bond);
}

void SimKernel::leave_bond(IfIndex index, IfIndex bond) {
  Port& port = ports_.at(index);
  set_up(index, false);
  port.mtu = port.own_mtu;
  set_mac(index, port.own_mac);
  changed(index);
  follow_members(bond);
  if (!ports_of(bond).empty()) return;
  MacAddress made;  // Linux takes a random one.
  made.bytes = {0x06, 0, 0, static_cast<std::uint8_t>(bond.value() >> 8), static_cast<std::uint8_t>(bond.value()), ++last_made_mac_};
  set_mac(bond, made);
  ports_.at(bond).has_own_mac = false;
  changed(bond);
}

/// The ports of a bond have its MTU and its MAC address.
void SimKernel::set_ports_of(IfIndex bond) {
  const Port& device = ports_.at(bond);
  for (const IfIndex index : ports_of(bond)) {
    Port& port = ports_.at(index);
    if (port.mtu == device.mtu && port.mac == device.mac) continue;
    port.mtu = device.mtu;
    set_mac(index, device.mac);
    changed(index);
    lower_tagged_mtus(index);
  }
}

void SimKernel::follow_members(IfIndex bond) {
  Port& device = ports_.at(bond);
  const bool had_carrier = device.carrier();
  const std::vector<IfIndex> ports = ports_of(bond);
  const auto active = std::ranges::count_if(ports, [this](IfIndex index) { return ports_.at(index).carrier(); });
  const std::uint16_t needed = device.bond == BondMode::Lacp ? std::max<std::uint16_t>(device.min_links, 1) : 1;
  device.signal = active >= needed;
  if (had_carrier == device.carrier()) return;
  if (had_carrier) lost_carrier(bond);
  changed(bond);
  carrier_changed(bond);
}

}  // namespace rondo
