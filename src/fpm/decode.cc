#include "fpm/decode.h"

#include <linux/nexthop.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "rondo/dataplane/limits.h"

namespace rondo::fpm {

namespace {

using netlink::Attribute;
using netlink::AttributeReader;
using netlink::Message;
using netlink::read_front;

/// nexthop_grp of the kernel. Debian 12's header has no name for the high byte of the weight.
struct GroupEntry {
  std::uint32_t id;
  std::uint8_t weight;
  std::uint8_t weight_high;
  std::uint16_t reserved;
};
static_assert(sizeof(GroupEntry) == sizeof(nexthop_grp), "the wire format of netlink");

std::optional<IpAddress> to_address(std::span<const std::byte> data, unsigned family) noexcept {
  std::array<std::uint8_t, 16> bytes{};
  const std::size_t length = family == AF_INET6 ? 16 : 4;
  if (data.size() != length || (family != AF_INET && family != AF_INET6)) return std::nullopt;
  std::memcpy(bytes.data(), data.data(), length);
  if (family == AF_INET6) return IpAddress::v6(bytes);
  std::uint32_t host_order = 0;
  for (std::size_t i = 0; i < 4; ++i) host_order = host_order << 8U | bytes[i];
  return IpAddress::v4(host_order);
}

/// What a next hop without a gateway has in its place.
IpAddress any_of(unsigned family) noexcept { return family == AF_INET6 ? IpAddress::v6({}) : IpAddress::v4(0); }

std::uint16_t to_weight(unsigned weight) noexcept { return static_cast<std::uint16_t>(std::clamp(weight, 1U, unsigned{UINT16_MAX})); }

/// RTA_VIA: a gateway of another family than the route's.
std::optional<IpAddress> to_via(std::span<const std::byte> data) noexcept {
  const auto family = read_front<std::uint16_t>(data);
  return family ? to_address(data.subspan(sizeof *family), *family) : std::nullopt;
}

/// Reads the attributes that a hop has in every encoding. False: malformed.
bool read_hop(const Attribute& attribute, unsigned family, Hop& hop) noexcept {
  switch (attribute.type) {
    case RTA_GATEWAY:
    case RTA_VIA: {
      const auto gateway = attribute.type == RTA_VIA ? to_via(attribute.data) : to_address(attribute.data, family);
      if (!gateway) return false;
      hop.gateway = *gateway;
      hop.has_gateway = true;
      return true;
    }
    case RTA_OIF: {
      const auto device = attribute.as<std::uint32_t>();
      hop.device = device.value_or(0);
      return device.has_value();
    }
    case RTA_ENCAP:
    case RTA_ENCAP_TYPE:
    case RTA_NEWDST: hop.encapsulated = true; return true;
    default: return true;
  }
}

bool read_multipath(std::span<const std::byte> data, unsigned family, HopWeights weights, RouteChange& route) {
  while (!data.empty()) {
    const auto header = read_front<rtnexthop>(data);
    if (!header || header->rtnh_len < sizeof(rtnexthop) || header->rtnh_len > data.size()) return false;
    Hop hop{.gateway = any_of(family)};
    hop.device = static_cast<std::uint32_t>(header->rtnh_ifindex);
    hop.onlink = (header->rtnh_flags & RTNH_F_ONLINK) != 0;
    hop.weight = to_weight(header->rtnh_hops + (weights == HopWeights::MinusOne ? 1U : 0U));
    AttributeReader attributes{data.subspan(sizeof(rtnexthop), header->rtnh_len - sizeof(rtnexthop))};
    for (Attribute attribute; attributes.next(attribute);) {
      if (!read_hop(attribute, family, hop)) return false;
    }
    if (attributes.is_malformed()) return false;
    route.too_many = route.too_many || route.hops.size() == limits::kGroupMembers;
    if (!route.too_many) route.hops.push_back(hop);
    data = data.subspan(std::min(netlink::aligned(header->rtnh_len), data.size()));
  }
  return true;
}

bool read_way(unsigned type, RouteChange& route) noexcept {
  switch (type) {
    case RTN_UNICAST: route.way = Way::Unicast; return true;
    case RTN_BLACKHOLE: route.way = Way::Blackhole; return true;
    case RTN_UNREACHABLE: route.way = Way::Unreachable; return true;
    case RTN_PROHIBIT: route.way = Way::Prohibit; return true;
    default: return false;
  }
}

/// Reads one attribute of a route into 'route', and those of its only next hop into 'hop'. False: malformed.
bool read_route_attribute(const Attribute& attribute, unsigned family, HopWeights weights, RouteChange& route, Hop& hop) {
  switch (attribute.type) {
    case RTA_DST: {
      const auto address = to_address(attribute.data, family);
      if (address) route.prefix.address = *address;
      return address.has_value();
    }
    case RTA_TABLE: {
      const auto table = attribute.as<std::uint32_t>();
      route.table = table.value_or(0);
      return table.has_value();
    }
    case RTA_NH_ID: {
      const auto id = attribute.as<std::uint32_t>();
      route.nexthop = id.value_or(0);
      return id.has_value();
    }
    case RTA_MULTIPATH: return read_multipath(attribute.data, family, weights, route);
    case RTA_PREFSRC: {
      const auto source = to_address(attribute.data, family);
      if (source) route.source = *source;
      return source.has_value();
    }
    case RTA_METRICS: route.has_metrics = !attribute.data.empty(); return true;
    default: return read_hop(attribute, family, hop);
  }
}

Decoded::Kind decode_route(const Message& message, HopWeights weights, Decoded& decoded) {
  const auto header = read_front<rtmsg>(message.payload);
  if (!header) return Decoded::Kind::Malformed;
  RouteChange& route = decoded.route;
  route.gone = message.header.nlmsg_type == RTM_DELROUTE;
  route.way = Way::Unicast;
  route.protocol = header->rtm_protocol;
  route.table = header->rtm_table;
  route.nexthop = 0;
  route.too_many = false;
  route.has_metrics = false;
  route.source = {};
  route.hops.clear();
  decoded.skip = Skip::Family;
  if (header->rtm_family != AF_INET && header->rtm_family != AF_INET6) return Decoded::Kind::Skipped;
  route.prefix = {any_of(header->rtm_family), header->rtm_dst_len};
  Hop hop{.gateway = any_of(header->rtm_family)};
  hop.onlink = (header->rtm_flags & RTNH_F_ONLINK) != 0;
  AttributeReader attributes = message.attributes(sizeof(rtmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (!read_route_attribute(attribute, header->rtm_family, weights, route, hop)) return Decoded::Kind::Malformed;
  }
  if (attributes.is_malformed() || route.prefix.length > route.prefix.address.size() * 8) return Decoded::Kind::Malformed;
  route.prefix = route.prefix.network();
  decoded.skip = Skip::RouteType;
  if (!route.gone && !read_way(header->rtm_type, route)) return Decoded::Kind::Skipped;
  if (header->rtm_src_len != 0 || header->rtm_tos != 0) return Decoded::Kind::Skipped;  // Beside the route to the same prefix.
  if (route.too_many) route.hops.clear();
  if (route.hops.empty() && (hop.has_gateway || hop.device != 0)) route.hops.push_back(hop);
  decoded.skip = Skip::None;
  return Decoded::Kind::Route;
}

bool read_members(std::span<const std::byte> data, NexthopChange& group) {
  if (data.empty() || data.size() % sizeof(GroupEntry) != 0) return false;
  group.too_many = data.size() / sizeof(GroupEntry) > limits::kGroupMembers;
  group.members.clear();  // The last attribute counts.
  for (; !data.empty() && !group.too_many; data = data.subspan(sizeof(GroupEntry))) {
    const GroupEntry member = *read_front<GroupEntry>(data);
    const unsigned high = static_cast<unsigned>(member.weight_high) << 8U;
    if (member.id == 0) return false;
    group.members.push_back({.id = member.id, .weight = to_weight((member.weight | high) + 1U)});
  }
  return true;
}

/// False: malformed.
bool read_nexthop_attribute(const Attribute& attribute, unsigned family, NexthopChange& nexthop) {
  switch (attribute.type) {
    case NHA_ID: {
      const auto id = attribute.as<std::uint32_t>();
      nexthop.id = id.value_or(0);
      return id.has_value();
    }
    case NHA_GROUP: return read_members(attribute.data, nexthop);
    case NHA_BLACKHOLE: nexthop.blackhole = true; return true;
    case NHA_OIF: {
      const auto device = attribute.as<std::uint32_t>();
      nexthop.hop.device = device.value_or(0);
      return device.has_value();
    }
    case NHA_GATEWAY: {
      const auto gateway = to_address(attribute.data, family);
      if (gateway) nexthop.hop.gateway = *gateway;
      nexthop.hop.has_gateway = gateway.has_value();
      return gateway.has_value();
    }
    case NHA_ENCAP:
    case NHA_ENCAP_TYPE: nexthop.hop.encapsulated = true; return true;
    default: return true;
  }
}

Decoded::Kind decode_nexthop(const Message& message, Decoded& decoded) {
  const auto header = read_front<nhmsg>(message.payload);
  if (!header) return Decoded::Kind::Malformed;
  NexthopChange& nexthop = decoded.nexthop;
  nexthop.gone = message.header.nlmsg_type == RTM_DELNEXTHOP;
  nexthop.blackhole = false;
  nexthop.too_many = false;
  nexthop.id = 0;
  nexthop.hop = {.gateway = any_of(header->nh_family)};
  nexthop.hop.onlink = (header->nh_flags & RTNH_F_ONLINK) != 0;
  nexthop.members.clear();
  AttributeReader attributes = message.attributes(sizeof(nhmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (!read_nexthop_attribute(attribute, header->nh_family, nexthop)) return Decoded::Kind::Malformed;
  }
  if (attributes.is_malformed() || nexthop.id == 0) return Decoded::Kind::Malformed;
  decoded.skip = Skip::None;
  return Decoded::Kind::Nexthop;
}

}  // namespace

std::string_view to_string(Skip skip) noexcept {
  constexpr std::array<std::string_view, kSkips> kNames{"none",   "frame_type", "message_type", "family",     "table",
                                                        "kernel", "route_type", "encapsulated", "no_gateway", "unknown",
                                                        "full",   "members",    "metrics"};
  return kNames[static_cast<std::size_t>(skip)];
}

void decode(const Message& message, HopWeights weights, Decoded& decoded) {
  switch (message.header.nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE: decoded.kind = decode_route(message, weights, decoded); return;
    case RTM_NEWNEXTHOP:
    case RTM_DELNEXTHOP: decoded.kind = decode_nexthop(message, decoded); return;
    default:
      decoded.kind = Decoded::Kind::Skipped;
      decoded.skip = Skip::MessageType;
      return;
  }
}

}  // namespace rondo::fpm
