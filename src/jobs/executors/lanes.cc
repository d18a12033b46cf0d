// executors_impl.h: how many orders are under way, and which is next.
#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

void Executors::Impl::enter_lane(OpenRun& run, std::size_t index) {
  Shard& shard = run.shards[index];
  const PoolKind kind = lane_choice.pool(run.job, runtime.clock().wall_now(), jobs.options());
  Lane& lane = kind == PoolKind::Slow ? slow : fast;
  const int priority = static_cast<int>(run.open.job().priority.level());
  shard.stage = Shard::Stage::InLine;
  run.open.begins_later("waits until other orders to executors have been answered");
  lane.lines[shard.address].emplace(std::pair{-priority, ++last_order},
                                    Lane::Order{.run = run.open.run(), .attempt = run.open.attempt(), .shard = index});
}

void Executors::Impl::serve_lanes() {
  serve(fast);
  serve(slow);
}

void Executors::Impl::serve(Lane& lane) {
  while (lane.in_flight < lane.most) {
    auto best = lane.lines.end();
    for (auto at = lane.lines.begin(); at != lane.lines.end(); ++at) {
      const auto busy = in_flight.find(at->first);
      if (busy != in_flight.end() && busy->second >= settings.in_flight_of_address) continue;
      if (best == lane.lines.end() || at->second.begin()->first < best->second.begin()->first) best = at;
    }
    if (best == lane.lines.end()) return;
    const Lane::Order order = best->second.begin()->second;
    const std::string address = best->first;
    best->second.erase(best->second.begin());
    if (best->second.empty()) lane.lines.erase(best);
    const auto found = runs.find(order.run);
    if (found == runs.end() || found->second.open.attempt() != order.attempt || order.shard >= found->second.shards.size()) continue;
    const Shard& shard = found->second.shards[order.shard];
    if (shard.stage != Shard::Stage::InLine || shard.address != address || found->second.stop_by) continue;
    // It has failed since the run was routed.
    const Node* const known = node(found->second.group, address);
    if (known != nullptr && !known->trouble.empty()) {
      unsent(order.run, order.shard, {StatusCode::Unavailable, known->trouble});
      continue;
    }
    ++lane.in_flight;
    ++in_flight[address];
    send(found->second, order.shard, lane);
  }
}

void Executors::Impl::leave_lane(Lane& lane, const std::string& address, std::int64_t job, Duration took) {
  lane_choice.ended(job, runtime.clock().wall_now(), took, jobs.options());
  --lane.in_flight;
  const auto of_address = in_flight.find(address);
  if (--of_address->second == 0) in_flight.erase(of_address);
  serve(lane);
}

}  // namespace rondo::jobs::executors
