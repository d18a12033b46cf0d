#include "rondo/sim/world.h"

namespace rondo::sim {

/// One turn, or one wait when nothing is ready. True if it was a turn.
bool World::step(Scheduler& scheduler, Instant end) {
  if (scheduler.turn()) {
    clock_.advance(turn_cost_);
    return true;
  }
  scheduler.wait(end);
  return false;
}

std::uint64_t World::run_for(Scheduler& scheduler, Duration time) {
  const Instant end = clock_.now() + time;
  std::uint64_t turns = 0;
  while (clock_.now() < end && !scheduler.stopping()) {
    if (step(scheduler, end)) ++turns;
  }
  return turns;
}

bool World::run_until(Scheduler& scheduler, const std::function<bool()>& done, Duration limit) {
  const Instant end = clock_.now() + limit;
  while (!done()) {
    if (clock_.now() >= end || scheduler.stopping()) return false;
    step(scheduler, end);
  }
  return true;
}

}  // namespace rondo::sim
