// executors_impl.h: what time makes due: silent executors, lost runs, and late answers.
#include <algorithm>

#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

namespace {

constexpr Duration kNodeProbe = 10s;
constexpr std::size_t kProbes = 256;

bool is_at_executor(const Shard& shard) { return shard.stage == Shard::Stage::Accepted || shard.stage == Shard::Stage::Silent; }

}  // namespace

void Executors::Impl::tick() {
  const Instant now = runtime.scheduler().now();
  end_lost(now);
  repeat_kills(now);
  answer_late(now);
  if (remote.is_recovered()) drop_early();
  follow_takeover();
  std::vector<std::int64_t> unrecorded;
  for (const auto& [id, run] : runs) {
    const bool is_placed = std::ranges::find(run.shards, Shard::Stage::Placed, &Shard::stage) != run.shards.end();
    if (is_placed && !run.is_recorded && !run.is_recording) unrecorded.push_back(id);
  }
  for (const std::int64_t id : unrecorded) record(id);
  if (now >= next_job_probe) probe_jobs(now);
  if (now >= next_node_probe) probe_nodes(now);
  forget_nodes(now);
  for (const auto& [name, group] : groups) {
    if (!group.is_restored) read_nodes(name);
  }
  store_nodes();
  continue_reads();
  find_room();
}

std::string Executors::Impl::why_lost(const OpenRun& run, const Shard& shard, Instant now) const {
  if (run.stop_by && now >= *run.stop_by) {
    const auto at = at_addresses.find({run.job, shard.address});
    const bool was_told =
        at != at_addresses.end() && at->second.told.contains({run.open.run(), static_cast<std::size_t>(&shard - run.shards.data())});
    return shard.address +
           (was_told ? " was told to stop it, and has not reported its end" : " could not be told to stop it: its work may go on there");
  }
  if (shard.stage == Shard::Stage::Silent && now - shard.since >= settings.silent)
    return shard.address + " did not answer the order, and has reported no end";
  if (!is_at_executor(shard)) return {};
  if (shard.idle && now - *shard.idle >= settings.probe)
    return shard.address + " says that it does nothing for the job, and has reported no end";
  const auto group = groups.find(run.group);
  const auto node = group->second.nodes.find(shard.address);
  const Instant heard = node == group->second.nodes.end() ? shard.since : std::max(node->second.heard, shard.since);
  if (now - heard >= settings.away) return shard.address + " has not been heard of for too long";
  return {};
}

void Executors::Impl::end_lost(Instant now) {
  std::vector<std::int64_t> changed;
  for (auto& [id, run] : runs) {
    for (std::size_t i = 0; i < run.shards.size(); ++i) {
      if (run.shards[i].stage == Shard::Stage::Ended) continue;
      std::string why = why_lost(run, run.shards[i], now);
      if (why.empty()) continue;
      ++stats.lost;
      end_shard(run, i, {StatusCode::Unavailable, std::move(why)}, {});
      changed.push_back(id);
    }
  }
  for (const std::int64_t id : changed) finish_if_ended(id);
}

void Executors::Impl::probe_jobs(Instant now) {
  next_job_probe = now + settings.probe / 2;
  std::set<std::tuple<std::string, std::int64_t, std::string>> all;
  for (const auto& [id, run] : runs) {
    for (const Shard& shard : run.shards) {
      if (is_at_executor(shard) && now - shard.since >= settings.probe / 2) all.emplace(run.group, run.job, shard.address);
    }
  }
  // They take turns, if there are many.
  auto next = all.upper_bound(last_probe);
  for (std::size_t asked = 0; asked < std::min(kProbes, all.size()); ++asked, ++next) {
    if (next == all.end()) next = all.begin();
    last_probe = *next;
    const auto& [group, job, address] = last_probe;
    post(groups.find(group)->second, address, "/idleBeat", job_body(job),
         [this, group = group, job = job, address = address](const Result<http::ClientAnswer>& answer) {
           job_probed(group, job, address, answer);
         });
  }
}

void Executors::Impl::job_probed(const std::string& group, std::int64_t job, const std::string& address,
                                 const Result<http::ClientAnswer>& answer) {
  if (!answer) {
    if (answer.error().code() != StatusCode::Cancelled) failed(group, address, answer.error());
    return;
  }
  const auto said = parse_call_answer(answer->status, answer->body);
  if (!said) return;
  const Instant now = runtime.scheduler().now();
  if (Node* const known = node(group, address)) known->heard = now;
  const auto at = at_addresses.find({job, address});
  if (at == at_addresses.end()) return;
  const std::set<AtAddress::Part> parts = at->second.taken;
  for (const auto& [id, index] : parts) {
    OpenRun& run = runs.at(id);
    Shard& shard = run.shards[index];
    if (!is_at_executor(shard) || run.group != group) continue;
    if (said->code != kCodeDone) {
      shard.idle.reset();
      if (shard.stage != Shard::Stage::Silent || parts.size() != 1) continue;
      // What it does for the job can only be this run.
      ++stats.dispatched;
      if (Node* const known = node(group, address)) ++known->accepted;
      accepted(run, index);
    } else if (!shard.idle && now - shard.since >= settings.probe / 2) {
      shard.idle = now;
    }
  }
}

void Executors::Impl::probe_nodes(Instant now) {
  next_node_probe = now + std::min(kNodeProbe, settings.beat / 3);
  for (const auto& [name, group] : groups) {
    std::size_t probes = 0;
    for (const auto& [address, node] : group.nodes) {
      if (node.has_left || (node.trouble.empty() && !node.is_manual) || ++probes > kProbes) continue;
      post(group, address, "/beat", beat_body(), [this, name = name, address = address](const Result<http::ClientAnswer>& answer) {
        if (!answer && answer.error().code() != StatusCode::Cancelled) return failed(name, address, answer.error());
        const auto said = answer ? parse_call_answer(answer->status, answer->body) : failure(StatusCode::Cancelled, "");
        if (said && said->code == kCodeDone) is_well(name, address);
      });
    }
  }
}

void Executors::Impl::forget_nodes(Instant now) {
  for (auto& [name, group] : groups) {
    const auto gone = std::erase_if(group.nodes, [&](const auto& one) {
      return !one.second.is_manual && !one.second.is_drained && now - one.second.heard >= settings.away;
    });
    if (gone > 0) remember(name);
  }
}

}  // namespace rondo::jobs::executors
