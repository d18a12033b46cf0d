// TurnObserver: receives every turn and every wake of a scheduler, in order. The journal is made from it. At most one a scheduler;
// scheduler's thread. None of its functions may add or remove a source.
#pragma once

#include <cstdint>

#include "rondo/base/time.h"

namespace rondo {

class Source;
struct Turn;
struct PolicySettings;

class TurnObserver {
 public:
  virtual ~TurnObserver() = default;
  /// 'source' is about to be added. Returns the number that names it in the other functions.
  virtual std::uint32_t source_added(Source& source) = 0;
  virtual void source_removed(std::uint32_t source) = 0;
  /// The policy is 'settings' from now on. Also called inside a turn.
  virtual void policy_changed(const PolicySettings& settings) = 0;
  /// The scheduler read the clock between turns: sources that are woken before the next turn have the wake time 'now'.
  virtual void clock_read(Instant now) = 0;
  /// An idle source became ready.
  virtual void woken(std::uint32_t source) = 0;
  /// Timers are due, and fire after this call.
  virtual void timers_fire() = 0;
  virtual void turn_begins(std::uint32_t source, Instant now) = 0;
  /// A source checked in its turn whether its time is over, and received 'is_up'.
  virtual void time_checked(bool is_up) = 0;
  /// A source checked in its turn whether another source must be next, and received 'yields'.
  virtual void yield_checked(bool yields) = 0;
  /// Called after the scheduler has adjusted the source's result: a source woken in its turn has More, a removed or failed one Empty.
  virtual void turn_ends(const Turn& turn, Instant now) = 0;
};

}  // namespace rondo
