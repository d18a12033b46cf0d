// executors_impl.h: what a run does while another run of its job is at the same executor. Not every executor follows the strategy that an
// order names, so an order waits here until its executor may begin it.
#include <algorithm>

#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

namespace {

std::size_t most_of(const Job& job) { return job.overlap == Overlap::Concurrent ? job.concurrency : 1; }

}  // namespace

std::vector<std::int64_t> Executors::Impl::others(const OpenRun& run, const std::string& address, bool only_sent) const {
  std::vector<std::int64_t> found;
  const auto of_job = by_job.find(run.job);
  if (of_job == by_job.end()) return found;
  for (const std::int64_t id : of_job->second) {
    const bool is_there = std::ranges::any_of(runs.at(id).shards, [&](const Shard& shard) {
      const bool counts = shard.stage != Shard::Stage::Ended && !(only_sent && shard.stage == Shard::Stage::Waits);
      return counts && shard.address == address;
    });
    if (is_there && id != run.open.run()) found.push_back(id);
  }
  return found;
}

bool Executors::Impl::apply_overlap(OpenRun& run) {
  const Job& job = run.open.job();
  const std::int64_t id = run.open.run();
  if (job.overlap_scope != OverlapScope::Executor) return true;
  for (Shard& shard : run.shards) {
    const std::vector<std::int64_t> there = others(run, shard.address, false);
    if (there.empty() || shard.stage == Shard::Stage::Ended) continue;
    if (job.overlap == Overlap::Discard) {
      shard.stage = Shard::Stage::Ended;
      shard.is_discarded = true;
      shard.note = "another run was at the executor: " + std::to_string(there.front());
    } else if (job.overlap == Overlap::Cover && there.back() > id) {
      remote.stop(id, RunState::Killed, "covered by the run " + std::to_string(there.back()));
      return false;
    } else if (job.overlap == Overlap::Cover) {
      for (const std::int64_t older : there) remote.stop(older, RunState::Killed, "covered by the run " + std::to_string(id));
    }
  }
  if (!std::ranges::all_of(run.shards, &Shard::is_discarded)) return true;
  remote.stop(id, RunState::Discarded, run.shards.front().note);
  return false;
}

void Executors::Impl::send_what_may(OpenRun& run) {
  for (std::size_t i = 0; i < run.shards.size(); ++i) {
    const Shard& shard = run.shards[i];
    if (shard.stage != Shard::Stage::Waits) continue;
    const std::vector<std::int64_t> there = others(run, shard.address, true);
    if (run.open.job().overlap_scope == OverlapScope::Executor && there.size() >= most_of(run.open.job())) {
      run.open.begins_later("waits until the run " + std::to_string(there.front()) + " has ended at " + shard.address);
    } else {
      enter_lane(run, i);
    }
  }
  serve_lanes();
}

void Executors::Impl::send_next(std::int64_t job, const std::string& address) {
  const auto of_job = by_job.find(job);
  if (of_job == by_job.end()) return;
  const std::set<std::int64_t> ids = of_job->second;
  for (const std::int64_t id : ids) {  // A lower number has an earlier instant.
    const auto found = runs.find(id);
    if (found == runs.end() || !found->second.is_recorded || found->second.stop_by) continue;
    const auto waits_there = [&](const Shard& shard) { return shard.stage == Shard::Stage::Waits && shard.address == address; };
    if (std::ranges::any_of(found->second.shards, waits_there)) send_what_may(found->second);
  }
}

}  // namespace rondo::jobs::executors
