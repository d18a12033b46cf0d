// Reconciler: a data plane in front of another one that knows what an earlier run left there. An order for what is there already is
// answered without being carried out, so that a restart on an unchanged table changes nothing and traffic goes on; what nobody asked for
// until the end of the restart is then deleted. Afterwards it passes everything through.
//
// It believes what it read only as long as nothing can have changed unseen: a port that lost its carrier since makes the kernel drop things
// in silence, so from then on (distrust) every order is carried out. A route counts as there only while its next hop does, and a group only
// while its members do.
//
// Threads: apply() on the programming thread. read() before the first apply(); unwanted() and end() on another thread only while nothing
// is under way. distrust(): any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/dataplane/dataplane.h"

namespace rondo {

class Reconciler final : public DataPlane {
 public:
  /// 'plane' must outlive it.
  explicit Reconciler(DataPlane& plane);
  ~Reconciler() override;

  /// Reads everything that carries our number. Blocks while the kernel works: about a second for a million routes. 60 bytes a route until
  /// end().
  Status read();
  /// What was read of next hops and groups, for whoever gives numbers: an equal one should get the same number, and no other one may.
  const std::vector<NexthopEntry>& known_nexthops() const noexcept;
  /// Something may have gone unseen.
  void distrust() noexcept;
  /// To be told of each link event: distrusts when a port that was usable is not any more.
  void link_event(const LinkEvent& event);

  /// What is there and nobody asked for: the orders that delete it. Groups may go when the routes are gone, next hops when the groups are,
  /// and addresses, with which the kernel drops what it reaches through them, when all else is.
  /// What could not be deleted for now is among the unwanted again. O(what is told).
  struct Unwanted {
    std::vector<DeleteOrder> routes;
    std::vector<DeleteOrder> neighbors;
    std::vector<DeleteOrder> groups;
    std::vector<DeleteOrder> nexthops;
    std::vector<DeleteOrder> addresses;
  };
  Unwanted unwanted(std::size_t max_routes = SIZE_MAX) const;
  struct UnwantedCounts {
    std::uint64_t routes = 0;
    std::uint64_t neighbors = 0;
    std::uint64_t nexthops = 0;  // And groups.
    std::uint64_t addresses = 0;
    std::uint64_t total() const noexcept { return routes + neighbors + nexthops + addresses; }
  };
  /// How many these are. O(neighbours).
  UnwantedCounts unwanted_counts() const;
  /// The restart is over: forgets what was read and passes everything through.
  void end();

  struct Counts {
    std::uint64_t found = 0;  // Routes, next hops, groups, neighbours and addresses of our number.
    /// Orders answered without being carried out. More than 'found' where settings of ports are among them, which are not counted there, or
    /// where something is ordered twice.
    std::uint64_t kept = 0;
    std::uint64_t changed = 0;  // Orders carried out until the end.
  };
  Counts counts() const noexcept;

  void apply(std::span<Operation> ops) override;
  Result<std::vector<LinkEvent>> links() override { return plane_.links(); }
  Result<std::vector<AddressEntry>> addresses() override { return plane_.addresses(); }
  Result<std::vector<NeighborEntry>> neighbors() override { return plane_.neighbors(); }
  Result<std::vector<NexthopEntry>> nexthops() override { return plane_.nexthops(); }
  Status routes(const std::function<void(const RouteEntry&)>& visit) override { return plane_.routes(visit); }
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override {
    return plane_.monitor(scheduler, priority, std::move(handler));
  }
  Result<std::unique_ptr<Source>> watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler) override {
    return plane_.watch_objects(scheduler, priority, std::move(handler));
  }
  std::string describe() const override { return plane_.describe(); }

 private:
  struct Known;

  DataPlane& plane_;
  std::unique_ptr<Known> known_;  // Null after the end.
  std::vector<NexthopEntry> nexthops_;
  std::vector<LinkEvent> ports_;  // As read.
  std::vector<Operation> rest_;   // Of a bulk: what must be carried out, and where it stands there.
  std::vector<std::size_t> places_;
  std::atomic<bool> trusts_{true};
  std::atomic<std::uint64_t> kept_{0};
  std::atomic<std::uint64_t> changed_{0};
  std::uint64_t found_ = 0;
};

}  // namespace rondo
