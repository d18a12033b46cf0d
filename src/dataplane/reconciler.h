// Reconciler: a data plane in front of another one; it knows the objects of an earlier run. It answers an order for an existing, equal
// object without executing it. So a restart with an unchanged table changes nothing, and traffic continues. Objects that were not ordered
// by the end of the restart are then deleted. Afterwards it passes every order through.
//
// It relies on its dump only while every change is visible to it. When a port loses its carrier, the kernel silently deletes objects; from
// then on (distrust) every order is executed. What another program changes of a port itself (link_event) makes the reading of that port
// invalid, and a move into another bridge also those of its static entries. A route counts as existing only while its next hop does, and a
// group only while its members do.
//
// Threads: apply() on the programming thread. read() before the first apply(); unwanted() and end() on another thread only while no
// operation is in flight. link_event() and end() on one thread. distrust(): any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "dataplane/missing_subnet.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo {

class Reconciler final : public DataPlane {
 public:
  /// 'plane' must outlive it.
  explicit Reconciler(DataPlane& plane);
  ~Reconciler() override;

  /// Reads all objects with our protocol number. Blocks while the kernel works: about a second for a million routes. 60 bytes a route until
  /// end().
  Status read();
  /// The next hops and groups of the dump. A caller that assigns ids should give an equal object the same id, and must not give that id to
  /// another.
  const std::vector<NexthopEntry>& known_nexthops() const noexcept;
  /// The addresses of the dump, also those of other programs. Empty after end(). O(addresses).
  std::vector<AddressEntry> known_addresses() const;
  /// The neighbours of the dump. Empty after end(). O(neighbours).
  std::vector<NeighborEntry> known_neighbors() const;
  /// From now on every order is executed, because an object may have changed unseen.
  void distrust() noexcept;
  /// Call it with each link event, before the order that answers it: distrusts when a usable port becomes unusable or is renamed, also if
  /// it became usable, or was made, after the reading. If the port changes otherwise, orders for the port are executed from now on. A
  /// device that was made after the reading is known from its first event on. O(log(ports)).
  void link_event(const LinkEvent& event);

  /// Orders that delete the existing objects that were not ordered. Delete groups after the routes, next hops after the groups,
  /// addresses after them, and devices last: the kernel drops with them what it reaches through them. Objects that could not be deleted are
  /// returned again by a later call. O(result).
  struct Unwanted {
    std::vector<DeleteOrder> routes;
    std::vector<DeleteOrder> neighbors;
    std::vector<DeleteOrder> groups;
    std::vector<DeleteOrder> nexthops;
    std::vector<DeleteOrder> addresses;
    std::vector<DeleteOrder> fdb;
    std::vector<DeleteOrder> devices;
  };
  Unwanted unwanted(std::size_t max_routes = SIZE_MAX) const;
  struct UnwantedCounts {
    std::uint64_t routes = 0;
    std::uint64_t neighbors = 0;
    std::uint64_t nexthops = 0;  // Next hops and groups.
    std::uint64_t addresses = 0;
    std::uint64_t devices = 0;
    std::uint64_t fdb = 0;  // Static entries of bridges.
    std::uint64_t total() const noexcept { return routes + neighbors + nexthops + addresses + devices + fdb; }
  };
  /// Numbers of these objects. O(neighbours).
  UnwantedCounts unwanted_counts() const;
  /// Forgets the static entries of bridges for which 'is_foreign' returns true: they are not unwanted. O(entries).
  void leave_entries_if(const std::function<bool(const FdbEntry&)>& is_foreign);
  /// Ends the restart: drops the dump and passes every order through.
  void end();

  struct Counts {
    std::uint64_t found = 0;  // Routes, next hops, groups, neighbours, addresses, devices and entries of bridges that are ours.
    /// Orders answered without being executed. It can exceed 'found': it includes settings of ports, which 'found' does not, and orders
    /// given twice.
    std::uint64_t kept = 0;
    std::uint64_t changed = 0;  // Orders executed until the end.
  };
  Counts counts() const noexcept;

  void apply(std::span<Operation> ops) override;
  Result<std::vector<LinkEvent>> links() override { return plane_.links(); }
  Result<std::vector<AddressEntry>> addresses() override { return plane_.addresses(); }
  Result<std::vector<NeighborEntry>> neighbors() override { return plane_.neighbors(); }
  Result<std::vector<NexthopEntry>> nexthops() override { return plane_.nexthops(); }
  Status routes(const std::function<void(const RouteEntry&)>& visit) override { return plane_.routes(visit); }
  Result<std::vector<FdbEntry>> fdb() override { return plane_.fdb(); }
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override {
    return plane_.monitor(scheduler, priority, std::move(handler));
  }
  Result<std::unique_ptr<Source>> watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler) override {
    return plane_.watch_objects(scheduler, priority, std::move(handler));
  }
  void copy_subnets_to(std::uint32_t table) override { plane_.copy_subnets_to(table); }
  std::vector<MissingSubnet> missing_subnets() const override { return plane_.missing_subnets(); }
  std::uint8_t protocol() const noexcept override { return plane_.protocol(); }
  std::string describe() const override { return plane_.describe(); }

 private:
  Status reserve() override { return plane_.claim(); }
  void unreserve() noexcept override { plane_.release(); }
  struct Known;

  DataPlane& plane_;
  std::unique_ptr<Known> known_;  // Null after end().
  std::vector<NexthopEntry> nexthops_;
  /// A port that differs from its reading.
  struct Doubt {
    IfIndex port;
    bool is_moved = false;  // Into another VRF or bridge, or out of one.
    bool has_new_mac = false;
    std::uint16_t min_links = 0;  // Set for a bond, from the event.
    bool altered = false;         // Set from the event.
  };
  /// What is known of a device that takes part in an order.
  struct Device {
    IfIndex master;
    bool takes_ports_down = false;  // It is a VRF or a bond.
    bool admin_up = false;
    bool carrier = false;
  };
  Device device(IfIndex index);
  bool takes_port_down(const Order& order);
  void take_doubts();
  std::vector<LinkEvent> ports_;  // The ports that read() found; the unwanted devices among them are known_->unwanted_devices.
  /// A port of the reading, as the last event reported it. Used by link_event() alone.
  struct Seen {
    LinkEvent last;
    // A Doubt of each kind is pushed once.
    bool is_doubted = false;
    bool is_moved = false;
    bool has_new_mac = false;
  };
  std::map<IfIndex, Seen> seen_;
  std::vector<Operation> rest_;  // The orders of a bulk that must be executed; 'places_' has their positions in it.
  std::vector<std::size_t> places_;
  std::atomic<bool> trusts_{true};
  std::atomic<bool> has_doubts_{false};
  std::mutex mutex_;
  std::vector<Doubt> doubts_;       // Guarded by mutex_.
  std::map<IfIndex, Device> made_;  // Guarded by mutex_. Devices that the reading does not have, as the last event reported them.
  std::atomic<std::uint64_t> kept_{0};
  std::atomic<std::uint64_t> changed_{0};
  std::uint64_t found_ = 0;
};

}  // namespace rondo
