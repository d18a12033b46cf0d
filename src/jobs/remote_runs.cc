#include "jobs/remote_runs.h"

#include "jobs/parts.h"

namespace rondo::jobs {

void RemoteRuns::handle(std::string name, RemoteHandler handler) {
  parts_.core.expect_here("handle_async");
  parts_.core.record("handle async", name);
  parts_.handlers.set(std::move(name), {.async = std::make_shared<const RemoteHandler>(std::move(handler))});
}
void RemoteRuns::check_again(const std::string& handler) {
  parts_.core.expect_here("check_again");
  parts_.core.record("look again", handler);
  parts_.async.check_again(handler);
}
void RemoteRuns::give_up_killed() {
  parts_.core.expect_here("give_up_killed");
  parts_.core.record("give up killed");
  parts_.planning.give_up_killed();
}
void RemoteRuns::note_worker(std::int64_t run, std::string worker, Jobs::Done<bool> done) {
  parts_.core.expect_here("note_worker");
  parts_.core.record("worker", run, worker);
  if (LiveRun* const live = parts_.runs.find(run)) live->run.worker = worker;
  std::string work = "worker " + std::to_string(run) + " " + worker;
  parts_.core.store.submit<bool>(
      std::move(work),
      [run, worker = std::move(worker)](JobStore& store, Planner&) -> Result<bool> {
        if (Status noted = store.note_worker(run, worker); !noted.ok()) return failure(std::move(noted));
        return true;
      },
      parts_.core.done_for_store(std::move(done)));
}
std::shared_ptr<const Job> RemoteRuns::job_of(std::int64_t run) const {
  parts_.core.expect_here("job_of");
  const LiveRun* const live = parts_.runs.find(run);
  return live == nullptr ? nullptr : live->job->job;
}
bool RemoteRuns::is_recovered() const noexcept {
  parts_.core.expect_here("is_recovered");
  return parts_.planning.is_started();
}
const JobRun* RemoteRuns::find(std::int64_t run) const {
  parts_.core.expect_here("find");
  const LiveRun* const live = parts_.runs.find(run);
  return live == nullptr ? nullptr : &live->run;
}

}  // namespace rondo::jobs
