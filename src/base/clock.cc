#include "rondo/base/clock.h"

#include <ctime>

namespace rondo {

namespace {
std::int64_t read_clock(clockid_t id) noexcept {
  timespec ts{};
  ::clock_gettime(id, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}
}  // namespace

Duration Clock::thread_cpu_time() const noexcept { return now() - Instant{}; }

Instant SystemClock::now() const noexcept { return Instant::from_nanoseconds(read_clock(CLOCK_MONOTONIC)); }
WallTime SystemClock::wall_now() const noexcept { return WallTime::from_nanoseconds(read_clock(CLOCK_REALTIME)); }
Duration SystemClock::thread_cpu_time() const noexcept { return Duration{read_clock(CLOCK_THREAD_CPUTIME_ID)}; }

}  // namespace rondo
