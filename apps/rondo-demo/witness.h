// Witness: a second listener on the kernel's link events, beside rondod's, that does nothing but note when the kernel announced what. The
// time from its note to rondod's handler is rondod's own; what comes before (the cable, the kernel's lock and its clean-up) is the
// kernel's.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/sched/scheduler.h"

namespace rondo::demo {

class Witness {
 public:
  struct Announced {
    bool carrier = false;
    Instant at;
  };
  /// Watches 'port' from now on, on a thread of its own.
  static Result<std::unique_ptr<Witness>> start(DataPlane& plane, const std::string& port);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// Ends the watch and tells what was announced: changes of the carrier, in order.
  std::vector<Announced> stop();

 private:
  Witness() = default;
  void note(const LinkEvent& event);

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Source> monitor_;
  std::string port_;
  bool known_ = false;
  bool carrier_ = false;
  std::vector<Announced> announced_;  // The watching thread's, until it is joined.
  std::thread thread_;
};

}  // namespace rondo::demo
