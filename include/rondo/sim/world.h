// World: time, chance and descriptors of a simulation, all from one seed. The Scheduler and all above it run in it unchanged; two runs with
// the same seed are equal bit for bit. sim_store and sim_dataplane bring the rest of the outside.
#pragma once

#include <cstdint>
#include <functional>

#include "rondo/base/random.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sim/sim_clock.h"
#include "rondo/sim/sim_reactor.h"

namespace rondo::sim {

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed), reactor_(clock_) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  SimClock& clock() noexcept { return clock_; }
  SimReactor& reactor() noexcept { return reactor_; }
  Random& random() noexcept { return random_; }
  std::uint64_t seed() const noexcept { return random_.seed(); }
  Instant now() const noexcept { return clock_.now(); }

  /// What a turn costs in simulated time beyond what its handler says by clock().advance(). Above zero, so that a source that always has
  /// more cannot stop time.
  void set_turn_cost(Duration cost) noexcept { turn_cost_ = cost; }

  /// The outside world does 'what' in 'delay' from now.
  void after(Duration delay, std::function<void()> what) { reactor_.at(clock_.now() + delay, std::move(what)); }

  /// Gives 'scheduler' turns, and moves the clock over the gaps, until 'time' has passed or the scheduler is
  /// stopped. Returns the number of turns.
  std::uint64_t run_for(Scheduler& scheduler, Duration time);
  /// The same until 'done' is true, looked at before each turn; false if 'limit' passes, or the scheduler is stopped, first.
  bool run_until(Scheduler& scheduler, const std::function<bool()>& done, Duration limit);

 private:
  bool step(Scheduler& scheduler, Instant end);

  Random random_;
  SimClock clock_;
  SimReactor reactor_;
  Duration turn_cost_ = 1us;
};

}  // namespace rondo::sim
