// ObjectMonitor: reports addresses, neighbours, next hops and routes that another program or the kernel changed. The socket's filter in
// the kernel drops the notifications of our own orders and of routes that others add beside ours, so a full table costs nothing here.
// After an overrun of the socket it reports that any object may have changed. Scheduler thread only; about 1 us a notification.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/socket.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/sched/source.h"

namespace rondo::netlink {

class ObjectMonitor final : public Source {
 public:
  using Handler = DataPlane::ObjectHandler;

  /// Listens and adds itself to 'scheduler'. 'own_port': the socket whose orders are not reported. 'marks': the marks of our routes. Tests
  /// provoke gaps with a small 'receive_buffer_bytes'.
  static Result<std::unique_ptr<ObjectMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                     Handler handler, std::uint32_t own_port, const ObjectMarks& marks,
                                                     int receive_buffer_bytes);
  ~ObjectMonitor() override;

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !pending_.empty() || !drained_; }

  std::size_t depth() const override { return pending_.size(); }
  std::uint64_t turned_away() const override { return gaps_; }  // Each stands for one or more notifications.

 private:
  ObjectMonitor(Scheduler& scheduler, Priority priority, Handler handler, const ObjectMarks& marks, Socket socket);
  Status read();

  Scheduler& owner_;
  Handler handler_;
  const ObjectMarks marks_;
  Socket events_;
  std::unique_ptr<std::byte[]> buffer_;
  std::deque<std::optional<DeleteOrder>> pending_;
  bool drained_ = true;  // The socket was read until it was empty; until then no edge wakes this source.
  std::uint64_t gaps_ = 0;
};

}  // namespace rondo::netlink
