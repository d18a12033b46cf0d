// For the restart matrix: the table of object kinds. A kind names the rows that make its objects, their change and their deletion. The
// compiler and two tests ensure that no object kind is missing: they compare the table with the declared tables and fields
// (switch_agent/tables.h) and the data plane's orders (dataplane/op.h). Pure; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "rondo/dataplane/op.h"

namespace rondo::restart {

using RowFields = std::map<std::string, std::string>;
/// Table and key, and the fields.
using Rows = std::map<std::pair<std::string, std::string>, RowFields>;

/// Every kind of object that rows create in the data plane.
enum class Object {
  Port,
  PortState,
  Interface,
  Address,
  Neighbor,
  Nexthop,
  Group,
  RouteByGroup,
  RouteByHop,
  RouteByHops,
  RouteToNowhere,
  Vrf,
  Vlan,
  StaticEntry,
  TaggedMember,
  Lag,
  LagMember,
};
inline constexpr std::size_t kObjects = static_cast<std::size_t>(Object::LagMember) + 1;

/// "TABLE|key|field=value field=value" writes a row, "-TABLE|key" deletes one. '#' is the number of the kind's port.
using RowTexts = std::span<const std::string_view>;

struct Kind {
  Object object;
  std::string_view name;
  int port;            // Kinds with separate ports cannot disturb each other.
  RowTexts rows;       // Rows besides the chain of its port.
  RowTexts change;     // Written while the daemon is down.
  RowTexts deletions;  // Deleted while the daemon is down.
};

/// The rows of each port, so that the dependents of a changed object exist.
inline constexpr std::array<std::string_view, 7> kChain{
    "PORT_TABLE|swp#|admin_status=up",
    "INTF_TABLE|swp#|",
    "INTF_TABLE|swp#:10.#.0.1/24|scope=global",
    "INTF_TABLE|swp#:fd00:#::1/64|",
    "NEIGH_TABLE|swp#:10.#.0.2|neigh=02:00:00:00:00:02 family=IPv4",
    "NEXTHOP_GROUP_TABLE|group#|nexthop=10.#.0.2 ifname=swp#",
    "ROUTE_TABLE|20.#.0.0/16|nexthop_group=group#",
};
/// Not for the first four ports, so that an emptied store deletes fewer than 100 objects.
inline constexpr std::array<std::string_view, 3> kChainV6{
    "NEIGH_TABLE|swp#:fd00:#::2|neigh=02:00:00:00:06:02 family=IPv6",
    "NEXTHOP_GROUP_TABLE|group6-#|nexthop=fd00:#::2 ifname=swp#",
    "ROUTE_TABLE|fd20:#::/32|nexthop_group=group6-#",
};
inline constexpr int kFirstPortWithV6Chain = 5;
inline constexpr int kPorts = 8;
/// Further ports, which no row makes interfaces of the router.
inline constexpr int kVlanPort = 9;
inline constexpr int kEntryPort = 2;  // Its rows are those of further ports, "swp2#" and "swp3#".
inline constexpr std::array<int, 4> kVlanPorts{kVlanPort, 19, 22, 32};
/// Where the kernel has 802.1Q devices, and where it has bonds.
inline constexpr int kTaggedPort = 12;
inline constexpr std::array<int, 2> kTaggedPorts{kTaggedPort, 112};
inline constexpr int kLagPort = 11;
inline constexpr std::array<int, 3> kLagPorts{kLagPort, 111, 211};

namespace rows {

inline constexpr std::array<std::string_view, 0> kNone{};
inline constexpr std::array<std::string_view, 2> kNoGroup{"-NEXTHOP_GROUP_TABLE|group#", "-NEXTHOP_GROUP_TABLE|group6-#"};
/// A second neighbour of each family.
inline constexpr std::array<std::string_view, 2> kSecond{"NEIGH_TABLE|swp#:10.#.0.3|neigh=02:00:00:00:00:03",
                                                         "NEIGH_TABLE|swp#:fd00:#::3|neigh=02:00:00:00:06:03"};

inline constexpr std::array<std::string_view, 1> kPort{"PORT_TABLE|swp#|mtu=9000"};
inline constexpr std::array<std::string_view, 1> kPortChange{"PORT_TABLE|swp#|mtu=8000"};
inline constexpr std::array<std::string_view, 1> kPortGone{"-PORT_TABLE|swp#"};
inline constexpr std::array<std::string_view, 1> kPortDown{"PORT_TABLE|swp#|admin_status=down"};

inline constexpr std::array<std::string_view, 1> kInterface{"INTF_TABLE|swp#|mtu=1500"};
inline constexpr std::array<std::string_view, 1> kInterfaceChange{"INTF_TABLE|swp#|mtu=1400"};
inline constexpr std::array<std::string_view, 1> kInterfaceGone{"-INTF_TABLE|swp#"};

inline constexpr std::array<std::string_view, 4> kAddressChange{"-INTF_TABLE|swp#:10.#.0.1/24", "INTF_TABLE|swp#:10.#.0.9/24|",
                                                                "-INTF_TABLE|swp#:fd00:#::1/64", "INTF_TABLE|swp#:fd00:#::9/64|"};
inline constexpr std::array<std::string_view, 2> kAddressGone{"-INTF_TABLE|swp#:10.#.0.1/24", "-INTF_TABLE|swp#:fd00:#::1/64"};

/// A link-local neighbour needs no row of an address.
inline constexpr std::array<std::string_view, 4> kNeighbor{
    "NEIGH_TABLE|swp#:fe80::2|neigh=02:00:00:00:fe:02", "NEXTHOP_GROUP_TABLE|grouplocal#|nexthop=fe80::2 ifname=swp#",
    "ROUTE_TABLE|fd60:#::/32|nexthop_group=grouplocal#", "NEIGH_TABLE|swp#:10.#.0.7|neigh=02:00:00:00:00:07 learned=02:00:00:00:00:07"};
/// The last one takes a learned row over.
inline constexpr std::array<std::string_view, 4> kNeighborChange{
    "NEIGH_TABLE|swp#:10.#.0.2|neigh=02:00:00:00:00:12", "NEIGH_TABLE|swp#:fd00:#::2|neigh=02:00:00:00:06:12",
    "NEIGH_TABLE|swp#:fe80::2|neigh=02:00:00:00:fe:12", "NEIGH_TABLE|swp#:10.#.0.7|neigh=02:00:00:00:00:17"};
inline constexpr std::array<std::string_view, 4> kNeighborGone{"-NEIGH_TABLE|swp#:10.#.0.2", "-NEIGH_TABLE|swp#:fd00:#::2",
                                                               "-NEIGH_TABLE|swp#:fe80::2", "-NEIGH_TABLE|swp#:10.#.0.7"};

inline constexpr std::array<std::string_view, 2> kNexthopChange{"NEXTHOP_GROUP_TABLE|group#|nexthop=10.#.0.3",
                                                                "NEXTHOP_GROUP_TABLE|group6-#|nexthop=fd00:#::3"};

/// One group also uses ports of other kinds, and stays when these go down or disappear.
inline constexpr std::array<std::string_view, 6> kGroup{
    kSecond[0],
    kSecond[1],
    "NEXTHOP_GROUP_TABLE|group#|nexthop=10.#.0.2,10.#.0.3 ifname=swp#,swp# weight=1,2 onlink=false,false",
    "NEXTHOP_GROUP_TABLE|group6-#|nexthop=fd00:#::2,fd00:#::3 ifname=swp#,swp# weight=1,2",
    "NEXTHOP_GROUP_TABLE|mixed|nexthop=10.2.0.2,10.6.0.2,10.#.0.2 ifname=swp2,swp6,swp#",
    "ROUTE_TABLE|70.#.0.0/16|nexthop_group=mixed"};
inline constexpr std::array<std::string_view, 2> kGroupChange{"NEXTHOP_GROUP_TABLE|group#|weight=1,3",
                                                              "NEXTHOP_GROUP_TABLE|group6-#|weight=1,3"};

inline constexpr std::array<std::string_view, 2> kByGroupChange{"ROUTE_TABLE|20.#.0.0/16|nexthop_group=group7",
                                                                "ROUTE_TABLE|fd20:#::/32|nexthop_group=group6-7"};
inline constexpr std::array<std::string_view, 2> kByGroupGone{"-ROUTE_TABLE|20.#.0.0/16", "-ROUTE_TABLE|fd20:#::/32"};

inline constexpr std::array<std::string_view, 4> kByHop{kSecond[0], kSecond[1], "ROUTE_TABLE|30.#.0.0/16|nexthop=10.#.0.2 ifname=swp#",
                                                        "ROUTE_TABLE|fd30:#::/32|nexthop=fd00:#::2 ifname=swp#"};
inline constexpr std::array<std::string_view, 2> kByHopChange{"ROUTE_TABLE|30.#.0.0/16|nexthop=10.#.0.3",
                                                              "ROUTE_TABLE|fd30:#::/32|nexthop=fd00:#::3"};
inline constexpr std::array<std::string_view, 2> kByHopGone{"-ROUTE_TABLE|30.#.0.0/16", "-ROUTE_TABLE|fd30:#::/32"};

inline constexpr std::array<std::string_view, 2> kByHops{
    "ROUTE_TABLE|40.#.0.0/16|nexthop=10.#.0.2,10.#.0.3 ifname=swp#,swp# weight=1,2 onlink=false,false",
    "ROUTE_TABLE|fd40:#::/32|nexthop=fd00:#::2,fd00:#::3 ifname=swp#,swp# weight=1,2"};
inline constexpr std::array<std::string_view, 2> kByHopsChange{"ROUTE_TABLE|40.#.0.0/16|weight=1,3", "ROUTE_TABLE|fd40:#::/32|weight=1,3"};
inline constexpr std::array<std::string_view, 2> kByHopsGone{"-ROUTE_TABLE|40.#.0.0/16", "-ROUTE_TABLE|fd40:#::/32"};

inline constexpr std::array<std::string_view, 2> kToNowhere{"ROUTE_TABLE|50.#.0.0/16|blackhole=true prefsrc=10.#.0.1",
                                                            "ROUTE_TABLE|fd50:#::/32|blackhole=true"};
inline constexpr std::array<std::string_view, 2> kToNowhereChange{"ROUTE_TABLE|50.#.0.0/16|blackhole=false prefsrc= nexthop_group=group#",
                                                                  "ROUTE_TABLE|fd50:#::/32|blackhole=false nexthop_group=group6-#"};
inline constexpr std::array<std::string_view, 2> kToNowhereGone{"-ROUTE_TABLE|50.#.0.0/16", "-ROUTE_TABLE|fd50:#::/32"};

/// Where the kernel has VRFs. The port stays outside, so that the other kinds on it are not disturbed.
inline constexpr std::array<std::string_view, 2> kVrf{"VRF_TABLE|Vrf#|NULL=NULL", "ROUTE_TABLE|Vrf#:60.#.0.0/16|blackhole=true"};
inline constexpr std::array<std::string_view, 3> kVrfChange{"VRF_TABLE|Vrf#|vni=7", "-ROUTE_TABLE|Vrf#:60.#.0.0/16",
                                                            "ROUTE_TABLE|Vrf#:61.#.0.0/16|blackhole=true"};
inline constexpr std::array<std::string_view, 2> kVrfGone{"-VRF_TABLE|Vrf#", "-ROUTE_TABLE|Vrf#:60.#.0.0/16"};

/// Untagged, so that every kernel can have them. The change moves the second port to the other VLAN. The first one stays: a VLAN without a
/// port has no carrier, which invalidates everything that a restart has read (reconciler.h).
inline constexpr std::array<std::string_view, 10> kVlan{"PORT_TABLE|swp#|admin_status=up",
                                                        "PORT_TABLE|swp1#|admin_status=up",
                                                        "VLAN_TABLE|Vlan#|admin_status=up mtu=1500 mac=02:00:00:00:10:09",
                                                        "VLAN_MEMBER_TABLE|Vlan#:swp#|tagging_mode=untagged",
                                                        "VLAN_MEMBER_TABLE|Vlan#:swp1#|tagging_mode=untagged",
                                                        "INTF_TABLE|Vlan#|",
                                                        "INTF_TABLE|Vlan#:10.#.0.1/24|",
                                                        "VLAN_TABLE|Vlan1#|mac=02:00:00:00:10:19",
                                                        "FDB_TABLE|Vlan#:02:00:00:00:00:aa|port=swp# type=static",
                                                        "FDB_TABLE|Vlan#:02:00:00:00:00:bb|port=swp#"};
inline constexpr std::array<std::string_view, 5> kVlanChange{
    "VLAN_TABLE|Vlan1#|mtu=1400", "-VLAN_MEMBER_TABLE|Vlan#:swp1#", "VLAN_MEMBER_TABLE|Vlan1#:swp1#|tagging_mode=priority_tagged",
    "FDB_TABLE|Vlan#:02:00:00:00:00:aa|type=dynamic", "-FDB_TABLE|Vlan#:02:00:00:00:00:bb"};
inline constexpr std::array<std::string_view, 8> kVlanGone{"-VLAN_TABLE|Vlan#",
                                                           "-VLAN_MEMBER_TABLE|Vlan#:swp#",
                                                           "-VLAN_MEMBER_TABLE|Vlan#:swp1#",
                                                           "-INTF_TABLE|Vlan#",
                                                           "-INTF_TABLE|Vlan#:10.#.0.1/24",
                                                           "-VLAN_TABLE|Vlan1#",
                                                           "-FDB_TABLE|Vlan#:02:00:00:00:00:aa",
                                                           "-FDB_TABLE|Vlan#:02:00:00:00:00:bb"};

inline constexpr std::array<std::string_view, 7> kEntry{"PORT_TABLE|swp2#|admin_status=up",
                                                        "PORT_TABLE|swp3#|admin_status=up",
                                                        "VLAN_TABLE|Vlan2#|mac=02:00:00:00:10:22",
                                                        "VLAN_MEMBER_TABLE|Vlan2#:swp2#|tagging_mode=untagged",
                                                        "VLAN_MEMBER_TABLE|Vlan2#:swp3#|tagging_mode=untagged",
                                                        "FDB_TABLE|Vlan2#:02:00:00:00:00:aa|port=swp2#",
                                                        "FDB_TABLE|Vlan2#:02:00:00:00:00:bb|port=swp3# type=static"};
inline constexpr std::array<std::string_view, 2> kEntryChange{"FDB_TABLE|Vlan2#:02:00:00:00:00:aa|type=dynamic",
                                                              "FDB_TABLE|Vlan2#:02:00:00:00:00:bb|port=swp2#"};
inline constexpr std::array<std::string_view, 2> kEntryGone{"-FDB_TABLE|Vlan2#:02:00:00:00:00:aa", "-FDB_TABLE|Vlan2#:02:00:00:00:00:bb"};

/// Where the kernel has 802.1Q devices.
inline constexpr std::array<std::string_view, 6> kTagged{"PORT_TABLE|swp#|admin_status=up",
                                                         "PORT_TABLE|swp1#|admin_status=up mtu=1600",
                                                         "VLAN_TABLE|Vlan#|mac=02:00:00:00:10:12",
                                                         "VLAN_MEMBER_TABLE|Vlan#:swp#|tagging_mode=tagged",
                                                         "VLAN_MEMBER_TABLE|Vlan#:swp1#|tagging_mode=tagged",
                                                         "FDB_TABLE|Vlan#:02:00:00:00:00:aa|port=swp#"};
inline constexpr std::array<std::string_view, 1> kTaggedChange{"VLAN_MEMBER_TABLE|Vlan#:swp1#|tagging_mode=untagged"};
inline constexpr std::array<std::string_view, 1> kTaggedGone{"-VLAN_MEMBER_TABLE|Vlan#:swp1#"};

/// Where the kernel has bonds.
inline constexpr std::array<std::string_view, 10> kLag{"PORT_TABLE|swp#|admin_status=up",
                                                       "PORT_TABLE|swp1#|admin_status=up mtu=1600",
                                                       "LAG_TABLE|PortChannel#|admin_status=up mtu=1500",
                                                       "LAG_MEMBER_TABLE|PortChannel#:swp#|status=enabled",
                                                       "LAG_MEMBER_TABLE|PortChannel#:swp1#|status=enabled",
                                                       "INTF_TABLE|PortChannel#|",
                                                       "INTF_TABLE|PortChannel#:10.#.0.1/24|",
                                                       "NEIGH_TABLE|PortChannel#:10.#.0.2|neigh=02:00:00:00:00:02",
                                                       "NEXTHOP_GROUP_TABLE|group#|nexthop=10.#.0.2 ifname=PortChannel#",
                                                       "ROUTE_TABLE|20.#.0.0/16|nexthop_group=group#"};
/// min_links has no effect on the carrier of a static one.
inline constexpr std::array<std::string_view, 2> kLagChange{"LAG_TABLE|PortChannel#|mtu=1400", "LAG_TABLE|PortChannel1#|min_links=2"};
inline constexpr std::array<std::string_view, 8> kLagGone{"-LAG_TABLE|PortChannel#",
                                                          "-LAG_MEMBER_TABLE|PortChannel#:swp#",
                                                          "-LAG_MEMBER_TABLE|PortChannel#:swp1#",
                                                          "-INTF_TABLE|PortChannel#",
                                                          "-INTF_TABLE|PortChannel#:10.#.0.1/24",
                                                          "-NEIGH_TABLE|PortChannel#:10.#.0.2",
                                                          "-NEXTHOP_GROUP_TABLE|group#",
                                                          "-ROUTE_TABLE|20.#.0.0/16"};
/// The change moves a port to the other LAG, whose mode changes, and takes out the port that was in there.
inline constexpr std::array<std::string_view, 3> kLagMember{"PORT_TABLE|swp2#|admin_status=up", "LAG_TABLE|PortChannel1#|static=true",
                                                            "LAG_MEMBER_TABLE|PortChannel1#:swp2#|"};
inline constexpr std::array<std::string_view, 4> kLagMemberChange{
    "-LAG_MEMBER_TABLE|PortChannel#:swp1#", "LAG_MEMBER_TABLE|PortChannel1#:swp1#|", "LAG_MEMBER_TABLE|PortChannel1#:swp2#|status=disabled",
    "LAG_TABLE|PortChannel1#|static=false"};
inline constexpr std::array<std::string_view, 1> kLagMemberGone{"-LAG_MEMBER_TABLE|PortChannel1#:swp2#"};

}  // namespace rows

inline constexpr std::array<Kind, kObjects> kKinds{{
    {Object::Port, "port", 1, rows::kPort, rows::kPortChange, rows::kPortGone},
    {Object::PortState, "state of a port", 2, rows::kNone, rows::kPortDown, rows::kPortGone},
    {Object::Interface, "interface", 3, rows::kInterface, rows::kInterfaceChange, rows::kInterfaceGone},
    {Object::Address, "address", 4, rows::kNone, rows::kAddressChange, rows::kAddressGone},
    {Object::Neighbor, "neighbour", 5, rows::kNeighbor, rows::kNeighborChange, rows::kNeighborGone},
    {Object::Nexthop, "next hop", 6, rows::kSecond, rows::kNexthopChange, rows::kNoGroup},
    {Object::Group, "group", 7, rows::kGroup, rows::kGroupChange, rows::kNoGroup},
    {Object::RouteByGroup, "route by a group", 8, rows::kNone, rows::kByGroupChange, rows::kByGroupGone},
    {Object::RouteByHop, "route by a hop", 8, rows::kByHop, rows::kByHopChange, rows::kByHopGone},
    {Object::RouteByHops, "route by several hops", 8, rows::kByHops, rows::kByHopsChange, rows::kByHopsGone},
    {Object::RouteToNowhere, "route to nowhere", 8, rows::kToNowhere, rows::kToNowhereChange, rows::kToNowhereGone},
    {Object::Vrf, "VRF", 8, rows::kVrf, rows::kVrfChange, rows::kVrfGone},
    {Object::Vlan, "VLAN", kVlanPort, rows::kVlan, rows::kVlanChange, rows::kVlanGone},
    {Object::StaticEntry, "static entry", kEntryPort, rows::kEntry, rows::kEntryChange, rows::kEntryGone},
    {Object::TaggedMember, "tagged member", kTaggedPort, rows::kTagged, rows::kTaggedChange, rows::kTaggedGone},
    {Object::Lag, "LAG", kLagPort, rows::kLag, rows::kLagChange, rows::kLagGone},
    {Object::LagMember, "member of a LAG", kLagPort, rows::kLagMember, rows::kLagMemberChange, rows::kLagMemberGone},
}};

// --- what holds the table against the declarations

constexpr bool has_each_object() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].object) != i || kKinds[i].change.empty() || kKinds[i].deletions.empty()) return false;
  }
  return true;
}
static_assert(has_each_object(), "each kind has a row of the table, in the order of the enumeration, with its change and its deletion");

