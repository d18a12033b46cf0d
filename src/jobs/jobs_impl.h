// Jobs::Impl: the parts of a running Jobs. Each uses those before it:
//
//   planning (store thread) -> timetable -> row of JOB_RUN_<priority> -> dispatch -> pool, or async -> ends -> store
//
// Scheduler thread only.
#pragma once

#include <map>

#include "jobs/dispatch.h"
#include "jobs/planning.h"

namespace rondo::jobs {

/// The place of the one Jobs in a runtime: the provider of the facts about jobs.
struct Jobs::JobSource {
  /// AlreadyExists if it is taken.
  static Result<JobSource> take(Runtime& runtime);
  /// The same, but an error ends the process.
  static JobSource taken(Runtime& runtime);
  HooksOf hooks;
  JobTurns* turns = nullptr;
};

struct Jobs::Impl {
  /// 'repeat' makes a recorded call again (RecordedCalls).
  Impl(Runtime& runtime, std::shared_ptr<JobStore> store, const JobsOptions& options, const JobSource& source,
       std::function<bool(std::string_view)> repeat);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const HooksOf hooks;
  Core core;
  LiveRuns runs;
  JobFacts facts;
  Handlers handlers;
  Timetable timetable;
  Ends ends;
  AsyncRuns async;
  Dispatch dispatch;
  Planning planning;
  std::map<std::string, Status> not_stored;  // Jobs whose last definition failed and had no 'done' callback.
  /// For checks of parameters that are answered later: it is gone with the Impl.
  std::shared_ptr<Impl*> self = std::make_shared<Impl*>(this);
};

}  // namespace rondo::jobs
