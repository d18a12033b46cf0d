// The states of INTF_TABLE rows in the data plane.
#include <algorithm>

#include "switch_agent/facts.h"
#include "switch_agent/interfaces.h"

namespace rondo::switch_agent {

namespace {
constexpr const char* kDuplicateWords =
    "duplicate address: another device of the link has it, so the kernel does not use it; give one of the two another address, then delete "
    "and write this row to have it checked again";
}

RowInPlane Interfaces::state_of(std::string_view key) const {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return {};
  const std::string name = parsed->address ? parsed->port + ":" + parsed->address->to_string() : parsed->port;
  if (const Status* const why = refusals_.why(name)) return {PlaneState::Refused, std::string{why->message()}, {}};
  const auto it = interfaces_.find(parsed->port);
  if (it == interfaces_.end()) return {};
  const RowInPlane gone{PlaneState::Withdrawn, "it went with the device", {{kDevice, parsed->port}}};
  const bool has_device = static_cast<bool>(ids_.find(parsed->port));
  if (!parsed->address) {
    if (!it->second.applied) return {};
    if (!has_device) return gone;
    if (!is_in_its_vrf(parsed->port, it->second)) {
      return {PlaneState::Pending, "another program took it out of " + it->second.vrf + "; it is being put back", {}};
    }
    if (std::string taken = taken_words(parsed->port); !taken.empty()) return {PlaneState::Lost, std::move(taken), {}};
    const bool is_lost = mtus_.interface_row(parsed->port) && mtus_.is_changed(parsed->port);
    return {is_lost ? PlaneState::Lost : PlaneState::Installed, is_lost ? mtus_.trouble(parsed->port) : std::string{}, {}};
  }
  if (another_row_has(key, parsed->port, *parsed->address)) return {};
  const auto entry = it->second.addresses.find(*parsed->address);
  if (entry == it->second.addresses.end() || !entry->second.applied || entry->second.leaving) return {};
  if (!has_device) return gone;
  const Fact up{kAdminUp, parsed->port};
  const bool is_down_v6 = parsed->address->address.is_v6() && !holds(up);
  if (is_down_v6 && !entry->second.present) {
    return {PlaneState::Withdrawn, "the kernel drops the IPv6 addresses of a port that goes down", {up}};
  }
  const Fact ipv6{kIpv6, parsed->port};
  if (parsed->address->address.is_v6() && !holds(ipv6)) return {PlaneState::Withdrawn, ipv6_words(parsed->port), {ipv6}};
  if (is_duplicate(entry->second)) return {PlaneState::Withdrawn, kDuplicateWords, {}};
  if (entry->second.present) return {PlaneState::Installed, tentative_words(parsed->port, is_down_v6, entry->second), {}};
  return {entry->second.trouble.empty() ? PlaneState::Pending : PlaneState::Withdrawn, entry->second.trouble, {}};
}

bool Interfaces::is_duplicate(const Address& address) { return address.present && address.check == DuplicateCheck::Failed; }

std::string Interfaces::tentative_words(const std::string& port, bool is_down_v6, const Address& address) const {
  if (is_down_v6) return "tentative: the port is down";
  if (address.check != DuplicateCheck::Running) return {};
  if (!holds({kCarrier, port})) return "tentative: the port has no carrier";
  return "tentative: the kernel checks whether another device of the link has it";
}

std::vector<std::string> Interfaces::duplicates() const {
  std::vector<std::string> all;
  for (const auto& [port, interface] : interfaces_) {
    for (const auto& [prefix, address] : interface.addresses) {
      if (is_duplicate(address)) all.push_back("INTF_TABLE:" + port + ":" + prefix.to_string() + " is a " + kDuplicateWords);
    }
  }
  return all;
}

std::string Interfaces::own_address_words(std::string_view neighbor_key) const {
  const Result<NeighborKey> parsed = parse_neighbor_key(neighbor_key);
  if (!parsed) return {};
  for (const auto& [port, interface] : interfaces_) {
    for (const auto& [prefix, address] : interface.addresses) {
      if (prefix.address != parsed->address) continue;
      return parsed->address.to_string() + " is an address of this machine itself, on " + port + ", and cannot be a next hop";
    }
  }
  return {};
}

std::string Interfaces::no_subnet_words(std::string_view port, const IpAddress& neighbor) const {
  if (std::string words = no_address_words(port, neighbor.is_v6()); !words.empty()) return words;
  const auto it = interfaces_.find(port);
  const auto holds_it = [&](const auto& address) { return address.first.contains(neighbor); };
  if (it == interfaces_.end() || std::ranges::any_of(it->second.addresses, holds_it)) return {};
  const std::string name{port};
  return "no address of " + name + " has a subnet with " + neighbor.to_string() +
         ", so the kernel refuses it as a gateway: a row INTF_TABLE:" + name + ":<address>/<length> is missing, or the next hop is wrong";
}

bool Interfaces::is_in_its_vrf(const std::string& port, const Interface& interface) const {
  return interface.vrf.empty() || ids_.is_in(port, interface.vrf);
}

/// Why a port that is there does not route: another program has put it into a bridge or a bond, which gets its frames. Empty otherwise.
/// Also into one of ours: while this row has the port, no row of a member can have it.
std::string Interfaces::taken_words(const std::string& port) const {
  const IfIndex holder = ids_.device(port).master;
  if (!holder) return {};
  const std::string_view master = ids_.name(holder);
  const PortIds::Device device = ids_.device(master);
  if (master.empty() || (!device.bridge && !device.is_bond())) return {};
  return "another program has put " + port + " into the " + (device.bridge ? "bridge " : "bond ") + std::string{master} +
         ", which gets its frames: 'ip link set " + port + " nomaster' makes it a port of the router again";
}

std::vector<std::string> Interfaces::taken() const {
  std::vector<std::string> all;
  for (const auto& [port, interface] : interfaces_) {
    if (std::string words = interface.applied ? taken_words(port) : std::string{}; !words.empty()) all.push_back(std::move(words));
  }
  return all;
}

std::vector<std::string> Interfaces::withdrawn_ports() const {
  std::vector<std::string> ports;
  for (const auto& [port, interface] : interfaces_) {
    const auto is_withdrawn = [this](std::string_view key) { return state_of(key).state == PlaneState::Withdrawn; };
    const bool has_one = is_withdrawn(port) || std::ranges::any_of(interface.addresses, [&, &name = port](const auto& entry) {
                           return is_withdrawn(name + ":" + entry.first.to_string());
                         });
    if (has_one) ports.push_back(port);
  }
  return ports;
}

/// True if the port has lost IPv6, or the kernel dropped the address when the port went down.
bool Interfaces::is_dropped_v6(const std::string& port, const Prefix& prefix, const Address& address) const {
  if (!prefix.address.is_v6()) return false;
  return !holds({kIpv6, port}) || (!address.present && !holds({kAdminUp, port}));
}

/// Called every second, so it looks up little of an IPv4 interface.
PlaneCounts Interfaces::state_counts() const {
  PlaneCounts counts{.refused = refusals_.count()};
  for (const auto& [port, interface] : interfaces_) {
    const bool has_device = static_cast<bool>(ids_.find(port));
    if (!has_device && interface.applied) ++counts.withdrawn;
    const bool is_in_place = is_in_its_vrf(port, interface);
    if (has_device && interface.applied && !is_in_place) ++counts.pending;
    const bool has_lost_mtu = mtus_.interface_row(port) && mtus_.is_changed(port);
    if (has_device && interface.applied && is_in_place && (has_lost_mtu || !taken_words(port).empty())) ++counts.lost;
    for (const auto& [prefix, address] : interface.addresses) {
      if (!address.applied) continue;
      const bool has_trouble = !address.present && !address.trouble.empty();
      if (!has_device || has_trouble || is_duplicate(address) || is_dropped_v6(port, prefix, address)) ++counts.withdrawn;
    }
  }
  counts.installed = applied_ - counts.withdrawn - counts.lost - counts.pending;
  return counts;
}

}  // namespace rondo::switch_agent
