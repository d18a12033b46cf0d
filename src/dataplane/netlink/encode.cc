// encode.cc: see encode.h. Rules that are not obvious are beside the lines that implement them.
#include "dataplane/netlink/encode.h"
#include "rondo/dataplane/limits.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <net/if.h>
#include <sys/socket.h>

namespace rondo::netlink {

namespace {

constexpr std::uint16_t kSet = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE;
constexpr std::uint16_t kUpdate = NLM_F_REQUEST | NLM_F_REPLACE;
constexpr std::uint16_t kCreate = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL;  // REPLACE would replace what another program has made.
constexpr std::uint16_t kDelete = NLM_F_REQUEST;

std::uint8_t family(const IpAddress& address) noexcept { return address.is_v6() ? AF_INET6 : AF_INET; }
void put(MessageWriter& writer, std::uint16_t type, const IpAddress& address) noexcept {
  writer.attribute(type, address.bytes().data(), address.size());
}

std::uint8_t kernel_type(RouteType type) noexcept {
  switch (type) {
    case RouteType::Unicast: return RTN_UNICAST;
    case RouteType::Blackhole: return RTN_BLACKHOLE;
    case RouteType::Unreachable: return RTN_UNREACHABLE;
    case RouteType::Prohibit: return RTN_PROHIBIT;
  }
  return RTN_UNSPEC;
}

rtmsg route_header(const Prefix& prefix, std::uint32_t table, std::uint8_t protocol) noexcept {
  rtmsg header{};
  header.rtm_family = family(prefix.address);
  header.rtm_dst_len = prefix.length;
  header.rtm_table = table < 256 ? static_cast<std::uint8_t>(table) : std::uint8_t{RT_TABLE_UNSPEC};
  header.rtm_protocol = protocol;
  return header;
}

void put_route_key(MessageWriter& writer, const Prefix& prefix, std::uint32_t table, std::uint32_t metric) noexcept {
  if (prefix.length > 0) put(writer, RTA_DST, prefix.address);
  writer.attribute(RTA_PRIORITY, metric);
  if (table > 255) writer.attribute(RTA_TABLE, table);
}

struct Encoder {
  MessageWriter& writer;
  std::uint32_t sequence;
  const ObjectMarks& marks;

