// RemoteRuns: what gives runs to programs elsewhere, such as src/jobs/workers, uses of a Jobs beyond its public interface. It knows no
// transport. Scheduler thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/trace_context.h"
#include "rondo/jobs/jobs.h"

namespace rondo::jobs {

/// No worker has this name.
inline constexpr std::string_view kUnknownWorker = "*";

/// What a standby says of what it does not have: workers, executors, and what runs do at present.
inline constexpr std::string_view kAskOwner = "another scheduler runs the jobs; ask that one: 'rondo job schedulers' names it";

/// A part of a run that several programs carry out, each one part.
struct RunPart {
  std::string place;       // The address of the program.
  std::string_view state;  // "waiting", "sent", "running", "succeeded", "failed", "discarded", "unknown"; static storage.
  std::optional<WallTime> begun = {};
  std::optional<WallTime> ended = {};
  std::string note = {};  // Why it failed, or what it returned.
};

/// A handler whose programs may have runs of an earlier process of this one.
struct RemoteHandler {
  AsyncHandler basic;
  /// True if 'run' is under way already, because it was begun before a restart of this program. Such a run does not wait in line. Empty:
  /// none.
  std::function<bool(std::int64_t run)> has_begun = {};
  /// For a run that an earlier process left, and that has not begun: for what it waits although there may be room, such as "waits until
  /// worker 'w1' reports whether it has run 17". Empty text: for nothing. Other runs do not wait behind it. Asked again at
  /// RemoteRuns::check_again().
  std::function<std::string(std::int64_t run)> held = {};
  /// True: the handler applies Job::overlap itself, at each executor, unless Job::overlap_scope is Job. Backfilled runs are not its matter.
  bool applies_overlap = false;
  /// Why has_room(run) may return false, for people who ask for what a run waits, such as "worker 'w1' has not reported since
  /// 2026-11-01T02:30:00Z". Empty text, or no function: only because other runs take the room.
  std::function<std::string(std::int64_t run)> why_no_room = {};
  /// Ok with the canonical form if a run may be sent to this address alone. Empty: the handler knows no addresses.
  std::function<Result<std::string>(const std::string& address)> check_address = {};
  /// The parts of a run, by their numbers; empty for a run that is one whole. Empty: the handler makes no parts.
  std::function<std::vector<RunPart>(const JobRun& run)> parts = {};
};

class RemoteRuns {
 public:
  /// 'jobs' must outlive it.
  explicit RemoteRuns(Jobs& jobs) noexcept : impl_(*jobs.impl_) {}

  /// As Jobs::handle_async(). A name that ends with '/' serves all handlers that begin with it and that no longer name serves. Their runs
  /// wait for room in one line, in has_room(), check_again() and Jobs::has_room() of that name. A run without room does not keep others of
  /// this line from room of theirs.
  void handle(std::string name, RemoteHandler handler);
  /// RemoteHandler::held may answer differently now. O(runs that the handler holds).
  void check_again(const std::string& handler);
  /// Asks the attempt under way to stop. The run ends as Killed, or as Discarded with put_back(). 'why' becomes its note.
  void stop(std::int64_t run, RunState state, const std::string& why);
  /// When no worker is expected any more that an earlier process gave a run to: ends the runs that
  /// were killed before the start of this program and wait for an absent handler.
  void give_up_killed();
  /// Records that a run without a stored end is given to 'worker'. Give it when 'done' has been
  /// called with a value, so that after a crash the worker that has the run is known.
  void note_worker(std::int64_t run, std::string worker, Jobs::Done<bool> done = {});
  /// JobStore::remember(), for what must outlive this program. 'done' is called with a value when the store has it.
  void remember(std::string key, std::string text, Jobs::Done<bool> done = {});
  void remembered(std::string key, Jobs::Done<std::string> done);
  /// TriggerOptions::address for a job with this handler: 'address' in its canonical form. InvalidArgument for a
  /// handler without addresses; InvalidArgument, NotFound or PermissionDenied for an address that the handler does not have at present.
  Result<std::string> check_address(const std::string& handler, const std::string& address) const;
  /// RemoteHandler::parts, also of a run that has ended. O(handlers + result).
  std::vector<RunPart> parts(const JobRun& run) const;
  /// A run without a stored end, as far as this process knows it; null if there is no such run. Before is_recovered() it may be one of an
  /// earlier process. Valid until the next call.
  const JobRun* find(std::int64_t run) const;
  /// Its job; null if there is no such run.
  std::shared_ptr<const Job> job_of(std::int64_t run) const;
  /// The trace of the HTTP call that asked for the run, which what carries it out should get; null: none. It is kept in memory, for the
  /// runs below that one as well, until the end of each is stored. A journal does not record it.
  std::shared_ptr<const TraceContext> trace(std::int64_t run) const;
  /// Call it when Jobs has answered with the run. Null has no effect.
  void set_trace(std::int64_t run, const std::shared_ptr<const TraceContext>& trace);
  /// True if the runs that an earlier process left have been taken up.
  bool is_recovered() const noexcept;
  /// True while another scheduler has the claim that this one waits for: no run begins here.
  bool is_standby() const;

 private:
  Jobs::Impl& impl_;
};

}  // namespace rondo::jobs
