#include "switch_agent/tables.h"

#include <algorithm>
#include <array>
#include <vector>

#include "admin/suggest.h"
#include "rondo/base/text.h"
#include "switch_agent/schema.h"

namespace rondo::switch_agent {

namespace {

constexpr std::array kPortFields{&field::kAdminStatus, &field::kMtu};
constexpr std::array<std::string_view, 12> kPortIgnored{"alias", "autoneg", "description", "fec",  "index",   "lanes",
                                                        "mode",  "NULL",    "oper_status", "role", "subport", "speed"};
constexpr std::array<const FieldReference*, 0> kVrfFields{};
constexpr std::array<std::string_view, 11> kVrfIgnored{
    "fallback", "in_band_mgmt_enabled", "ip_opt_action", "l3_mc_action", "mgmtVrfEnabled", "NULL", "src_mac", "ttl_action", "v4", "v6",
    "vni"};
constexpr std::array kLagFields{&field::kLagAdminStatus, &field::kLagMtu, &field::kMinLinks, &field::kStatic};
constexpr std::array<std::string_view, 16> kLagIgnored{
    "description", "fallback",    "fast_rate",  "lacp_key",  "learn_mode", "members",     "members@", "mode",
    "NULL",        "oper_status", "system_mac", "switch_id", "lag_id",     "tagged_vlan", "tpid",     "traffic_disable"};
constexpr std::array kLagMemberFields{&field::kMemberStatus};
constexpr std::array<std::string_view, 1> kLagMemberIgnored{"NULL"};
constexpr std::array kVlanFields{&field::kVlanAdminStatus, &field::kVlanMtu, &field::kMac};
constexpr std::array<std::string_view, 7> kVlanIgnored{"description", "host_ifname", "learn_mode", "members", "members@", "NULL", "vlanid"};
constexpr std::array kVlanMemberFields{&field::kTaggingMode};
constexpr std::array<std::string_view, 1> kVlanMemberIgnored{"NULL"};
constexpr std::array kFdbFields{&field::kFdbPort, &field::kFdbType};
constexpr std::array<std::string_view, 2> kFdbIgnored{"discard", "NULL"};
constexpr std::array kInterfaceFields{&field::kVrfName, &field::kMtu};
constexpr std::array<std::string_view, 11> kInterfaceIgnored{"admin_status",    "family",    "grat_arp", "ipv6_use_link_local_only",
                                                             "loopback_action", "mac_addr",  "mpls",     "NULL",
                                                             "nat_zone",        "proxy_arp", "scope"};
constexpr std::array kNeighborFields{&field::kNeigh, &field::kFamily, &field::kLearned};
constexpr std::array<std::string_view, 1> kNeighborIgnored{"NULL"};
constexpr std::array kGroupFields{&field::kNexthop, &field::kIfname, &field::kWeight, &field::kOnlink};
constexpr std::array<std::string_view, 3> kGroupIgnored{"mpls_nh", "NULL", "seg_src"};
constexpr std::array kRouteFields{&field::kNexthopGroup, &field::kNexthop, &field::kIfname,   &field::kWeight,
                                  &field::kOnlink,       &field::kPrefsrc, &field::kBlackhole};
constexpr std::array<std::string_view, 8> kRouteIgnored{
    "fallback_to_default_route", "mpls_nh", "NULL", "protocol", "router_mac", "segment", "seg_src", "vni_label"};

constexpr std::array<TableReference, 11> kTables{{
    {.name = "PORT_TABLE",
     .help = "Ports: devices of the kernel that rondod configures.",
     .key = "PORT",
     .key_help = "The name of the device: 1 to 15 characters, no '/', ':', '%' and no blanks.",
     .fields = kPortFields,
     .rule = "Each field may be given alone. While the row of the interface in INTF_TABLE has an mtu, that one applies, whichever row was "
             "written last.",
     .ignored = kPortIgnored,
     .example = "rondo set PORT_TABLE Ethernet0 admin_status=up mtu=9100"},
    {.name = "LAG_TABLE",
     .help = "LAGs (port channels): bonds of the kernel that rondod creates.",
     .key = "LAG",
     .key_help = "The name of the device: PortChannel and one to four digits.",
     .fields = kLagFields,
     .rule = "Each field may be given alone. The kernel itself speaks LACP (mode 802.3ad), without teamd; static=true is the mode "
             "balance-xor. A LAG is deleted when no port, no VLAN and no interface uses it. A bond of this name and mode that another "
             "program has made is used, and is not deleted. A kernel without the bonding driver rejects the row.",
     .ignored = kLagIgnored,
     .example = "rondo set LAG_TABLE PortChannel1 min_links=2"},
    {.name = "LAG_MEMBER_TABLE",
     .help = "The ports of LAGs.",
     .key = "LAG:PORT",
     .key_help = "The row waits until LAG_TABLE has the LAG and PORT_TABLE the port.",
     .fields = kLagMemberFields,
     .rule =
         "A port is in one LAG. A member has no row of INTF_TABLE and is in no VLAN, and a port with either is no member: the later row "
         "waits. The port goes down and up when it enters and when it leaves. In the LAG it has the MTU of the LAG, and that of "
         "PORT_TABLE again when it leaves.",
     .ignored = kLagMemberIgnored,
     .example = "rondo set LAG_MEMBER_TABLE PortChannel1:Ethernet0 status=enabled"},
    {.name = "VRF_TABLE",
     .help = "VRFs: devices of the kernel that rondod creates, each with a routing table of its own.",
     .key = "VRF",
     .key_help = "The name of the device: it begins with Vrf, and has 4 to 15 characters, no '/', ':', '%' and no blanks.",
     .fields = kVrfFields,
     .rule = "A row needs no field. rondod chooses the table: the lowest free number from 1001 on, and after a restart the number that the "
             "device has. What no route of the VRF matches is unreachable. A VRF is deleted when no interface and no route is left in it. "
             "A VRF device that another program has made is used with its table, and is not deleted.",
     .ignored = kVrfIgnored,
     .example = "rondo set VRF_TABLE Vrf1"},
    {.name = "VLAN_TABLE",
     .help = "VLANs: bridges of the kernel that rondod creates, each with a forwarding database of its own.",
     .key = "VLAN",
     .key_help = "The name of the device: Vlan1 to Vlan4094.",
     .fields = kVlanFields,
     .rule =
         "Each field may be given alone. The device is a bridge without VLAN filtering; INTF_TABLE gives it addresses. A VLAN is deleted "
         "when no port and no interface is left in it. A bridge of this name that another program has made is used, and is not deleted.",
     .ignored = kVlanIgnored,
     .example = "rondo set VLAN_TABLE Vlan10"},
    {.name = "VLAN_MEMBER_TABLE",
     .help = "The ports of VLANs.",
     .key = "VLAN:PORT",
     .key_help = "The row waits until VLAN_TABLE has the VLAN, and PORT_TABLE the port or LAG_TABLE the LAG.",
     .fields = kVlanMemberFields,
     .rule = "A port can be an untagged member of one VLAN, and a tagged member of many. A port that has a row of INTF_TABLE is no member, "
             "and a member has no such row: the later one waits. Of rows that waited for the same port, such as one whose device comes "
             "late, that "
             "of INTF_TABLE has it, then that of LAG_MEMBER_TABLE. A tagged member is an 802.1Q device on the port, such as Ethernet0.10.",
     .ignored = kVlanMemberIgnored,
     .example = "rondo set VLAN_MEMBER_TABLE Vlan10:Ethernet0 tagging_mode=untagged"},
    {.name = "FDB_TABLE",
     .help = "Stations of VLANs whose port an operator sets.",
     .key = "VLAN:MAC",
     .key_help = "The bytes of the address are separated by ':', or by '-' as SONiC writes some.",
     .canonical_key = canonical_fdb_key,
     .fields = kFdbFields,
     .rule =
         "port is required. The bridge gets a static entry, which it neither ages nor moves. What bridges learn is in STATE_DB "
         "([managers] state_db), not here. rondod deletes static entries of its bridges that no row asks for, on devices that rows name.",
     .ignored = kFdbIgnored,
     .example = "rondo set FDB_TABLE Vlan10:02:00:00:00:00:aa port=Ethernet0 type=static"},
    {.name = "INTF_TABLE",
     .help = "Interfaces of the router: a row for the port, and a row for each of its addresses.",
     .key = "PORT or PORT:ADDRESS/LENGTH",
     .key_help =
         "The port must have a row of PORT_TABLE, or of VLAN_TABLE or LAG_TABLE if it is one, unless its name begins with Loopback; "
         "an address needs the row of its port. An address without a length is that of a host (/32 or /128).",
     .canonical_key = canonical_interface_key,
     .fields = kInterfaceFields,
     .rule = "The fields belong to the row of the port. The row of an address needs none. The mtu overrides that of PORT_TABLE; without "
             "it, and when the row is deleted, the mtu of PORT_TABLE applies again. Of several rows for one IPv6 address with different "
             "lengths the first has it, and the others wait. A port that enters or leaves a VRF goes down and up again. The kernel uses an "
             "IPv6 address when it has checked that no other device of the link has it; `rondo why` names a duplicate address "
             "([dataplane] detect_duplicates).",
     .ignored = kInterfaceIgnored,
     .example = "rondo set INTF_TABLE Ethernet0 && rondo set INTF_TABLE Ethernet0:10.0.0.1/24"},
    {.name = "NEIGH_TABLE",
     .help = "Neighbours: the link address of an IP address on a port.",
     .key = "PORT:ADDRESS",
     .key_help = "The interface needs an address of the same family.",
     .canonical_key = canonical_neighbor_key,
     .fields = kNeighborFields,
     .rule = "neigh is required. The kernel gets a permanent neighbour, unless learned is the same as neigh. A row with another neigh than "
             "learned is of an operator, and rondod does not change it.",
     .ignored = kNeighborIgnored,
     .example = "rondo set NEIGH_TABLE Ethernet0:10.0.0.2 neigh=02:00:00:00:00:02"},
    {.name = "NEXTHOP_GROUP_TABLE",
     .help = "Groups of next hops that routes share.",
     .key = "NAME",
     .key_help = "Any text. Routes name it in nexthop_group.",
     .fields = kGroupFields,
     .rule = "nexthop and ifname are required and have equally many entries; weight and onlink, if given, have as many. Each next hop "
             "needs its "
             "neighbour. One whose port is down, or not there, joins the group when both have come, and one whose neighbour has not come "
             "within "
             "0.3 s joins when it comes. Without any neighbour the row waits. A next hop 0.0.0.0 or :: is the port itself, which needs no "
             "neighbour. Next hops on ports of other software (eth0, docker0, usb0, lo, tun0, Loopback devices) are left out; a group that "
             "has only such is not programmed, and neither are its routes.",
     .ignored = kGroupIgnored,
     .example = "rondo set NEXTHOP_GROUP_TABLE 102 nexthop=10.0.0.2,10.0.1.2 ifname=Ethernet0,Ethernet4 weight=1,3"},
    {.name = "ROUTE_TABLE",
     .help = "Routes.",
     .key = "[VRF:]ADDRESS/LENGTH",
     .key_help =
         "The bits beyond the length are zero; an address without a length is a host's. The name of a VRF begins with Vrf; the route waits "
         "until VRF_TABLE has it.",
     .canonical_key = canonical_route_key,
     .fields = kRouteFields,
     .rule =
         "One of nexthop_group, nexthop with ifname (and weight and onlink, if wanted), or blackhole=true. nexthop_group and nexthop "
         "exclude each other. With blackhole=true they have no effect, nor has prefsrc. Routes whose next hops are all on eth0, docker0, "
         "usb0, lo, tun0 or Loopback devices are left to other software. A next hop 0.0.0.0 or :: is the port itself; the subnet of an "
         "address of that port is left to the kernel, which has it.",
     .ignored = kRouteIgnored,
     .example = "rondo set ROUTE_TABLE 10.1.0.0/16 nexthop_group=102"},
}};

}  // namespace

std::span<const TableReference> tables() { return kTables; }

const TableReference* find_table(std::string_view name) {
  const auto found = std::ranges::find(kTables, name, &TableReference::name);
  return found == kTables.end() ? nullptr : &*found;
}

std::string unknown_field(const TableReference& table, std::string_view name) {
  std::vector<std::string_view> names;
  for (const FieldReference* const one : table.fields) names.push_back(one->name);
  if (std::ranges::find(names, name) != names.end() || std::ranges::find(table.ignored, name) != table.ignored.end()) return {};
  return std::string{table.name} + " has no field " + quoted(name) + did_you_mean(name, names);
}

std::string unknown_field(const TableReference& table, const Fields& fields) {
  for (const Field one : fields) {
    if (std::string unknown = unknown_field(table, one.name); !unknown.empty()) return unknown;
  }
  return {};
}

}  // namespace rondo::switch_agent
