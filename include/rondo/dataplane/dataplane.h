// DataPlane: the slow and stateful target of the orders. An interface with two implementations: Linux over rtnetlink (make_linux_dataplane)
// and a simulated kernel with the same rules (dataplane/simulated.h); one contract test checks both. It executes and reports; it keeps no
// state for its callers.
//
// Rules a caller must know (measured on Linux; the contract test checks each):
//   - Orders are executed in the order given; one that fails does not stop the others.
//   - A route's identity is (table, prefix): one fixed metric, one protocol number of our own. Another program made a route of our number
//     with another metric or type of service: it is read back and can be deleted, and no RouteSet changes it.
//   - Carrier loss or admin down of a port silently removes the next hops on it and takes them out of their groups. It also removes groups
//     that become empty and the IPv4 routes that used them. The carrier does not restore them. The only signal is the LinkEvent.
//   - Admin down also drops IPv6 addresses and all neighbours of the port.
//   - A port that is put into a VRF, or taken out of one, goes down and up again, with the same consequences. A port that enters or leaves
//   a
//     bridge does not, and keeps its addresses.
//   - A bridge has carrier while one of its ports has, and before it has had a port.
//   - A bond has carrier while enough of its ports have (BondSet::min_links). Its next hops are lost with it, as those of a port.
//   - A change of the MAC address of a device drops all its neighbours. A bond takes that of its first port, and another one when the last
//     port leaves; a bridge has the lowest one of its ports.
//   - A static entry of a bridge's forwarding database goes with its port; learned ones go when the port loses its carrier, too.
//   - Deleting the last IPv4 address of a port drops its IPv4 neighbours.
//   - IPv4 routes are fastest in random order, IPv6 routes in sorted order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/dataplane/op.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/source.h"

