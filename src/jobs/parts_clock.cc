// parts.h: what follows from a wall clock that was set, and from rules of a time zone that have changed.
#include <algorithm>
#include <chrono>
#include <utility>

#include "jobs/parts.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

/// A smaller difference between the clocks is a slew.
constexpr Duration kClockStep = 1s;
constexpr Duration kZonesPeriod = 60s;

}  // namespace

WallTime Jobs::Parts::wall_now() const { return WallTime::from_nanoseconds(runtime.scheduler().now().nanoseconds()) + clocks; }

void Jobs::Parts::clocks_read(Duration difference) {
  const Duration step = difference - std::exchange(clocks, difference);
  if (std::chrono::abs(step) < kClockStep) return;
  for (auto& [id, live] : runs) {
    if (live.stage == LiveRun::Stage::Planned) wait_until_due(live);
  }
  replan_after = "";
  replan_page();
}

void Jobs::Parts::refresh_zones() {
  const Instant now = runtime.scheduler().now();
  if (now - last_zones < kZonesPeriod) return;
  last_zones = now;
  store.submit<bool>(
      "refresh zones", [](JobStore&, Planner& planner) -> Result<bool> { return planner.refresh_zones(); },
      [this](const Result<bool>& changed) {
        if (!changed || !*changed) return;
        replan_after = "";
        replan_page();
      });
}

void Jobs::Parts::replan_page() {
  if (!replan_after || is_replanning) return;
  is_replanning = true;
  const std::string after = *std::exchange(replan_after, std::nullopt);
  const WallTime now = wall_now();
  if (after.empty()) found_handlerless.clear();
  std::set<std::string, std::less<>> known;
  for (const auto& [name, handler] : handlers) known.insert(name);
  store.submit<Planner::Replanned>(
      "replan " + after,
      [after, now, known = std::move(known)](JobStore& of, Planner& planner) { return planner.replan(of, after, now, known); },
      [this, after](Result<Planner::Replanned> page) {
        is_replanning = false;
        if (replan_after) return replan_page();  // It begins again.
        if (!page) {                             // The next cycle tries again.
          replan_after = after;
          return;
        }
        for (const StoredJob& job : page->unhandled) {
          if (found_handlerless.size() < limits::kTroublesNamed) found_handlerless.try_emplace(job.job.handler, job);
        }
        if (page->is_complete) {
          handlerless = std::move(found_handlerless);
          found_handlerless.clear();
        } else {
          replan_after = std::move(page->last);
          replan_page();
        }
      });
}

WallTime Jobs::Parts::due_of(const LiveRun& live) const {
  const JobRun& run = live.run;
  const WallTime now = wall_now();
  if (run.attempt > 0) return std::min(run.due, now + backoff_of(*live.job->job, run.attempt - 1));
  if (is_requested(run.band)) return std::min(run.due, now);
  if (live.job->job->schedule.when.starts_with("after ")) return std::min(run.due, now + options.window);
  return run.due;
}

}  // namespace rondo::jobs
