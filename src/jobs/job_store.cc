#include "jobs/job_store.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

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
  std::vector<JobRun> successes;
  for (const std::string& name : names) {
    auto run = last_ended(name);
    if (!run) return failure(std::move(run.error()));
    if (!*run) continue;
    if ((**run).state != RunState::Succeeded) {
      auto success = last_succeeded(name);
      if (!success) return failure(std::move(success.error()));
      if (*success) successes.push_back(std::move(**success));
    }
    runs.push_back(std::move(**run));
  }
  std::ranges::move(successes, std::back_inserter(runs));
  return runs;
}

}  // namespace rondo::jobs
