// decode.h: translates the kernel's messages into the entries of dataplane.h. Every function takes bytes from outside and refuses input
// that is short, malformed or of another kind; none reads beyond its input (fuzz/netlink_reply.cc). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/learned.h"
#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/message.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

/// An NLMSG_ERROR or NLMSG_DONE: the request that it answers, its errno (0 for an acknowledgement) and the kernel's text.
struct Answer {
  std::uint32_t sequence = 0;
  int error_number = 0;
  std::string words;
};
std::optional<Answer> decode_answer(const Message& message);

/// The kernel's state of a device. 'carrier_losses' counts losses of its carrier, so that a loss inside a gap is detected.
struct LinkState {
  LinkEvent event;
  std::uint32_t carrier_losses = 0;
};
/// Decodes RTM_NEWLINK and RTM_DELLINK of a device. Empty for bridge port messages, which have the same type and another family.
/// With 'protocol', the event states whether the device was created under that number.
std::optional<LinkState> decode_link(const Message& message, std::uint8_t protocol = 0);
/// Decodes a notification about an address, a neighbour, a static entry of a bridge, a next hop or a route of any program; returns the
/// order that would delete the object. Empty for other messages, for neighbours that are no IP addresses, and for routes of another metric
/// or for a type of service.
std::optional<ObjectEvent> decode_change(const Message& message, const ObjectMarks& marks);
/// Decodes an address of any program; the entry states whether it is ours.
std::optional<AddressEntry> decode_address(const Message& message, std::uint8_t protocol);
/// A unicast route of any program straight to a device: without a gateway, a next-hop object or a type of service.
struct DeviceRoute {
  Prefix subnet;
  IfIndex device;
  std::optional<IpAddress> source;  // RTA_PREFSRC.
  std::uint32_t table = 0;
  std::uint32_t metric = 0;
  std::uint8_t scope = 0;
  std::uint8_t protocol = 0;
  friend auto operator<=>(const DeviceRoute&, const DeviceRoute&) = default;
};
/// Decodes RTM_NEWROUTE and RTM_DELROUTE of such a route, unless it is a default route.
std::optional<DeviceRoute> decode_device_route(const Message& message);
/// The device and the subnet of a route that the kernel makes for an address, or deleted. Not the deletion of an IPv4 route with a metric,
/// which an order with AddressSet::subnet_metric made: the next order replaces it.
std::optional<std::pair<IfIndex, Prefix>> decode_subnet_route(const Message& message);
/// The prefix of another program's route that replaced one with the metric which the kernel gives its routes to subnets.
std::optional<Prefix> decode_replaced_subnet(const Message& message);
/// An entry of a bridge's forwarding database. Neither static nor learned nor external: an address of the bridge or of one of its ports.
struct FdbRecord {
  IfIndex bridge;
  IfIndex port;
  MacAddress mac;
  bool removed = false;
  std::uint16_t vlan = 0;  // Not 0: a bridge with VLAN filtering uses it, and others ignore the entry.
  bool is_static = false;
  bool is_sticky = false;  // A frame that arrives at another port does not move it.
  bool is_learned = false;
  bool is_external = false;  // Another control plane keeps it.
};
/// Decodes a notification or a dump's entry. Empty for other messages, and for address filters of the devices themselves.
std::optional<FdbRecord> decode_fdb(const Message& message);
/// Empty for neighbours that another program made, or without a usable link-layer address.
std::optional<NeighborEntry> decode_neighbor(const Message& message, std::uint8_t protocol);
/// Decodes a notification or a dump's entry about a neighbour of any program. One that is not learned is reported as removed.
std::optional<NeighborEvent> decode_learned_neighbor(const Message& message);
/// True if the message is about a permanent neighbour, which a program made: the kernel does not resolve it.
bool is_given_neighbor(const Message& message);
std::optional<NexthopEntry> decode_nexthop(const Message& message, std::uint8_t protocol);
std::optional<RouteEntry> decode_route(const Message& message, const ObjectMarks& marks);

/// The fields that decide whether a route of any program, created or deleted, blocks one of ours.
struct RouteHolder {
  Prefix prefix;
  std::optional<IpAddress> gateway;  // Set for a route with one next hop of its own.
  std::uint32_t table = 0;
  std::uint32_t metric = 0;
  std::uint8_t protocol = 0;
};
std::optional<RouteHolder> decode_route_holder(const Message& message);

}  // namespace rondo::netlink
