#include "rondo/sim/agent_kit.h"

#include <utility>

#include "rondo/base/assert.h"

namespace rondo::sim {

namespace {
std::unique_ptr<Policy> policy_of(const PolicyOptions& options) {
  Result<std::unique_ptr<Policy>> policy = make_policy(options);
  RONDO_EXPECT(policy.has_value(), "AgentKit was given a policy that cannot be: " + policy.error().to_string());
  return std::move(*policy);
}
}  // namespace

AgentKit::AgentKit(AgentKitOptions options)
    : world_(options.seed), scheduler_(world_.clock(), world_.reactor(), policy_of(options.policy)) {
  options.agents.watch = this;
  agents_ = std::make_unique<Agents>(scheduler_, std::move(options.agents));
}

AgentKit::~AgentKit() = default;

void AgentKit::handling(std::string_view agent, const std::string& message) {
  handled_.push_back({std::string{agent}, message, world_.now()});
}

std::string AgentKit::order() const {
  std::string text;
  for (const HandledMessage& one : handled_) text.append(text.empty() ? "" : " ").append(one.agent);
  return text;
}

}  // namespace rondo::sim
