#include "life.h"

#include "agent_life.h"
#include "fpm_life.h"
#include "rondo/base/limits.h"
#include "table_life.h"
#ifdef RONDO_SWARM_JOBS  // They need SQLite.
#include "job_life.h"
#include "schedulers_life.h"
#endif

namespace rondo::swarm {

namespace {

/// Draws small and large times equally often: from 'low' to 2^'doublings' times that.
Duration drawn_time(Random& random, Duration low, unsigned doublings) {
  const auto from = static_cast<std::uint64_t>(low.count()) << random.below(doublings);
  return Duration{static_cast<std::int64_t>(random.between(from, 2 * from))};
}
Tie drawn_tie(Random& random) { return static_cast<Tie>(random.below(3)); }
std::uint32_t drawn_batch(Random& random) {
  return static_cast<std::uint32_t>(random.chance(0.8) ? random.between(1, 2) : random.between(3, 128));
}
Priority drawn_priority(Random& random) { return Priority{static_cast<unsigned>(random.below(limits::kPriorities))}; }

PolicyOptions drawn_frames(Random& random) {
  BudgetedFrames frames{.tie = drawn_tie(random), .batch = drawn_batch(random), .turn = drawn_time(random, 10us, 8)};
  if (random.chance(0.3)) return frames;
  frames.lowest = drawn_time(random, 1us, 10);
  frames.highest = frames.lowest * static_cast<std::int64_t>(random.between(1, 32));
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    frames.set(drawn_priority(random), random.chance(0.1) ? kNoBudget : drawn_time(random, 1us, 10));
  }
  return frames;
}

PolicyOptions drawn_quotas(Random& random) {
  QuotedRoundRobin quotas{.unit = random.chance(0.5) ? QuotaUnit::Items : QuotaUnit::Microseconds, .batch = drawn_batch(random)};
  const auto quota = [&] { return static_cast<std::uint32_t>(random.between(1, random.chance(0.5) ? 4 : 200)); };
  quotas.quota = quota();
  for (std::uint64_t i = random.below(4); i > 0; --i) quotas.set(drawn_priority(random), quota());
  quotas.turn = drawn_time(random, 10us, 8);
  return quotas;
}

}  // namespace

PolicyOptions drawn_policy(Random& random) {
  switch (random.below(5)) {
    case 0: return StrictPriority{.tie = drawn_tie(random), .batch = drawn_batch(random), .turn = drawn_time(random, 10us, 8)};
    case 1: return StrictlyOrdered{.batch = drawn_batch(random), .turn = drawn_time(random, 10us, 8)};
    case 2: return drawn_quotas(random);
    default: return drawn_frames(random);
  }
}

void live(Life& life, std::uint64_t turns) {
  sim::World& world = life.world();
  Random random(world.seed() * 31 + 7);
  std::uint64_t idle = 0;  // Consecutive acts without a turn; their bound ends the life of a program that stopped.
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

std::vector<std::string_view> programs() {
  return {
      "tables",     "agent", "meddled", "vrfs", "vlans", "lags", "fpm",
#ifdef RONDO_SWARM_JOBS
      "schedulers", "jobs",
#endif
  };
}

std::unique_ptr<Life> make_life(std::string_view program, std::uint64_t seed) {
  if (program == "tables") return std::make_unique<TableLife>(seed);
  if (program == "agent") return std::make_unique<AgentLife>(seed);
  if (program == "meddled") return std::make_unique<AgentLife>(seed, AgentLife::drawn_world(seed), AgentLife::Others::Meddle);
  if (program == "vrfs") return std::make_unique<AgentLife>(seed, AgentLife::drawn_world(seed), AgentLife::Others::MeddleWithVrfs);
  if (program == "vlans") return std::make_unique<AgentLife>(seed, AgentLife::drawn_world(seed), AgentLife::Others::MeddleWithVlans);
  if (program == "lags") return std::make_unique<AgentLife>(seed, AgentLife::drawn_world(seed), AgentLife::Others::MeddleWithLags);
  if (program == "fpm") return std::make_unique<FpmLife>(seed);
#ifdef RONDO_SWARM_JOBS
  if (program == "schedulers") return std::make_unique<SchedulersLife>(seed);
  if (program == "jobs") return std::make_unique<JobLife>(seed);
#endif
  return nullptr;
}

}  // namespace rondo::swarm
