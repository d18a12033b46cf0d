// LinkEventLog: a second listener on the kernel's link events beside rondod's. It only stores when the kernel announced each event. The
// time from its entry to rondod's handler belongs to rondod; the time before (the cable, the kernel's lock and its clean-up) belongs to the
// kernel.
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

class LinkEventLog {
 public:
  struct Announced {
    bool carrier = false;
    Instant at;
  };
  /// Watches 'port' from now on, on a separate thread.
  static Result<std::unique_ptr<LinkEventLog>> start(DataPlane& plane, const std::string& port);
  ~LinkEventLog();
  LinkEventLog(const LinkEventLog&) = delete;
  LinkEventLog& operator=(const LinkEventLog&) = delete;

  /// Ends the watch and returns the announced changes of the carrier, in order.
  std::vector<Announced> stop();

 private:
  LinkEventLog() = default;
  void note(const LinkEvent& event);

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Source> monitor_;
  std::string port_;
  bool known_ = false;
  bool carrier_ = false;
  std::vector<Announced> announced_;  // Used by the watching thread until it is joined.
  std::thread thread_;
};

}  // namespace rondo::demo