namespace rondo {

class FdbWatch;
class NeighborWatch;
class Scheduler;
struct FdbEvent;
struct MissingSubnet;
struct NeighborEvent;

/// Complete state of a network device (never a difference).
struct LinkEvent {
  IfIndex port;
  std::string name;
  bool admin_up = false;
  bool carrier = false;  // Up and running: next hops can use the port.
  bool removed = false;
  std::uint32_t mtu = 0;
  MacAddress mac;
  Instant seen;                 // When the event was read.
  IfIndex master{};             // The device that the port is in, such as a VRF, a bridge or a bond; 0: none.
  std::uint32_t vrf_table = 0;  // The table of a VRF device; 0 for other devices.
  bool ours = false;            // The device was created by an order of our protocol number.
  bool bridge = false;          // The device is a bridge.
  std::uint16_t vlan = 0;       // The VLAN of an 802.1Q device; 0 for other devices.
  IfIndex lower{};              // The port that an 802.1Q device is on.
  BondMode bond = BondMode::None;
  std::uint16_t min_links = 0;  // Set for a bond.
  /// Set for a bridge or a bond that an order of ours created: another program has changed what the order fixed (BridgeSet, BondSet).
  bool altered = false;
  friend bool operator==(const LinkEvent& a, const LinkEvent& b) {
    return a.port == b.port && a.name == b.name && a.admin_up == b.admin_up && a.carrier == b.carrier && a.removed == b.removed &&
           a.mtu == b.mtu && a.mac == b.mac && a.master == b.master && a.vrf_table == b.vrf_table && a.ours == b.ours &&
           a.bridge == b.bridge && a.vlan == b.vlan && a.lower == b.lower && a.bond == b.bond && a.min_links == b.min_links &&
           a.altered == b.altered;
  }
};

/// Existing objects, read for audits and for the comparison of `./run`. Only objects with our own protocol number, with two exceptions: all
/// links, and all addresses, each with a flag that says whether it has our number.
struct RouteEntry {
  Prefix prefix;
  NexthopId nexthop;  // 0 for the types without one.
  std::uint32_t table = kMainTable;
  RouteType type = RouteType::Unicast;
  std::uint8_t tos = 0;
  bool has_metrics = false;   // Another program gave the route metrics, which no order does.
  bool is_outranked = false;  // Another program's route has the same prefix, table, metric and type of service, and the kernel prefers it.
  /// The protocol of another program's route to the prefix in this table, which has a better metric and so decides the packets; 0: none.
  std::uint8_t rival = 0;
  IpAddress source{};  // See RouteSet.
  std::uint32_t metric = kOwnMetric;
  /// The order that deletes it.
  RouteDelete gone() const noexcept { return {prefix, table, metric, tos}; }
  friend auto operator<=>(const RouteEntry&, const RouteEntry&) = default;
};
struct NexthopEntry {
  NexthopId id;
  IpAddress gateway;                 // Single next hops.
  IfIndex port;                      // Single next hops.
  std::vector<GroupMember> members;  // Groups.
  bool onlink = false;               // Single next hops.
};
struct NeighborEntry {
  IfIndex port;
  IpAddress address;
  MacAddress mac;
  bool permanent = true;  // False: another program changed its state, so the kernel ages it.
};
/// Duplicate address detection: whether another device of the link has an IPv6 address.
enum class DuplicateCheck : std::uint8_t {
  Passed,   // No device has it, or the kernel does not check.
  Running,  // The kernel checks, or waits for the carrier of the port. It does not use the address yet.
  Failed    // Another device has it. The kernel does not use the address.
};
struct AddressEntry {
  IfIndex port;
  Prefix address;
  bool ours = false;     // It has our protocol number. Kernels before 5.18 give addresses none.
  bool expires = false;  // Another program gave it a lifetime, which no order does.
  /// False: another program deleted the route to its subnet, which the kernel makes while the device is up. True also for a
  /// loss that no watch_objects() reported while many routes were present: to read them would block the kernel.
  bool has_subnet_route = true;
  DuplicateCheck check = DuplicateCheck::Passed;
};

/// A static entry of a bridge that an order of our protocol number created. The kernel keeps no number for the entry itself.
struct FdbEntry {
  IfIndex bridge;
  IfIndex port;
  MacAddress mac;
  bool is_sticky = true;  // False: a frame of the station that arrives at another port moves it, which an FdbSet prevents.
};

/// A change of an object by another program or by the kernel itself, named by the order that would delete the object.
struct ObjectEvent {
  /// An address may stand for its subnet, whose route was deleted: AddressDelete::address is then the subnet.
  DeleteOrder object;
  /// A static entry of a bridge: it exists, as an FdbSet makes it. The kernel names no sender of these changes, so our own orders are
  /// reported, too.
  bool is_set = false;
  /// An entry that the bridge has learned: of interest only in the place of a static one, which another program has made dynamic.
  bool is_learned = false;
  /// A next hop or group that another program deleted: the kernel dropped the routes that used it, also if it is present again.
  bool drops_routes = false;
  /// Of an IPv6 address that exists.
  std::optional<DuplicateCheck> check{};
};

class DataPlane {
 public:
  virtual ~DataPlane();

  /// Reserves the objects of this protocol number for the caller: two owners would delete each other's. AlreadyExists while they have an
  /// owner: another caller of this plane until release(), or another plane of this number until that plane ends; the message names the
  /// process. Planes that only read need no claim. Any thread.
  Status claim();
  /// Ends the claim of the caller, who orders nothing more: this plane can be claimed again. A kernel's objects stay reserved for this
  /// plane until it ends. Any thread.
  void release() noexcept;

  /// Executes the orders and sets the status of each. Blocks while the kernel works (1 to 3 us a route, 0.1 ms a group replace). One thread
  /// at a time; the dumps may run on another.
  virtual void apply(std::span<Operation> ops) = 0;

  /// The following functions read the kernel's objects. Each call uses its own channel; one thread at a time. A dump that the kernel
  /// reports as inconsistent is repeated.
  virtual Result<std::vector<LinkEvent>> links() = 0;
  virtual Result<std::vector<AddressEntry>> addresses() = 0;
  virtual Result<std::vector<NeighborEntry>> neighbors() = 0;
  virtual Result<std::vector<NexthopEntry>> nexthops() = 0;
  virtual Status routes(const std::function<void(const RouteEntry&)>& visit) = 0;
  virtual Result<std::vector<FdbEntry>> fdb();

