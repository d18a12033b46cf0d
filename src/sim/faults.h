// Faults: applies a FaultPlan to a world: plans the next fault of each kind and causes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/dataplane/simulated.h"
#include "rondo/sim/fault_plan.h"

namespace rondo::sim {

class ExecutorFaults;
class SimDisk;
class SimStore;
class World;

class Faults {
 public:
  /// The operations of the world that Faults uses.
  class Victim {
   public:
    virtual ~Victim() = default;
    virtual SimStore* remote_store() = 0;  // Null if there is none.
    virtual SimDataPlane* kernel() = 0;    // Null if there is none.
    virtual SimDisk* disk() = 0;           // The disk of a store in the process; null if there is none.
    virtual ExecutorFaults& executors() = 0;
    virtual void crash_soon() = 0;
    virtual void happened(std::string_view what) = 0;
  };
  /// 'room': the kernel's capacities without faults.
  Faults(World& world, Victim& victim, Random random, const SimDataPlaneOptions& room)
      : world_(world), victim_(victim), random_(random), room_(room) {}

  /// Follows 'plan' from now on; faults of the earlier plan end.
  void follow(const FaultPlan& plan);
  const FaultPlan& plan() const noexcept { return plan_; }
  /// Call it after a new process, or a new store of the process, was made.
  void apply_to_store();
  /// Returns a duration, uniformly distributed from zero to 'high'.
  Duration drawn(Duration high) noexcept;

 private:
  void again(Duration every, void (Faults::*what)());
  void end_all();
  void store_lost();
  void disk_fails();
  void disk_stalls();
  void orders_fail();
  void room_ends();
  void carrier_lost();
  void carrier_back(const std::string& port);
  std::size_t room_for(OrderKind kind) const noexcept;
  void crash();
  void suspend();
  void wall_set();
  void later(Duration delay, std::function<void()> what);

  World& world_;
  Victim& victim_;
  Random random_;
  const SimDataPlaneOptions& room_;
  FaultPlan plan_;
  std::uint64_t number_ = 0;  // The number of the plan: faults planned under an earlier one do not happen.
  std::vector<std::string> dark_ports_;
};

}  // namespace rondo::sim
