#include "store/zmq/socket_monitor.h"

#include <cstring>
#include <utility>

namespace rondo::store {

namespace {

constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED |
                        ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

/// An event has two parts: 16 bits of kind and 32 bits of value, then the endpoint.
SocketEvent decode(std::string_view head, std::string_view endpoint) {
  SocketEvent event;
  if (head.size() < sizeof event.kind + sizeof event.value) return event;
  std::memcpy(&event.kind, head.data(), sizeof event.kind);
  std::memcpy(&event.value, head.data() + sizeof event.kind, sizeof event.value);
  event.endpoint = endpoint;
  return event;
}

}  // namespace

Result<std::unique_ptr<SocketMonitor>> SocketMonitor::open(Scheduler& scheduler, const ZmqContext& context, const ZmqSocket& socket,
                                                           std::string name, Priority priority,
                                                           std::function<void(const SocketEvent&)> tell) {
  std::unique_ptr<SocketMonitor> monitor{new SocketMonitor(std::move(name), priority, std::move(tell))};
  Result<ZmqSocket> events = ZmqSocket::open(context, ZMQ_PAIR);
  if (!events) return failure(std::move(events.error()));
  monitor->events_ = std::move(*events);
  // No high-water mark: libzmq's thread would wait for room while it holds the lock that the monitor's end needs. The number of connections
  // is bounded elsewhere.
  if (Status failed = monitor->events_.set(ZMQ_RCVHWM, 0); !failed.ok()) return failure(std::move(failed));
  const std::string endpoint = "inproc://monitor";  // Each context has one monitor.
  if (::zmq_socket_monitor(socket.get(), endpoint.c_str(), kEvents) != 0) return failure(zmq_status("zmq_socket_monitor"));
  monitor->watched_ = socket.get();
  if (Status failed = monitor->events_.connect(endpoint); !failed.ok()) return failure(std::move(failed));
  monitor->fd_ = monitor->events_.fd();
  scheduler.add(*monitor);
  if (Status failed = scheduler.reactor().watch(monitor->fd_, Interest::Read, *monitor); !failed.ok()) return failure(std::move(failed));
  monitor->wake();  // Events may have arrived before the watch, and only a receive that returns false arms the descriptor.
  return monitor;
}

SocketMonitor::~SocketMonitor() {
  if (scheduler() != nullptr && fd_ >= 0) scheduler()->reactor().unwatch(fd_);
  if (watched_ != nullptr) ::zmq_socket_monitor(watched_, nullptr, 0);
}

Turn SocketMonitor::run(const Budget& budget) {
  Turn turn;
  for (; turn.items < budget.items; ++turn.items) {
    ZmqMessage head;
    ZmqMessage endpoint;
    if (!events_.receive(head)) return turn;
    if (head.more() && events_.receive(endpoint)) tell_(decode(head.bytes(), endpoint.bytes()));
  }
  turn.backlog = Backlog::More;
  return turn;
}

}  // namespace rondo::store
