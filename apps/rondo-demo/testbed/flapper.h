// Flapper: pulls and plugs the cable of one port every 100 ms on a separate thread. It stores the times, which the report compares with
// the events that rondod handled. Its last action is to plug the cable in.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/result.h"

namespace rondo::demo {

class Flapper {
 public:
  struct Flap {
    bool carrier = false;
    Instant asked;  // Just before the order was given to the kernel (or to the simulation).
  };
  /// 'set_carrier' moves the cable; called on the flapper's thread.
  using SetCarrier = std::function<Status(bool up)>;
  Flapper(Duration period, SetCarrier set_carrier);
  /// Stops.
  ~Flapper();

  /// Plugs the cable in and ends the thread. Idempotent.
  void stop();
  std::vector<Flap> flaps() const;
  Status status() const;

 private:
  void run(const std::stop_token& stop);
  void flap(bool up);

  const Duration period_;
  SetCarrier set_carrier_;
  SystemClock clock_;
  mutable std::mutex mutex_;
  std::vector<Flap> flaps_;  // Guarded by mutex_.
  Status status_;            // Guarded by mutex_.
  std::jthread thread_;
};

}  // namespace rondo::demo
