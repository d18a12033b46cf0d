// AgentKit: agents in simulated time, one turn at a time: the production queues, scheduler and policies, with a clock that is told. What a
// handler does is seen message by message; a second of timers takes as long as their messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/message/agents.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sim/world.h"

namespace rondo::sim {

struct AgentKitOptions {
  std::uint64_t seed = 1;
  /// By default one message a turn, so that step() is one message. Production has up to 128: tests of what one handler does to the next,
  /// such as a removal, should run under the policy that the program has, too.
  PolicyOptions policy = StrictPriority{.tie = Tie::Arrival, .batch = 1};
  /// 'watch' is the kit's.
  AgentsOptions agents = {};
};

/// A message whose handler was called.
struct HandledMessage {
  std::string agent;
  std::string message;  // Its type.
  Instant when;
};

/// One thread.
class AgentKit final : private MessageWatch {
 public:
  explicit AgentKit(AgentKitOptions options = {});
  ~AgentKit() override;
  AgentKit(const AgentKit&) = delete;
  AgentKit& operator=(const AgentKit&) = delete;

  Agents& agents() noexcept { return *agents_; }
  World& world() noexcept { return world_; }
  Scheduler& scheduler() noexcept { return scheduler_; }

  /// Gives one turn. False when nothing was ready.
  bool step() { return scheduler_.turn(); }
  /// Gives turns until nothing is ready; time stands still.
  void run_until_idle() { scheduler_.run_until_idle(); }
  /// Gives turns, and moves the clock over the gaps, until 'time' has passed.
  void run_for(Duration time) { world_.run_for(scheduler_, time); }

  /// All so far, in order.
  const std::vector<HandledMessage>& handled() const noexcept { return handled_; }
  /// The agents' names, one for each message, with a blank in between: "a b a".
  std::string order() const;

 private:
  void handling(std::string_view agent, const std::string& message) override;
  World world_;
  Scheduler scheduler_;
  std::vector<HandledMessage> handled_;
  std::unique_ptr<Agents> agents_;
};

}  // namespace rondo::sim
