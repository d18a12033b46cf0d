#include "jobs/job_store.h"

#include <unistd.h>

#include <array>

#include "rondo/base/text.h"

namespace rondo::jobs {

std::string name_of_this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"an unknown host"};
  return "process " + std::to_string(::getpid()) + " on " + visible_text(host.data());
}

Result<std::vector<SchedulerClaim>> JobStore::schedulers() {
  return std::vector{SchedulerClaim{.name = name_of_this_process(), .shards = kShards, .is_here = true}};
}

Result<std::vector<JobRun>> JobStore::newest_ends(const std::vector<std::string>& names) {
  std::vector<JobRun> runs;
  for (const std::string& name : names) {
    auto run = last_ended(name);
    if (!run) return failure(std::move(run.error()));
    if (*run) runs.push_back(std::move(**run));
  }
  return with_successes(std::move(runs));
}

Result<std::vector<JobRun>> JobStore::with_successes(Result<std::vector<JobRun>> ends) {
  if (!ends) return ends;
  const std::size_t count = ends->size();
  for (std::size_t i = 0; i < count; ++i) {
    if ((*ends)[i].state == RunState::Succeeded) continue;
    auto success = last_succeeded((*ends)[i].job);
    if (!success) return failure(std::move(success.error()));
    if (*success) ends->push_back(std::move(**success));
  }
  return ends;
}

}  // namespace rondo::jobs
