// TurnOverrides: makes the decisions that a scheduler otherwise makes by its clock and its state. A replay returns those of the recorded
// run. At most one a scheduler; scheduler's thread. Each function is called before the TurnObserver receives the result.
#pragma once

namespace rondo {

class Source;

class TurnOverrides {
 public:
  virtual ~TurnOverrides() = default;
  /// 'source' is about to be added. May add other sources before it.
  virtual void before_source(Source& source) = 0;
  /// By the clock, timers are due. They fire if this returns true.
  virtual bool timers_due() = 0;
  /// A source checks in its turn whether its time is over. Returns what the source receives.
  virtual bool time_is_up() = 0;
  /// A source checks in its turn whether another source must be next. Returns what the source receives.
  virtual bool should_yield() = 0;
};

}  // namespace rondo
