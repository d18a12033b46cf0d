// SchedulersLife: a random life of three schedulers on one database server. Each is a program in a world of its own, with its own clocks,
// faults and crashes; the first one's world drives the others, some milliseconds at a time. Connections are cut, commits are stored without
// an answer, and schedulers stop, also inside a transaction.
//
// It checks:
// - A handler is called only by the scheduler that owned the jobs at that time, for a run that is stored and has not ended, with the number
//   of its next attempt, and never twice in one process.
// - No scheduler writes to jobs or runs that another scheduler has taken.
// - At rest, with all jobs stopped: each instant has a run or is counted as missed, each run of a root has those of the jobs below it, each
//   run has ended, and one that succeeded had a handler that did; each accepted trigger has a run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "life.h"
#include "rondo/jobs/jobs.h"
#include "sim_database.h"

namespace rondo::swarm {

class SchedulersLife final : public Life {
 public:
  explicit SchedulersLife(std::uint64_t seed, SimDatabase::Broken broken = SimDatabase::Broken::No);
  ~SchedulersLife() override;
  sim::World& world() override { return *schedulers_.front().world; }
  void act() override;
  void calm_down() override;

  std::size_t takeovers() const noexcept { return database_->takeovers(); }
  /// Attempts that were begun by more than one process.
  std::uint64_t calls_again() const noexcept { return calls_again_; }
  /// How often a scheduler that owned the jobs found that another scheduler has taken them.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  class Witness;
  struct Process;
  struct Scheduler {
    std::unique_ptr<sim::World> world;
    std::weak_ptr<Process> process = {};
    SimDatabase::Line line = {};
    sim::FaultPlan faults = {};
    Instant stopped_until{};
    Duration wall_off{0};  // Its wall clock less that of the server.
  };

  void make_scheduler(std::size_t number);
  sim::FaultPlan drawn_faults(std::size_t number);
  void define_jobs();
  /// Starts all jobs, or stops them.
  void set_running(bool is_running);
  /// Lets the other worlds follow the first one.
  void follow();
  void stop(std::size_t number, Duration time);
  /// A process that has lost the jobs to another scheduler ends, and is started again.
  void end_if_lost(std::size_t number);
  Status called(Process& process, std::int64_t run, std::uint32_t attempt);
  Status check_at_rest();
  Status check_instants(const std::string& job);
  void fail(std::string what);

  Random random_;
  std::array<Scheduler, 3> schedulers_;
  std::unique_ptr<SimDatabase> database_;
  SimDatabase::Line operators_line_;
  std::shared_ptr<jobs::JobStore> operators_store_;
  jobs::JobsOptions options_;
  Duration lease_{};
  std::vector<WallTime> starts_;      // When the jobs were started, by the server's clock.
  std::set<std::int64_t> succeeded_;  // Runs whose handler returned ok.
  std::set<std::int64_t> triggered_;  // Runs that were accepted.
  std::set<std::pair<std::int64_t, std::uint32_t>> called_;
  std::uint64_t calls_again_ = 0;
  std::uint64_t lost_ = 0;
  bool is_calm_ = false;
  Status failure_;
};

}  // namespace rondo::swarm
