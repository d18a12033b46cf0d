// The facts by which the agent's Orchs depend on each other: each kind, its key, and the Orch that provides it. The Orchs share nothing
// else but tables and the four directories that SwitchAgent owns (port_ids.h, group_ids.h, mtu_rows.h, vrf_tables.h).
#pragma once

#include <string>
#include <string_view>

#include "rondo/orch/fact.h"

namespace rondo::switch_agent {

// kind                                                   key                    provider        holds when
inline constexpr FactKind kDevice{"device"};           // port            ports           the kernel has a device with that name
inline constexpr FactKind kPort{"port"};               // port            ports           its PORT_TABLE row is applied
inline constexpr FactKind kAdminUp{"admin-up"};        // port            ports           the device is administratively up
inline constexpr FactKind kCarrier{"carrier"};         // port            ports           the device is up and running: next hops can use it
inline constexpr FactKind kIpv6Mtu{"ipv6-mtu"};        // port            ports           the MTU of the device is large enough for IPv6
inline constexpr FactKind kIpv6{"ipv6"};               // port            interfaces      the same, and IPv6 is not known to be switched off
inline constexpr FactKind kPortUnused{"port-unused"};  // port            interfaces      no INTF_TABLE row uses it
inline constexpr FactKind kNoInterfaceNext{
    "no-interface-next"};  // port  interfaces  no INTF_TABLE row waits for the port alone: it would have the port before a member
inline constexpr FactKind kInterface{"interface"};               // port            interfaces      its INTF_TABLE row is applied
inline constexpr FactKind kAddressed{"addressed"};               // port:ipv4|ipv6  interfaces      it has an address of that family
inline constexpr FactKind kInterfaceUnused{"interface-unused"};  // port   interfaces      no address is left on it
inline constexpr FactKind kAddressFree{
    "address-free"};  // port:address/length  interfaces  no neighbour needs it: none is left, or another address exists
inline constexpr FactKind kSubnet{"subnet"};       // route port  interfaces  the port has an address in it, so the kernel has a route to it
inline constexpr FactKind kNoSubnet{"no-subnet"};  // route port   interfaces  it has none
inline constexpr FactKind kRestartOver{
    "restart-over"};  // kDataPlane      interfaces      everything that an earlier run left is in use or deleted
inline constexpr FactKind kRowsCome{
    "rows-come"};  // kDataPlane      interfaces      the rows that an earlier run had programmed have come and are handled
inline constexpr FactKind kStandingRows{
    "standing-rows"};  // kInterfaceRows|kLagMemberRows  interfaces  the rows that the table had at the start are handled
inline constexpr FactKind kNeighborsGone{"neighbors-gone"};  // port   neighbors       no neighbour is left on it
inline constexpr FactKind kNeighbor{"neighbor"};  // port:address    neighbors       its row is applied, also while its port is down
inline constexpr FactKind kNeighborUnused{"neighbor-unused"};  // port:address  nexthop-groups  no group has it as a member
inline constexpr FactKind kNexthopGroup{"nexthop-group"};      // index  nexthop-groups  it is in the kernel with at least one member
inline constexpr FactKind kGroupLeads{
    "group-leads"};  // index port  nexthop-groups  its only next hop is to that device; without a port: all are on ports of other software
inline constexpr FactKind kNextHops{"next-hops"};            // name_of(hops)  nexthop-groups  the same, of the next hops that routes name
inline constexpr FactKind kGroupUnused{"group-unused"};      // index           routes          no route uses it
inline constexpr FactKind kGroupAccepted{"group-accepted"};  // index  nexthop-groups  the kernel refuses none of its next hops
inline constexpr FactKind kRouteSpelling{"route-spelling"};  // prefix        routes      no row has it under another spelling
inline constexpr FactKind kNeighborSpelling{"neighbor-spelling"};  // port:address  neighbors   no row has it under another spelling
inline constexpr FactKind kAddressSpelling{"address-spelling"};    // port:address/length  interfaces  no row has it under another spelling
inline constexpr FactKind kVrf{"vrf"};                             // name            vrfs  its device is up, and its table is known
inline constexpr FactKind kInDevice{"in-device"};  // port:device     ports       the port is in the VRF, bridge or bond of that name
inline constexpr FactKind kVrfPortsGone{"vrf-ports-gone"};        // name            interfaces  no INTF_TABLE row has put a port into it
inline constexpr FactKind kVrfRoutesGone{"vrf-routes-gone"};      // name            routes      no route is in it
inline constexpr FactKind kVlan{"vlan"};                          // name      vlans         its bridge is as its row asks
inline constexpr FactKind kVlanMembersGone{"vlan-members-gone"};  // name  vlan-members  no port is in it
inline constexpr FactKind kVlanMember{"vlan-member"};             // vlan:port   vlan-members  the port is in the bridge of the VLAN
inline constexpr FactKind kTaggedMember{"tagged-member"};         // vlan:port   vlan-members  the member is an 802.1Q device
inline constexpr FactKind kInNoVlan{"in-no-vlan"};                // port          vlan-members  no VLAN has the port
inline constexpr FactKind kUntaggedFree{"untagged-free"};         // port      vlan-members  no VLAN has it as an untagged member
inline constexpr FactKind kLag{"lag"};                            // name           lags          its bond is as its row asks
inline constexpr FactKind kLagMembersGone{"lag-members-gone"};    // name           lag-members   no port is in it
inline constexpr FactKind kNoLagMemberNext{
    "no-lag-member-next"};  // port  lag-members  no LAG_MEMBER_TABLE row waits for the port alone: it would have the port before a VLAN
inline constexpr FactKind kInNoLag{"in-no-lag"};         // port           lag-members   no LAG has the port
inline constexpr FactKind kFdbSpelling{"fdb-spelling"};  // vlan:mac      fdb     no row has it under another spelling
inline constexpr FactKind kFdbFree{"fdb-free"};  // vlan:mac        fdb             the bridge has no entry that rondod must not replace

/// Holds when the row of the device itself is applied: of PORT_TABLE, VLAN_TABLE or LAG_TABLE, as its name says.
Fact configured(std::string_view device);

/// The key of kSubnet, kNoSubnet (the route is a key of ROUTE_TABLE) and kGroupLeads. Names of ports have no blanks.
std::string with_port(std::string_view name, std::string_view port);

/// The key of kRestartOver: the only data plane.
inline constexpr std::string_view kDataPlane = "data-plane";

/// The keys of kStandingRows.
inline constexpr std::string_view kInterfaceRows = "INTF_TABLE";
inline constexpr std::string_view kLagMemberRows = "LAG_MEMBER_TABLE";

}  // namespace rondo::switch_agent
