// decode.h: what the kernel sends, as the entries of dataplane.h. Every function takes bytes from outside and refuses what is short,
// malformed or of another kind; none reads beyond its input (fuzz/netlink_reply.cc). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/message.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

/// An NLMSG_ERROR or NLMSG_DONE: which request it answers, its errno (0 for an acknowledgement) and the kernel's words.
struct Answer {
  std::uint32_t sequence = 0;
  int error_number = 0;
  std::string words;
};
std::optional<Answer> decode_answer(const Message& message);

/// A device as the kernel sees it. 'carrier_losses' counts how often it lost its carrier, so that a loss inside a gap is seen.
struct LinkState {
  LinkEvent event;
  std::uint32_t carrier_losses = 0;
};
/// RTM_NEWLINK and RTM_DELLINK of a device itself. Nothing for bridge port messages, which have the same type and another family.
std::optional<LinkState> decode_link(const Message& message);
/// The object of a notification about an address, a neighbour, a next hop or a route of any program: the order that would delete it.
/// Nothing for other messages, for neighbours that are no IP addresses, and for routes of another metric or for a type of service.
std::optional<DeleteOrder> decode_change(const Message& message, const ObjectMarks& marks);
/// Of any program: whether it is ours, it says.
std::optional<AddressEntry> decode_address(const Message& message, std::uint8_t protocol);
/// Nothing for neighbours that another program made, or that have no usable link-layer address.
std::optional<NeighborEntry> decode_neighbor(const Message& message, std::uint8_t protocol);
std::optional<NexthopEntry> decode_nexthop(const Message& message, std::uint8_t protocol);
std::optional<RouteEntry> decode_route(const Message& message, const ObjectMarks& marks);

/// What decides whether a route of any program, created or deleted, is in the way of ours.
struct RouteHolder {
  Prefix prefix;
  std::uint32_t table = 0;
  std::uint32_t metric = 0;
  std::uint8_t protocol = 0;
};
std::optional<RouteHolder> decode_route_holder(const Message& message);

}  // namespace rondo::netlink
