#include "life.h"

#include "agent_life.h"
#include "table_life.h"

namespace rondo::swarm {

void live(Life& life, std::uint64_t turns) {
  sim::World& world = life.world();
  Random random(world.seed() * 31 + 7);
  std::uint64_t idle = 0;  // Acts that made no turn: a program that stopped must not be waited for.
  for (std::uint64_t stage = 1; stage <= 3 && !world.violation(); ++stage) {
    while (world.turns() < turns * stage / 3 && !world.violation() && idle < 10'000) {
      life.act();
      const auto time = static_cast<std::int64_t>(random.chance(0.9) ? random.below(300'000) : random.below(30'000'000));
      idle = world.run_for(Duration{time}) == 0 ? idle + 1 : 0;
    }
    life.calm_down();
    if (!world.violation()) world.come_to_rest();
  }
  if (!world.violation()) life.end();
}

std::vector<std::string_view> programs() { return {"tables", "agent"}; }

std::unique_ptr<Life> make_life(std::string_view program, std::uint64_t seed) {
  if (program == "tables") return std::make_unique<TableLife>(seed);
  if (program == "agent") return std::make_unique<AgentLife>(seed);
  return nullptr;
}

}  // namespace rondo::swarm
