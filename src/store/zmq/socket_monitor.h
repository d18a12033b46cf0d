// SocketMonitor: what libzmq tells of a socket's connections - made, lost, refused - as a source. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "store/zmq/socket.h"

namespace rondo::store {

/// One of zmq.h's ZMQ_EVENT_ numbers and what belongs to it.
struct SocketEvent {
  std::uint16_t kind = 0;
  std::uint32_t value = 0;
  std::string endpoint;
};

class SocketMonitor final : public Source {
 public:
  /// 'tell' runs in turns. Joins 'scheduler'.
  static Result<std::unique_ptr<SocketMonitor>> open(Scheduler& scheduler, const ZmqContext& context, const ZmqSocket& socket,
                                                     std::string name, Priority priority, std::function<void(const SocketEvent&)> tell);
  /// To be destroyed before the socket it listens to.
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
