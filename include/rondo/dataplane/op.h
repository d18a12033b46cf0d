// Operation: one typed order to the data plane, with a place for its result. Orders are sent in bulk; a bulk is not a transaction. (The
// type is named Operation everywhere: rondo::ChangeOp is the kind of a table change.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  std::optional<bool> up{};            // Administrative state.
  std::optional<std::uint32_t> mtu{};  // Bytes.
  /// The VRF device or bridge that the port is put into; 0: none. When a port enters or leaves a VRF, Linux takes it down and up again, so
  /// that it loses what a port loses that goes down. A port that is in the device already is not touched.
  std::optional<IfIndex> master{};
  std::optional<MacAddress> mac{};  // The address of the device itself.
};
/// Creates the device of a VRF, up and without ports. Its table is where the routes of its ports are looked up.
struct VrfSet {
  std::string name;
  std::uint32_t table = 0;
};
/// Creates a bridge, up, without ports and without VLAN filtering. Until an order sets its MTU or its MAC address, they follow its ports.
struct BridgeSet {
  std::string name;
  /// An existing bridge, whose filtering the order switches off; the name has no effect then. 0: the order creates one.
  IfIndex device{};
};
/// Creates an 802.1Q device on a port, for the frames that have the tag of 'vlan', and puts it into a bridge. The device is down. It goes
/// up with a LinkSet, or when the port goes up.
struct TaggedPortSet {
  std::string name;
  IfIndex port;
  IfIndex bridge;
  std::uint16_t vlan = 0;
};
/// How a bond uses its ports. The numbers are those of Linux.
enum class BondMode : std::uint8_t {
  Static = 2,    // balance-xor: every port with carrier is used.
  Lacp = 4,      // 802.3ad: the ports to which the partner agrees by LACP.
  Other = 0xfe,  // A mode that no order makes.
  None = 0xff,   // The device is no bond.
};
/// Creates a bond, up and without ports. Frames are spread by addresses and port numbers (layer3+4), and the carrier of each port is looked
/// at every 100 ms. Until an order sets its MAC address, it is that of the first port. A port must be down to enter (FailedPrecondition
/// otherwise): it goes up in the bond, and has its MTU and its MAC address. A port that leaves is down, and has its own again.
struct BondSet {
  std::string name;
  BondMode mode = BondMode::Lacp;
  /// With Lacp the bond has carrier while this many ports are active; 0 is the same as 1. It has no effect for Static.
  std::uint16_t min_links = 0;
  /// An existing bond, whose settings the order changes; the name and the mode have no effect then. 0: the order creates one. Linux
  /// changes the mode only of a bond that is down and has no ports.
  IfIndex device{};
};
/// Deletes a device that an order has created. Its ports leave it as with LinkSet.
struct DeviceDelete {
  IfIndex device;
};
/// Creates a static entry in the forwarding database of the bridge that the port is in, or moves the entry of this address to the port. The
/// bridge does not age it and learns no other port for the address. It goes when the port leaves the bridge. An entry of another control
/// plane (extern_learn) stays, and so does the address of the bridge or of one of its ports: AlreadyExists.
struct FdbSet {
  IfIndex port;
  MacAddress mac;
};
/// Deletes the entry, whether it is static or learned. NotFound for one that an FdbSet does not replace.
struct FdbDelete {
  IfIndex port;
  MacAddress mac;
};
struct AddressSet {
  IfIndex port;
  Prefix address;  // With host bits.
  /// The metric of the kernel's IPv4 route to the subnet. When it changes, the kernel makes this route again, also if it was deleted.
  std::uint32_t subnet_metric = 0;
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
/// Creates or replaces. The port must be up and have carrier (ENETDOWN otherwise). With 'create' a next hop or group of another program is
/// left alone: AlreadyExists. Without it, that object is replaced.
struct NexthopSet {
  NexthopId id;
  IpAddress gateway;  // 0.0.0.0 or ::, which is the family then: the destination itself is on the port's link.
  IfIndex port;
  bool create = false;
  bool onlink = false;  // The port reaches the gateway, although no subnet of the port contains it.
};
struct GroupMember {
  NexthopId nexthop;
  std::uint16_t weight = 1;  // 1..256.
  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};
/// Creates or replaces. Replacing waits for an RCU grace period in Linux (about 0.1 ms): never replace a group by itself.
struct GroupSet {
  NexthopId id;
  bool create = false;               // See NexthopSet.
  bool update = false;               // NotFound if the group is absent: the routes that used it are then gone, too.
  std::vector<GroupMember> members;  // At least one; each exists.
};
/// Deletes a next hop or a group. Linux also deletes the routes that use it, without reporting that. NotFound for one of another program.
struct NexthopDelete {
  NexthopId id;
};
enum class RouteType : std::uint8_t { Unicast, Blackhole, Unreachable, Prohibit };
/// Creates or replaces. A unicast route needs an existing next hop (or group); other types must have none. With 'create' a route of another
/// program is left alone: AlreadyExists. A caller sets it while it has no route there. Without it, that route is replaced.
struct RouteSet {
  Prefix prefix;
  NexthopId nexthop{};
  std::uint32_t table = kMainTable;
  RouteType type = RouteType::Unicast;
  bool create : 1 = false;
  /// Also removes metrics that another program gave to a route of ours, at the cost of an allocation in the kernel.
  bool clean : 1 = false;
  /// The next hop is a device without a gateway: gateways of other IPv4 routes may be in this prefix (RT_SCOPE_LINK).
  bool to_device : 1 = false;
  /// The route has kLastResortMetric in place of the metric of the data plane, so that any other route to the prefix is preferred.
  bool last_resort : 1 = false;
  /// The source address of packets that this host itself sends along the route; 0.0.0.0: the kernel chooses one. Of the prefix's family.
  IpAddress source{};
  bool has_source() const noexcept { return source != IpAddress{}; }
};
/// The metric of a default route that only ends the lookup in the table of a VRF. The kernel's documentation of VRFs recommends this number
/// (Documentation/networking/vrf.rst), and SONiC uses it.
inline constexpr std::uint32_t kLastResortMetric = 4278198272;
/// The metric of the routes that a data plane makes. In an order or an entry it stands for whatever that is.
inline constexpr std::uint32_t kOwnMetric = UINT32_MAX;
struct RouteDelete {
  Prefix prefix;
  std::uint32_t table = kMainTable;
  /// Another metric or type of service: a route that carries our number, and that no RouteSet makes, except one of last resort.
  std::uint32_t metric = kOwnMetric;
  std::uint8_t tos = 0;
  bool is_last_resort() const noexcept { return metric == kLastResortMetric && prefix.length == 0 && tos == 0; }
  bool is_stray() const noexcept { return metric != kOwnMetric || tos != 0; }
  friend auto operator<=>(const RouteDelete&, const RouteDelete&) = default;
};

using Order = std::variant<RouteSet, RouteDelete, GroupSet, NexthopSet, NexthopDelete, NeighborSet, NeighborDelete, AddressSet,
                           AddressDelete, LinkSet, VrfSet, BridgeSet, TaggedPortSet, DeviceDelete, FdbSet, FdbDelete, BondSet>;
/// The orders that delete. Add each new kind of delete here, too: its visitors have no default case.
using DeleteOrder = std::variant<RouteDelete, NexthopDelete, NeighborDelete, AddressDelete, DeviceDelete, FdbDelete>;
Order order_of(const DeleteOrder& one);
bool is_delete(const Order& order) noexcept;
/// The object that the order would delete, for messages: "route 10.0.0.0/8", "next hop 7", "address 10.0.0.1/24 on port 3".
std::string object_name(const DeleteOrder& one);

/// An order, and after apply() its result: ok, or the kernel's errno and message. The codes:
///   NotFound            the object to be deleted does not exist (ESRCH, ENOENT, EADDRNOTAVAIL); the caller may treat that as done
///   FailedPrecondition  an object that the order needs does not exist; waiting may solve it: a next hop (EINVAL "Nexthop id does
///                       not exist", "Invalid nexthop id"), a port (ENODEV), its link (ENETDOWN), a subnet around the gateway
///                       (ENETUNREACH, EHOSTUNREACH), the preferred source of a route (EINVAL), a bridge that the port is in; or a port
///                       is up that enters a bond (EPERM)
///   InvalidArgument     wrong in any state, such as an IPv6 route by an IPv4 next hop, host bits, or a device name of more
///                       than 15 characters
///   ResourceExhausted   the kernel is out of memory or space (ENOBUFS, ENOSPC, ENOMEM)
///   AlreadyExists       another program has a route of this prefix, table and metric, or a next hop or group of this number; the
///                       message names its protocol. A device has the name of a new one. Another control plane, or a device, has the
///                       address of a static entry
///   Unimplemented       this kernel does not support it (EOPNOTSUPP)
/// The switch agent orders again, at first after 100 ms, what ends with FailedPrecondition, ResourceExhausted, Unavailable,
/// DeadlineExceeded or, unless it is a delete, NotFound. After AlreadyExists it orders a route or a static entry again until the other
/// program's is gone, takes another number for a next hop or a group, and uses the device that exists. EACCES as origin_errno() (IPv6 is
/// switched off) is ordered again, too. Every other code rejects the row, which is handled again when it changes: Internal (also an
/// exception of DataPlane::apply()), InvalidArgument, PermissionDenied, Unimplemented, AlreadyExists of a delete or of another order.
struct Operation {
  Order order;
  Status status{};
};
static_assert(sizeof(Operation) <= 64, "a bulk of orders is copied through two queues");

/// For messages: "route 10.0.0.0/8 via nexthop 7".
std::string to_string(const Order& order);

}  // namespace rondo
