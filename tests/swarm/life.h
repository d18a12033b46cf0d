// Life: one seeded life of a program in a simulated world: what its clients and its surroundings do. live() drives it; rondo-sim and the
// tests of this folder are its callers.
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
  /// The outside does something.
  virtual void act() = 0;
  /// The outside does nothing strange any more; then the world comes to rest.
  virtual void calm_down() = 0;
  /// After the rest: more of it, each ended by a rest of its own. For lives whose end has stages.
  virtual void end() {}
};

/// Acts and runs until 'turns' turns are over or something is violated, with a rest about every 'turns' / 3.
void live(Life& life, std::uint64_t turns);

/// Any policy there is, with ties, budgets, quotas, batches and times of a turn of any size, so that all of them come to their ends.
PolicyOptions drawn_policy(Random& random);

/// What can be lived.
std::vector<std::string_view> programs();
/// Null for an unknown program.
std::unique_ptr<Life> make_life(std::string_view program, std::uint64_t seed);

}  // namespace rondo::swarm
