// FdbMonitor: the source of FdbEvent values on Linux. It compares each notification with what is known, because the kernel also reports
// static entries and those of the bridge itself. After a gap it reads the forwarding databases again and reports the differences. The
// kernel's dump of them is no snapshot and does not say so: a station counts as gone only if two dumps do not have it. Bounded by
// fdb_book.h. Scheduler thread only; about 1 us a notification.
#pragma once

#include <cstddef>
#include <memory>
#include <set>

#include "dataplane/fdb_book.h"
#include "dataplane/learned.h"
#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/event_monitor.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

class FdbMonitor final : public EventMonitor<FdbWatch, FdbEvent> {
 public:
  /// Listens, reads what all bridges have learned, and adds itself to 'scheduler'. Tests provoke gaps with a small 'receive_buffer_bytes',
  /// and reach the limit with a small 'max'.
  static Result<std::unique_ptr<FdbMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler,
                                                  int receive_buffer_bytes, std::size_t max = limits::kLearnedStations);

  std::uint64_t left_out() const noexcept override { return book_.left_out(); }
  bool leaves_out() const noexcept override { return book_.leaves_out(); }

 private:
  FdbMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket events, std::size_t max);
  void notice(const Message& message) override;
  Status dump(std::set<FdbBook::Place>& present);
  Status resync() override;
  void learn(const FdbEvent& event);

  DumpChannel dumps_;
  FdbBook book_;
};

}  // namespace rondo::netlink
