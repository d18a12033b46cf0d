// workers_impl.h: checks of parameters before a job is stored. The question goes to one worker as an order, and the answer comes as an
// event.
#include <algorithm>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "jobs/workers/limits.h"
#include "jobs/workers/workers_impl.h"

namespace rondo::jobs {

namespace json = boost::json;

void Workers::Impl::check(const std::string& command, const Job& job, std::function<void(const Status& checked)> done) {
  if (job.route == Route::ShardingBroadcast) return done({StatusCode::InvalidArgument, kNoShards});
  Status why{StatusCode::Unavailable, "no worker offers command " + command};
  for (auto& [name, worker] : workers) {
    if (!worker.orders || !worker.offers.contains(command)) continue;
    why = may_check(name, worker);
    if (!why.ok()) continue;
    const std::int64_t request = ++last_request;
    checks.emplace(request, WorkerCheck{.worker = name, .done = std::move(done), .until = runtime.scheduler().now() + options.check_wait});
    worker.orders->row(json::object{{"check", json::object{{"request", request},
                                                           {"command", command},
                                                           {"job", commands::text(job.name)},
                                                           {"parameters", commands::text(job.parameters)}}}});
    worker.orders->flush();
    return;
  }
  done(why);
}

Status Workers::Impl::may_check(const std::string& name, const WorkerEntry& worker) const {
  const std::string of = "worker '" + name + "' ";
  if (worker.is_silent) return {StatusCode::Unavailable, of + "does not report"};
  if (worker.ignores_checks)
    return {StatusCode::Unavailable, of + "did not answer an earlier check: it may be of a version without checks"};
  const auto unanswered = std::ranges::count_if(checks, [&name](const auto& check) { return check.second.worker == name; });
  if (static_cast<std::size_t>(unanswered) < limits::kWorkerChecks) return {};
  return {StatusCode::ResourceExhausted, of + "has " + std::to_string(unanswered) + " other checks to answer"};
}

void Workers::Impl::end_check(std::int64_t request, const Status& checked) {
  auto ended = checks.extract(request);
  if (!ended.empty()) ended.mapped().done(checked);  // It may begin another check.
}

void Workers::Impl::leave_checks(const std::string& worker) {
  std::vector<std::int64_t> left;
  for (const auto& [request, check] : checks) {
    if (check.worker == worker) left.push_back(request);
  }
  for (const std::int64_t request : left) end_check(request, {StatusCode::Unavailable, "worker '" + worker + "' has left"});
}

void Workers::Impl::watch_checks(Instant now) {
  std::vector<std::pair<std::int64_t, std::string>> late;
  for (const auto& [request, check] : checks) {
    if (check.until <= now) late.emplace_back(request, check.worker);
  }
  // Before the first end, which may begin another check.
  for (const auto& [request, name] : late) {
    if (const auto worker = workers.find(name); worker != workers.end()) worker->second.ignores_checks = true;
  }
  for (const auto& [request, name] : late) end_check(request, {StatusCode::DeadlineExceeded, "worker '" + name + "' did not answer"});
}

}  // namespace rondo::jobs
