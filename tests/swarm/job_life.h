// JobLife: a random life of the job scheduler: jobs of every kind of schedule, edited, started, stopped, triggered, killed and removed,
// with all faults of a FaultPlan: crashes, clock jumps, a store that fails. JobWitness checks each transaction and each call of a handler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "job_witness.h"
#include "life.h"
#include "rondo/jobs/jobs.h"

namespace rondo::swarm {

class JobLife final : public Life {
 public:
  explicit JobLife(std::uint64_t seed);
  ~JobLife() override;
  sim::World& world() override { return *world_; }
  void act() override;
  void calm_down() override;

  const JobWitness& witness() const noexcept { return *witness_; }

 private:
  struct Process;
  static sim::WorldOptions drawn_world(Random& random, std::uint64_t seed);
  jobs::Job drawn_job();
  std::string drawn_schedule();
  Status handle(const jobs::JobContext& context);

  Random random_;
  std::filesystem::path folder_;
  std::shared_ptr<jobs::JobStore> store_;
  JobWitness* witness_ = nullptr;  // Owned by the world.
  std::unique_ptr<sim::World> world_;
  std::weak_ptr<Process> process_;
  sim::FaultPlan faults_;
  bool is_calm_ = false;
};

}  // namespace rondo::swarm
