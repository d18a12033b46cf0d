// ObjectMonitor: reports addresses, neighbours, next hops, routes and static entries of bridges that another program or the kernel changed.
// The socket's filter in the kernel drops the notifications of our own orders, except those of entries of bridges, and of routes that
// others add with another metric, so a full table costs nothing here. After a gap it reports that any object may have changed. Scheduler
// thread only; about 1 us a notification.
#pragma once

#include <memory>
#include <optional>

#include "dataplane/netlink/connected_routes.h"
#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/event_monitor.h"
#include "dataplane/netlink/subnet_routes.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

class ObjectMonitor final : public EventMonitor<Source, std::optional<ObjectEvent>> {
 public:
  /// Listens and adds itself to 'scheduler'. 'own_port': the socket whose orders are not reported. 'marks': the marks of our routes. Tests
  /// provoke gaps with a small 'receive_buffer_bytes'. 'subnets' and 'connected' learn the notifications of their routes; 'connected' must
  /// outlive the monitor's last turn.
  static Result<std::unique_ptr<ObjectMonitor>> open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                     Handler handler, std::uint32_t own_port, const ObjectMarks& marks,
                                                     int receive_buffer_bytes, std::shared_ptr<SubnetRoutes> subnets,
                                                     ConnectedRoutes& connected);
  ~ObjectMonitor() override;

 private:
  ObjectMonitor(Scheduler& scheduler, Priority priority, Handler handler, const ObjectMarks& marks, Socket socket,
                std::shared_ptr<SubnetRoutes> subnets, ConnectedRoutes& connected);
  void notice(const Message& message) override;
  Status resync() override;

  const ObjectMarks marks_;
  const std::shared_ptr<SubnetRoutes> subnets_;
  ConnectedRoutes& connected_;
};

}  // namespace rondo::netlink
