#include "jobs/edits.h"

#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rondo::jobs {

namespace {

/// Whether what an edit changed decides when a due run may begin.
bool begins_otherwise(const Job& before, const Job& after) {
  return before.required_facts != after.required_facts || before.overlap != after.overlap || before.concurrency != after.concurrency;
}

}  // namespace

void Edits::end_runs_of_stopped(std::int64_t job_id) {
  const auto job = runs_.jobs().find(job_id);
  if (job == runs_.jobs().end()) return;
  ends_.withdraw_runs_to_come(job->second);
  const std::set<std::int64_t> of_job = job->second.runs;
  for (const std::int64_t id : of_job) {
    LiveRun& live = *runs_.find(id);
    if (!live.has_begun() && !is_requested(live.run.band)) ends_.end(live, RunState::Skipped, "the job was stopped");
  }
  ends_.flush();
}

void Edits::take_over(const StoredJob& stored) {
  if (is_readable(stored)) handlers_.check(stored);
  const auto found = runs_.jobs().find(stored.id);
  bool is_changed = true;
  if (found != runs_.jobs().end()) {
    LiveJob& live = found->second;
    is_changed = live.job->schedule != stored.job.schedule || live.job->parents != stored.job.parents;
    const std::shared_ptr<const Job> before = std::exchange(live.job, std::make_shared<const Job>(stored.job));
    if (before->handler != stored.job.handler) leave_lines(live);
    if (begins_otherwise(*before, stored.job)) decide_again(live);
    if (is_changed) ends_.withdraw_runs_to_come(live);
  }
  if (is_changed && stored.is_running) replan_roots(stored.job.parents);
  ends_.flush();
}

void Edits::leave_lines(const LiveJob& job) {
  for (const std::int64_t id : job.runs) {
    LiveRun& live = *runs_.find(id);
    if (live.awaits != nullptr) static_cast<void>(runs_.queue(live.priority)->add(live.run));  // Handled again, with its new handler.
    if (live.stage == LiveRun::Stage::Fired && live.ticket)
      runs_.begin_again(live, Outcome::retry_after(Duration{0}, {StatusCode::Unavailable, "the handler of the job was changed"}));
  }
}

void Edits::decide_again(LiveJob& job) {
  std::vector<LiveRun*> due;  // Without those that wait for their turn.
  for (const std::int64_t id : job.runs) {
    LiveRun* const live = runs_.find(id);
    if (live->stage == LiveRun::Stage::Fired && !live->waits_for_turn && !runs_.may_be_at_worker(*live)) due.push_back(live);
  }
  // If fewer runs may begin now, the newest lose their turn. The others keep it, so that no later run overtakes them.
  for (auto live = due.rbegin(); live != due.rend() && job.begun.size() > job.most(); ++live) job.begun.erase((*live)->run.id);
  for (LiveRun* const live : due) {
    if (live->ticket) {
      runs_.begin_again(*live, Outcome::retry_after(Duration{0}, {StatusCode::Unavailable, "the job was edited"}));
    } else {
      static_cast<void>(runs_.queue(live->priority)->add(live->run));  // Its row waits for facts, or is still to be handled.
    }
  }
  runs_.pass_turn(job);
}

void Edits::replan_roots(const std::vector<std::string>& parents) {
  if (parents.empty()) return;
  std::unordered_map<std::string_view, const LiveJob*> by_name;
  for (const auto& [id, job] : runs_.jobs()) by_name.emplace(job.job->name, &job);
  std::vector<std::string> line = parents;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const auto found = by_name.find(line[at]);
    if (found == by_name.end()) continue;
    const LiveJob& job = *found->second;
    by_name.erase(found);  // Once is enough.
    // A run of a delay has no instant of the calendar that could be planned again: the child takes part in the run after it.
    if (job.job->parents.empty() && !is_delay(*job.job)) ends_.withdraw_runs_to_come(job);
    line.insert(line.end(), job.job->parents.begin(), job.job->parents.end());
  }
}

void Edits::drop(std::int64_t job_id, const std::string& name) {
  drop_runs(job_id);
  facts_.note_success(name, false);
}

void Edits::drop_runs(std::int64_t job_id) {
  handlers_.forget_handlerless(job_id);
  const auto job = runs_.jobs().find(job_id);
  if (job == runs_.jobs().end()) return;
  const std::set<std::int64_t> of_job = job->second.runs;
  for (const std::int64_t id : of_job) {
    LiveRun& live = *runs_.find(id);
    live.stop.request_stop();
    async_.let_go(live);
    if (live.ticket) runs_.queue(live.priority)->settle_done(*std::exchange(live.ticket, std::nullopt));
    const std::vector<std::int64_t> children = std::move(live.children);
    const std::string note = "the job of the parent run " + key_of(live.run) + " was removed";
    ends_.forget(live);
    ends_.skip_children(children, note);
  }
}

}  // namespace rondo::jobs
