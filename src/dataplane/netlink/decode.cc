// decode.cc: accepts attributes in any order, skips unknown ones, and refuses a message with a malformed tail.
#include "dataplane/netlink/decode.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace rondo::netlink {

namespace {

constexpr unsigned kLowerUp = 1U << 16;  // IFF_LOWER_UP: <net/if.h> lacks it, and <linux/if.h> cannot be included beside it.

// Returns the address of 'family' in an attribute if its length is correct.
std::optional<IpAddress> to_address(const Attribute& attribute, unsigned family) noexcept {
  std::array<std::uint8_t, 16> bytes{};
  const std::size_t length = family == AF_INET6 ? 16 : 4;
  if (attribute.data.size() != length || (family != AF_INET && family != AF_INET6)) return std::nullopt;
  std::memcpy(bytes.data(), attribute.data.data(), length);
  if (family == AF_INET6) return IpAddress::v6(bytes);
  std::uint32_t host_order = 0;
  for (std::size_t i = 0; i < 4; ++i) host_order = host_order << 8 | bytes[i];
  return IpAddress::v4(host_order);
}

IpAddress any_address(unsigned family) noexcept { return family == AF_INET6 ? IpAddress::v6({}) : IpAddress::v4(0); }

std::optional<MacAddress> to_mac(const Attribute& attribute) noexcept {
  MacAddress mac;
  if (attribute.data.size() != mac.bytes.size()) return std::nullopt;
  std::memcpy(mac.bytes.data(), attribute.data.data(), mac.bytes.size());
  return mac;
}

std::optional<std::vector<GroupMember>> to_members(const Attribute& attribute) {
  if (attribute.data.empty() || attribute.data.size() % sizeof(nexthop_grp) != 0) return std::nullopt;
  std::vector<GroupMember> members;
  members.reserve(attribute.data.size() / sizeof(nexthop_grp));
  for (auto rest = attribute.data; !rest.empty(); rest = rest.subspan(sizeof(nexthop_grp))) {
    const nexthop_grp member = *read_front<nexthop_grp>(rest);
    members.push_back({.nexthop = NexthopId{member.id}, .weight = static_cast<std::uint16_t>(member.weight + 1)});
  }
  return members;
}

std::optional<RouteType> to_route_type(unsigned type) noexcept {
  switch (type) {
    case RTN_UNICAST: return RouteType::Unicast;
    case RTN_BLACKHOLE: return RouteType::Blackhole;
    case RTN_UNREACHABLE: return RouteType::Unreachable;
    case RTN_PROHIBIT: return RouteType::Prohibit;
    default: return std::nullopt;
  }
}

DuplicateCheck check_of(const ifaddrmsg& header) noexcept {
  if ((header.ifa_flags & IFA_F_DADFAILED) != 0) return DuplicateCheck::Failed;
  return (header.ifa_flags & IFA_F_TENTATIVE) != 0 ? DuplicateCheck::Running : DuplicateCheck::Passed;
}

std::optional<ObjectEvent> changed_address(const Message& message) {
  const auto header = read_front<ifaddrmsg>(message.payload);
  if (!header || header->ifa_index == 0) return std::nullopt;
  std::optional<IpAddress> address;
  std::optional<IpAddress> local;
  AttributeReader attributes = message.attributes(sizeof(ifaddrmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == IFA_ADDRESS) address = to_address(attribute, header->ifa_family);
    if (attribute.type == IFA_LOCAL) local = to_address(attribute, header->ifa_family);
  }
  if (local) address = local;
  if (attributes.is_malformed() || !address || header->ifa_prefixlen > address->size() * 8) return std::nullopt;
  ObjectEvent event{AddressDelete{.port = IfIndex{header->ifa_index}, .address = {*address, header->ifa_prefixlen}}};
  if (message.header.nlmsg_type == RTM_NEWADDR && address->is_v6()) event.check = check_of(*header);
  return event;
}

std::optional<DeleteOrder> changed_neighbor(const Message& message) {
  const auto header = read_front<ndmsg>(message.payload);
  if (!header || header->ndm_ifindex <= 0) return std::nullopt;
  std::optional<IpAddress> address;
  AttributeReader attributes = message.attributes(sizeof(ndmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == NDA_DST) address = to_address(attribute, header->ndm_family);
  }
  if (attributes.is_malformed() || !address) return std::nullopt;
  return NeighborDelete{.port = IfIndex{static_cast<std::uint32_t>(header->ndm_ifindex)}, .address = *address};
}

/// An entry that a program set or deleted. Bridges also report what they learn and age, thousands at a time.
std::optional<ObjectEvent> changed_fdb(const Message& message) {
  const std::optional<FdbRecord> record = decode_fdb(message);
  if (!record || record->vlan != 0 || (record->is_learned && record->removed)) return std::nullopt;
  return ObjectEvent{.object = FdbDelete{.port = record->port, .mac = record->mac},
                     .is_set = record->is_static && record->is_sticky && !record->removed,
                     .is_learned = record->is_learned};
}

std::optional<ObjectEvent> event_of(std::optional<DeleteOrder> object) {
  return object ? std::optional{ObjectEvent{std::move(*object)}} : std::nullopt;
}

std::optional<DeleteOrder> changed_nexthop(const Message& message) {
  NexthopDelete object;
  AttributeReader attributes = message.attributes(sizeof(nhmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == NHA_ID) object.id = NexthopId{attribute.as<std::uint32_t>().value_or(0)};
  }
  if (attributes.is_malformed() || !object.id) return std::nullopt;
  return object;
}

std::optional<DeleteOrder> changed_route(const Message& message, const ObjectMarks& marks) {
  const std::optional<RouteHolder> route = decode_route_holder(message);
  if (!route || route->metric != marks.metric) return std::nullopt;
  // A route that another program adds changes nothing unless Linux puts it before ours: IPv6 never does.
  const bool is_added = message.header.nlmsg_type == RTM_NEWROUTE && (message.header.nlmsg_flags & NLM_F_REPLACE) == 0;
  const bool is_behind = route->prefix.address.is_v6() || (message.header.nlmsg_flags & NLM_F_APPEND) != 0;
  if (route->protocol != marks.protocol && is_added && is_behind) return std::nullopt;
  return RouteDelete{route->prefix, route->table};
}

}  // namespace

