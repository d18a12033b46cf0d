// parts.h: the end of a program without runs that begin twice.
#include <string>
#include <utility>

#include "jobs/parts.h"
#include "rondo/base/assert.h"

namespace rondo::jobs {

namespace {
constexpr Duration kDrainPeriod = 5ms;
}  // namespace

void Jobs::Parts::drain(Duration patience, std::function<void(const Status&)> done) {
  RONDO_EXPECT(!std::exchange(is_draining, true), "Jobs::drain() was called twice");
  const Instant now = runtime.scheduler().now();
  drained_at = now + patience;
  drained = std::move(done);
  drain_timer.arm_every(kDrainPeriod, now);
}

void Jobs::Parts::watch_drain() {
  const bool is_over = stats.running == 0 && ends.empty() && storing.empty();
  if (!is_over && runtime.scheduler().now() < drained_at) return;
  drain_timer.disarm();
  const std::string open = std::to_string(stats.running) + " attempts are under way, and " + std::to_string(ends.size() + storing.size()) +
                           " ends are not stored";
  const Status result = is_over ? Status{} : Status{StatusCode::DeadlineExceeded, open};
  CallsWithin marks(*this, "drained");
  if (calls.is_replayed()) return marks.repeat();
  const auto done = std::exchange(drained, {});
  if (!done) return;
  const Status thrown = call_out([&] { done(result); }, "the 'done' of Jobs::drain()");
  if (!thrown.ok()) runtime.report_reject("jobs", Change::event("drained", "jobs", {}), thrown);
}

}  // namespace rondo::jobs
