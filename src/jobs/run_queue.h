// RunQueue: the table of the due runs of one priority, and its Orch. A due run is a row: it takes turns with the rows of all other tables.
// JobTurns: provides the facts for which a due run waits: job-turn:<job>#<run>, "this run may begin", job-run:<job>#<run>, "this run has
// succeeded", and job-handler:<handler>, "this handler is here"; and job-succeeded:<job> for all. Scheduler thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/jobs/job_run.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {

inline constexpr FactKind kJobTurn{"job-turn"};
inline constexpr FactKind kJobRun{"job-run"};
inline constexpr FactKind kJobHandler{"job-handler"};

/// The key of a run's row, and of its fact: "backup#1234".
std::string key_of(const JobRun& run);
/// The id in such a key; empty for another text.
std::optional<std::int64_t> run_of(std::string_view key);
std::string table_of(Priority priority);
/// Why a run is skipped whose parent has ended in this way.
std::string note_of_parent(const JobRun& parent);

/// What the Orchs call. They live as long as the runtime, and so may outlive Jobs: the pointer is null then.
struct RunHooks {
  /// Begins the run, or says for what it waits.
  std::function<Outcome(std::int64_t run, const Ticket& ticket)> begin;
  std::function<bool(std::int64_t run)> may_begin;
  std::function<bool(std::int64_t run)> has_succeeded;
  std::function<bool(std::string_view handler)> has_handler;
  std::function<bool(std::string_view job)> has_job_succeeded;
  /// What `why` adds about the row of a run.
  std::function<RowInPlane(std::string_view key)> row_state;
};
using HooksOf = std::shared_ptr<std::unique_ptr<RunHooks>>;

class RunQueue final : public Orch {
 public:
  RunQueue(Runtime& runtime, Priority priority, HooksOf hooks);

  Status add(const JobRun& run);
  void remove(const JobRun& run);
  void settle_done(const Ticket& ticket) { settle(ticket, Outcome::done()); }
  void settle_with(const Ticket& ticket, const Outcome& outcome) { settle(ticket, outcome); }

 private:
  Outcome set(std::string_view key, const Fields& fields);

  HooksOf hooks_;
  Table table_;
};

class JobTurns final : public Orch {
 public:
  JobTurns(Runtime& runtime, HooksOf hooks);
  /// Ends the process if Jobs is still there.
  ~JobTurns() override;
  void allow(const JobRun& run) { announce({kJobTurn, key_of(run)}); }
  void succeeded(const JobRun& run) { announce({kJobRun, key_of(run)}); }
  void job_ended(const std::string& job, bool succeeded) { succeeded ? announce({kJobSucceeded, job}) : withdraw({kJobSucceeded, job}); }
  using Orch::holds;
  void handler_came(std::string_view name) { announce({kJobHandler, std::string{name}}); }
  void handler_went(std::string_view name) { withdraw({kJobHandler, std::string{name}}); }

 private:
  HooksOf hooks_;
};

}  // namespace rondo::jobs
