// executors_impl.h: how runs and their shards end, or are told to.
#include <algorithm>

#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

namespace {

constexpr Duration kBetweenKills = 5s;

/// True if its executor may have it.
bool was_sent(const Shard& shard) { return shard.stage > Shard::Stage::Placed && shard.stage != Shard::Stage::Ended; }

}  // namespace

void Executors::Impl::set_stage(const OpenRun& run, std::size_t index, Shard& shard, Shard::Stage stage) {
  const std::pair key{run.job, shard.address};
  AtAddress& at = at_addresses[key];
  const AtAddress::Part part{run.open.run(), index};
  at.waiting.erase(part);
  at.taken.erase(part);
  if (stage == Shard::Stage::Waits || stage == Shard::Stage::Ended) at.told.erase(part);
  if (stage == Shard::Stage::Waits) at.waiting.insert(part);
  if (stage != Shard::Stage::Waits && stage != Shard::Stage::Ended) at.taken.insert(part);
  if (stage == Shard::Stage::Ended || stage == Shard::Stage::Waits) {
    leave_lane(shard);
    freed.insert(key);
    find_room();
  }
  if (at.waiting.empty() && at.taken.empty() && at.kills == 0) at_addresses.erase(key);
  shard.stage = stage;
  shard.since = runtime.scheduler().now();
}

void Executors::Impl::end_shard(OpenRun& run, std::size_t index, Status status, std::string note) {
  Shard& shard = run.shards[index];
  // An end may come before the answer to the order.
  const WallTime now = runtime.clock().wall_now();
  if (shard.stage == Shard::Stage::Sent && status.ok()) run.open.began_at(now);
  shard.ended = now;
  set_stage(run, index, shard, Shard::Stage::Ended);
  shard.status = std::move(status);
  shard.note = std::move(note);
}

void Executors::Impl::finish_if_ended(std::int64_t id) {
  const auto found = runs.find(id);
  const auto has_ended = [](const Shard& shard) { return shard.stage == Shard::Stage::Ended; };
  if (found == runs.end() || !std::ranges::all_of(found->second.shards, has_ended)) return;
  const OpenRun run = take_run(id);
  const bool has_failed = std::ranges::any_of(run.shards, [](const Shard& shard) { return !shard.status.ok(); });
  if (run.shards.size() > 1) {
    if (shown.size() >= limits::kExecutorShown) shown.erase(shown.begin());
    shown.insert_or_assign(id, run.shards);
  }
  if (has_failed && run.shards.size() > 1) {
    if (retries.size() >= limits::kExecutorRetries) retries.erase(retries.begin());  // The oldest.
    retries.insert_or_assign(id, run.shards);
  }
  end_run(run);
}

void Executors::Impl::end_run(const OpenRun& run) {
  const AsyncRun& open = run.open;
  if (run.shards.size() == 1) return open.end(run.shards.front().status, run.shards.front().note);
  const auto has_failed = [](const Shard& shard) { return !shard.status.ok(); };
  const auto failures = std::ranges::count_if(run.shards, has_failed);
  if (failures == 0) {
    const auto discarded = static_cast<std::size_t>(std::ranges::count_if(run.shards, &Shard::is_discarded));
    const std::string others = std::to_string(discarded) + " were discarded, because their executors had another run";
    return open.end({}, std::to_string(run.shards.size() - discarded) + " shards succeeded" + (discarded == 0 ? "" : ", " + others));
  }
  const auto first = std::ranges::find_if(run.shards, has_failed);
  const std::string what = std::to_string(failures) + " of " + std::to_string(run.shards.size()) + " shards failed; shard " +
                           std::to_string(first - run.shards.begin()) + " at " + first->address + ": ";
  open.end({first->status.code(), what + std::string{first->status.message()}});
}

void Executors::Impl::stop(std::int64_t id) {
  const auto found = runs.find(id);
  if (found == runs.end()) return;
  OpenRun& run = found->second;
  run.stop_by = runtime.scheduler().now() + (std::ranges::any_of(run.shards, was_sent) ? settings.stopping : Duration{0});
  for (std::size_t i = 0; i < run.shards.size(); ++i) {
    if (was_sent(run.shards[i])) {
      avoid(run, i);
      kill(run, i);
    } else if (run.shards[i].stage != Shard::Stage::Ended) {
      end_shard(run, i, {StatusCode::Cancelled, "it was stopped before it was sent"}, {});
    }
  }
  run.next_kill = runtime.scheduler().now() + kBetweenKills;
  stopped.insert(id);  // The attempt does not end within the call that stops it.
  find_room();
}

void Executors::Impl::avoid(const OpenRun& run, std::size_t index) {
  const Instant now = runtime.scheduler().now();
  std::erase_if(unresolved, [&](const auto& one) { return now >= one.second.until; });
  if (unresolved.size() >= limits::kExecutorUnresolved) return;
  unresolved.insert_or_assign(
      {run.job, run.shards[index].address},
      Unresolved{.group = run.group, .log_id = log_id_of(run.open.run(), run.open.attempt(), index), .until = now + settings.away});
}

void Executors::Impl::kill(OpenRun& run, std::size_t index) {
  const std::string address = run.shards[index].address;
  const std::pair key{run.job, address};
  AtAddress& at = at_addresses[key];
  const auto is_other = [&](const AtAddress::Part& part) { return !runs.at(part.first).stop_by; };
  if (at.kills > 0) return;
  if (std::ranges::any_of(at.taken, is_other)) {
    return run.open.in_trouble(address + " has other runs of the job, which an order to stop would end, too");
  }
  ++at.kills;
  post(groups.find(run.group)->second, address, "/kill", job_body(run.job), [this, key](const Result<http::ClientAnswer>& answer) {
    AtAddress& then = at_addresses[key];
    if (answer && answer->status == 200) then.told = then.taken;
    --then.kills;
    if (then.waiting.empty() && then.taken.empty() && then.kills == 0) at_addresses.erase(key);
    freed.insert(key);
    find_room();
  });
}

void Executors::Impl::repeat_kills(Instant now) {
  for (auto& [id, run] : runs) {
    if (!run.stop_by || now < run.next_kill) continue;
    run.next_kill = now + kBetweenKills;
    for (std::size_t i = 0; i < run.shards.size(); ++i) {
      if (was_sent(run.shards[i])) kill(run, i);
    }
  }
}

}  // namespace rondo::jobs::executors
