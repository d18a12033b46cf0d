// Mishaps: what should not happen, is counted, and is over when it has happened: accepted writes that failed later, wake-ups that were
// lost, orders that the data plane refused. `rondo health` tells each with when it happened last: as a trouble for limits::kMishapTold,
// then as a note, so that what has passed is neither red until a restart nor forgotten. The counts are others'; `rondo stats` has them.
// Scheduler's thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"
#include "rondo/dataplane/programmer.h"
#include "rondo/sched/scheduler.h"
#include "rondod/write_failures.h"

namespace rondo::daemon {

/// One kind of them.
class Mishap {
 public:
  /// 'what' happened, such as "accepted writes that failed later"; static storage.
  explicit Mishap(std::string_view what) : what_(what) {}

  /// 'count' of them since the start; 'newest' says more of the last one. What is new is taken to have happened now.
  void look(std::uint64_t count, std::string_view newest, const Clock& clock);
  /// Into one of the two, if it ever happened.
  void tell(Instant now, boost::json::array& troubles, boost::json::array& notes) const;

 private:
  std::string_view what_;
  std::uint64_t count_ = 0;
  std::string newest_;
  Instant last_;
  WallTime last_wall_;
};

class Mishaps {
 public:
  /// Often enough that "now" is when it happened: each second, and before tell().
  void look(const SchedulerStats& scheduler, const WriteFailures& writes, const ProgrammerStats& orders, const Clock& clock);
  void tell(Instant now, boost::json::array& troubles, boost::json::array& notes) const;

 private:
  Mishap wakes_{"lost wake-ups that were rescued"};
  Mishap writes_{"accepted writes that failed later"};
  Mishap orders_{"orders that the data plane refused"};
};

}  // namespace rondo::daemon
