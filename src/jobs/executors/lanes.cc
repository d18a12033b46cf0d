// executors_impl.h: how many orders are under way, and which is next.
#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

void Executors::Impl::enter_lane(OpenRun& run, std::size_t index) {
  Shard& shard = run.shards[index];
  const PoolKind kind = lane_choice.pool(run.job, runtime.clock().wall_now(), jobs.options());
  Lane& lane = kind == PoolKind::Slow ? slow : fast;
  const int priority = static_cast<int>(run.open.job().priority.level());
  set_stage(run, index, shard, Shard::Stage::InLine);
  run.open.begins_later("waits until other orders to executors have been answered");
  lane.lines[shard.address].emplace(std::pair{-priority, ++last_order},
                                    Lane::Order{.run = run.open.run(), .attempt = run.open.attempt(), .shard = index});
  ++in_line;
  find_room();
}

std::optional<Lane::Order> Executors::Impl::next_order(Lane& lane) {
  if (lane.in_flight >= lane.most) return std::nullopt;
  auto best = lane.lines.end();
  for (auto at = lane.lines.begin(); at != lane.lines.end(); ++at) {
    const auto busy = in_flight.find(at->first);
    if (busy != in_flight.end() && busy->second >= settings.in_flight_of_address) continue;
    if (best == lane.lines.end() || at->second.begin()->first < best->second.begin()->first) best = at;
  }
  if (best == lane.lines.end()) return std::nullopt;
  const Lane::Order order = best->second.begin()->second;
  best->second.erase(best->second.begin());
  if (best->second.empty()) lane.lines.erase(best);
  --in_line;
  return order;
}

void Executors::Impl::serve(Lane& lane) {
  while (const std::optional<Lane::Order> order = next_order(lane)) {
    const auto found = runs.find(order->run);
    if (found == runs.end() || found->second.open.attempt() != order->attempt || order->shard >= found->second.shards.size()) continue;
    OpenRun& run = found->second;
    Shard& shard = run.shards[order->shard];
    if (shard.stage != Shard::Stage::InLine) continue;
    // It has failed since the run was routed.
    if (const Node* const known = node(run.group, shard.address); known != nullptr && !known->trouble.empty()) {
      unsent(order->run, order->shard, {StatusCode::Unavailable, known->trouble});
      continue;
    }
    ++lane.in_flight;
    ++in_flight[shard.address];
    shard.lane = &lane;
    set_stage(run, order->shard, shard, Shard::Stage::Placed);
    run.is_recorded ? send(run, order->shard) : record(order->run);
  }
}

void Executors::Impl::leave_lane(Shard& shard) {
  Lane* const lane = std::exchange(shard.lane, nullptr);
  if (lane == nullptr) return;
  --lane->in_flight;
  const auto of_address = in_flight.find(shard.address);
  if (--of_address->second == 0) in_flight.erase(of_address);
  find_room();
}

}  // namespace rondo::jobs::executors