std::optional<ObjectEvent> decode_change(const Message& message, const ObjectMarks& marks) {
  switch (message.header.nlmsg_type) {
    case RTM_NEWADDR:
    case RTM_DELADDR: return changed_address(message);
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH: {
      const auto header = read_front<ndmsg>(message.payload);
      return header && header->ndm_family == AF_BRIDGE ? changed_fdb(message) : event_of(changed_neighbor(message));
    }
    case RTM_NEWNEXTHOP: return event_of(changed_nexthop(message));
    case RTM_DELNEXTHOP: {
      std::optional<ObjectEvent> event = event_of(changed_nexthop(message));
      if (event)
        event->drops_routes = message.header.nlmsg_pid != 0;  // 0: the kernel deletes it with its device, and a link event follows.
      return event;
    }
    case RTM_NEWROUTE:
    case RTM_DELROUTE: return event_of(changed_route(message, marks));
    default: return std::nullopt;
  }
}

std::optional<Answer> decode_answer(const Message& message) {
  Answer answer{.sequence = message.header.nlmsg_seq, .error_number = 0, .words = {}};
  const auto code = read_front<int>(message.payload);
  if (!code || *code > 0 || *code < -4095) return std::nullopt;  // The kernel's range of errors.
  answer.error_number = -*code;
  std::size_t skip = sizeof(int);
  if (message.header.nlmsg_type == NLMSG_ERROR) {
    const auto error = read_front<nlmsgerr>(message.payload);
    if (!error) return std::nullopt;
    skip = sizeof(nlmsgerr);
    // Without NETLINK_CAP_ACK the whole request follows, and the attributes come after it.
    const bool capped = (message.header.nlmsg_flags & NLM_F_CAPPED) != 0 || answer.error_number == 0;
    if (!capped && error->msg.nlmsg_len > kMessageHeader) skip += aligned(error->msg.nlmsg_len - kMessageHeader);
  }
  if ((message.header.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return answer;
  AttributeReader attributes = message.attributes(skip);
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == NLMSGERR_ATTR_MSG) answer.words = attribute.text();
  }
  return answer;
}

