// Faults: carries a FaultPlan out in a world: plans when the next fault of each kind happens, and does it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/sim/fault_plan.h"
#include "rondo/sim/sim_dataplane.h"

namespace rondo::sim {

class ExecutorFaults;
class SimDisk;
class SimStore;
class World;

class Faults {
 public:
  /// What the world lets itself be done.
  class Victim {
   public:
    virtual ~Victim() = default;
    virtual SimStore* remote_store() = 0;  // Null if there is none.
    virtual SimDataPlane* kernel() = 0;    // Likewise.
    virtual SimDisk* disk() = 0;           // Of a store in the process; likewise.
    virtual ExecutorFaults& executors() = 0;
    virtual void crash_soon() = 0;
    virtual void happened(std::string_view what) = 0;
  };
  /// 'room': what the kernel has room for while nothing is wrong.
  Faults(World& world, Victim& victim, Random random, const SimDataPlaneOptions& room)
      : world_(world), victim_(victim), random_(random), room_(room) {}

  /// From now on this plan; whatever another one had begun ends.
  void follow(const FaultPlan& plan);
  const FaultPlan& plan() const noexcept { return plan_; }
  /// A new process, or a new store of it.
  void apply_to_store();
  /// Even, from nothing to 'high'.
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
  std::uint64_t number_ = 0;  // Of the plan: what was planned for another does not happen.
  std::vector<std::string> dark_ports_;
};

}  // namespace rondo::sim
