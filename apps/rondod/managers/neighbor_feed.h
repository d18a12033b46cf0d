// NeighborFeed: rondod's part that follows the kernel's neighbours and writes those that it has learned into NEIGH_TABLE
// (managers/learned_neighbors.h).
#pragma once

#include <boost/json.hpp>
#include <memory>

#include "dataplane/learned.h"
#include "managers/learned_neighbors.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/runtime.h"
#include "rondod/stores/redis_watch.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {

class NeighborFeed {
 public:
  /// All must outlive it, but for the runtime's turns. Create it before the runtime runs.
  static Result<std::unique_ptr<NeighborFeed>> open(Runtime& runtime, switch_agent::SwitchAgent& agent, DataPlane& plane,
                                                    const RedisWatch& redis);
  ~NeighborFeed() { agent_.explain_unresolved({}); }
  NeighborFeed(const NeighborFeed&) = delete;
  NeighborFeed& operator=(const NeighborFeed&) = delete;
  /// Begins to follow the kernel. Call it when the agent has started, because addresses come first.
  Status start();
  /// Called before the agent handles the event.
  void link_event(const LinkEvent& event) { neighbors_->link_event(event); }
  boost::json::object figures() const;

 private:
  NeighborFeed(Runtime& runtime, switch_agent::SwitchAgent& agent, DataPlane& plane) : runtime_(runtime), agent_(agent), plane_(plane) {}
  Runtime& runtime_;
  switch_agent::SwitchAgent& agent_;
  DataPlane& plane_;
  std::unique_ptr<managers::LearnedNeighbors> neighbors_;
  std::unique_ptr<NeighborWatch> watch_;
};

}  // namespace rondo::daemon
