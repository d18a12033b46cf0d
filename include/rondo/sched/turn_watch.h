// TurnWatch: sees every turn and every wake of a scheduler, in order: what a record of a run is made from. A replay of such a record
// answers through it what the clock answered then. At most one a scheduler; scheduler's thread; none of its functions may add or remove a
// source, except source_added().
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
  /// 'source' is about to be added. Returns the number by which the others name it. May add other sources before it.
  virtual std::uint32_t source_added(Source& source) = 0;
  virtual void source_removed(std::uint32_t source) = 0;
  /// From now on turns are given by 'settings'. In a turn, too.
  virtual void policy_changed(const PolicySettings& settings) = 0;
  /// The scheduler read the clock between turns: what is woken until the next turn is woken at 'now'.
  virtual void looked(Instant now) = 0;
  /// An idle source became ready.
  virtual void woken(std::uint32_t source) = 0;
  /// Timers are due, and fire if this says so (a record: always).
  virtual bool timers_due() = 0;
  virtual void turn_begins(std::uint32_t source, Instant now) = 0;
  /// A source asks in its turn whether its time is up. 'by_clock' is what the clock says; the answer is what the source is told.
  virtual bool time_is_up(bool by_clock) = 0;
  /// A source asks in its turn whether somebody else must be next. 'by_state' is what the scheduler knows; the answer is what it is told.
  virtual bool should_yield(bool by_state) = 0;
  /// After what the scheduler makes of the source's answer: woken in its turn is More, removed or failed is Empty.
  virtual void turn_ends(const Turn& turn, Instant now) = 0;
};

}  // namespace rondo