namespace {

BondMode bond_mode_of(std::uint8_t mode) noexcept {
  const auto known = static_cast<BondMode>(mode);
  return known == BondMode::Lacp || known == BondMode::Static ? known : BondMode::Other;
}

/// What IFLA_LINKINFO reports: whether the device is a VRF, a bridge, an 802.1Q device or a bond, and what belongs to that.
void read_kind(const Attribute& link_info, LinkEvent& link) noexcept {
  std::string_view kind;
  std::span<const std::byte> data;
  AttributeReader attributes{link_info.data};
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == IFLA_INFO_KIND) kind = attribute.text();
    if (attribute.type == IFLA_INFO_DATA) data = attribute.data;
  }
  link.bridge = kind == "bridge";
  if (kind == "bond") link.bond = BondMode::Other;
  AttributeReader details{data};
  for (Attribute one; details.next(one);) {
    if (kind == "vrf" && one.type == IFLA_VRF_TABLE) link.vrf_table = one.as<std::uint32_t>().value_or(0);
    if (kind == "vlan" && one.type == IFLA_VLAN_ID) link.vlan = one.as<std::uint16_t>().value_or(0);
    if (kind == "bridge" && one.type == IFLA_BR_VLAN_FILTERING) link.altered |= one.as<std::uint8_t>().value_or(0) != 0;
    if (kind == "bridge" && one.type == IFLA_BR_VLAN_DEFAULT_PVID) link.altered |= one.as<std::uint16_t>() != kBridgePvid;
    if (kind != "bond") continue;
    if (one.type == IFLA_BOND_MODE) link.bond = bond_mode_of(one.as<std::uint8_t>().value_or(0));
    if (one.type == IFLA_BOND_MIIMON) link.altered |= one.as<std::uint32_t>() != kBondLinkInterval;
    if (one.type == IFLA_BOND_XMIT_HASH_POLICY) link.altered |= one.as<std::uint8_t>() != kBondHash;
    if (one.type == IFLA_BOND_MIN_LINKS) link.min_links = static_cast<std::uint16_t>(one.as<std::uint32_t>().value_or(0));
  }
}

}  // namespace

std::optional<LinkState> decode_link(const Message& message, std::uint8_t protocol) {
  const auto header = read_front<ifinfomsg>(message.payload);
  if (!header || header->ifi_family != AF_UNSPEC || header->ifi_index <= 0) return std::nullopt;
  if (message.header.nlmsg_type != RTM_NEWLINK && message.header.nlmsg_type != RTM_DELLINK) return std::nullopt;
  LinkState link;
  IfIndex below;
  link.event.port = IfIndex{static_cast<std::uint32_t>(header->ifi_index)};
  link.event.admin_up = (header->ifi_flags & IFF_UP) != 0;
  link.event.carrier = link.event.admin_up && (header->ifi_flags & kLowerUp) != 0;
  link.event.removed = message.header.nlmsg_type == RTM_DELLINK;
  AttributeReader attributes = message.attributes(sizeof(ifinfomsg));
  for (Attribute attribute; attributes.next(attribute);) {
    switch (attribute.type) {
      case IFLA_IFNAME: link.event.name = attribute.text(); break;
      case IFLA_MTU: link.event.mtu = attribute.as<std::uint32_t>().value_or(0); break;
      case IFLA_ADDRESS: link.event.mac = to_mac(attribute).value_or(MacAddress{}); break;
      case IFLA_MASTER: link.event.master = IfIndex{attribute.as<std::uint32_t>().value_or(0)}; break;
      case IFLA_GROUP: link.event.ours = protocol != 0 && attribute.as<std::uint32_t>() == device_group(protocol); break;
      case IFLA_LINK: below = IfIndex{attribute.as<std::uint32_t>().value_or(0)}; break;
      case IFLA_LINKINFO: read_kind(attribute, link.event); break;
      case IFLA_CARRIER_DOWN_COUNT: link.carrier_losses = attribute.as<std::uint32_t>().value_or(0); break;
      default: break;
    }
  }
  if (attributes.is_malformed() || link.event.name.empty()) return std::nullopt;
  if (link.event.vlan != 0) link.event.lower = below;  // For other kinds it is something else, such as the peer of a pair.
  if (link.event.removed) link.event.admin_up = link.event.carrier = false;
  // Orders create devices of these kinds only: a port of another kind is not ours, whatever its group is.
  const LinkEvent& event = link.event;
  link.event.ours = event.ours && (event.bridge || event.vrf_table != 0 || event.vlan != 0 || event.bond != BondMode::None);
  link.event.altered = event.altered && event.ours;
  return link;
}

