// SimClock: a clock that only the simulation moves, so that a run can be repeated exactly.
#pragma once

#include "rondo/base/assert.h"
#include "rondo/base/clock.h"

namespace rondo {

/// Both clocks start at fixed readings. One thread.
class SimClock final : public Clock {
 public:
  Instant now() const noexcept override { return now_; }
  WallTime wall_now() const noexcept override;

  /// Moves both clocks forward. 'by' must not be negative.
  void advance(Duration by) noexcept {
    RONDO_EXPECT(by >= Duration{0}, "a SimClock is set back");
    now_ = now_ + by;
    wall_ = wall_ + by;
  }
  /// Moves both clocks forward to 'when'; no effect if that is past.
  void advance_to(Instant when) noexcept {
    if (when > now_) advance(when - now_);
  }
  /// Sets the wall clock; the monotonic clock does not change.
  void set_wall(WallTime wall) noexcept { wall_ = wall; }

 private:
  Instant now_ = Instant::from_nanoseconds(1'000'000'000'000);
  WallTime wall_ = WallTime::from_nanoseconds(1'750'000'000'000'000'000);  // 2025-06-15 15:06:40 UTC.
};

}  // namespace rondo
