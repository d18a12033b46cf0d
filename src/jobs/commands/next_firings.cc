#include "jobs/commands/next_firings.h"

#include <utility>
#include <variant>

#include "jobs/planner.h"

namespace rondo::jobs {

Result<std::vector<calendar::Firing>> next_firings(const StoredJob& stored, WallTime after, std::size_t max) {
  Planner planner{PlannerOptions{}};
  const auto compiled = planner.compiled(stored.job, stored.id);
  if (!compiled) return failure(compiled.error());
  const calendar::Schedule& schedule = (*compiled)->schedule;
  if (std::holds_alternative<calendar::FixedDelay>(schedule.when)) max = 1;
  std::vector<calendar::Firing> firings;
  for (WallTime at = after; firings.size() < max;) {
    const auto firing = calendar::next_firing(schedule, *(*compiled)->zone, at);
    if (!firing) break;
    firings.push_back(*firing);
    at = firing->scheduled;
  }
  return firings;
}

}  // namespace rondo::jobs