std::optional<AddressEntry> decode_address(const Message& message, std::uint8_t protocol) {
  const auto header = read_front<ifaddrmsg>(message.payload);
  if (!header || message.header.nlmsg_type != RTM_NEWADDR || header->ifa_index == 0) return std::nullopt;
  std::optional<IpAddress> address;
  std::optional<IpAddress> local;
  bool ours = false;
  AttributeReader attributes = message.attributes(sizeof(ifaddrmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == IFA_ADDRESS) address = to_address(attribute, header->ifa_family);
    if (attribute.type == IFA_LOCAL) local = to_address(attribute, header->ifa_family);
    if (attribute.type == IFA_PROTO) ours = attribute.as<std::uint8_t>() == protocol;
  }
  if (local) address = local;  // On a point-to-point link IFA_ADDRESS is the peer.
  if (attributes.is_malformed() || !address || header->ifa_prefixlen > address->size() * 8) return std::nullopt;
  return AddressEntry{.port = IfIndex{header->ifa_index},
                      .address = {*address, header->ifa_prefixlen},
                      .ours = ours,
                      .expires = (header->ifa_flags & IFA_F_PERMANENT) == 0,
                      .check = address->is_v6() ? check_of(*header) : DuplicateCheck::Passed};
}

std::optional<DeviceRoute> decode_device_route(const Message& message) {
  const auto header = read_front<rtmsg>(message.payload);
  if (!header || header->rtm_type != RTN_UNICAST || header->rtm_tos != 0 || (header->rtm_flags & RTM_F_CLONED) != 0) return std::nullopt;
  if (message.header.nlmsg_type != RTM_NEWROUTE && message.header.nlmsg_type != RTM_DELROUTE) return std::nullopt;
  std::optional<IpAddress> destination;
  DeviceRoute route{.subnet = {},
                    .device = {},
                    .source = {},
                    .table = header->rtm_table,
                    .metric = 0,
                    .scope = header->rtm_scope,
                    .protocol = header->rtm_protocol};
  AttributeReader attributes = message.attributes(sizeof(rtmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    switch (attribute.type) {
      case RTA_DST: destination = to_address(attribute, header->rtm_family); break;
      case RTA_OIF: route.device = IfIndex{attribute.as<std::uint32_t>().value_or(0)}; break;
      case RTA_PREFSRC: route.source = to_address(attribute, header->rtm_family); break;
      case RTA_TABLE: route.table = attribute.as<std::uint32_t>().value_or(0); break;
      case RTA_PRIORITY: route.metric = attribute.as<std::uint32_t>().value_or(0); break;
      case RTA_GATEWAY:
      case RTA_VIA:
      case RTA_NH_ID: return std::nullopt;
      default: break;
    }
  }
  if (attributes.is_malformed() || !destination || !route.device || header->rtm_dst_len > destination->size() * 8) return std::nullopt;
  route.subnet = {*destination, header->rtm_dst_len};
  return route;
}

std::optional<std::pair<IfIndex, Prefix>> decode_subnet_route(const Message& message) {
  const std::optional<DeviceRoute> route = decode_device_route(message);
  if (!route || route->protocol != RTPROT_KERNEL) return std::nullopt;
  const bool is_v6 = route->subnet.address.is_v6();
  if (route->metric != 0 && !is_v6 && message.header.nlmsg_type == RTM_DELROUTE) return std::nullopt;
  return std::pair{route->device, route->subnet};
}

std::optional<Prefix> decode_replaced_subnet(const Message& message) {
  const auto header = read_front<rtmsg>(message.payload);
  if (!header || message.header.nlmsg_type != RTM_NEWROUTE || (message.header.nlmsg_flags & NLM_F_REPLACE) == 0) return std::nullopt;
  if (header->rtm_protocol == RTPROT_KERNEL || header->rtm_tos != 0) return std::nullopt;
  std::optional<IpAddress> destination;
  std::uint32_t metric = 0;
  AttributeReader attributes = message.attributes(sizeof(rtmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == RTA_DST) destination = to_address(attribute, header->rtm_family);
    if (attribute.type == RTA_PRIORITY) metric = attribute.as<std::uint32_t>().value_or(0);
  }
  if (attributes.is_malformed() || !destination || header->rtm_dst_len > destination->size() * 8) return std::nullopt;
  constexpr std::uint32_t kMetricOfKernel = 256;
  if (metric != (destination->is_v6() ? kMetricOfKernel : 0)) return std::nullopt;
  return Prefix{*destination, header->rtm_dst_len};
}

std::optional<FdbRecord> decode_fdb(const Message& message) {
  const auto header = read_front<ndmsg>(message.payload);
  if (!header || header->ndm_family != AF_BRIDGE || header->ndm_ifindex <= 0) return std::nullopt;
  if (message.header.nlmsg_type != RTM_NEWNEIGH && message.header.nlmsg_type != RTM_DELNEIGH) return std::nullopt;
  FdbRecord record;
  record.port = IfIndex{static_cast<std::uint32_t>(header->ndm_ifindex)};
  record.removed = message.header.nlmsg_type == RTM_DELNEIGH;
  std::optional<MacAddress> mac;
  AttributeReader attributes = message.attributes(sizeof(ndmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == NDA_LLADDR) mac = to_mac(attribute);
    if (attribute.type == NDA_VLAN) record.vlan = attribute.as<std::uint16_t>().value_or(0);
    if (attribute.type == NDA_MASTER) record.bridge = IfIndex{attribute.as<std::uint32_t>().value_or(0)};
  }
  // Without a bridge it is a filter of the device itself.
  if (attributes.is_malformed() || !mac || !record.bridge || (header->ndm_flags & NTF_SELF) != 0) return std::nullopt;
  record.mac = *mac;
  record.is_external = (header->ndm_flags & NTF_EXT_LEARNED) != 0;
  record.is_static = (header->ndm_state & NUD_NOARP) != 0 && !record.is_external;
  record.is_sticky = (header->ndm_flags & NTF_STICKY) != 0;
  record.is_learned = (header->ndm_state & (NUD_NOARP | NUD_PERMANENT)) == 0 && !record.is_external;
  return record;
}

std::optional<NeighborEntry> decode_neighbor(const Message& message, std::uint8_t protocol) {
  const auto header = read_front<ndmsg>(message.payload);
  if (!header || message.header.nlmsg_type != RTM_NEWNEIGH || header->ndm_ifindex <= 0) return std::nullopt;
  if ((header->ndm_state & (NUD_INCOMPLETE | NUD_FAILED)) != 0) return std::nullopt;
  std::optional<IpAddress> address;
  std::optional<MacAddress> mac;
  bool ours = false;
  AttributeReader attributes = message.attributes(sizeof(ndmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == NDA_DST) address = to_address(attribute, header->ndm_family);
    if (attribute.type == NDA_LLADDR) mac = to_mac(attribute);
    if (attribute.type == NDA_PROTOCOL) ours = attribute.as<std::uint8_t>() == protocol;
  }
  if (attributes.is_malformed() || !ours || !address || !mac) return std::nullopt;
  return NeighborEntry{.port = IfIndex{static_cast<std::uint32_t>(header->ndm_ifindex)},
                       .address = *address,
                       .mac = *mac,
                       .permanent = (header->ndm_state & NUD_PERMANENT) != 0};
}

std::optional<NeighborEvent> decode_learned_neighbor(const Message& message) {
  const bool is_gone = message.header.nlmsg_type == RTM_DELNEIGH;
  const auto header = read_front<ndmsg>(message.payload);
  if (!header || (!is_gone && message.header.nlmsg_type != RTM_NEWNEIGH) || header->ndm_ifindex <= 0) return std::nullopt;
  if ((header->ndm_flags & NTF_PROXY) != 0) return std::nullopt;  // An address for which we answer.
  std::optional<IpAddress> address;
  std::optional<MacAddress> mac;
  AttributeReader attributes = message.attributes(sizeof(ndmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    if (attribute.type == NDA_DST) address = to_address(attribute, header->ndm_family);
    if (attribute.type == NDA_LLADDR) mac = to_mac(attribute);
  }
  if (attributes.is_malformed() || !address) return std::nullopt;
  constexpr unsigned kLearned = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;
  const bool is_station = mac && (mac->bytes[0] & 1) == 0 && *mac != MacAddress{};
  NeighborEvent event{.port = IfIndex{static_cast<std::uint32_t>(header->ndm_ifindex)}, .address = *address, .mac = {}, .removed = false};
  event.removed = is_gone || (header->ndm_state & kLearned) == 0 || !is_station;
  if (!event.removed) event.mac = *mac;
  return event;
}

bool is_given_neighbor(const Message& message) {
  const auto header = read_front<ndmsg>(message.payload);
  return header && message.header.nlmsg_type == RTM_NEWNEIGH && (header->ndm_state & (NUD_PERMANENT | NUD_NOARP)) != 0;
}

std::optional<NexthopEntry> decode_nexthop(const Message& message, std::uint8_t protocol) {
  const auto header = read_front<nhmsg>(message.payload);
  if (!header || message.header.nlmsg_type != RTM_NEWNEXTHOP || header->nh_protocol != protocol) return std::nullopt;
  NexthopEntry entry;
  entry.onlink = (header->nh_flags & RTNH_F_ONLINK) != 0;
  entry.gateway = any_address(header->nh_family);  // A next hop to a device has no gateway.
  AttributeReader attributes = message.attributes(sizeof(nhmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    switch (attribute.type) {
      case NHA_ID: entry.id = NexthopId{attribute.as<std::uint32_t>().value_or(0)}; break;
      case NHA_OIF: entry.port = IfIndex{attribute.as<std::uint32_t>().value_or(0)}; break;
      case NHA_GATEWAY: entry.gateway = to_address(attribute, header->nh_family).value_or(IpAddress{}); break;
      case NHA_GROUP: entry.members = to_members(attribute).value_or(std::vector<GroupMember>{}); break;
      default: break;
    }
  }
  if (attributes.is_malformed() || !entry.id) return std::nullopt;
  return entry;
}

std::optional<RouteEntry> decode_route(const Message& message, const ObjectMarks& marks) {
  const auto header = read_front<rtmsg>(message.payload);
  if (!header || message.header.nlmsg_type != RTM_NEWROUTE || header->rtm_protocol != marks.protocol) return std::nullopt;
  const auto type = to_route_type(header->rtm_type);
  if (!type || (header->rtm_flags & RTM_F_CLONED) != 0) return std::nullopt;
  if (header->rtm_family != AF_INET && header->rtm_family != AF_INET6) return std::nullopt;
  RouteEntry entry;
  entry.type = *type;
  entry.table = header->rtm_table;
  entry.tos = header->rtm_tos;
  entry.metric = 0;                                                        // The kernel omits it.
  std::optional<IpAddress> destination = any_address(header->rtm_family);  // The default route has no destination attribute.
  AttributeReader attributes = message.attributes(sizeof(rtmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    switch (attribute.type) {
      case RTA_DST: destination = to_address(attribute, header->rtm_family); break;
      case RTA_TABLE: entry.table = attribute.as<std::uint32_t>().value_or(0); break;
      case RTA_PRIORITY: entry.metric = attribute.as<std::uint32_t>().value_or(0); break;
      case RTA_NH_ID: entry.nexthop = NexthopId{attribute.as<std::uint32_t>().value_or(0)}; break;
      case RTA_METRICS: entry.has_metrics = true; break;
      case RTA_PREFSRC: entry.source = to_address(attribute, header->rtm_family).value_or(IpAddress{}); break;
      default: break;
    }
  }
  if (attributes.is_malformed() || !destination || header->rtm_dst_len > destination->size() * 8) return std::nullopt;
  entry.prefix = {*destination, header->rtm_dst_len};
  if (entry.metric == marks.metric) entry.metric = kOwnMetric;
  return entry;
}

std::optional<RouteHolder> decode_route_holder(const Message& message) {
  const auto header = read_front<rtmsg>(message.payload);
  if (!header || (message.header.nlmsg_type != RTM_NEWROUTE && message.header.nlmsg_type != RTM_DELROUTE)) return std::nullopt;
  // A route for a type of service does not conflict with ours.
  if ((header->rtm_flags & RTM_F_CLONED) != 0 || header->rtm_tos != 0) return std::nullopt;
  if (header->rtm_family != AF_INET && header->rtm_family != AF_INET6) return std::nullopt;
  RouteHolder holder{.prefix = {}, .gateway = {}, .table = header->rtm_table, .metric = 0, .protocol = header->rtm_protocol};
  std::optional<IpAddress> destination = any_address(header->rtm_family);
  AttributeReader attributes = message.attributes(sizeof(rtmsg));
  for (Attribute attribute; attributes.next(attribute);) {
    switch (attribute.type) {
      case RTA_DST: destination = to_address(attribute, header->rtm_family); break;
      case RTA_TABLE: holder.table = attribute.as<std::uint32_t>().value_or(0); break;
      case RTA_PRIORITY: holder.metric = attribute.as<std::uint32_t>().value_or(0); break;
      case RTA_GATEWAY: holder.gateway = to_address(attribute, header->rtm_family); break;
      default: break;
    }
  }
  if (attributes.is_malformed() || !destination || header->rtm_dst_len > destination->size() * 8) return std::nullopt;
  holder.prefix = {*destination, header->rtm_dst_len};
  return holder;
}

}  // namespace rondo::netlink