  void operator()(const RouteSet& route) const noexcept {
    rtmsg header = route_header(route.prefix, route.table, marks.protocol);
    header.rtm_type = kernel_type(route.type);
    if (route.to_device) header.rtm_scope = RT_SCOPE_LINK;
    writer.begin(RTM_NEWROUTE, route.create ? kCreate : kSet, sequence, header);
    put_route_key(writer, route.prefix, route.table, route.last_resort ? kLastResortMetric : marks.metric);
    if (route.nexthop) writer.attribute(RTA_NH_ID, route.nexthop.value());
    if (route.has_source()) put(writer, RTA_PREFSRC, route.source);
    // Without metrics, Linux shares the properties of any IPv4 route of ours on the same next hop, with the metrics that it has.
    if (route.clean) writer.close_nested(writer.open_nested(RTA_METRICS));
  }
  void operator()(const RouteDelete& route) const noexcept {
    rtmsg header = route_header(route.prefix, route.table, marks.protocol);
    header.rtm_scope = RT_SCOPE_NOWHERE;  // Any scope.
    header.rtm_tos = route.tos;
    writer.begin(RTM_DELROUTE, kDelete, sequence, header);
    put_route_key(writer, route.prefix, route.table, route.metric == kOwnMetric ? marks.metric : route.metric);
  }
  void operator()(const GroupSet& group) const noexcept {
    nexthop_grp members[limits::kGroupMembers];
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      members[i] = {};  // The reserved bytes have other names in newer headers.
      members[i].id = group.members[i].nexthop.value();
      members[i].weight = static_cast<std::uint8_t>(group.members[i].weight - 1);
    }
    begin_nexthop(AF_UNSPEC, 0, group.create ? kCreate : group.update ? kUpdate : kSet);
    writer.attribute(NHA_ID, group.id.value());
    writer.attribute(NHA_GROUP, members, group.members.size() * sizeof members[0]);
  }
  void operator()(const NexthopSet& nexthop) const noexcept {
    begin_nexthop(family(nexthop.gateway), nexthop.onlink ? RTNH_F_ONLINK : 0U, nexthop.create ? kCreate : kSet);
    writer.attribute(NHA_ID, nexthop.id.value());
    if (!nexthop.gateway.is_any()) put(writer, NHA_GATEWAY, nexthop.gateway);
    writer.attribute(NHA_OIF, nexthop.port.value());
  }
  void operator()(const NexthopDelete& nexthop) const noexcept {
    writer.begin(RTM_DELNEXTHOP, kDelete, sequence, nhmsg{});  // A protocol here is EINVAL.
    writer.attribute(NHA_ID, nexthop.id.value());
  }
  void operator()(const NeighborSet& neighbor) const noexcept {
    ndmsg header = neighbor_header(neighbor.port, neighbor.address);
    header.ndm_state = NUD_PERMANENT;  // Permanent neighbours are exempt from the kernel's limit of 1,024 dynamic entries.
    writer.begin(RTM_NEWNEIGH, kSet, sequence, header);
    put(writer, NDA_DST, neighbor.address);
    writer.attribute(NDA_LLADDR, neighbor.mac.bytes);
    writer.attribute(NDA_PROTOCOL, marks.protocol);
  }
  void operator()(const NeighborDelete& neighbor) const noexcept {
    writer.begin(RTM_DELNEIGH, kDelete, sequence, neighbor_header(neighbor.port, neighbor.address));
    put(writer, NDA_DST, neighbor.address);
  }
  void operator()(const AddressSet& address) const noexcept {
    writer.begin(RTM_NEWADDR, kSet, sequence, address_header(address.port, address.address));
    put(writer, IFA_LOCAL, address.address.address);
    put(writer, IFA_ADDRESS, address.address.address);
    if (address.address.address.is_v6() && !marks.detects_duplicates) writer.attribute(IFA_FLAGS, std::uint32_t{IFA_F_NODAD});
    if (address.subnet_metric != 0) writer.attribute(IFA_RT_PRIORITY, address.subnet_metric);
    writer.attribute(IFA_PROTO, marks.protocol);  // A kernel before 5.18 ignores it.
  }
  void operator()(const AddressDelete& address) const noexcept {
    writer.begin(RTM_DELADDR, kDelete, sequence, address_header(address.port, address.address));
    put(writer, IFA_LOCAL, address.address.address);
    put(writer, IFA_ADDRESS, address.address.address);
  }
  void operator()(const LinkSet& link) const noexcept {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(link.port.value());
    if (link.up) {
      header.ifi_change = IFF_UP;
      header.ifi_flags = *link.up ? IFF_UP : 0;
    }
    writer.begin(RTM_NEWLINK, NLM_F_REQUEST, sequence, header);
    if (link.mtu) writer.attribute(IFLA_MTU, *link.mtu);
    if (link.master) writer.attribute(IFLA_MASTER, link.master->value());
    if (link.mac) writer.attribute(IFLA_ADDRESS, link.mac->bytes);
  }
  void operator()(const VrfSet& vrf) const noexcept {
    begin_device(vrf.name, true);
    const std::size_t info = writer.open_nested(IFLA_LINKINFO);
    writer.attribute(IFLA_INFO_KIND, "vrf", 4);
    const std::size_t data = writer.open_nested(IFLA_INFO_DATA);
    writer.attribute(IFLA_VRF_TABLE, vrf.table);
    writer.close_nested(data);
    writer.close_nested(info);
  }
  void operator()(const BridgeSet& bridge) const noexcept {
    bridge.device ? begin_change(bridge.device) : begin_device(bridge.name, true);
    const std::size_t info = writer.open_nested(IFLA_LINKINFO);
    writer.attribute(IFLA_INFO_KIND, "bridge", 7);
    // Otherwise a kernel with CONFIG_BRIDGE_VLAN_FILTERING keeps a second entry, of VLAN 1, for each static one. Other kernels ignore it.
    const std::size_t data = writer.open_nested(IFLA_INFO_DATA);
    if (bridge.device) writer.attribute(IFLA_BR_VLAN_FILTERING, std::uint8_t{0});  // A new one has none.
    writer.attribute(IFLA_BR_VLAN_DEFAULT_PVID, kBridgePvid);
    writer.close_nested(data);
    writer.close_nested(info);
  }
  /// The kernel checks the mode even if it stays the same, so a change of another value does not name it.
  void operator()(const BondSet& bond) const noexcept {
    bond.device ? begin_change(bond.device) : begin_device(bond.name, true);
    const std::size_t info = writer.open_nested(IFLA_LINKINFO);
    writer.attribute(IFLA_INFO_KIND, "bond", 5);
    const std::size_t data = writer.open_nested(IFLA_INFO_DATA);
    if (!bond.device) writer.attribute(IFLA_BOND_MODE, static_cast<std::uint8_t>(bond.mode));
    writer.attribute(IFLA_BOND_MIIMON, kBondLinkInterval);
    writer.attribute(IFLA_BOND_XMIT_HASH_POLICY, kBondHash);
    writer.attribute(IFLA_BOND_MIN_LINKS, std::uint32_t{bond.min_links});
    writer.close_nested(data);
    writer.close_nested(info);
  }
  /// Down: the kernel refuses to create it up on a port that is down.
  void operator()(const TaggedPortSet& tagged) const noexcept {
    begin_device(tagged.name, false);
    writer.attribute(IFLA_LINK, tagged.port.value());
    writer.attribute(IFLA_MASTER, tagged.bridge.value());
    const std::size_t info = writer.open_nested(IFLA_LINKINFO);
    writer.attribute(IFLA_INFO_KIND, "vlan", 5);
    const std::size_t data = writer.open_nested(IFLA_INFO_DATA);
    writer.attribute(IFLA_VLAN_ID, tagged.vlan);
    writer.close_nested(data);
    writer.close_nested(info);
  }
  /// NUD_NOARP is a static entry; NUD_PERMANENT would be an address of the bridge itself. Without NTF_STICKY, a frame of the station that
  /// arrives at another port moves a static entry there.
  void operator()(const FdbSet& entry) const noexcept {
    ndmsg header = fdb_header(entry.port);
    header.ndm_flags |= NTF_STICKY;
    header.ndm_state = NUD_NOARP;
    writer.begin(RTM_NEWNEIGH, kCreate, sequence, header);  // FdbEntries handles one that is present.
    writer.attribute(NDA_LLADDR, entry.mac.bytes);
  }
  void operator()(const FdbDelete& entry) const noexcept {
    writer.begin(RTM_DELNEIGH, kDelete, sequence, fdb_header(entry.port));
    writer.attribute(NDA_LLADDR, entry.mac.bytes);
  }
  void operator()(const DeviceDelete& device) const noexcept {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(device.device.value());
    writer.begin(RTM_DELLINK, kDelete, sequence, header);
  }

