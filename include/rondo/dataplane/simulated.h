// SimDataPlane: a simulated kernel that obeys the rules of dataplane.h; the same contract test runs on it and on Linux. It gives the same
// errors with the same messages, and is as silent when a port goes down. The test sets ports, failures, capacity and the time of orders.
// Everything is repeatable: equal calls and an equal seed give equal states, errors and events. Any thread may call any function; one
// mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/dataplane/dataplane.h"

namespace rondo {

/// Kind of an order; for failures and costs.
enum class OrderKind : std::uint8_t { Route, Group, Nexthop, Neighbor, Address, Link, Fdb };
OrderKind kind_of(const Order& order) noexcept;

struct SimDataPlaneOptions {
  /// Seed of the failures set by chance.
  std::uint64_t seed = 1;

  /// The costs of the orders of one apply() are summed and passed to 'spend' at its end, such as `[&clock](Duration d) { clock.advance(d);
  /// }`. Without 'spend' orders take no time.
  std::function<void(Duration)> spend = {};
  Duration route_cost{1500};     // Measured on Linux; see bench/netlink_routes.cc.
  Duration group_cost{100'000};  // Replacing waits for an RCU grace period.
  Duration other_cost{1000};

  /// Capacity; a further object is refused with the error of a switch: ENOSPC, for neighbours ENOBUFS. Replacing needs no capacity.
  std::size_t routes_max = std::numeric_limits<std::size_t>::max();
  std::size_t nexthops_max = std::numeric_limits<std::size_t>::max();
  std::size_t groups_max = std::numeric_limits<std::size_t>::max();
  std::size_t neighbors_max = std::numeric_limits<std::size_t>::max();

  /// False: a kernel without the bonding driver. BondSet is refused with EOPNOTSUPP.
  bool bonding = true;

  /// DataPlane::protocol(); 0: none.
  std::uint8_t protocol = 0;
};

class SimDataPlane final : public DataPlane {
 public:
  explicit SimDataPlane(SimDataPlaneOptions options = {});
  ~SimDataPlane() override;

  void apply(std::span<Operation> ops) override;
  Result<std::vector<LinkEvent>> links() override;
  Result<std::vector<AddressEntry>> addresses() override;
  Result<std::vector<NeighborEntry>> neighbors() override;
  Result<std::vector<NexthopEntry>> nexthops() override;
  Status routes(const std::function<void(const RouteEntry&)>& visit) override;
  Result<std::vector<FdbEntry>> fdb() override;
  /// Needs no descriptor. The source may outlive the data plane.
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override;
  /// Reports the effects of meddle(). The source may outlive the data plane.
  Result<std::unique_ptr<Source>> watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler) override;
  /// Reports the effects of hear() and age(), and of what happens to the ports. The source may outlive the data plane.
  Result<std::unique_ptr<FdbWatch>> watch_fdb(Scheduler& scheduler, Priority priority,
                                              std::function<void(const FdbEvent&)> handler) override;
  std::uint8_t protocol() const noexcept override;
  std::string describe() const override;

  // --- External events.

  /// Another program sets a route with our metric, replacing one of ours if there is one. remove_foreign_route() deletes such a route;
  /// false if there is none.
  void add_foreign_route(const Prefix& prefix, std::uint8_t protocol, std::uint32_t table = kMainTable);
  /// Another program adds a blackhole that carries our number, of another metric or type of service.
  void add_stray_route(const RouteDelete& route);
  bool remove_foreign_route(const Prefix& prefix, std::uint32_t table = kMainTable);
  /// Another program adds a next hop; the number must be free. remove_foreign_nexthop() deletes it; false if it is not there any more.
  void add_foreign_nexthop(NexthopId id, const IpAddress& gateway, IfIndex port, std::uint8_t protocol);
  bool remove_foreign_nexthop(NexthopId id);
  /// Adds a port: administratively down, MTU 1500, with a signal on its line (set_carrier() can remove it). The name must be new.
  IfIndex add_port(std::string name);
  /// Another program adds the device of a VRF, up. The name must be new.
  IfIndex add_vrf(std::string name, std::uint32_t table);
  /// Another program adds a bridge, up. The name must be new.
  IfIndex add_bridge(std::string name);
  /// Another program adds a bond, up. The name must be new.
  IfIndex add_bond(std::string name, BondMode mode);
  /// A frame from the station arrives at the port: the bridge that the port is in learns it, if both are up.
  void hear(std::string_view port, const MacAddress& station);
  /// The bridge has not heard from the station for too long, and forgets it.
  void age(std::string_view bridge, const MacAddress& station);
  /// Another control plane sets an entry (extern_learn) in the bridge that the port is in, in place of any other. The port must be in one.
  void add_external_entry(std::string_view port, const MacAddress& station);
  /// Another program sets a static entry in the bridge that the port is in, in place of any other. A frame of the station that arrives at
  /// another port moves it.
  void add_movable_entry(std::string_view port, const MacAddress& station);
  /// Another program makes the entry of the station one that the bridge has learned, in place of any other.
  void add_dynamic_entry(std::string_view port, const MacAddress& station);
  /// The control plane deletes its entry; false if there is none.
  bool remove_external_entry(std::string_view bridge, const MacAddress& station);
  /// Sets the signal on the port's line. As on Linux the carrier is visible only while the port is up. An unknown name is a fault of the
  /// test.
  void set_carrier(std::string_view name, bool signal);
  /// The greatest MTU that the driver of the port allows from now on; 65535 at first. It does not change the MTU.
  void set_mtu_max(std::string_view name, std::uint32_t mtu);
  /// Another program puts a device on the port, such as a macvlan, or takes it away: meanwhile the port can enter no bond.
  void set_in_use(std::string_view name, bool in_use);
  /// Removes the device, with every object on it.
  void remove_port(std::string_view name);
  /// Renames the device. As on Linux it keeps its index and every object on it. 'new_name' must be free.
  void rename_port(std::string_view name, std::string new_name);
  /// Another program changes a setting of a bridge or a bond that its order fixed: see LinkEvent::altered.
  void alter(std::string_view name);

  /// Another program gives this order. It takes no time, never fails by chance, and is not in digest(). Returns the kernel's answer.
  Status meddle(const Order& order);

  // --- Faults.

  /// The 'nth' order of this kind from now (1 is the next) fails with this errno and changes nothing.
  void fail_nth(OrderKind kind, std::uint64_t nth, int error_number);
  /// Each order of this kind fails with this chance (0..1), until set to 0.
  void fail_by_chance(OrderKind kind, double chance, int error_number);

  /// Sets the capacity for objects of this kind (Route, Group, Nexthop or Neighbor), as in the options. Existing objects stay.
  void set_capacity(OrderKind kind, std::size_t objects_max);

  // --- Content.

  std::size_t route_count() const;
  std::optional<RouteEntry> route(const Prefix& prefix, std::uint32_t table = kMainTable) const;
  std::optional<NexthopEntry> nexthop(NexthopId id) const;
  /// Executed orders so far, including failed ones.
  std::uint64_t executed() const;
  /// Orders that failed because of fail_nth() or fail_by_chance().
  std::uint64_t injected() const;
  /// Hash of these orders, in order, and their results: equal for equal sequences, different otherwise.
  std::uint64_t digest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
