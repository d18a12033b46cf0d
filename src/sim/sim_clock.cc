#include "rondo/sim/sim_clock.h"

namespace rondo::sim {

WallTime SimClock::wall_now() const noexcept { return wall_; }

}  // namespace rondo::sim
