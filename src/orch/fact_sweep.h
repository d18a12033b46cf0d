// FactSweep: finds announcements and withdrawals that Orchs omitted. While rows wait for facts or depend on them, it checks every fact
// three times a second. It announces a fact that holds and that rows wait for. It withdraws a fact that does not hold and that rows depend
// on. Each find is a fault of the Orch that provides the fact; the sweep counts and reports it. Facts of other threads are queried again.
// Scheduler's thread.
//
// An Orch whose fact follows another fact (Orch::observe), or the answer of a device, announces some turns after the fact has changed. So
// a find needs limits::kFactSweepPasses passes in succession. Three, because a suspended machine can run two of them in the same moment.
//
// Cost: limits::kFactSweepFacts facts a turn, one call of 'holds' each; nothing while no row waits for or depends on a fact.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "orch/fact_index.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo {

class FactSweep {
 public:
  /// Called for each find, before the rows are queued. 'holds' is true if the fact holds and was not announced; false if it ended and was
  /// not withdrawn.
  using OnFind = std::function<void(const Fact& fact, bool holds)>;
  /// Called when 'holds' throws; the sweep then continues with the next fact.
  using OnThrow = std::function<void(const Fact& fact, const std::exception_ptr& thrown)>;
  /// 'scheduler' and 'index' must outlive the sweep.
  FactSweep(Scheduler& scheduler, FactIndex& index, OnFind on_find, OnThrow on_throw);

 private:
  void sweep();
  void check(std::uint32_t slot);

  Scheduler& scheduler_;
  FactIndex& index_;
  OnFind on_find_;
  OnThrow on_throw_;
  std::uint32_t next_ = 0;  // The slot that is checked next.
  Instant began_;           // When the present pass over all slots began.
  TimerSource timer_;
};

}  // namespace rondo
