// SocketMonitor: a source that reports libzmq's events of a socket's connections: made, lost, refused. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "store/zmq/socket.h"

namespace rondo::store {

/// A ZMQ_EVENT_ number of zmq.h and its data.
struct SocketEvent {
  std::uint16_t kind = 0;
  std::uint32_t value = 0;
  std::string endpoint;
};

class SocketMonitor final : public Source {
 public:
  /// Joins 'scheduler'. 'tell' is called in turns.
  static Result<std::unique_ptr<SocketMonitor>> open(Scheduler& scheduler, const ZmqContext& context, const ZmqSocket& socket,
                                                     std::string name, Priority priority, std::function<void(const SocketEvent&)> tell);
  /// Destroy it before the socket that it monitors.
  ~SocketMonitor() override;

  Turn run(const Budget& budget) override;

 private:
  SocketMonitor(std::string name, Priority priority, std::function<void(const SocketEvent&)> tell)
      : Source(std::move(name), priority), tell_(std::move(tell)) {}

  std::function<void(const SocketEvent&)> tell_;
  void* watched_ = nullptr;
  ZmqSocket events_;
  int fd_ = -1;
};

}  // namespace rondo::store
