// Life: one seeded life of a program in a simulated world: the actions of its clients and its surroundings. live() drives it; rondo-sim
// and the tests of this folder call live().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/sim/world.h"

namespace rondo::swarm {

class Life {
 public:
  virtual ~Life() = default;
  virtual sim::World& world() = 0;
  /// Makes the outside act once.
  virtual void act() = 0;
  /// Ends all faults of the outside; then the world comes to rest.
  virtual void calm_down() = 0;
  /// Called after the rest, for lives whose end has further stages, each ended by a rest.
  virtual void end() {}
};

/// Acts and runs until 'turns' turns are over or a checker reports a violation, with a rest about every 'turns' / 3.
void live(Life& life, std::uint64_t turns);

/// Draws any policy, with ties, budgets, quotas, batches and turn times of any size, so that each limit is reached.
PolicyOptions drawn_policy(Random& random);

/// The names of all lives.
std::vector<std::string_view> programs();
/// Returns null for an unknown program.
std::unique_ptr<Life> make_life(std::string_view program, std::uint64_t seed);

}  // namespace rondo::swarm
