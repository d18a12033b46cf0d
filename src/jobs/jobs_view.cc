#include "jobs/jobs_view.h"

#include "jobs/parts.h"

namespace rondo::jobs {

std::optional<RunActivity> JobsView::activity(std::int64_t run) const {
  parts_.expect_here("activity");
  const LiveRun* const live = parts_.find(run);
  return live == nullptr ? std::nullopt : std::optional{parts_.activity_of(*live)};
}
std::string JobsView::retry_note(std::int64_t run) const {
  parts_.expect_here("retry_note");
  const LiveRun* const live = parts_.find(run);
  return live == nullptr ? std::string{} : Jobs::Parts::retry_note(*live);
}
std::optional<WallTime> JobsView::next_of(const StoredJob& stored) const {
  parts_.expect_here("next_of");
  if (!stored.is_running || !stored.job.parents.empty()) return std::nullopt;
  std::optional<WallTime> next = stored.next;
  const auto live = parts_.jobs.find(stored.id);
  if (live == parts_.jobs.end()) return next;
  for (const std::int64_t id : live->second.runs) {
    const LiveRun& run = *parts_.find(id);
    // Further attempts and late runs fire, too, but their instants are over.
    const bool is_ahead = run.stage == LiveRun::Stage::Planned && run.run.attempt == 0 && run.run.band == Band::Ring;
    if (is_ahead && (!next || run.run.scheduled < *next)) next = run.run.scheduled;
  }
  return next;
}
std::optional<Progress> JobsView::progress(std::int64_t run) const {
  parts_.expect_here("progress");
  return parts_.progress(run);
}
std::vector<std::int64_t> JobsView::under_way(std::string_view job) const {
  parts_.expect_here("under_way");
  return parts_.runs_that(job,
                          [](const LiveRun& live) { return live.stage == LiveRun::Stage::Running && !Jobs::Parts::begins_later(live); });
}
std::vector<std::int64_t> JobsView::retried(std::string_view job) const {
  parts_.expect_here("retried");
  return parts_.runs_that(job, [](const LiveRun& live) { return !Jobs::Parts::retry_note(live).empty(); });
}
std::string JobsView::handler_trouble(std::string_view handler) const {
  parts_.expect_here("handler_trouble");
  return parts_.handlers.contains(handler) ? std::string{} : parts_.trouble_of_absent(handler);
}
std::vector<std::string> JobsView::awaited_handlers(Duration late, Duration waited) const {
  parts_.expect_here("awaited_handlers");
  std::vector<std::string> names;
  const Instant now = parts_.runtime.scheduler().now();
  const WallTime since = parts_.wall_now() + -late;
  for (const auto& [name, runs] : parts_.awaited) {
    if (runs.since <= since && now - runs.waits >= waited) names.push_back(name);
  }
  return names;
}

}  // namespace rondo::jobs
