// AgentKit: runs agents in simulated time, one turn at a time. It uses the production queues, scheduler and policies, with a SimClock. The
// test sees each handled message; a simulated second of timers takes only as long as their messages.
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
  /// By default one message a turn, so that step() handles one message. Production handles up to 128. Run tests of the effect of one
  /// handler on the next, such as a removal, under the program's own policy, too.
  PolicyOptions policy = StrictPriority{.tie = Tie::Arrival, .batch = 1};
  /// The kit sets 'watch'.
  AgentsOptions agents = {};
};

/// One thread only.
class AgentKit final {
 public:
  explicit AgentKit(AgentKitOptions options = {});
  ~AgentKit();
  AgentKit(const AgentKit&) = delete;
  AgentKit& operator=(const AgentKit&) = delete;

  Agents& agents() noexcept { return *agents_; }
  World& world() noexcept { return world_; }
  Scheduler& scheduler() noexcept { return scheduler_; }

  /// Gives one turn. False when nothing was ready.
  bool step() { return scheduler_.turn(); }
  /// Gives turns until nothing is ready; the clock does not move.
  void run_until_idle() { scheduler_.run_until_idle(); }
  /// Gives turns, and moves the clock over idle time, until 'time' has passed.
  void run_for(Duration time) { world_.run_for(scheduler_, time); }

  /// The agent's name of each handled message so far, in order.
  const std::vector<std::string>& handled() const noexcept { return handled_; }
  /// The same as one text: "a b a".
  std::string order() const;

 private:
  class Watch;
  World world_;
  Scheduler scheduler_;
  std::vector<std::string> handled_;
  std::unique_ptr<MessageWatch> watch_;
  std::unique_ptr<Agents> agents_;
};

}  // namespace rondo::sim
