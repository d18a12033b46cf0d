// LinkMonitor: the source of LinkEvents on Linux. Descriptor readable -> collect() reads and compares with what is known -> run() delivers.
// The kernel repeats itself (ten NEWLINK for one bridge port) and, when the socket overflows, forgets: equal states are dropped, and after
// a gap all devices are read again and the differences are reported. A device that lost and regained its carrier inside the gap is reported
// as both, because its next hops are gone all the same (data plane specification C). Scheduler's thread only; costs about 2 us a message.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/socket.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo::netlink {

class LinkMonitor final : public Source, private TimerNode {
 public:
  using Handler = std::function<void(const LinkEvent&)>;

  /// Listens, reads all devices, and adds itself to 'scheduler'. A small 'receive_buffer_bytes' provokes gaps in tests.
  static Result<std::unique_ptr<LinkMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler,
                                                   int receive_buffer_bytes);
  ~LinkMonitor() override;

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !pending_.empty() || !drained_ || (gap_ && !TimerNode::armed()); }

  std::size_t depth() const override { return pending_.size(); }
  std::uint64_t turned_away() const override { return gaps_; }  // Each stands for an event or more.

  /// Overruns of the kernel's buffer that were repaired by reading all devices again.
  std::uint64_t gaps() const noexcept { return gaps_; }

 private:
  LinkMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket socket);
  void on_due() override;
  Status read_events();
  Status resync();
  void resync_when_due();
  void learn(LinkState state, bool after_gap);
  void forget_absent(const std::vector<LinkState>& present);

  Scheduler& owner_;
  Handler handler_;
  Socket events_;
  DumpChannel dumps_;
  std::unique_ptr<std::byte[]> buffer_;
  std::unordered_map<IfIndex, LinkState> known_;
  std::deque<LinkEvent> pending_;
  bool drained_ = true;  // The socket said that it is empty; until it does, no edge will wake us.
  bool gap_ = false;
  int failed_resyncs_ = 0;
  Instant next_resync_;
  std::uint64_t gaps_ = 0;
};

}  // namespace rondo::netlink
