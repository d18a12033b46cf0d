// NeighborMonitor: the source of NeighborEvent values on Linux, and the way to make the kernel resolve an address. It compares each
// notification with the known state, because the kernel reports each step of a neighbour's age. After a gap it reads all neighbours again
// and reports the differences. The kernel's dump of neighbours is no snapshot and does not say so: a neighbour counts as gone only if two
// dumps do not have it. Scheduler thread only; about 1 us a notification.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "dataplane/learned.h"
#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/event_monitor.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

class NeighborMonitor final : public EventMonitor<NeighborWatch, NeighborEvent> {
 public:
  /// Listens, reads all neighbours, and adds itself to 'scheduler'. Tests provoke gaps with a small 'receive_buffer_bytes'.
  static Result<std::unique_ptr<NeighborMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                       Handler handler, int receive_buffer_bytes);

  /// Does nothing for a permanent entry.
  Status resolve(IfIndex port, const IpAddress& address) override;
  std::uint64_t gaps() const noexcept override { return turned_away(); }

 private:
  using Place = std::pair<IfIndex, IpAddress>;

  NeighborMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket events, Socket requests);
  void notice(const Message& message) override;
  Status dump(std::set<Place>& present);
  Status resync() override;
  void learn(const NeighborEvent& event);

  Socket requests_;
  DumpChannel dumps_;
  std::unique_ptr<std::byte[]> answers_;
  std::map<Place, MacAddress> known_;
  std::set<Place> given_;  // Permanent entries, which programs made.
};

}  // namespace rondo::netlink
