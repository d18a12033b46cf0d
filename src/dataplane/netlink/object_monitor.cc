// object_monitor.cc: see object_monitor.h.
#include "dataplane/netlink/object_monitor.h"

#include <linux/rtnetlink.h>

#include <stdexcept>
#include <utility>

#include "dataplane/netlink/decode.h"
#include "rondo/dataplane/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo::netlink {

namespace {
// The most datagrams read per collect() (1 us each), which must stay cheap.
constexpr int kReadsPerTurn = 128;
}  // namespace

ObjectMonitor::ObjectMonitor(Scheduler& scheduler, Priority priority, Handler handler, const ObjectMarks& marks, Socket socket)
    : Source("object-monitor", priority),
      owner_(scheduler),
      handler_(std::move(handler)),
      marks_(marks),
      events_(std::move(socket)),
      buffer_(std::make_unique<std::byte[]>(kDatagramBytes)) {}

Result<std::unique_ptr<ObjectMonitor>> ObjectMonitor::open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                           Handler handler, std::uint32_t own_port, const ObjectMarks& marks,
                                                           int receive_buffer_bytes) {
  auto socket = Socket::open(where, {.receive_buffer_bytes = receive_buffer_bytes,
                                     .groups = {RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NEIGH, RTNLGRP_NEXTHOP,
                                                RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE}});
  if (!socket) return failure(socket.error().with_context("monitor objects"));
  if (Status filtered = socket->drop_notifications_of(own_port, marks.protocol); !filtered.ok()) {
    return failure(filtered.with_context("monitor objects"));
  }
  std::unique_ptr<ObjectMonitor> monitor{new ObjectMonitor(scheduler, priority, std::move(handler), marks, std::move(*socket))};
  scheduler.add(*monitor);
  if (Status status = scheduler.reactor().watch(monitor->events_.descriptor(), Interest::Read, *monitor); !status.ok()) {
    return failure(status.with_context("monitor objects"));
  }
  monitor->drained_ = false;  // Data that arrived before the watch causes no edge.
  monitor->wake();
  return monitor;
}

ObjectMonitor::~ObjectMonitor() { owner_.reactor().unwatch(events_.descriptor()); }

Result<Backlog> ObjectMonitor::collect() {
  if (Status status = read(); !status.ok()) return failure(std::move(status));
  return has_backlog() ? Backlog::More : Backlog::Empty;
}

Turn ObjectMonitor::run(const Budget& budget) {
  if (!drained_) {
    if (const Status status = read(); !status.ok()) throw std::runtime_error(status.to_string());
  }
  Turn turn;
  while (turn.items < budget.items && !pending_.empty()) {
    const std::optional<DeleteOrder> object = std::move(pending_.front());
    pending_.pop_front();
    ++turn.items;
    handler_(object);
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

Status ObjectMonitor::read() {
  drained_ = false;
  for (int reads = 0; reads < kReadsPerTurn && pending_.size() < limits::kLinkEvents; ++reads) {
    const auto datagram = events_.receive({buffer_.get(), kDatagramBytes}, Duration::zero());
    if (!datagram) {
      if (datagram.error().code() != StatusCode::DataLoss) return datagram.error();
      ++gaps_;
      pending_.emplace_back(std::nullopt);
      continue;
    }
    if (datagram->empty()) {
      drained_ = true;
      return {};
    }
    MessageReader reader{*datagram};
    for (Message message; reader.next(message);) {
      if (auto object = decode_change(message, marks_)) pending_.emplace_back(std::move(object));
    }
    if (reader.is_malformed()) pending_.emplace_back(std::nullopt);
  }
  return {};
}

}  // namespace rondo::netlink
