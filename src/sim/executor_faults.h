// ExecutorFaults: the faults of a world's executor targets, according to the FaultPlan: slow, without room, failing, and cut off by a
// crash. It has its own random generator, so a world without executors has the same events as before this class existed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/random.h"
#include "rondo/sim/fault_plan.h"
#include "sched/executor_host.h"

namespace rondo::sim {

class World;

class ExecutorFaults final : public ExecutorTrouble {
 public:
  /// 'happened' receives descriptions of faults; 'mix' receives numbers that are equal in equal runs.
  ExecutorFaults(World& world, std::function<void(std::string_view)> happened, std::function<void(std::uint64_t)> mix);

  /// Follows 'plan' from now on; the target has room again.
  void follow(const FaultPlan& plan);
  /// While 'crashing' is true, executors that end are cut off.
  void set_crashing(bool crashing) noexcept { is_crashing_ = crashing; }
  /// A description of the work under way; empty if there is none.
  std::string moving() const;

  void joined(Source& source) override;
  void left(Source& source) override;
  Times begin(Source& source, std::size_t operations) override;
  Failure next_failure() override;
  bool has_room() const override { return has_room_; }
  std::size_t applied_at_end(std::size_t operations) override;

 private:
  struct Slot {
    Source* source;
    std::uint64_t number;  // Distinguishes sources that reuse an address.
  };
  Duration drawn(Duration high) noexcept;
  void wake_at(const Source& source, Instant when);
  void later(Duration delay, void (ExecutorFaults::*what)());
  void room_ends_again();
  void end_room();
  void give_room();
  void set_room(bool has_room);

  World& world_;
  std::function<void(std::string_view)> happened_;
  std::function<void(std::uint64_t)> mix_;
  Random random_;
  FaultPlan plan_;
  std::uint64_t plan_number_ = 0;  // Identifies the plan: faults planned under an earlier plan do not happen.
  std::uint64_t joined_ = 0;
  std::vector<Slot> slots_;
  bool has_room_ = true;
  bool is_crashing_ = false;
};

}  // namespace rondo::sim
