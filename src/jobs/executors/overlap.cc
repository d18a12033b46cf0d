// executors_impl.h: what a run does while another run of its job is at the same executor. Not every executor follows the strategy that an
// order names, so an order waits here until its executor may begin it.
#include <algorithm>

#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

namespace {

std::size_t most_of(const Job& job) { return job.overlap == Overlap::Concurrent ? job.concurrency : 1; }

}  // namespace

std::set<std::int64_t> Executors::Impl::others(const OpenRun& run, const std::string& address) const {
  std::set<std::int64_t> found;
  const auto at = at_addresses.find({run.job, address});
  if (at == at_addresses.end()) return found;
  for (const auto* const parts : {&at->second.taken, &at->second.waiting}) {
    for (const auto& [id, shard] : *parts) found.insert(id);
  }
  found.erase(run.open.run());
  return found;
}

bool Executors::Impl::apply_overlap(OpenRun& run) {
  const Job& job = run.open.job();
  const std::int64_t id = run.open.run();
  const JobRun* const row = remote.find(id);
  if (job.overlap_scope != OverlapScope::Executor || (row != nullptr && row->band == Band::Backfill)) return true;
  if (job.overlap != Overlap::Discard && job.overlap != Overlap::Cover) return true;
  for (Shard& shard : run.shards) {
    const std::set<std::int64_t> there = others(run, shard.address);
    if (shard.stage == Shard::Stage::Ended || there.empty()) continue;
    if (job.overlap == Overlap::Discard) {
      shard.stage = Shard::Stage::Ended;
      shard.is_discarded = true;
      shard.note = "another run was at the executor: " + std::to_string(*there.begin());
    } else if (*there.rbegin() > id) {
      remote.stop(id, RunState::Killed, "covered by the run " + std::to_string(*there.rbegin()));
      return false;
    } else {
      for (const std::int64_t older : there) remote.stop(older, RunState::Killed, "covered by the run " + std::to_string(id));
    }
  }
  if (!std::ranges::all_of(run.shards, &Shard::is_discarded)) return true;
  remote.stop(id, RunState::Discarded, run.shards.front().note);
  return false;
}

void Executors::Impl::send_next(const std::pair<std::int64_t, std::string>& job_and_address) {
  for (auto at = at_addresses.find(job_and_address); at != at_addresses.end(); at = at_addresses.find(job_and_address)) {
    if (at->second.waiting.empty() || at->second.kills > 0) return;
    const auto [id, index] = *at->second.waiting.begin();  // A lower number has an earlier instant.
    OpenRun& run = runs.at(id);
    const Job& job = run.open.job();
    if (job.overlap_scope == OverlapScope::Executor && at->second.taken.size() >= most_of(job)) return;
    enter_lane(run, index);
  }
}

}  // namespace rondo::jobs::executors
