#include "jobs/jobs_impl.h"

#include "jobs/for_caller.h"
#include "jobs/jobs_view.h"
#include "rondo/base/assert.h"

namespace rondo::jobs {

Result<Jobs::JobSource> Jobs::JobSource::take(Runtime& runtime) {
  JobSource source{.hooks = std::make_shared<std::unique_ptr<RunHooks>>(std::make_unique<RunHooks>())};
  const Result<JobTurns*> added = runtime.try_add<JobTurns>(source.hooks);
  if (!added) return failure(StatusCode::AlreadyExists, "a runtime has one Jobs: " + std::string{added.error().message()});
  source.turns = *added;
  return source;
}

Jobs::JobSource Jobs::JobSource::taken(Runtime& runtime) {
  Result<JobSource> source = take(runtime);
  RONDO_EXPECT(source.has_value(), source.error().to_string() + "; use Jobs::open() to be told");
  return std::move(*source);
}

Jobs::Impl::Impl(Runtime& runtime, std::shared_ptr<JobStore> store, const JobsOptions& options, const JobSource& source,
                 std::function<bool(std::string_view)> repeat)
    : hooks(source.hooks),
      core(runtime, std::move(store), options, std::move(repeat), [this](Duration step) { planning.clock_was_set(step); }),
      runs(runtime, hooks, *source.turns),
      facts(core, runs, hooks),
      handlers(core, runs, hooks),
      timetable(core, runs),
      ends(core, runs, facts, handlers, timetable, [this] { planning.plan_now(); }),
      async(core, runs, facts, handlers, ends),
      dispatch(core, runs, facts, handlers, ends, async),
      planning(core, runs, facts, handlers, timetable, ends, async) {
  (*hooks)->begin = [this](std::int64_t run, const Ticket& ticket) { return dispatch.begin(run, ticket); };
  (*hooks)->may_begin = [this](std::int64_t run) { return dispatch.may_begin(run); };
  (*hooks)->has_succeeded = [this](std::int64_t run) { return runs.find(run) == nullptr; };
  (*hooks)->has_job_succeeded = [this](std::string_view job) { return facts.has_succeeded(job); };
  (*hooks)->has_handler = [this](std::string_view handler) { return handlers.contains(handler); };
  (*hooks)->row_state = [this](std::string_view key) { return JobsView(*this).row_state(key); };
  // A replay expects the sources in the order of its record.
  for (TimerSource* const timer : {&planning.timer(), &timetable.timer(), &ends.timer(), &async.timer(), &dispatch.timer()})
    runtime.scheduler().add(*timer);
}

ForCaller::ForCaller(Jobs& jobs) : jobs_(jobs) { jobs_.impl_->core.recorded = Recorded::Status; }
ForCaller::~ForCaller() { jobs_.impl_->core.recorded = Recorded::Result; }

Jobs::Impl::~Impl() {
  hooks->reset();  // The Orchs outlive it.
  async.leave_all();
  ends.submit_last();
  dispatch.end_pools();
}

}  // namespace rondo::jobs
