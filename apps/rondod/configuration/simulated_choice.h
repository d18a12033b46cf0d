// SimulatedChoice: the section [simulated] of rondod's configuration: the room, the speed and the failures of the simulated data plane.
#pragma once

#include <cstdint>
#include <memory>

#include "rondo/dataplane/simulated.h"

namespace rondo::daemon {

struct SimulatedChoice {
  // The most objects; 0: any number.
  std::int64_t routes = 0;
  std::int64_t nexthops = 0;
  std::int64_t groups = 0;
  std::int64_t neighbors = 0;
  // Microseconds that an order takes.
  std::int64_t route_us = 0;
  std::int64_t group_us = 0;
  std::int64_t other_us = 0;
  double failure_share = 0;  // Share of the orders that fail as if the kernel had no memory.
  std::int64_t seed = 1;     // Seed of the failures.
  friend bool operator==(const SimulatedChoice&, const SimulatedChoice&) = default;
};

/// The data plane that the section describes, without ports. An order takes its time on the thread that gives it.
std::unique_ptr<SimDataPlane> make_simulated(const SimulatedChoice& simulated);

}  // namespace rondo::daemon
