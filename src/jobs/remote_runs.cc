#include "jobs/remote_runs.h"

#include "jobs/jobs_impl.h"

namespace rondo::jobs {

void RemoteRuns::handle(std::string name, RemoteHandler handler) {
  impl_.core.expect_here("handle_async");
  impl_.core.record("handle async", name, handler.applies_overlap);
  impl_.handlers.set(std::move(name), {.async = std::make_shared<const RemoteHandler>(std::move(handler))});
}
void RemoteRuns::check_again(const std::string& handler) {
  impl_.core.expect_here("check_again");
  impl_.core.record("look again", handler);
  impl_.async.check_again(handler);
}
void RemoteRuns::stop(std::int64_t run, RunState state, const std::string& why) {
  impl_.core.expect_here("stop");
  impl_.core.record("stop run", run, static_cast<std::int64_t>(state), why);
  if (LiveRun* const live = impl_.runs.find(run)) impl_.ends.stop(*live, state, why);
}
void RemoteRuns::give_up_killed() {
  impl_.core.expect_here("give_up_killed");
  impl_.core.record("give up killed");
  impl_.planning.give_up_killed();
}
void RemoteRuns::note_worker(std::int64_t run, std::string worker, Jobs::Done<bool> done) {
  impl_.core.expect_here("note_worker");
  impl_.core.record("worker", run, worker);
  if (LiveRun* const live = impl_.runs.find(run)) live->run.worker = worker;
  std::string work = "worker " + std::to_string(run) + " " + worker;
  impl_.core.store.submit<bool>(
      std::move(work),
      [run, worker = std::move(worker)](JobStore& store, Planner&) -> Result<bool> {
        if (Status noted = store.note_worker(run, worker); !noted.ok()) return failure(std::move(noted));
        return true;
      },
      impl_.core.done_for_store(std::move(done)), Commit::Together);
}
void RemoteRuns::remember(std::string key, std::string text, Jobs::Done<bool> done) {
  impl_.core.expect_here("remember");
  impl_.core.record("remember", key, text);
  std::string work = "remember " + key;
  impl_.core.store.submit<bool>(
      std::move(work),
      [key = std::move(key), text = std::move(text)](JobStore& store, Planner&) -> Result<bool> {
        if (Status kept = store.remember(key, text); !kept.ok()) return failure(std::move(kept));
        return true;
      },
      impl_.core.done_for_store(std::move(done)), Commit::Writes);
}
void RemoteRuns::remembered(std::string key, Jobs::Done<std::string> done) {
  impl_.core.expect_here("remembered");
  impl_.core.record("remembered", key);
  std::string work = "remembered " + key;
  impl_.core.store.submit<std::string>(
      std::move(work), [key = std::move(key)](JobStore& store, Planner&) { return store.remembered(key); },
      impl_.core.done_for_store(std::move(done)));
}
Result<std::string> RemoteRuns::check_address(const std::string& handler, const std::string& address) const {
  impl_.core.expect_here("check_address");
  const HandlerEntry* const entry = impl_.handlers.find(handler);
  if (entry != nullptr && entry->async != nullptr && entry->async->check_address) return entry->async->check_address(address);
  return failure(StatusCode::InvalidArgument, "the handler '" + handler + "' runs at no executor, so its runs have no address");
}
std::vector<RunPart> RemoteRuns::parts(const JobRun& run) const {
  impl_.core.expect_here("parts");
  for (const std::string& name : impl_.handlers.names()) {
    const HandlerEntry* const entry = impl_.handlers.find(name);
    if (entry == nullptr || entry->async == nullptr || !entry->async->parts) continue;
    if (std::vector<RunPart> parts = entry->async->parts(run); !parts.empty()) return parts;
  }
  return {};
}
std::shared_ptr<const Job> RemoteRuns::job_of(std::int64_t run) const {
  impl_.core.expect_here("job_of");
  const LiveRun* const live = impl_.runs.find(run);
  return live == nullptr ? nullptr : live->job->job;
}
std::shared_ptr<const TraceContext> RemoteRuns::trace(std::int64_t run) const {
  impl_.core.expect_here("trace");
  return impl_.runs.trace(run);
}
void RemoteRuns::set_trace(std::int64_t run, const std::shared_ptr<const TraceContext>& trace) {
  impl_.core.expect_here("set_trace");
  impl_.runs.set_trace(run, trace);
}
bool RemoteRuns::is_recovered() const noexcept {
  impl_.core.expect_here("is_recovered");
  return impl_.planning.is_started();
}
bool RemoteRuns::is_standby() const {
  impl_.core.expect_here("is_standby");
  return impl_.planning.is_standby();
}
const JobRun* RemoteRuns::find(std::int64_t run) const {
  impl_.core.expect_here("find");
  const LiveRun* const live = impl_.runs.find(run);
  return live == nullptr ? nullptr : &live->run;
}

}  // namespace rondo::jobs
