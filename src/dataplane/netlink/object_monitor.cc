// object_monitor.cc: see object_monitor.h.
#include "dataplane/netlink/object_monitor.h"

#include <linux/rtnetlink.h>

#include <utility>

#include "dataplane/netlink/decode.h"

namespace rondo::netlink {

ObjectMonitor::ObjectMonitor(Scheduler& scheduler, Priority priority, Handler handler, const ObjectMarks& marks, Socket socket,
                             std::shared_ptr<SubnetRoutes> subnets, ConnectedRoutes& connected)
    : EventMonitor("object-monitor", "objects", scheduler, priority, std::move(handler), std::move(socket)),
      marks_(marks),
      subnets_(std::move(subnets)),
      connected_(connected) {
  subnets_->follow(true);
}

ObjectMonitor::~ObjectMonitor() { subnets_->follow(false); }

Result<std::unique_ptr<ObjectMonitor>> ObjectMonitor::open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                           Handler handler, std::uint32_t own_port, const ObjectMarks& marks,
                                                           int receive_buffer_bytes, std::shared_ptr<SubnetRoutes> subnets,
                                                           ConnectedRoutes& connected) {
  auto socket = Socket::open(where, {.receive_buffer_bytes = receive_buffer_bytes,
                                     .groups = {RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NEIGH, RTNLGRP_NEXTHOP,
                                                RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE}});
  if (!socket) return failure(socket.error().with_context("monitor objects"));
  if (Status filtered = socket->drop_notifications_of(own_port, marks); !filtered.ok()) {
    return failure(filtered.with_context("monitor objects"));
  }
  std::unique_ptr<ObjectMonitor> monitor{
      new ObjectMonitor(scheduler, priority, std::move(handler), marks, std::move(*socket), std::move(subnets), connected)};
  if (Status status = monitor->start(); !status.ok()) return failure(std::move(status));
  return monitor;
}

void ObjectMonitor::notice(const Message& message) {
  if (connected_.notice(message)) return;
  if (const auto lost = subnets_->notice(message)) return report(ObjectEvent{AddressDelete{lost->first, lost->second}});
  if (auto event = decode_change(message, marks_)) report(std::move(event));
}

// It knows no objects: the receiver audits all of them.
Status ObjectMonitor::resync() {
  subnets_->notice_gap();
  report(std::nullopt);
  return {};
}

}  // namespace rondo::netlink
