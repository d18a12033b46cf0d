// FailingJobs: the jobs whose last runs have all failed, or were all stopped by the next one (Overlap::Cover), for `rondo health`. It
// counts the runs that end in this process, and those of earlier ones that the owner has read from the store. O(log(jobs)) a run. Scheduler
// thread only.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/text.h"
#include "rondo/jobs/job_run.h"
#include "rondod/limits.h"

namespace rondo::daemon {

class FailingJobs {
 public:
  /// `health` names a job from this number of such runs in a row on.
  static constexpr std::size_t kReportedFrom = 3;

  void ended(const jobs::JobRun& run) {
    if (run.state == jobs::RunState::Succeeded) forget(run.job);
    if (!has_failed(run) && !is_covered(run)) return;
    Failing* const failing = at(run.job);
    if (failing == nullptr) return;
    if (is_covered(run)) ++failing->covered;
    if (has_failed(run)) *failing = {failing->runs + 1, 0, run.note};
  }
  /// The newest runs of a job, as they are stored, the newest first. Runs that ended here may be among them.
  void stored(const std::string& job, const std::vector<jobs::JobRun>& runs) {
    Failing found;
    for (const jobs::JobRun& run : runs) {
      if (run.state == jobs::RunState::Succeeded) break;
      if (is_covered(run) && found.runs == 0) ++found.covered;
      if (!has_failed(run)) continue;
      if (found.runs++ == 0) found.why = run.note;
    }
    if (found.runs + found.covered == 0) return;
    Failing* const failing = at(job);
    if (failing != nullptr && failing->runs + failing->covered < found.runs + found.covered) *failing = std::move(found);
  }
  void forget(const std::string& job) { jobs_.erase(job); }
  /// The next of these jobs in turn; empty if there is none.
  std::string next() {
    auto at = jobs_.upper_bound(checked_);
    if (at == jobs_.end()) at = jobs_.begin();
    checked_ = at == jobs_.end() ? std::string{} : at->first;
    return checked_;
  }
  /// "2 jobs have failed 3 times in a row or more (the most: backup, 7 runs, the last one: ...)", and the same about the others; empty if
  /// there are none. O(jobs).
  std::vector<std::string> words() const {
    const std::string times = " " + std::to_string(kReportedFrom) + " times in a row or more";
    std::vector<std::string> all;
    for (const auto& [count, what] :
         {std::pair{&Failing::runs, " failed" + times}, {&Failing::covered, " had a run stopped by the next one" + times}}) {
      std::size_t jobs = 0;
      auto most = jobs_.end();
      for (auto at = jobs_.begin(); at != jobs_.end(); ++at) {
        if (at->second.*count < kReportedFrom) continue;
        ++jobs;
        if (most == jobs_.end() || at->second.*count > most->second.*count) most = at;
      }
      if (jobs == 0) continue;
      const std::string name = visible_text(most->first);
      const std::string last = count == &Failing::runs ? ", the last one: " + visible_text(most->second.why) : std::string{};
      all.push_back(std::to_string(jobs) + (jobs == 1 ? " job has" : " jobs have") + what + " (the most: " + name + ", " +
                    std::to_string(most->second.*count) + " runs" + last + "): 'rondo job runs " + name + "' lists its runs");
    }
    return all;
  }

 private:
  struct Failing {
    std::size_t runs = 0;     // That have failed.
    std::size_t covered = 0;  // Stopped by the next one, since the last that has failed.
    std::string why = {};     // Why the newest failed run failed.
  };
  static bool has_failed(const jobs::JobRun& run) { return run.state == jobs::RunState::Failed || run.state == jobs::RunState::TimedOut; }
  /// Null if there are too many.
  Failing* at(const std::string& job) {
    const auto known = jobs_.find(job);
    if (known != jobs_.end()) return &known->second;
    return jobs_.size() >= limits::kFailingJobs ? nullptr : &jobs_[job];
  }
  std::map<std::string, Failing> jobs_;  // Jobs whose last run failed or was stopped by the next one.
  std::string checked_;
};

}  // namespace rondo::daemon
