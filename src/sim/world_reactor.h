// The SimReactor of a World, for tests that control descriptors.
#pragma once

#include "rondo/sim/world.h"
#include "sched/sim_reactor.h"

namespace rondo::sim {

inline SimReactor& reactor_of(World& world) noexcept { return static_cast<SimReactor&>(world.reactor()); }

}  // namespace rondo::sim
