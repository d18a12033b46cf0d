// workers_impl.h: what is the matter with the workers, for people.
#include <algorithm>

#include "jobs/named_few.h"
#include "jobs/workers/workers_impl.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {

std::string Workers::Impl::at_milliseconds(WallTime time) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  return calendar::format_rfc3339(WallTime::from_nanoseconds(time.nanoseconds() / kMillisecond * kMillisecond));
}

std::string Workers::Impl::trouble_of(const std::string& name, const WorkerEntry& worker) const {
  const Duration silent = runtime.scheduler().now() - worker.heard;
  const Duration away = runtime.scheduler().now() - (worker.orders ? worker.heard : worker.left);
  const std::string since = at_milliseconds(runtime.clock().wall_now() + -away);
  if (silent >= options.silent)
    return "worker '" + name + (worker.orders ? "' is connected, and has not reported since " : "' has been away since ") + since;
  if (!worker.orders) return {};
  return worker.trouble.empty() ? std::string{} : "worker '" + name + "': " + worker.trouble;
}

Status Workers::Impl::health() const {
  NamedFew named;
  for (const auto& [name, worker] : workers) {
    if (const std::string trouble = trouble_of(name, worker); !trouble.empty()) named.add(trouble);
  }
  const Instant now = runtime.scheduler().now();
  for (const auto& [id, run] : runs) {
    const bool is_stopping = run.open && run.stopped && now - *run.stopped >= options.stopping;
    // Away and silent workers are reported above.
    if (!is_stopping || workers.at(run.worker).is_silent) continue;
    named.add("run " + std::to_string(id) + " of the job '" + run.open->job().name + "' was ordered to stop at " +
              at_milliseconds(runtime.clock().wall_now() + -(now - *run.stopped)) + ", and worker '" + run.worker +
              "' has not reported its end");
  }
  if (named.count() == 0) return {};
  return {StatusCode::Unavailable, named.text("more trouble of workers", "more troubles of workers")};
}

std::string Workers::Impl::why_no_room(const std::string& command) const {
  if (!is_offered(command)) return "no worker offers command " + command;
  NamedFew named;
  for (const auto& [name, worker] : workers) {
    if (!worker.orders || !worker.offers.contains(command)) continue;
    if (const std::string trouble = trouble_of(name, worker); !trouble.empty()) {
      named.add(trouble);
    } else if (worker.is_claiming) {
      named.add("worker '" + name + "' has not named all its runs yet");
    }
  }
  return named.text("more worker", "more workers");
}

}  // namespace rondo::jobs
