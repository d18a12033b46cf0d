// Worker: a thread of its own for Orchs whose handlers are slow. The other sources of the home runtime keep their turns. A worker is a
// Runtime with its own scheduler, ledgers and journal. It uses the home runtime's tables, and shares facts with the home runtime and its
// other workers. Orchs need no change and stay on their worker for life; only the call that adds them names the thread. See
// examples/05_worker.cc, and docs/guide/workers.md, which explains when a worker pays.
//
// What crosses between the threads, and how (docs/adr/0010-workers.md):
//   changes   home table -> bounded ring -> worker's consumer. While the ring is full the rest stays in the table, where changes merge.
//   writes    Table::write on the worker -> bounded ring -> home store, in order; ResourceExhausted when the ring is full.
//   facts     provide, announce, withdraw, holds, wait_for and observe work across threads. No wake-up is lost: waiting and announcing
//             take the same lock. holds() of a fact from another thread may return false if this runtime has not asked about it before;
//             waiting for that fact is still correct. A fact that ended must be withdrawn, or other threads continue to see it as true.
//   rejects   go to Runtime::on_reject of the home runtime, in a turn of its own, unless the worker's runtime has its own callback.
// Another thread may see a write and an announcement of one handler in either order.
//
// Threads: a worker belongs to the thread of its home runtime. Before start() and after stop() its Orchs may be used on that thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/stall_watchdog.h"

namespace rondo {

struct WorkerOptions {
  /// Name of its thread (the first 15 bytes), its sources and its figures. Not empty (assert).
  std::string name = "worker";
  PolicyOptions policy = BudgetedFrames{};
  /// The most changes of one subscription in its ring to the worker, rounded up to a power of two.
  std::size_t ring_changes = limits::kWorkerRing;
  /// The most writes and questions in the ring to the home store, rounded up to a power of two.
  std::size_t requests_max = limits::kWorkerRequests;
  /// Priority of the source in the home runtime that handles them.
  Priority requests = Priority::p7;
  /// How long stop() lets the worker handle what it has already taken; 0 or less: not at all.
  Duration drain = limits::kWorkerDrain;
  /// The observer of the worker's runtime, such as a journal in a file of its own; nullptr: none is needed.
  std::unique_ptr<RuntimeObserver> observer = nullptr;
  /// See rondo/base/thread_settings.h. start() returns the error if they cannot be granted.
  std::vector<unsigned> cpus = {};
  int nice = 0;
  /// Checks from another thread whether each turn of the worker ends, while the worker runs; see StallWatchdog. start() returns its error.
  std::optional<StallWatchdogOptions> watchdog = {};
  /// Replaceable parts, for simulation; nullptr means the real one. An object given here must outlive the worker.
  const Clock* clock = nullptr;
  Reactor* reactor = nullptr;
};

struct WorkerStats {
  std::uint64_t refused_writes = 0;      // Writes that the home store refused and whose writer passed no WriteDone.
  std::uint64_t unreported_rejects = 0;  // Rejects that were not reported because the ring to the home runtime was full.
  std::uint64_t untaken = 0;             // Changes in the worker that no consumer took before the end. Valid after stop().
  std::uint64_t full_rings = 0;          // Times a subscription's ring was full, so that changes waited in the table.
  std::uint64_t refused_requests = 0;    // Writes and questions of the worker that were refused because the ring was full.
  std::uint64_t late_calls = 0;  // Calls of the worker that ended with DeadlineExceeded: the home runtime did not handle them in time.
  std::uint64_t unanswered = 0;  // Questions of the home thread that a busy worker did not answer.
  // Facts beyond limits::kBoardFacts that no row waited for, dropped by all workers of this home runtime.
  std::uint64_t facts_forgotten = 0;
};

class Worker {
 public:
  /// Joins 'home', which must not be a worker's runtime (assert). Either may end first: a home runtime that ends stops its workers.
  explicit Worker(Runtime& home, WorkerOptions options = {});
  /// Calls stop().
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Makes an Orch that lives on this worker: `worker.add<Routes>(argument...)` calls Routes(worker.runtime(), argument...). Only before
  /// start() (assert).
  template <class T, class... Arguments>
  T& add(Arguments&&... arguments) {
    return runtime_for_adding().add<T>(std::forward<Arguments>(arguments)...);
  }

  /// The worker's own runtime. While the worker runs, only its thread may call the functions of that runtime.
  Runtime& runtime() noexcept;
  const std::string& name() const noexcept;

  /// Starts the thread. Only once (FailedPrecondition). Returns the error if cpus, nice or watchdog cannot be granted; then no thread runs.
  Status start();
  /// False again when the thread has ended: after stop(), or after the worker's own code called Runtime::stop() of runtime().
  bool running() const noexcept;
  /// The worker's own code stopped its runtime. Its tables are not handled any more; Runtime::standstills() and `health` say so.
  bool has_stopped_itself() const noexcept;
  /// Stops taking changes from the tables, handles those already taken for at most WorkerOptions::drain, and joins the thread. It waits for
  /// a handler that has not returned. Writes that the worker made by then reach the home store. Rows that wait for facts are dropped, as
  /// when a runtime ends. Blocks the home thread; must not be called in a turn of the worker itself (assert).
  void stop();
  /// The same with 'drain' in place of WorkerOptions::drain.
  void stop(Duration drain);

  /// May be called at any time on the home thread.
  WorkerStats stats() const;

 private:
  friend class Runtime;
  Runtime& runtime_for_adding();
  /// Calls 'what' in a turn of the worker, or immediately while it has no thread. False if the worker was busy for too long; 'what' may
  /// then still be called later, so it must own what it uses.
  bool ask(std::function<void(Runtime&)> what);
  /// True if an Orch of the worker consumes 'table'. Home thread.
  bool consumes(std::string_view table) const;
  /// Called when the home runtime ends: stops the worker and drops its reference to the home runtime.
  void leave_home();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