/// The kind that tests an order. A new order does not compile until it has one here.
constexpr Object object_of(std::type_identity<LinkSet>) { return Object::Port; }
constexpr Object object_of(std::type_identity<VrfSet>) { return Object::Vrf; }
constexpr Object object_of(std::type_identity<DeviceDelete>) { return Object::Vrf; }
constexpr Object object_of(std::type_identity<BridgeSet>) { return Object::Vlan; }
constexpr Object object_of(std::type_identity<TaggedPortSet>) { return Object::TaggedMember; }
constexpr Object object_of(std::type_identity<FdbSet>) { return Object::StaticEntry; }
constexpr Object object_of(std::type_identity<FdbDelete>) { return Object::StaticEntry; }
constexpr Object object_of(std::type_identity<BondSet>) { return Object::Lag; }
constexpr Object object_of(std::type_identity<AddressSet>) { return Object::Address; }
constexpr Object object_of(std::type_identity<AddressDelete>) { return Object::Address; }
constexpr Object object_of(std::type_identity<NeighborSet>) { return Object::Neighbor; }
constexpr Object object_of(std::type_identity<NeighborDelete>) { return Object::Neighbor; }
constexpr Object object_of(std::type_identity<NexthopSet>) { return Object::Nexthop; }
constexpr Object object_of(std::type_identity<NexthopDelete>) { return Object::Nexthop; }
constexpr Object object_of(std::type_identity<GroupSet>) { return Object::Group; }
constexpr Object object_of(std::type_identity<RouteSet>) { return Object::RouteByGroup; }
constexpr Object object_of(std::type_identity<RouteDelete>) { return Object::RouteByGroup; }

