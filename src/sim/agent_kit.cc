#include "rondo/sim/agent_kit.h"

#include <utility>

#include "message/message_watch.h"
#include "rondo/base/assert.h"

namespace rondo::sim {

namespace {
std::unique_ptr<Policy> policy_of(const PolicyOptions& options) {
  Result<std::unique_ptr<Policy>> policy = make_policy(options);
  RONDO_EXPECT(policy.has_value(), "AgentKit was given a policy that cannot be: " + policy.error().to_string());
  return std::move(*policy);
}
}  // namespace

class AgentKit::Watch final : public MessageWatch {
 public:
  explicit Watch(AgentKit& kit) noexcept : kit_(kit) {}
  void handling(std::string_view agent) override { kit_.handled_.emplace_back(agent); }

 private:
  AgentKit& kit_;
};

AgentKit::AgentKit(AgentKitOptions options)
    : world_(options.seed),
      scheduler_(world_.clock(), world_.reactor(), policy_of(options.policy)),
      watch_(std::make_unique<Watch>(*this)) {
  options.agents.watch = watch_.get();
  agents_ = std::make_unique<Agents>(scheduler_, std::move(options.agents));
}

AgentKit::~AgentKit() = default;

std::string AgentKit::order() const {
  std::string text;
  for (const std::string& agent : handled_) text.append(text.empty() ? "" : " ").append(agent);
  return text;
}

}  // namespace rondo::sim
