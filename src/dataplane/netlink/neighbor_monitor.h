// NeighborMonitor: the source of NeighborEvents on Linux, and the way to make the kernel resolve an address. It compares each notification
// with the known state, because the kernel reports each step of a neighbour's age. After an overrun of the socket it reads all neighbours
// again and reports the differences. The kernel's dump of neighbours is no snapshot and does not say so: a neighbour counts as gone only if
// two dumps do not have it. Scheduler thread only; about 1 us a notification.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/socket.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo::netlink {

class NeighborMonitor final : public NeighborWatch, private TimerNode {
 public:
  using Handler = std::function<void(const NeighborEvent&)>;

  /// Listens, reads all neighbours, and adds itself to 'scheduler'. Tests provoke gaps with a small 'receive_buffer_bytes'.
  static Result<std::unique_ptr<NeighborMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                       Handler handler, int receive_buffer_bytes);
  ~NeighborMonitor() override;

  Status resolve(IfIndex port, const IpAddress& address) override;
  std::uint64_t gaps() const noexcept override { return gaps_; }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !pending_.empty() || !drained_ || (gap_ && !TimerNode::armed()); }
  std::size_t depth() const override { return pending_.size(); }
  std::uint64_t turned_away() const override { return gaps_; }  // Each stands for one or more events.

 private:
  using Place = std::pair<IfIndex, IpAddress>;

  NeighborMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket events, Socket requests);
  void on_due() override { wake(); }
  Status read_events();
  Status dump(std::set<Place>& present);
  Status resync();
  void resync_when_due();
  void learn(const NeighborEvent& event);

  Scheduler& owner_;
  Handler handler_;
  Socket events_;
  Socket requests_;
  DumpChannel dumps_;
  std::unique_ptr<std::byte[]> buffer_;
  std::map<Place, MacAddress> known_;
  std::deque<NeighborEvent> pending_;
  bool drained_ = true;  // A read found the socket empty; until then no edge will wake this source.
  bool gap_ = false;
  int failed_resyncs_ = 0;
  Instant next_resync_;
  std::uint64_t gaps_ = 0;
};

}  // namespace rondo::netlink