 private:
  void begin_change(IfIndex device) const noexcept {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(device.value());
    writer.begin(RTM_NEWLINK, NLM_F_REQUEST, sequence, header);
  }
  void begin_device(const std::string& name, bool up) const noexcept {
    ifinfomsg header{};
    header.ifi_change = up ? IFF_UP : 0;
    header.ifi_flags = up ? IFF_UP : 0;
    writer.begin(RTM_NEWLINK, kCreate, sequence, header);
    writer.attribute(IFLA_IFNAME, name.data(), name.size() + 1);  // With its NUL.
    writer.attribute(IFLA_GROUP, device_group(marks.protocol));
  }
  static ndmsg fdb_header(IfIndex port) noexcept {
    ndmsg header{};
    header.ndm_family = AF_BRIDGE;
    header.ndm_ifindex = static_cast<int>(port.value());
    header.ndm_flags = NTF_MASTER;  // The bridge that the port is in.
    return header;
  }
  void begin_nexthop(std::uint8_t nexthop_family, std::uint32_t nexthop_flags, std::uint16_t flags) const noexcept {
    nhmsg header{};
    header.nh_family = nexthop_family;
    header.nh_flags = nexthop_flags;
    header.nh_protocol = marks.protocol;
    writer.begin(RTM_NEWNEXTHOP, flags, sequence, header);
  }
  static ndmsg neighbor_header(IfIndex port, const IpAddress& address) noexcept {
    ndmsg header{};
    header.ndm_family = family(address);
    header.ndm_ifindex = static_cast<int>(port.value());
    return header;
  }
  static ifaddrmsg address_header(IfIndex port, const Prefix& address) noexcept {
    ifaddrmsg header{};
    header.ifa_family = family(address.address);
    header.ifa_prefixlen = address.length;
    header.ifa_index = port.value();
    return header;
  }
};

}  // namespace

bool encode(MessageWriter& writer, const Order& order, std::uint32_t sequence, const ObjectMarks& marks) noexcept {
  std::visit(Encoder{writer, sequence, marks}, order);
  return writer.end();
}

}  // namespace rondo::netlink
