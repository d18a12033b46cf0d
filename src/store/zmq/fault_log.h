// FaultLog: counts the arrivals that could not be applied, by cause, and reports each cause at most once a second. Scheduler's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "rondo/base/time.h"
#include "rondo/store/zmq_server.h"

namespace rondo::store {

class FaultLog {
 public:
  using Tell = std::function<void(ZmqFault fault, const Status& why, std::uint64_t count)>;
  explicit FaultLog(Tell tell) : tell_(std::move(tell)) {}

  void add(ZmqFault fault, const Status& why, Instant now) {
    Cause& cause = causes_[static_cast<std::size_t>(fault)];
    ++cause.untold;
    ++cause.total;
    if (!tell_ || now < cause.quiet_until) return;
    cause.quiet_until = now + 1s;
    const std::uint64_t count = cause.untold;
    cause.untold = 0;
    tell_(fault, why, count);
  }
  std::uint64_t total(std::size_t fault) const noexcept { return causes_[fault].total; }

 private:
  struct Cause {
    std::uint64_t total = 0;
    std::uint64_t untold = 0;
    Instant quiet_until;
  };
  Tell tell_;
  std::array<Cause, kZmqFaults> causes_{};
};

}  // namespace rondo::store
