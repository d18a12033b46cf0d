// Op: one typed order to the data plane, with a place for its own answer. Orders travel in bulk; a bulk is not a transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rondo/base/id.h"
#include "rondo/base/status.h"
#include "rondo/dataplane/ip.h"

namespace rondo {

/// The kernel's index of a network device; 0 is none.
using IfIndex = Id<struct IfIndexTag>;
/// A next-hop object or a group of them: one id space, as in the kernel; 0 is none.
using NexthopId = Id<struct NexthopTag>;

/// Main table of the kernel.
inline constexpr std::uint32_t kMainTable = 254;

struct LinkSet {
  IfIndex port;
  std::optional<bool> up;            // Administrative state.
  std::optional<std::uint32_t> mtu;  // Bytes.
};
struct AddressSet {
  IfIndex port;
  Prefix address;  // With host bits.
};
struct AddressDelete {
  IfIndex port;
  Prefix address;
};
/// Permanent: never aged, never probed, not counted against the kernel's neighbour limit.
struct NeighborSet {
  IfIndex port;
  IpAddress address;
  MacAddress mac;
};
struct NeighborDelete {
  IfIndex port;
  IpAddress address;
};
/// Creates or replaces. The port must be up and have carrier (ENETDOWN otherwise).
struct NexthopSet {
  NexthopId id;
  IpAddress gateway;
  IfIndex port;
};
struct GroupMember {
  NexthopId nexthop;
  std::uint16_t weight = 1;  // 1..256.
  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};
/// Creates or replaces. Replacing waits for an RCU grace period in Linux (about 0.1 ms): never replace a group by itself.
struct GroupSet {
  NexthopId id;
  std::vector<GroupMember> members;  // At least one; each exists.
};
/// Deletes a next hop or a group. Linux deletes the routes that use it, too, and does not say so.
struct NexthopDelete {
  NexthopId id;
};
enum class RouteType : std::uint8_t { Unicast, Blackhole, Unreachable, Prohibit };
/// Creates or replaces. Unicast needs a next hop (or group) that exists; the others must have none.
struct RouteSet {
  Prefix prefix;
  NexthopId nexthop;
  std::uint32_t table = kMainTable;
  RouteType type = RouteType::Unicast;
};
struct RouteDelete {
  Prefix prefix;
  std::uint32_t table = kMainTable;
};

using Order = std::variant<RouteSet, RouteDelete, GroupSet, NexthopSet, NexthopDelete, NeighborSet, NeighborDelete, AddressSet,
                           AddressDelete, LinkSet>;

/// What is asked, and after apply() what came of it: ok, or the kernel's errno and its own words.
/// Deleting what is absent is NotFound with ESRCH or ENOENT; the caller decides that it is as good as done.
struct Op {
  Order order;
  Status status;
};

/// For messages: "route 10.0.0.0/8 via nexthop 7".
std::string to_string(const Order& order);

}  // namespace rondo
