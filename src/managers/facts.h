// The facts by which the managers depend on each other: each kind, its key, and the Orch that provides it.
#pragma once

#include <string_view>

#include "rondo/orch/fact.h"

namespace rondo::managers {

// kind                                                           key            provider           holds when
inline constexpr FactKind kManagedRead{"managed-read"};  // kAllTables     managed-rows       MANAGED_ROWS has been read once
inline constexpr FactKind kConfigRead{"config-read"};    // kAllTables     managed-rows       every table of CONFIG_DB, too
inline constexpr FactKind kMayDelete{"may-delete"};      // kAllTables  managed-rows  what CONFIG_DB no longer has may be deleted
inline constexpr FactKind kManagedFree{"managed-free"};  // table:key      managed-rows       no row of CONFIG_DB has made it
inline constexpr FactKind kMade{"made"};                 // table:key      managed-rows       a manager has made the row; for `why`
inline constexpr FactKind kConfigPort{"config-port"};    // port           port-manager       the row of PORT is in PORT_TABLE
inline constexpr FactKind kConfigVlan{"config-vlan"};    // vlan           vlan-manager       the row of VLAN is in VLAN_TABLE
inline constexpr FactKind kConfigLag{"config-lag"};      // lag            lag-manager        the row of PORTCHANNEL is in LAG_TABLE
inline constexpr FactKind kConfigInterface{
    "config-interface"};  // port  interface-manager  the row of one of the four tables of interfaces is in INTF_TABLE
inline constexpr FactKind kConnected{
    "connected"};  // [vrf|]gateway  interface-manager  the subnet of a row of INTERFACE of that VRF contains it

inline constexpr std::string_view kAllTables = "all";

}  // namespace rondo::managers
