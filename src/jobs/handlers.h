// Handlers: the handlers of a Jobs by name, the runs that wait for an absent one, and the started jobs that lack theirs. Scheduler thread
// only.
#pragma once

#include <map>
#include <set>

#include "jobs/core.h"
#include "jobs/handler_names.h"
#include "jobs/live_runs.h"
#include "jobs/remote_runs.h"

namespace rondo::jobs {

struct HandlerEntry {
  std::shared_ptr<const Jobs::Handler> handler = {};
  bool in_turn = false;
  std::shared_ptr<const RemoteHandler> async = {};  // In place of 'handler'.
  CheckParameters check = {};                       // Of 'handler'.
};

class Handlers {
 public:
  Handlers(Core& core, LiveRuns& runs, const HooksOf& hooks);

  void set(std::string name, HandlerEntry entry);
  /// False: there is no such handler.
  bool remove(std::string_view name);
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The name under which the handler that serves 'name' was set; 'name' if it is absent. Its runs that wait for room are in one line.
  std::string line_of(std::string_view name) const;
  /// Null: it is absent. Valid until the next function of the user is called.
  const HandlerEntry* find(std::string_view name) const;
  std::set<std::string, std::less<>> names() const;

  /// Runs wait for absent handlers that begin with 'prefix'.
  void await(std::string prefix, std::function<std::string(std::string_view handler)> reason);
  /// True if runs wait for this handler while it is absent.
  bool waits_for(std::string_view name) const;
  std::string why_absent(std::string_view name) const;
  /// The run waits for its handler, which is absent. Counts it until it begins again or ends.
  Outcome wait_for(LiveRun& live);
  void stop_awaiting(LiveRun& live);
  /// The absent handlers for which runs wait.
  const std::map<std::string, AwaitedRuns, std::less<>>& awaited() const noexcept { return awaited_; }

  /// A job as the store has it now: notes whether it is started and lacks its handler, for health().
  void check(const StoredJob& stored);
  /// The job was removed, or does not lack its handler any more. Another job may have the same handler, so all jobs are read again.
  void forget_handlerless(std::int64_t job_id);
  /// A started job that lacks its handler; null: none is known.
  const StoredJob* handlerless_job() const;
  /// Another program has edited jobs.
  void jobs_changed() { reads_again_ = reads_again_ || !handlerless_.empty(); }
  /// True if all jobs must be read for their handlers. The answer is true once.
  bool must_read() { return std::exchange(reads_again_, false); }
  /// A reading of all jobs begins.
  void begin_reading() { found_handlerless_.clear(); }
  /// A page of it has these jobs without a handler.
  void read(const std::vector<StoredJob>& unhandled, bool is_last);

 private:
  /// True if the runs of a job with this handler would fail at present.
  bool lacks(std::string_view name) const { return !contains(name) && !waits_for(name); }

  Core& core_;
  LiveRuns& runs_;
  std::map<std::string, HandlerEntry, std::less<>> handlers_;
  std::set<std::string, std::less<>> announced_;  // Awaited handlers that came with a handler for all names of a prefix.
  /// Started jobs that lacked their handlers when they were read, one for each handler: at most limits::kTroublesNamed.
  std::map<std::string, StoredJob, std::less<>> handlerless_;
  std::map<std::string, StoredJob, std::less<>> found_handlerless_;  // Those of the pages so far.
  bool reads_again_ = false;
  /// Prefixes of handlers for which runs wait, each with what to say about an absent one.
  std::vector<std::pair<std::string, std::function<std::string(std::string_view handler)>>> awaited_handlers_;
  std::map<std::string, AwaitedRuns, std::less<>> awaited_;  // By handler.
};

}  // namespace rondo::jobs
