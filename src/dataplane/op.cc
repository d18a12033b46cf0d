// op.cc: the text of orders, and the errors that an order has by itself. Pure functions; any thread.
#include "rondo/dataplane/op.h"

#include <net/if.h>

#include <cerrno>
#include <type_traits>

#include "dataplane/drift_kind.h"
#include "dataplane/order_check.h"
#include "rondo/dataplane/limits.h"

namespace rondo {

namespace {

std::string text(IfIndex port) { return "port " + std::to_string(port.value()); }
std::string text(NexthopId id) { return "nexthop " + std::to_string(id.value()); }

std::string in_table(std::uint32_t table) { return table == kMainTable ? std::string{} : " table " + std::to_string(table); }

std::string describe(const RouteSet& route) {
  std::string result = "route " + route.prefix.to_string() + in_table(route.table);
  if (route.last_resort) result.append(" metric ").append(std::to_string(kLastResortMetric));
  switch (route.type) {
    case RouteType::Unicast:
      result += route.nexthop ? " via " + text(route.nexthop) : " without a next-hop object";
      return route.has_source() ? result + " src " + route.source.to_string() : result;
    case RouteType::Blackhole: return result + " blackhole";
    case RouteType::Unreachable: return result + " unreachable";
    case RouteType::Prohibit: return result + " prohibit";
  }
  return result;
}

std::string describe(const RouteDelete& route) {
  std::string result = "delete route " + route.prefix.to_string() + in_table(route.table);
  if (route.metric != kOwnMetric) result.append(" metric ").append(std::to_string(route.metric));
  if (route.tos != 0) result.append(" tos ").append(std::to_string(unsigned{route.tos}));
  return result;
}

std::string describe(const GroupSet& group) {
  constexpr std::size_t kShown = 8;
  std::string result = "group " + std::to_string(group.id.value()) + " of";
  for (std::size_t i = 0; i < group.members.size() && i < kShown; ++i) {
    result.append(" ").append(std::to_string(group.members[i].nexthop.value()));
    if (group.members[i].weight != 1) result.append("*").append(std::to_string(group.members[i].weight));
  }
  if (group.members.size() > kShown) result.append(" ... (").append(std::to_string(group.members.size())).append(" members)");
  return result;
}

std::string describe(const NexthopSet& nexthop) {
  return text(nexthop.id) + (nexthop.gateway.is_any() ? "" : " to " + nexthop.gateway.to_string()) + " on " + text(nexthop.port) +
         (nexthop.onlink ? " onlink" : "");
}
std::string describe(const NexthopDelete& nexthop) { return "delete " + text(nexthop.id); }
std::string describe(const NeighborSet& neighbor) {
  return "neighbor " + neighbor.address.to_string() + " at " + neighbor.mac.to_string() + " on " + text(neighbor.port);
}
std::string describe(const NeighborDelete& neighbor) {
  return "delete neighbor " + neighbor.address.to_string() + " on " + text(neighbor.port);
}
std::string describe(const AddressSet& address) { return "address " + address.address.to_string() + " on " + text(address.port); }
std::string describe(const AddressDelete& address) { return "delete address " + address.address.to_string() + " on " + text(address.port); }
std::string describe(const LinkSet& link) {
  std::string result = text(link.port);
  if (link.up) result.append(*link.up ? " up" : " down");
  if (link.mtu) result.append(" mtu ").append(std::to_string(*link.mtu));
  if (link.master) result.append(*link.master ? " in the device of " + text(*link.master) : " in no device");
  if (link.mac) result.append(" MAC ").append(link.mac->to_string());
  return result;
}
std::string describe(const VrfSet& vrf) { return "VRF " + vrf.name + " with table " + std::to_string(vrf.table); }
std::string describe(const BridgeSet& bridge) {
  return bridge.device ? "bridge of " + text(bridge.device) + " without VLAN filtering" : "bridge " + bridge.name;
}
std::string describe(const BondSet& bond) {
  const std::string links = " with min_links " + std::to_string(bond.min_links);
  if (bond.device) return "bond of " + text(bond.device) + links;
  return "bond " + bond.name + (bond.mode == BondMode::Static ? " of mode balance-xor" : " of mode 802.3ad") + links;
}
std::string describe(const TaggedPortSet& tagged) {
  return "device " + tagged.name + " for VLAN " + std::to_string(tagged.vlan) + " on " + text(tagged.port) + " in the bridge of " +
         text(tagged.bridge);
}
std::string describe(const FdbSet& entry) { return "static entry " + entry.mac.to_string() + " on " + text(entry.port); }
std::string describe(const FdbDelete& entry) { return "delete entry " + entry.mac.to_string() + " on " + text(entry.port); }
std::string describe(const DeviceDelete& device) { return "delete device of " + text(device.device); }

const char* fault(IfIndex port) { return port ? nullptr : "Port index 0 is none"; }
const char* fault(const Prefix& prefix) {
  if (prefix.length > prefix.address.size() * 8) return "The prefix length is longer than the address";
  if (prefix.has_host_bits()) return "Bits beyond the prefix length are set";
  return nullptr;
}

const char* fault(const RouteSet& route) {
  if (route.table == 0) return "Table 0 is no table";
  if (route.last_resort && route.prefix.length != 0) return "Only a default route is one of last resort";
  if (route.type == RouteType::Unicast && !route.nexthop) return "A unicast route needs a next hop";
  if (route.type != RouteType::Unicast && route.nexthop) return "Only a unicast route has a next hop";
  if (route.has_source() && route.type != RouteType::Unicast) return "Only a unicast route has a source address";
  if (route.has_source() && route.source.is_v6() != route.prefix.address.is_v6()) return "The source address is of another family";
  return fault(route.prefix);
}
const char* fault(const RouteDelete& route) { return route.table == 0 ? "Table 0 is no table" : fault(route.prefix); }
const char* fault(const GroupSet& group) {
  if (!group.id) return "Next-hop id 0 is none";
  if (group.members.empty()) return "A group needs a member";
  if (group.members.size() > limits::kGroupMembers) return "A group has too many members";
  for (const GroupMember& member : group.members) {
    if (member.weight < 1 || member.weight > 256) return "A member's weight is 1 to 256";
  }
  return nullptr;
}
const char* fault(const NexthopSet& nexthop) { return nexthop.id ? fault(nexthop.port) : "Next-hop id 0 is none"; }
const char* fault(const NexthopDelete& nexthop) { return nexthop.id ? nullptr : "Next-hop id 0 is none"; }
const char* fault(const NeighborSet& neighbor) { return fault(neighbor.port); }
const char* fault(const NeighborDelete& neighbor) { return fault(neighbor.port); }
const char* fault(const AddressSet& address) {
  if (address.address.length > address.address.address.size() * 8) return "The prefix length is longer than the address";
  return fault(address.port);
}
const char* fault(const AddressDelete& address) { return fault(AddressSet{.port = address.port, .address = address.address}); }
/// Bridges refuse multicast addresses in a static entry, or treat them as those of groups.
const char* fault(const MacAddress& mac) {
  return mac == MacAddress{} || (mac.bytes[0] & 1U) != 0 ? "The MAC address is not that of one station" : nullptr;
}
const char* fault(const LinkSet& link) {
  if (const char* const why = link.mac ? fault(*link.mac) : nullptr) return why;
  return fault(link.port);
}
const char* fault(const std::string& device) {
  if (device.size() >= IFNAMSIZ) return "The name of a device has at most 15 characters";
  return device.empty() ? "A device needs a name" : nullptr;
}
const char* fault(const BridgeSet& bridge) { return bridge.device ? nullptr : fault(bridge.name); }
const char* fault(const BondSet& bond) {
  if (bond.mode != BondMode::Lacp && bond.mode != BondMode::Static) return "A bond has the mode 802.3ad or balance-xor";
  return bond.device ? nullptr : fault(bond.name);
}
const char* fault(const TaggedPortSet& tagged) {
  if (const char* const why = fault(tagged.name)) return why;
  if (tagged.vlan < 1 || tagged.vlan > 4094) return "A VLAN is 1 to 4094";
  return fault(tagged.port) != nullptr ? fault(tagged.port) : fault(tagged.bridge);
}
const char* fault(const FdbSet& entry) { return fault(entry.mac) != nullptr ? fault(entry.mac) : fault(entry.port); }
const char* fault(const FdbDelete& entry) { return fault(entry.port); }
const char* fault(const VrfSet& vrf) {
  if (const char* const why = fault(vrf.name)) return why;
  return vrf.table == 0 ? "Table 0 is no table" : nullptr;
}
const char* fault(const DeviceDelete& device) { return fault(device.device); }

}  // namespace

std::string to_string(const Order& order) {
  return std::visit([](const auto& what) { return describe(what); }, order);
}

Status check_order(const Order& order) {
  const char* const why = std::visit([](const auto& what) { return fault(what); }, order);
  if (why == nullptr) return {};
  return Status{StatusCode::InvalidArgument, to_string(order) + ": " + why, EINVAL};
}

Order order_of(const DeleteOrder& one) {
  return std::visit([](const auto& order) { return Order{order}; }, one);
}

std::string object_name(const DeleteOrder& one) {
  constexpr std::string_view kDelete = "delete ";
  return to_string(order_of(one)).substr(kDelete.size());
}

std::string_view to_string(DriftKind kind) noexcept {
  switch (kind) {
    case DriftKind::Missing: return "missing";
    case DriftKind::Changed: return "changed";
    case DriftKind::Unwanted: return "unwanted";
  }
  return "unknown";
}

bool is_delete(const Order& order) noexcept {
  return std::visit([]<class One>(const One&) { return std::is_constructible_v<DeleteOrder, One>; }, order);
}

}  // namespace rondo
