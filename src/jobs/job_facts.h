// JobFacts: the facts for which runs wait before they take their turn, and the facts that runs make true. Scheduler thread only.
#pragma once

#include <map>

#include "jobs/core.h"
#include "jobs/live_runs.h"

namespace rondo::jobs {

class JobFacts {
 public:
  JobFacts(Core& core, LiveRuns& runs, const HooksOf& hooks);

  void offer(FactKind kind) { offered_facts_.push_back(kind); }
  /// InvalidArgument for a kind of fact that is not offered, with those that are.
  Status check(const Job& job) const;
  /// What a run waits for before it takes its turn: the success of its parents' runs, and the facts that its job requires.
  std::vector<Fact> missing(const LiveRun& live) const;
  /// True if a run that has waited for a place must wait for a fact that has ended meanwhile, or for Core::may_begin(). It has left its
  /// place then.
  bool waits_again(LiveRun& live);
  /// kJobSucceeded. Reads the store when it is asked about a job for the first time.
  bool has_succeeded(std::string_view job);
  /// A run has ended. One that did not begin says nothing about its job.
  void note_end(const JobRun& run);
  /// True if the last run of a job succeeded. A job that was removed has none.
  void note_success(const std::string& job, bool succeeded);

 private:
  void read_last_end(const std::string& job);

  Core& core_;
  LiveRuns& runs_;
  std::vector<FactKind> offered_facts_{kJobSucceeded};
  /// True if the last run of a job succeeded, of the jobs that were asked about. Empty: the store is being asked.
  std::map<std::string, std::optional<bool>, std::less<>> last_ends_;
};

}  // namespace rondo::jobs
