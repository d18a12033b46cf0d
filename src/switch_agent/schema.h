// Schema: the rows of SONiC's APPL_DB tables as values, parsed once when a row arrives. A wrong key or field gives a Status that names the
// field and its value; the consumer adds table and key. Fields that the agent does not use (lanes, speed, ...) are accepted and ignored,
// as in every SONiC daemon; a rejected row names its first unknown field. Names and ranges are those of tables.h. Source: the field lists
// of sonic-swss doc/swss-schema.md and the orchs' own readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/dataplane/ip.h"
#include "rondo/dataplane/op.h"
#include "rondo/store/record.h"

namespace rondo::switch_agent {

/// Checks that the kernel accepts the name for a device.
Status check_port_name(std::string_view name);

/// Checks the key of PORT_TABLE: the same, and not the name of a VLAN or of a LAG.
Status check_port_key(std::string_view name);

/// Checks the name of a LAG: "PortChannel" and one to four digits, as in SONiC.
Status check_lag_name(std::string_view name);
/// True for such a name.
bool is_lag_name(std::string_view name);
/// LAG_TABLE:<lag>
struct LagRow {
  bool admin_up = true;
  std::optional<std::uint32_t> mtu;
  BondMode mode = BondMode::Lacp;
  std::uint16_t min_links = 1;
};
Result<LagRow> parse_lag(const Fields& fields);
/// LAG_MEMBER_TABLE:<lag>:<port>
struct LagMemberKey {
  std::string lag;
  std::string port;
};
Result<LagMemberKey> parse_lag_member_key(std::string_view key);
/// True if the port is to be in the bond: 'status' is not "disabled".
Result<bool> parse_lag_member(const Fields& fields);

/// The number of the VLAN whose name this is: "Vlan1" to "Vlan4094".
Result<std::uint16_t> parse_vlan_name(std::string_view name);
/// True for such a name.
bool is_vlan_name(std::string_view name);
/// VLAN_TABLE:<vlan>
struct VlanRow {
  bool admin_up = true;
  std::optional<std::uint32_t> mtu;  // Empty: the smallest of the members.
  std::optional<MacAddress> mac;     // Empty: that of a member.
};
Result<VlanRow> parse_vlan(const Fields& fields);
/// VLAN_MEMBER_TABLE:<vlan>:<port>; a LAG can be the port.
struct VlanMemberKey {
  std::string vlan;
  std::uint16_t number = 0;
  std::string port;
};
Result<VlanMemberKey> parse_vlan_member_key(std::string_view key);
/// True if the frames of the VLAN have its tag on the port.
Result<bool> parse_tagged(const Fields& fields);
/// The name of the 802.1Q device of a tagged member: "Ethernet0.10", or "Eth124.4094" where the long name does not fit, as SONiC shortens
/// the names of sub-interfaces. Empty if that does not fit either.
std::string tagged_port_name(std::string_view port, std::uint16_t vlan);

/// FDB_TABLE:<vlan>:<mac>, the bytes of the address separated by ':' or '-'.
struct FdbKey {
  std::string vlan;
  MacAddress mac;
};
Result<FdbKey> parse_fdb_key(std::string_view key);
std::optional<std::string> canonical_fdb_key(std::string_view key);
struct FdbRow {
  std::string port;
  bool is_static = true;
};
Result<FdbRow> parse_fdb(const Fields& fields);

/// Checks the key of VRF_TABLE:<vrf>, which is the name of a device: "Vrf...".
Status check_vrf_name(std::string_view name);

/// PORT_TABLE:<port>
struct PortRow {
  std::optional<bool> admin_up;
  std::optional<std::uint32_t> mtu;
};
Result<PortRow> parse_port(const Fields& fields);

/// INTF_TABLE:<port> and INTF_TABLE:<port>:<address>/<length>
struct InterfaceKey {
  std::string port;
  std::optional<Prefix> address;
};
Result<InterfaceKey> parse_interface_key(std::string_view key);
/// The canonical spelling of a key, which `rondo` writes: addresses and prefixes as Prefix::to_string() formats them, names unchanged.
/// Empty for a key that is canonical already or is not a key of the table.
std::optional<std::string> canonical_interface_key(std::string_view key);
struct InterfaceRow {
  std::string vrf;  // Empty: the default VRF.
  std::optional<std::uint32_t> mtu;
};
Result<InterfaceRow> parse_interface(const Fields& fields);

/// NEIGH_TABLE:<port>:<address> {neigh, family, learned}
struct NeighborKey {
  std::string port;
  IpAddress address;
};
Result<NeighborKey> parse_neighbor_key(std::string_view key);
std::optional<std::string> canonical_neighbor_key(std::string_view key);
struct NeighborRow {
  MacAddress mac;
  bool learned = false;  // The kernel has resolved it and keeps it: 'learned' is the same as 'neigh'.
};
Result<NeighborRow> parse_neighbor(const NeighborKey& key, const Fields& fields);

/// One next hop of a group or of a route.
struct Hop {
  std::string port;
  IpAddress gateway;
  std::uint16_t weight = 1;
  bool onlink = false;
  /// The destination itself is on the port's link: the gateway is 0.0.0.0 or ::.
  bool is_to_device() const noexcept { return gateway.is_any(); }
  friend auto operator<=>(const Hop&, const Hop&) = default;
};
/// What identifies a next hop in the data plane.
struct HopKey {
  std::string port;
  IpAddress gateway{};
  bool onlink = false;
  friend auto operator<=>(const HopKey&, const HopKey&) = default;
};
/// True for a port of other software, whatever its rows: the management port, those of containers and tunnels, loopback devices.
bool is_of_others(std::string_view port);
/// The note of a row that leads out of such ports alone.
inline constexpr const char* kOfOthers = "out of a device that is left to other software";
/// Fields nexthop, ifname, weight and onlink: lists of equal length ("10.0.0.1,10.0.0.2"). Equal (port, gateway, onlink) add their weights,
/// and weights that the kernel does not take are scaled. Sorted.
Result<std::vector<Hop>> parse_hops(const Fields& fields);
/// NEXTHOP_GROUP_TABLE:<name>: the same fields.
Result<std::vector<Hop>> parse_group(const Fields& fields);

/// ROUTE_TABLE:[<Vrf...>:]<prefix>
struct RouteKey {
  std::string_view vrf;  // A view into the key. Empty: the default VRF.
  Prefix prefix;
  bool canonical = true;  // The key spells the prefix as Prefix::to_string() does.
};
Result<RouteKey> parse_route_key(std::string_view key);
std::optional<std::string> canonical_route_key(std::string_view key);
/// What a route's fields ask for; exactly one of the three.
struct RouteRow {
  RouteType type = RouteType::Unicast;
  std::string_view group;  // nexthop_group; a view into the fields.
  std::vector<Hop> hops;   // nexthop, ifname, weight, onlink.
  IpAddress source{};      // prefsrc; 0.0.0.0: none.
  bool not_ours = false;   // All next hops are on ports of other software.
};
Result<RouteRow> parse_route(const Fields& fields);
/// InvalidArgument for an IPv4 next hop of an IPv6 route, which the kernel refuses, and for a preferred source of another family than the
/// prefix's. An IPv4 route can have next hops of both families.
Status check_families(const Prefix& prefix, const RouteRow& row);

}  // namespace rondo::switch_agent
