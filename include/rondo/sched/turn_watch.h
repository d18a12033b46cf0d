// TurnWatch: receives every turn and every wake of a scheduler, in order. The journal is made from it. In a replay it also decides what the
// clock decided in the recorded run. At most one a scheduler; scheduler's thread. None of its functions may add or remove a source, except
// source_added().
#pragma once

#include <cstdint>

#include "rondo/base/time.h"

namespace rondo {

class Source;
struct Turn;
struct PolicySettings;

class TurnWatch {
 public:
  virtual ~TurnWatch() = default;
  /// 'source' is about to be added. Returns the number that names it in the other functions. May add other sources before it.
  virtual std::uint32_t source_added(Source& source) = 0;
  virtual void source_removed(std::uint32_t source) = 0;
  /// The policy is 'settings' from now on. Also called inside a turn.
  virtual void policy_changed(const PolicySettings& settings) = 0;
  /// The scheduler read the clock between turns: sources that are woken before the next turn have the wake time 'now'.
  virtual void looked(Instant now) = 0;
  /// An idle source became ready.
  virtual void woken(std::uint32_t source) = 0;
  /// Timers are due. They fire if this returns true; a journal always returns true.
  virtual bool timers_due() = 0;
  virtual void turn_begins(std::uint32_t source, Instant now) = 0;
  /// A source checks in its turn whether its time is over. 'by_clock' is the result by the clock; the return value is what the source
  /// receives.
  virtual bool time_is_up(bool by_clock) = 0;
  /// A source checks in its turn whether another source must be next. 'by_state' is the scheduler's result; the return value is what the
  /// source receives.
  virtual bool should_yield(bool by_state) = 0;
  /// Called after the scheduler has adjusted the source's result: a source woken in its turn has More, a removed or failed one Empty.
  virtual void turn_ends(const Turn& turn, Instant now) = 0;
};

}  // namespace rondo
