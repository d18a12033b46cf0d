// LinkMonitor: the source of LinkEvents on Linux. When the descriptor is readable, collect() reads and compares with the known states;
// run() delivers the differences. The kernel repeats events (ten NEWLINK for one bridge port) and loses events when the socket overflows.
// So the monitor drops equal states. After a gap it reads all devices again and reports the differences. If a device lost and regained its
// carrier inside the gap, it reports both, because the kernel dropped the next hops. Scheduler thread only; costs about 2 us a message.
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

  /// Listens, reads all devices, and adds itself to 'scheduler'. Tests provoke gaps with a small 'receive_buffer_bytes'. 'protocol'
  /// is ours, see decode_link().
  static Result<std::unique_ptr<LinkMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler,
                                                   int receive_buffer_bytes, std::uint8_t protocol = 0);
  ~LinkMonitor() override;

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !pending_.empty() || !drained_ || (gap_ && !TimerNode::armed()); }

  std::size_t depth() const override { return pending_.size(); }
  std::uint64_t turned_away() const override { return gaps_; }  // Each stands for one or more events.

  /// Overruns of the kernel's buffer that were repaired by reading all devices again.
  std::uint64_t gaps() const noexcept { return gaps_; }

 private:
  LinkMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket socket,
              std::uint8_t protocol);
  void on_due() override;
  Status read_events();
  Status resync();
  void resync_when_due();
  void learn(LinkState state, bool after_gap);
  void forget_absent(const std::vector<LinkState>& present);

  Scheduler& owner_;
  Handler handler_;
  const std::uint8_t protocol_;
  Socket events_;
  DumpChannel dumps_;
  std::unique_ptr<std::byte[]> buffer_;
  std::unordered_map<IfIndex, LinkState> known_;
  std::deque<LinkEvent> pending_;
  bool drained_ = true;  // A read found the socket empty; until then no edge will wake this source.
  bool gap_ = false;
  int failed_resyncs_ = 0;
  Instant next_resync_;
  std::uint64_t gaps_ = 0;
};

}  // namespace rondo::netlink
