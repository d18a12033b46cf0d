// Clock: the only source of Instant and WallTime. Replaceable: production reads the system's clocks; in simulation the test sets the time
// (sched/sim_clock.h).
#pragma once

#include "rondo/base/time.h"

namespace rondo {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back. Any thread. About 20 ns on Linux.
  virtual Instant now() const noexcept = 0;
  /// May jump. Any thread.
  virtual WallTime wall_now() const noexcept = 0;
  /// CPU time of the calling thread since a fixed moment. About 200 ns on Linux. The base class returns elapsed time instead.
  virtual Duration thread_cpu_time() const noexcept;
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME. Any thread.
class SystemClock final : public Clock {
 public:
  Instant now() const noexcept override;
  WallTime wall_now() const noexcept override;
  Duration thread_cpu_time() const noexcept override;
};

}  // namespace rondo
