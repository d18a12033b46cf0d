// FactSweep: finds what Orchs forgot to say. While rows wait for facts or depend on them it looks at every fact three times a second: a
// fact that rows wait for and that holds is announced, one that rows depend on and that does not hold is withdrawn. Each find is a fault of
// the Orch that provides the fact; it is counted and told. Facts of other threads are asked for again. Scheduler's thread.
//
// An Orch whose fact follows another one (Orch::observe), or the answer of a device, says so some turns after the fact has changed. So a
// find is what limits::kFactSweepLooks passes in a row have seen. Three: a suspended machine can put two of them into one moment.
//
// Cost: limits::kFactSweepFacts facts a turn, one call of 'holds' each; nothing while there are none.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "orch/constraint_index.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo {

class FactSweep {
 public:
  /// Called for each find, before the rows are queued. 'holds': the fact holds and was not announced; else it ended and was not withdrawn.
  using OnFind = std::function<void(const Constraint& fact, bool holds)>;
  /// Called when 'holds' throws: the sweep goes on with the next fact.
  using OnThrow = std::function<void(const Constraint& fact, const std::exception_ptr& thrown)>;
  /// Both must outlive it.
  FactSweep(Scheduler& scheduler, ConstraintIndex& index, OnFind on_find, OnThrow on_throw);

 private:
  void sweep();
  void look_at(std::uint32_t slot);

  Scheduler& scheduler_;
  ConstraintIndex& index_;
  OnFind on_find_;
  OnThrow on_throw_;
  std::uint32_t next_ = 0;  // The slot that is looked at next.
  Instant began_;           // The pass over all slots.
  TimerSource timer_;
};

}  // namespace rondo
