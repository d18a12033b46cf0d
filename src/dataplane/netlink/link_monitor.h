// LinkMonitor: the source of LinkEvents on Linux. It compares each notification with the known states, because the kernel repeats events
// (ten NEWLINK for one bridge port). After a gap it reads all devices again and reports the differences. If a device lost and regained its
// carrier inside the gap, it reports both, because the kernel dropped the next hops. Scheduler thread only; costs about 2 us a message.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/event_monitor.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

class LinkMonitor final : public EventMonitor<Source, LinkEvent> {
 public:
  /// Listens, reads all devices, and adds itself to 'scheduler'. Tests provoke gaps with a small 'receive_buffer_bytes'. 'protocol'
  /// is ours, see decode_link().
  static Result<std::unique_ptr<LinkMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler,
                                                   int receive_buffer_bytes, std::uint8_t protocol = 0);

  /// Overruns of the kernel's buffer that were repaired by reading all devices again.
  std::uint64_t gaps() const noexcept { return turned_away(); }

 private:
  LinkMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket socket,
              std::uint8_t protocol);
  void notice(const Message& message) override;
  Status resync() override;
  void learn(LinkState state, bool after_gap);
  void forget_absent(const std::vector<LinkState>& present);

  const std::uint8_t protocol_;
  DumpChannel dumps_;
  std::map<IfIndex, LinkState> known_;
};

}  // namespace rondo::netlink
