// JobWitness: the checker of JobLife. It sees each transaction of the store, and each call of a handler:
// - A plan that moves a job's next time has a run for each scheduled instant in between, or counts it as missed, once.
// - A handler is called only for a run that is stored and has not ended, with the number of its next attempt, and not before its time.
// - A run ends once, for a reason that its job and the actions of the life allow.
// - A withdrawn run was not called, and no user asked for it.
// - At rest, when all jobs are stopped, each run has ended, and one that succeeded had its handler called.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "jobs/job_store.h"
#include "rondo/calendar/zone.h"
#include "rondo/jobs/jobs.h"
#include "rondo/sim/world.h"

namespace rondo::swarm {

class JobWitness final : public sim::Checker {
 public:
  JobWitness(jobs::JobStore& store, const Clock& clock);
  ~JobWitness() override;
  std::string_view name() const noexcept override { return "jobs"; }
  Status see(const sim::World& world, const sim::Event& event) override;
  Status after_turn(const sim::World& world) override;
  Status at_rest(const sim::World& world) override;

  /// A store of one process: it passes each call on, and reports it to this.
  std::shared_ptr<jobs::JobStore> store_of_process();
  void called(const jobs::JobContext& context, bool succeeds);
  void killed(std::int64_t run) { killed_.insert(run); }
  /// A run that has not ended; 0 if there is none. 'which' chooses one.
  std::int64_t unfinished_run(std::uint64_t which) const;

  std::uint64_t planned() const noexcept { return planned_; }
  std::uint64_t withdrawn() const noexcept { return withdrawn_; }
  std::uint64_t missed() const noexcept { return missed_; }
  std::uint64_t calls() const noexcept { return calls_; }
  std::uint64_t calls_again() const noexcept { return calls_again_; }
  const std::map<jobs::RunState, std::uint64_t>& ends() const noexcept { return ends_; }

 private:
  class ReportingStore;
  struct SeenRun {
    jobs::JobRun run;
    bool succeeded = false;                 // A handler returned ok.
    std::set<std::uint32_t> attempts = {};  // Those for which a handler was called.
  };
  /// What a job allowed at some time: an end may follow from an earlier edit.
  struct Allowed {
    std::set<jobs::Overlap> overlaps = {};
    std::uint32_t retries_least = UINT32_MAX;
    bool has_timeout = false;
    bool lacks_handler = false;
  };

  void fail(std::string what);
  void allow(const jobs::StoredJob& stored);
  void removed(std::int64_t job);
  void read(std::span<const jobs::StoredJob> jobs);
  void planned(const jobs::Plan& plan);
  void check_instants(const jobs::StoredJob& before, const jobs::Plan& plan);
  void add(const jobs::JobRun& run);
  void end(const jobs::RunEnd& end);
  void withdrawn(const SeenRun& seen);
  /// Empty if the run may end so; otherwise why not.
  std::string reason_against(const SeenRun& seen, const jobs::RunEnd& end) const;
  /// True if the run of a parent has ended without success, or has gone.
  bool may_lose_attempts(const SeenRun& seen, const jobs::RunEnd& end) const;
  bool has_lost_parent(const jobs::JobRun& run) const;

  jobs::JobStore& store_;
  const Clock& clock_;
  calendar::ZoneDirectory zones_;
  std::map<std::int64_t, SeenRun> runs_;
  std::set<std::int64_t> open_;                              // Those without an end.
  std::set<std::int64_t> killed_;                            // By the life.
  std::set<std::pair<std::int64_t, std::uint32_t>> called_;  // The attempts of this process.
  std::map<std::int64_t, Allowed> allowed_;                  // By job.
  std::set<std::int64_t> stopped_;                           // Jobs that were stopped at some time.
  std::map<std::int64_t, jobs::StoredJob> read_;             // Jobs of the last reading.
  std::map<jobs::RunState, std::uint64_t> ends_;
  Status failure_;
  bool wall_is_steady_ = true;
  std::uint64_t planned_ = 0;
  std::uint64_t withdrawn_ = 0;
  std::uint64_t missed_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t calls_again_ = 0;
};

}  // namespace rondo::swarm
