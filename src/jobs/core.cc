#include "jobs/core.h"

#include <exception>

#include "base/thrown.h"
#include "jobs/put_jobs.h"
#include "orch/runtime_impl.h"
#include "rondo/base/assert.h"

namespace rondo::jobs {

Core::Core(Runtime& of_runtime, std::shared_ptr<JobStore> of_store, const JobsOptions& of_options,
           std::function<bool(std::string_view)> repeat, std::function<void(Duration)> on_clocks)
    : runtime(of_runtime),
      options(of_options),
      clocks(difference_of(runtime.clock())),
      calls(runtime.scheduler(), "jobs", std::move(repeat)),
      store(
          runtime.scheduler(), std::move(of_store), {.window = options.window, .grace = options.grace},
          [this, on_clocks = std::move(on_clocks)](Duration difference) { on_clocks(difference - std::exchange(clocks, difference)); },
          [this](const std::string& work, const std::exception_ptr& thrown) {
            report(Change::event("done", work, {}), thrown_by("the 'done' of " + call_of_work(work), thrown));
          }) {
  RONDO_EXPECT(store.has_store() || calls.is_replayed(), "Jobs needs a store: it may be null only in a replay");
  RONDO_EXPECT(options.window >= 1s && options.window <= 50s, "JobsOptions::window is 1 to 50 s");
  RONDO_EXPECT(options.grace >= options.window, "JobsOptions::grace is at least the window");
  RONDO_EXPECT(options.cycle > Duration{0} && options.cycle <= options.window / 2,
               "JobsOptions::cycle is above 0, and at most half of the window");
}

void Core::expect_here(std::string_view function) const {
  RONDO_EXPECT(runtime.scheduler().is_here(), from_elsewhere("Jobs::" + std::string{function} + "()"));
}

Status Core::call_out(const std::function<void()>& call, std::string_view who) const {
  const CallOut mark(*this);
  try {
    call();
  } catch (...) {
    return thrown_by(who, std::current_exception());
  }
  return {};
}

Core::CallsWithin::~CallsWithin() {
  if (is_marked) core.calls.record(call_text("out"));
  core.within.pop_back();
}
void Core::mark_calls() {
  for (CallsWithin* const function : within) {
    if (!std::exchange(function->is_marked, true)) calls.record(function->text);
  }
}
void Core::CallsWithin::repeat() {
  if (!core.calls.is_replayed() || !core.calls.is_next(text)) return;
  core.mark_calls();
  core.calls.repeat();  // Up to the mark at the end, which is no call.
}

}  // namespace rondo::jobs
