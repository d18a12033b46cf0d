// ExecutorFaults: the targets of the executors of a world: slow, without room, failing, and cut off by a crash, as the FaultPlan says. It
// has chance of its own: a world whose program has no executor is what it was without.
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
  /// 'happened' hears of faults, 'mix' of numbers that two equal runs have in common.
  ExecutorFaults(World& world, std::function<void(std::string_view)> happened, std::function<void(std::uint64_t)> mix);

  /// From now on this plan; the room is back.
  void follow(const FaultPlan& plan);
  /// Executors that end meanwhile are cut off.
  void set_crashing(bool crashing) noexcept { is_crashing_ = crashing; }
  /// What is under way, for people; empty when nothing is.
  std::string moving() const;

  void joined(Source& source) override;
  void left(Source& source) override;
  Times begin(Source& source, std::size_t operations) override;
  Failure next_failure() override;
  bool has_room() const override { return has_room_; }
  std::size_t applied_at_end(std::size_t operations) override;

 private:
  struct Seat {
    Source* source;
    std::uint64_t number;  // Another source may come to the same address.
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
  std::uint64_t plan_number_ = 0;  // What was planned for another plan does not happen.
  std::uint64_t joined_ = 0;
  std::vector<Seat> seats_;
  bool has_room_ = true;
  bool is_crashing_ = false;
};

}  // namespace rondo::sim
