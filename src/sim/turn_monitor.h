// TurnMonitor: observes every turn of a world's process for the world's checkers and its trace, and forwards all calls to the observer of
// the test, if there is one. A few nanoseconds a turn: it computes a bound only for a wait that exceeds the source's earlier ones.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/sim/checker.h"
#include "sched/turn_observer.h"
#include "sim/turn_seen.h"

namespace rondo {
class Scheduler;
}

namespace rondo::sim {

class TurnMonitor final : public TurnObserver {
 public:
  explicit TurnMonitor(const Clock& clock) : clock_(clock) {}

  /// A process begins; its sources are not added yet. 'next' receives the same calls; it may be null.
  void follow(Scheduler& scheduler, TurnObserver* next);
  const TurnSeen& last() const noexcept { return last_; }

  std::uint32_t source_added(Source& source) override;
  void source_removed(std::uint32_t source) override;
  void policy_changed(const PolicySettings& settings) override;
  void clock_read(Instant now) override;
  void woken(std::uint32_t source) override;
  void timers_fire() override;
  void turn_begins(std::uint32_t source, Instant now) override;
  void time_checked(bool is_up) override;
  void yield_checked(bool yields) override;
  void turn_ends(const Turn& turn, Instant now) override;

 private:
  struct Slot {
    const Source* source = nullptr;  // Null: the slot is free.
    const Consumer* consumer = nullptr;
    Duration bound{0};              // The last computed bound: bounds only grow while the policy stays.
    std::uint32_t next_number = 0;  // The source's number at the next observer.
  };

  void check_overdue(Instant now);
  Duration waited(const Source& source, Instant now) const noexcept;

  const Clock& clock_;
  Scheduler* scheduler_ = nullptr;
  TurnObserver* next_ = nullptr;
  std::vector<Slot> slots_;  // By number; the first stays free.
  std::vector<std::uint32_t> free_;
  Instant policy_since_;
  std::uint64_t turns_ = 0;
  TurnSeen last_;
  bool was_notified_ = false;  // The source has checked that its time is up, at 'notified_'.
  Instant notified_;
};

}  // namespace rondo::sim
