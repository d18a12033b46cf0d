// AsyncRun: one attempt of a run, in the hands of an asynchronous handler (Jobs::handle_async). The handler starts the work elsewhere,
// keeps the AsyncRun, and ends it later. Until then the attempt takes no thread.
//   jobs.handle_async("upload", {.begin = [&](AsyncRun run) {
//     transfer.start(run.job().parameters, [run](Status status) { run.end(std::move(status)); });
//     run.on_stop([&transfer] { transfer.cancel(); });
//   }});
//
// Scheduler thread only: while the attempt is open, a call or the end of the last copy on another thread ends the process with a message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/jobs/job.h"

namespace rondo::jobs {

/// A handle: all copies refer to one attempt. The first end() counts. If the last copy is destroyed before, the attempt fails as
/// Unavailable.
class AsyncRun {
 public:
  struct State;
  explicit AsyncRun(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

  /// The id of the run; the same in each attempt, also after a crash.
  std::int64_t run() const noexcept;
  /// The job as it was when the attempt began.
  const Job& job() const noexcept;
  WallTime scheduled() const noexcept;
  std::uint32_t attempt() const noexcept;  // 0 for the first one.

  /// Shows how far the run is. 'percent' above 100 counts as 100. It is kept in memory until the attempt ends.
  void progress(unsigned percent, std::string_view text) const;
  /// Shows where the work is done, such as "worker web-1": at most limits::kRunNote bytes.
  void placed_at(std::string_view place) const;
  /// Shows why the work may not go on, such as "worker web-1 has been away since 2026-11-01T02:30:00Z": at most limits::kRunNote bytes.
  /// Empty: it goes on.
  void in_trouble(std::string_view trouble) const;
  /// The work begins later, with the next call of began_at(): until then the attempt has no timeout, and its activity is 'waits', such as
  /// "waits until worker web-1 has begun it". At most limits::kRunNote bytes. A later call changes the text.
  void begins_later(std::string_view waits) const;
  /// The work began at this time. A time in the future counts as now, one more than a day before scheduled() as that. Without it, begin()
  /// counts; but work that an earlier process began was under way before.
  void began_at(WallTime begun) const;
  /// The work ended at this time: call it before end(). Without it, end() counts. A time before the begin, or in the future, counts as the
  /// nearest one that can be.
  void ended_at(WallTime ended) const;
  /// Sets the function that is called when the attempt must stop: the run was killed or covered, its timeout has passed, or its job was
  /// removed. Of all functions that are set for an attempt one is called, once; immediately if that has happened before. The handler then
  /// ends the attempt when the work has stopped. What 'stop' throws goes to Runtime::on_reject, and the
  /// attempt goes on. 'stop' must not hold an AsyncRun, which would keep itself alive.
  void on_stop(std::function<void()> stop) const;
  bool is_stop_requested() const noexcept;
  /// Ends the attempt. 'note' is for people: what the work returned. DeadlineExceeded means that the work exceeded its time, so the run
  /// counts as timed out; another error that it failed. Both are retried, if the job has retries left. Later ends are ignored.
  void end(Status status, std::string note = {}) const;
  /// The attempt did not begin, for instance because the worker that was to get it has gone. It does not count: the run waits again until
  /// Jobs::has_room(). A run that was killed meanwhile ends.
  void put_back() const;
  /// Lets go of the attempt without an end, when the program ends and the work elsewhere goes on: the run has no stored end, so it is begun
  /// again after the next start.
  void leave() const noexcept;
  /// False after the end, when the job was removed, and when Jobs was destroyed.
  bool is_open() const noexcept;

 private:
  std::shared_ptr<State> state_;
};

/// What Jobs calls for the runs of a handler that works elsewhere. An exception of any of these functions fails the attempt of the run,
/// which is retried if the job has retries left.
struct AsyncHandler {
  /// Begins an attempt.
  std::function<void(AsyncRun run)> begin;
  /// True if 'run' may begin now. Runs for which it returns false wait in the order of their priority, until Jobs::has_room(). Empty:
  /// always.
  std::function<bool(std::int64_t run)> has_room = {};
  /// Empty: Jobs::put_checked() checks no parameters of this handler.
  CheckParameters check = {};
};

}  // namespace rondo::jobs
