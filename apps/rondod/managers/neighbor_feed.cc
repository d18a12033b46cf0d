#include "rondod/managers/neighbor_feed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "switch_agent/priorities.h"

namespace rondo::daemon {

namespace {

/// True if every row of ports, interfaces and neighbours that the tables had at the start has been handled.
bool is_settled(const Runtime& runtime, const switch_agent::SwitchAgent& agent) {
  if (!agent.has_restarted()) return false;
  const std::vector<ConsumerStats> consumers = runtime.consumers();
  return std::ranges::all_of(consumers, [](const ConsumerStats& consumer) {
    const bool counts = consumer.table == "PORT_TABLE" || consumer.table == "INTF_TABLE" || consumer.table == "NEIGH_TABLE";
    return !counts || (consumer.caught_up && consumer.queued == 0 && consumer.in_flight == 0);
  });
}

}  // namespace

Result<std::unique_ptr<NeighborFeed>> NeighborFeed::open(Runtime& runtime, switch_agent::SwitchAgent& agent, DataPlane& plane,
                                                         const RedisWatch& redis) {
  std::unique_ptr<NeighborFeed> feed{new NeighborFeed(runtime, agent, plane)};
  auto neighbors = managers::LearnedNeighbors::open(
      runtime,
      {.resolve = [feed = feed.get()](IfIndex port,
                                      const IpAddress& address) { return feed->watch_ ? feed->watch_->resolve(port, address) : Status{}; },
       .for_each_left_out =
           [&agent](const std::function<void(std::string_view)>& visit) { agent.nexthop_groups().for_each_lacking(visit); },
       .is_settled = [&runtime, &agent] { return is_settled(runtime, agent); },
       .may_write = [&redis] { return !redis.waits_for_lease(); }});
  if (!neighbors) return failure(neighbors.error());
  feed->neighbors_ = std::move(*neighbors);
  agent.explain_unresolved([learned = feed->neighbors_.get()](std::string_view key) { return learned->words_about(key); });
  return feed;
}

Status NeighborFeed::start() {
  auto watch = plane_.watch_neighbors(runtime_.scheduler(), switch_agent::kKernelEvents,
                                      [this](const NeighborEvent& event) { neighbors_->neighbor_event(event); });
  if (!watch) return watch.error();
  watch_ = std::move(*watch);
  return {};
}

boost::json::object NeighborFeed::figures() const {
  const managers::LearnedNeighbors::Counts counts = neighbors_->counts();
  return {{"kernel", counts.kernel},     {"rows", counts.rows},       {"resolving", counts.resolving},
          {"repaired", counts.repaired}, {"refused", counts.refused}, {"gaps", watch_ == nullptr ? 0 : watch_->gaps()}};
}

}  // namespace rondo::daemon