template <class Variant>
struct EveryOrder;
template <class... Orders>
struct EveryOrder<std::variant<Orders...>> {
  static constexpr bool is_in_the_table =
      (std::ranges::any_of(kKinds, [](const Kind& kind) { return kind.object == object_of(std::type_identity<Orders>{}); }) && ...);
};
static_assert(EveryOrder<Order>::is_in_the_table);

/// True if rows can ask for routes of that type. Without a default: a new type does not compile until it is here.
constexpr bool is_in_rows(RouteType type) {
  switch (type) {
    case RouteType::Unicast:
    case RouteType::Blackhole: return true;
    case RouteType::Unreachable:
    case RouteType::Prohibit: return false;  // No field of ROUTE_TABLE asks for these types.
  }
  return false;
}

// --- rows

inline std::string with_port(std::string_view text, int port) {
  std::string made;
  for (const char c : text) c == '#' ? made.append(std::to_string(port)) : made.append(1, c);
  return made;
}

/// Applies one row text to 'rows': a Set merges its fields, as the command does.
inline void write_row(std::string_view text, int port, Rows& rows) {
  const std::string row = with_port(text, port);
  const bool is_delete = row.starts_with('-');
  const std::size_t bar = row.find('|');
  const std::size_t end = row.find('|', bar + 1);
  std::pair name{row.substr(is_delete ? 1 : 0, bar - (is_delete ? 1 : 0)), row.substr(bar + 1, end - bar - 1)};
  if (is_delete) {
    rows.erase(name);
    return;
  }
  RowFields& fields = rows[std::move(name)];
  for (std::size_t at = end + 1; at < row.size();) {
    const std::size_t equal = row.find('=', at);
    const std::size_t blank = std::min(row.find(' ', at), row.size());
    fields[row.substr(at, equal - at)] = row.substr(equal + 1, blank - equal - 1);
    at = blank + 1;
  }
}

inline void write_rows(RowTexts texts, int port, Rows& rows) {
  for (const std::string_view text : texts) write_row(text, port, rows);
}

/// Removes the rows that only this kind has, for a kernel that has no such object.
inline void drop_rows_of(const Kind& kind, Rows& rows) {
  for (const RowTexts texts : {kind.rows, kind.change}) {
    Rows named;
    write_rows(texts, kind.port, named);
    std::erase_if(rows, [&named](const auto& row) { return named.contains(row.first); });
  }
}

/// All object kinds together.
inline Rows all_rows() {
  Rows rows;
  for (int port = 1; port <= kPorts; ++port) {
    write_rows(kChain, port, rows);
    if (port >= kFirstPortWithV6Chain) write_rows(kChainV6, port, rows);
  }
  for (const Kind& kind : kKinds) write_rows(kind.rows, kind.port, rows);
  return rows;
}

}  // namespace rondo::restart
