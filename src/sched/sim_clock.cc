#include "rondo/sched/sim_clock.h"

namespace rondo {

WallTime SimClock::wall_now() const noexcept { return wall_; }

}  // namespace rondo
