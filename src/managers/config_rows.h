// The rows of CONFIG_DB that the managers read, as values. A wrong key or field gives a Status that names it. Source: SONiC's configuration
// schema (sonic-buildimage src/sonic-yang-models/doc/Configuration.md) and the readers in sonic-swss cfgmgr and in bgpcfgd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/dataplane/ip.h"
#include "rondo/store/record.h"

namespace rondo::managers {

/// INTERFACE|<port> and INTERFACE|<port>|<address>/<length>; VLAN_INTERFACE, PORTCHANNEL_INTERFACE and LOOPBACK_INTERFACE alike.
struct ConfigInterfaceKey {
  std::string port;
  std::optional<Prefix> address;
};
Result<ConfigInterfaceKey> parse_config_interface_key(std::string_view key);

/// STATIC_ROUTE|<prefix> and STATIC_ROUTE|<vrf>|<prefix>. Returns the key of ROUTE_TABLE; the VRF "default" is that without a name.
Result<std::string> route_key_of(std::string_view key);

/// A next hop of STATIC_ROUTE. Without a port, it is on the port whose subnet contains the gateway.
struct StaticHop {
  IpAddress gateway;
  std::string port;
  std::string vrf = {};  // In which the gateway is; empty: the default VRF.
};
struct StaticRouteRow {
  bool blackhole = false;
  std::vector<StaticHop> hops;  // Those of the smallest distance; empty if 'blackhole'.
};
/// Fields nexthop, ifname, distance, nexthop-vrf and blackhole: lists of equal length, separated by commas. 'vrf' is that of the route, in
/// which a gateway is without nexthop-vrf. A next hop without an address is the port itself; 'is_v6' is the family of the route.
Result<StaticRouteRow> parse_static_route(const Fields& fields, std::string_view vrf = {}, bool is_v6 = false);

}  // namespace rondo::managers
