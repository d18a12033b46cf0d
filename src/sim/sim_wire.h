// SimWire: a connection in simulated time. Requests travel to the server and answers back, each way in order, each after a drawn delay.
// Both ends break on command. Scheduler's thread.
#pragma once

#include <deque>
#include <functional>
#include <string_view>

#include "rondo/base/random.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo::sim {

class SimWire {
 public:
  struct Request {
    std::function<void()> perform;  // Called at the server. May be empty.
    std::function<void()> deliver;  // Called when the answer is back.
    std::function<void()> lost;     // Called instead of deliver when the connection breaks on the way.
    bool kept = false;              // Waits for the connection instead of being lost, until it has arrived at the server.
  };

  SimWire(Scheduler& scheduler, std::uint64_t seed, Duration low, Duration high);

  void send(Request request);
  void set_latency(Duration low, Duration high);
  void disconnect();
  void reconnect();
  bool connected() const noexcept { return connected_; }
  /// Sets the callback for faults of this way; may be empty.
  void on_fault(std::function<void(std::string_view what)> told) { on_fault_ = std::move(told); }
  void fault(std::string_view what) const {
    if (on_fault_) on_fault_(what);
  }
  Random& random() noexcept { return random_; }

 private:
  struct Travelling {
    Request request;
    Instant due;
  };
  using Way = std::deque<Travelling>;
  void put(Way& way, Request request);
  bool step();
  void deliver();
  void arm();

  Scheduler& scheduler_;
  Random random_;
  Duration low_;
  Duration high_;
  bool connected_ = true;
  Way to_server_;
  Way to_client_;
  std::function<void(std::string_view)> on_fault_;
  TimerSource timer_;
};

}  // namespace rondo::sim
