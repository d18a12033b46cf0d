// StallWatchdog: a thread that observes a scheduler. It reports the source of a turn that does not end, during that turn, with the stack if
// requested. It also gives the heartbeat for a supervisor. A scheduler that is busy (turns begin and end) or idle (it waits for work) is
// alive; one that stays in a single turn for too long is stuck. Scheduler::on_long_turn reports long turns after they have ended.
//
// The scheduler's own thread reports the name and the stack, in a signal handler. The signal is sent only when the scheduler is stuck. So a
// turn costs only one more relaxed store, and the watchdog reads no memory that another thread may free. A turn that blocks the signal, or
// is in a system call that cannot be interrupted, is reported without a name. System calls that restart (SA_RESTART) are not affected.
// Others, such as poll and sleep, end early with EINTR; a turn should not wait in them at all.
//
// Threads: the thread that runs the scheduler makes and destroys the watchdog. The watchdog's own thread calls the callbacks.
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
  std::string source;  // Name of the source; empty if the thread did not answer (see above).
  Duration lasted{0};  // Duration so far; too short by at most one check.
  /// Innermost first: "function" if the program exports its symbols, otherwise "file+0xoffset" for addr2line. Empty unless requested.
  std::vector<std::string> stack;
};

struct StallWatchdogOptions {
  /// A turn that takes longer is a stall. The watchdog checks four times in this span. Above zero.
  Duration limit = 1000ms;
  bool stack = false;
  /// Time between two heartbeats; zero for none.
  Duration heartbeat{0};
  /// A signal that the process does not use otherwise. 0: the last real-time signal.
  int signal = 0;
  // The functions are called on the watchdog's own thread. They must not throw: an exception ends the process.
  /// Called when a stall passes the limit, and again each time its duration has doubled.
  std::function<void(const Stall&)> on_stall = {};
  /// Called when a stalled turn has ended, with its duration, to a quarter of the limit.
  std::function<void(Duration lasted)> on_end = {};
  /// The scheduler is alive. Not called while it is stuck for longer than the limit.
  std::function<void()> on_heartbeat = {};
};

class StallWatchdog {
 public:
  /// InvalidArgument for a limit that is not above zero, AlreadyExists if the signal has a foreign handler, ResourceExhausted if no thread
  /// can be started; otherwise the error of the system call. 'scheduler' must outlive the watchdog, and only the calling thread may run it.
  static Result<std::unique_ptr<StallWatchdog>> start(const Scheduler& scheduler, StallWatchdogOptions options);
  /// Ends the thread; no callback is called afterwards.
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