  /// A source that reports every device once and then each change of state, in order, on 'scheduler' (it adds itself). After a gap (kernel
  /// buffer overrun) it reads all devices again and reports the differences. Equal states are reported once.
  virtual Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority,
                                                  std::function<void(const LinkEvent&)> handler) = 0;

  /// Empty after a gap: any object may have changed.
  using ObjectHandler = std::function<void(const std::optional<ObjectEvent>& event)>;
  /// A source that reports changes of addresses, neighbours, next hops, routes and entries of bridges that did not come from apply(); those
  /// from apply() are filtered out, except those of entries. What bridges learn is not reported. A route is reported when another program
  /// deletes or replaces one of ours, sets one of our protocol number, or puts one of its own before ours; not when the kernel drops it
  /// with its next hops. The source adds itself to 'scheduler'. Null: this data plane reports nothing.
  virtual Result<std::unique_ptr<Source>> watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler);

  /// A source that reports every learned neighbour once and then each change, on 'scheduler' (it adds itself). After a gap it reads all
  /// neighbours again and reports the differences. Unimplemented: this data plane learns none.
  virtual Result<std::unique_ptr<NeighborWatch>> watch_neighbors(Scheduler& scheduler, Priority priority,
                                                                 std::function<void(const NeighborEvent&)> handler);

  /// The same for the entries that bridges learned, of all bridges.
  virtual Result<std::unique_ptr<FdbWatch>> watch_fdb(Scheduler& scheduler, Priority priority,
                                                      std::function<void(const FdbEvent&)> handler);

  /// Keeps in 'table' a copy of each route that the kernel makes in its main table to the subnet of an address. For a table that a rule of
  /// the kernel prefers to the main one: without the copies, any covering route in it decides the packets to directly connected hosts. The
  /// copy wins against a RouteSet of the same prefix. Call it before routes(), which makes the copies that are missing, and before
  /// watch_objects(), which follows changes; neither of the two reports copies. kMainTable: no copies. A table of a VRF needs none: the
  /// kernel makes these routes there itself.
  virtual void copy_subnets_to(std::uint32_t table);
  /// The copies that the kernel refused. Any thread.
  virtual std::vector<MissingSubnet> missing_subnets() const;

  /// The protocol number of everything that apply() creates; 0: this data plane has none.
  virtual std::uint8_t protocol() const noexcept;
  /// For display: "linux rtnetlink, network namespace x" or "simulated".
  virtual std::string describe() const = 0;

 private:
  /// What the first claim() does, and each one after a release().
  virtual Status reserve();
  virtual void unreserve() noexcept {}
  std::atomic<bool> is_claimed_{false};
};

struct LinuxDataPlaneOptions {
  /// Path of a network namespace file such as /run/netns/x; empty for the process's own.
  std::string network_namespace{};
  /// rtm_protocol, nh_protocol and IFA_PROTO of everything we create; objects of other programs are never changed.
  std::uint8_t protocol = 201;
  /// RTA_PRIORITY of every route: the kernel identifies a route also by its metric. zebra's is 20.
  std::uint32_t metric = 201;
  /// Orders in one send, 1..256.
  std::size_t batch = 256;
  /// The kernel checks whether another device of the link has an IPv6 address (RFC 4862), as its settings of the port say
  /// (net.ipv6.conf.*.accept_dad and dad_transmits). It does not use the address meanwhile, usually for one or two seconds. False: it uses
  /// each address immediately, also one that another device has.
  bool detect_duplicates = true;
};

/// Sets two switches in the namespace. nexthop_compat_mode=0: a group replace then costs 60 us, whatever the number of routes that use it.
/// promote_secondaries=1: deleting an IPv4 address then keeps the others of its subnet. If they are read-only, describe() says so.
/// PermissionDenied without CAP_NET_ADMIN in the namespace.
Result<std::unique_ptr<DataPlane>> make_linux_dataplane(const LinuxDataPlaneOptions& options);

}  // namespace rondo
