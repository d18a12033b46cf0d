// SimDataPlane: a kernel in memory that obeys the rules of dataplane.h (the same contract test runs on it and on Linux): the same errors
// with the same words, and the same silence when a port goes. Ports, failures, capacity and the time that orders take are for the test to
// set. Everything is repeatable: equal calls and an equal seed give equal states, errors and events. Any thread may call anything; one
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

namespace rondo::sim {

/// What an order is about; for failures and costs.
enum class OrderKind : std::uint8_t { Route, Group, Nexthop, Neighbor, Address, Link };
OrderKind kind_of(const Order& order) noexcept;

struct SimDataPlaneOptions {
  /// Chance of the failures that are set by chance.
  std::uint64_t seed = 1;

  /// The time that orders take is summed up over one apply() and handed to 'spend' at its end, such as
  /// `[&clock](Duration d) { clock.advance(d); }`. Without 'spend' orders take no time.
  std::function<void(Duration)> spend;
  Duration route_cost{1500};     // As measured on Linux; see bench/netlink_routes.cc.
  Duration group_cost{100'000};  // Replacing waits for an RCU grace period.
  Duration other_cost{1000};

  /// Room for objects; the next one is refused as a switch refuses it: ENOSPC, neighbours ENOBUFS. Replacing needs no room.
  std::size_t routes_max = std::numeric_limits<std::size_t>::max();
  std::size_t nexthops_max = std::numeric_limits<std::size_t>::max();
  std::size_t groups_max = std::numeric_limits<std::size_t>::max();
  std::size_t neighbors_max = std::numeric_limits<std::size_t>::max();
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
  /// Needs no descriptor. May outlive the data plane.
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override;
  /// Reports what meddle() does. May outlive the data plane.
  Result<std::unique_ptr<Source>> watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler) override;
  std::string describe() const override;

  // --- What happens to the box.

  /// Another program sets a route of our metric, in place of one of ours if there is one, or deletes its own: false if it has none there.
  void add_foreign_route(const Prefix& prefix, std::uint8_t protocol, std::uint32_t table = kMainTable);
  /// Another program adds a blackhole that carries our number, of another metric or type of service.
  void add_stray_route(const RouteDelete& route);
  bool remove_foreign_route(const Prefix& prefix, std::uint32_t table = kMainTable);
  /// A new port: administratively down, MTU 1500, with a signal on its line ('set_carrier' takes it away). The name must be new.
  IfIndex add_port(std::string name);
  /// The port's line. As on Linux the carrier is seen only while the port is up. An unknown name is a fault of the test.
  void set_carrier(std::string_view name, bool signal);
  /// The device goes, with everything on it.
  void remove_port(std::string_view name);

  /// Another program gives this order. Takes no time, never fails by chance, and is not in digest(). Returns what the kernel answered.
  Status meddle(const Order& order);

  // --- What goes wrong.

  /// The 'nth' order of this kind from now (1 is the next) fails with this errno and changes nothing.
  void fail_nth(OrderKind kind, std::uint64_t nth, int error_number);
  /// Each order of this kind fails with this chance (0..1), until set to 0.
  void fail_by_chance(OrderKind kind, double chance, int error_number);

  /// Room for objects of this kind from now on (Route, Group, Nexthop or Neighbor), as in the options. What is there stays.
  void set_capacity(OrderKind kind, std::size_t objects_max);

  // --- What is there.

  std::size_t route_count() const;
  std::optional<RouteEntry> route(const Prefix& prefix, std::uint32_t table = kMainTable) const;
  std::optional<NexthopEntry> nexthop(NexthopId id) const;
  /// Orders executed so far, whether they succeeded or not.
  std::uint64_t executed() const;
  /// Those that failed because they were told to.
  std::uint64_t injected() const;
  /// Stands for these orders, in order, and what came of each: equal where they are, and different where they are not.
  std::uint64_t digest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::sim
