// The whole agent against a plain model over many seeds (agent_swarm.h).
#include "agent_swarm.h"

namespace rondo::agent {
namespace {

TEST(AgentSwarmStorm, TheKernelEndsAsTheModelSays) {
  run_swarms(3000, [](std::uint64_t seed) { return std::make_unique<Swarm>(seed); });
}

}  // namespace
}  // namespace rondo::agent
