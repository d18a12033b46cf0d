// FailingJobs: the jobs whose last runs have all failed, for `rondo health`. It counts the runs that end in this process: what an earlier
// one ran is not counted. O(log(jobs)) a run. Scheduler thread only.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "rondo/base/text.h"
#include "rondo/jobs/job_run.h"
#include "rondod/limits.h"

namespace rondo::daemon {

class FailingJobs {
 public:
  /// `health` names a job from this number of failed runs in a row on.
  static constexpr std::size_t kReportedFrom = 3;

  void ended(const jobs::JobRun& run) {
    if (run.state == jobs::RunState::Succeeded) forget(run.job);
    if (run.state != jobs::RunState::Failed && run.state != jobs::RunState::TimedOut) return;
    auto known = jobs_.find(run.job);
    if (known == jobs_.end()) {
      if (jobs_.size() >= limits::kFailingJobs) return;
      known = jobs_.try_emplace(run.job).first;
    }
    ++known->second.runs;
    known->second.why = run.note;
  }
  void forget(const std::string& job) { jobs_.erase(job); }
  /// The next job in turn whose last run has failed; empty if there is none.
  std::string next() {
    auto at = jobs_.upper_bound(checked_);
    if (at == jobs_.end()) at = jobs_.begin();
    checked_ = at == jobs_.end() ? std::string{} : at->first;
    return checked_;
  }
  /// "2 jobs have failed 3 times in a row or more (the most: backup, 7 runs, the last: ...)"; empty if there is none. O(jobs).
  std::string words() const {
    std::size_t jobs = 0;
    auto most = jobs_.end();
    for (auto at = jobs_.begin(); at != jobs_.end(); ++at) {
      if (at->second.runs < kReportedFrom) continue;
      ++jobs;
      if (most == jobs_.end() || at->second.runs > most->second.runs) most = at;
    }
    if (jobs == 0) return {};
    const std::string name = visible_text(most->first);
    return std::to_string(jobs) + (jobs == 1 ? " job has" : " jobs have") + " failed " + std::to_string(kReportedFrom) +
           " times in a row or more since the start (the most: " + name + ", " + std::to_string(most->second.runs) +
           " runs, the last one: " + visible_text(most->second.why) + "): 'rondo job runs " + name + "' lists its runs";
  }

 private:
  struct Failing {
    std::size_t runs = 0;
    std::string why;  // Of the newest run.
  };
  std::map<std::string, Failing> jobs_;  // Those whose last run has failed.
  std::string checked_;
};

}  // namespace rondo::daemon
