// StallWatchdog: a thread that looks at a scheduler from outside. It names the source whose turn does not end, while it does not end, with
// the stack when asked, and gives the heartbeat for a supervisor: a scheduler that is busy (turns come and go) or idle (it waits for work)
// is alive, one that is in a single turn for too long is stuck. Turns that were long and have ended are Scheduler::on_long_turn's.
//
// The name and the stack come from the scheduler's own thread, by a signal that is sent only when it is stuck; so a turn costs one relaxed
// store more, and nothing is read that another thread may be about to free. A turn that blocks the signal, or is in a system call that
// cannot be interrupted, is told without a name. System calls that restart by themselves (SA_RESTART) do not notice; others, and poll and
// sleep, end early with EINTR, in a turn that ought not to wait at all.
//
// Threads: made and destroyed by the thread that runs the scheduler, beside it; the callbacks are called by the watchdog's own.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo {

class Scheduler;

/// A turn (or a collect()) that has not ended.
struct Stall {
  std::string source;  // Its name, or nothing where the thread did not answer; see above.
  Duration lasted{0};  // So far, at most one look too short.
  /// Innermost first: "function" where the program exports its symbols, else "file+0xoffset" for addr2line. Empty unless asked for.
  std::vector<std::string> stack;
};

struct StallWatchdogOptions {
  /// A turn that takes longer is a stall. It is looked at four times in this span. Above zero.
  Duration limit = 1000ms;
  bool stack = false;
  /// Between two heartbeats; zero for none.
  Duration heartbeat{0};
  /// Not used by anybody else in the process. By default the last real-time signal.
  int signal = 0;
  /// Told once for each stall, when it passes the limit, and again each time it has lasted twice as long.
  std::function<void(const Stall&)> on_stall = {};
  /// Told when a stalled turn has ended, how long it had lasted, to a quarter of the limit.
  std::function<void(Duration lasted)> on_end = {};
  /// The scheduler is alive. While it is stuck for longer than the limit this is not called.
  std::function<void()> on_heartbeat = {};
};

class StallWatchdog {
 public:
  /// InvalidArgument for a limit that is not above zero, AlreadyExists if the signal has a handler that is not ours, ResourceExhausted
  /// where there is no thread, and what the system says. 'scheduler' must outlive the watchdog, and be run by the calling thread alone.
  static Result<std::unique_ptr<StallWatchdog>> start(const Scheduler& scheduler, StallWatchdogOptions options);
  /// Ends the thread; no callback comes later.
  ~StallWatchdog();
  StallWatchdog(const StallWatchdog&) = delete;
  StallWatchdog& operator=(const StallWatchdog&) = delete;

  /// Any thread.
  std::uint64_t stalls() const noexcept;

 private:
  class Impl;
  explicit StallWatchdog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
