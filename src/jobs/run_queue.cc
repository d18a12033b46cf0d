#include "jobs/run_queue.h"

#include <charconv>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {

std::string key_of(const JobRun& run) { return run.job + "#" + std::to_string(run.id); }

std::optional<std::int64_t> run_of(std::string_view key) {
  const std::size_t mark = key.rfind('#');
  if (mark == std::string_view::npos) return std::nullopt;
  std::int64_t id = 0;
  const char* const end = key.data() + key.size();
  const auto [read, error] = std::from_chars(key.data() + mark + 1, end, id);
  return error == std::errc{} && read == end ? std::optional{id} : std::nullopt;
}

std::string table_of(Priority priority) { return "JOB_RUN_" + std::to_string(priority.level()); }

std::string note_of_parent(const JobRun& parent) {
  return "the parent run " + key_of(parent) + " ended as " + std::string{to_string(parent.state)};
}

JobTurns::~JobTurns() {
  const bool is_used = *hooks_ != nullptr && (*hooks_)->begin;  // Otherwise the runtime has refused this Orch.
  RONDO_EXPECT(!is_used, "a Runtime is destroyed before its Jobs: destroy Jobs first, for instance by declaring it after the Runtime");
}

RunQueue::RunQueue(Runtime& runtime, Priority priority, HooksOf hooks)
    : Orch(runtime, "jobs:" + std::to_string(priority.level()), priority),
      hooks_(std::move(hooks)),
      table_(runtime.table(table_of(priority))) {
  // The store of jobs keeps the runs; rows that an earlier process left in the tables' store are taken and dropped.
  const auto removed = [](std::string_view) { return Outcome::done(); };
  consume(table_of(priority), [this](std::string_view key, const Fields& fields) { return set(key, fields); }, removed,
          {.watches_staged = true});
  runtime.reserve(table_of(priority), "its rows are the due runs of jobs; 'rondo job kill RUN' ends one, 'rondo job trigger JOB' adds one");
  runtime.explain_state(table_of(priority), [hooks = hooks_](std::string_view key, const Record*) {
    return *hooks == nullptr ? RowInPlane{} : (*hooks)->row_state(key);
  });
}

Status RunQueue::add(const JobRun& run) {
  const std::string scheduled = calendar::format_rfc3339(run.scheduled);
  const std::string attempt = std::to_string(run.attempt);
  return table_.set(key_of(run), {{"scheduled", scheduled}, {"band", to_string(run.band)}, {"attempt", attempt}});
}

void RunQueue::remove(const JobRun& run) { static_cast<void>(table_.remove(key_of(run))); }

Outcome RunQueue::set(std::string_view key, const Fields&) {
  const std::optional<std::int64_t> run = run_of(key);
  if (!run || *hooks_ == nullptr) return Outcome::done();
  return (*hooks_)->begin(*run, current_ticket());
}

JobTurns::JobTurns(Runtime& runtime, HooksOf hooks) : Orch(runtime, "jobs", Priority{56}), hooks_(hooks) {
  provide(kJobTurn, [hooks](std::string_view key) {
    const std::optional<std::int64_t> run = run_of(key);
    // Without Jobs no run waits for anything.
    return !run || *hooks == nullptr || (*hooks)->may_begin(*run);
  });
  provide(kJobRun, [hooks](std::string_view key) {
    const std::optional<std::int64_t> run = run_of(key);
    return !run || *hooks == nullptr || (*hooks)->has_succeeded(*run);
  });
  provide(kJobSucceeded, [hooks](std::string_view job) { return *hooks != nullptr && (*hooks)->has_job_succeeded(job); });
  provide(kJobHandler,
          [hooks = std::move(hooks)](std::string_view handler) { return *hooks == nullptr || (*hooks)->has_handler(handler); });
}

}  // namespace rondo::jobs
