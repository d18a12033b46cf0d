// Worker: a thread of its own for Orchs whose handlers are slow, beside a home runtime whose other sources keep their turns. It is a
// Runtime with its own scheduler, ledgers and journal; its tables are the home runtime's, its facts are shared with it and with its other
// workers. Orchs are written as always and live on their worker for life; only where they are added says where they run. See
// examples/05_worker.cc and docs/guide/workers.md, which says when it pays.
//
// What crosses, and how (docs/adr/0010-workers.md):
//   changes   home table -> bounded ring -> worker's consumer. A full ring leaves the rest in the table, where it goes on merging.
//   writes    Table::write on the worker -> bounded ring -> home store, in order; ResourceExhausted when the ring is full.
//   facts     provide, announce, withdraw, holds, wait_for and observe work across threads. No wake-up is lost: waiting and announcing
//             meet under one lock. holds() across threads may say false for a fact that nobody of this runtime has asked about before;
//             waiting for it is right all the same. A fact that ended must be withdrawn, or other threads go on believing it.
//   rejects   Runtime::on_reject of the home runtime is told, in a turn of its own, unless the worker's runtime has its own callback.
// There is no order between a write and an announcement of one handler, as seen from another thread.
//
// Threads: a worker belongs to the thread of its home runtime. Before start() and after stop() its Orchs may be touched there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/stall_watchdog.h"

namespace rondo {

struct WorkerOptions {
  /// Of its thread (the first 15 bytes), its sources and its figures. Not empty (assert).
  std::string name = "worker";
  PolicyOptions policy = BudgetedFrames{};
  /// Changes of one subscription under way to the worker, rounded up to a power of two.
  std::size_t lane_changes = limits::kWorkerLane;
  /// Writes and questions under way to the home store, rounded up to a power of two.
  std::size_t requests_max = limits::kWorkerRequests;
  /// Of the source at home that carries them.
  Priority requests = Priority::p7;
  /// How long stop() lets the worker go on with what it has.
  Duration drain = limits::kWorkerDrain;
  /// The worker's record of changes and retries, in files of its own (JournalOptions::prefix); nullptr records nothing.
  std::unique_ptr<Journal> journal = nullptr;
  /// See rondo/base/thread_settings.h. What cannot be granted is told by start().
  std::vector<unsigned> cpus = {};
  int nice = 0;
  /// Looks from outside whether a turn of the worker ends, for as long as it runs; see StallWatchdog. What it cannot be is told by start().
  std::optional<StallWatchdogOptions> watchdog = {};
  /// The seams, for simulation; nullptr means the real one. A given one must outlive the worker.
  const Clock* clock = nullptr;
  Reactor* reactor = nullptr;
};

struct WorkerStats {
  std::uint64_t refused_writes = 0;    // By the home store, of writers that did not ask for the end.
  std::uint64_t untold_rejects = 0;    // Rejects that found no room on their way home.
  std::uint64_t untaken = 0;           // Changes that had come here and that no consumer took before the end. Valid after stop().
  std::uint64_t full_lanes = 0;        // Times a subscription's lane was full, so that changes waited in the table.
  std::uint64_t refused_requests = 0;  // Writes and questions of the worker that found no room on their way home.
  std::uint64_t late_calls = 0;        // Calls of the worker that ended with DeadlineExceeded: home gave them no turn.
  std::uint64_t unanswered = 0;        // Questions of the home thread that found the worker busy.
  std::uint64_t facts_forgotten = 0;   // By all workers of this home: facts beyond limits::kBoardFacts that nobody waited for.
};

class Worker {
 public:
  /// Joins 'home', which is not a worker's runtime (assert). One of both may end first: a home runtime that ends stops its workers.
  explicit Worker(Runtime& home, WorkerOptions options = {});
  /// Stops.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Makes an Orch that lives on this worker: `worker.add<Routes>(argument...)` calls Routes(worker.runtime(), argument...). Before start()
  /// (assert).
  template <class T, class... Arguments>
  T& add(Arguments&&... arguments) {
    return runtime_for_adding().add<T>(std::forward<Arguments>(arguments)...);
  }

  /// The worker's own runtime. Its functions are for the worker's thread while it runs.
  Runtime& runtime() noexcept;
  const std::string& name() const noexcept;

  /// Starts the thread. Once (FailedPrecondition). A Status of cpus, nice or watchdog that could not be granted; then there is no thread.
  Status start();
  bool running() const noexcept;
  /// Takes nothing more from the tables, handles what has come so far for at most WorkerOptions::drain, and joins the thread. A handler
  /// that does not return is waited for. Writes of the worker made by then reach the home store. Rows that wait for facts are given up, as
  /// when a runtime ends. Blocks the home thread; must not be called in a turn of the worker itself.
  void stop();
  /// The same with so much time, whatever the options say.
  void stop(Duration drain);

  /// Any time on the home thread.
  WorkerStats stats() const;

 private:
  friend class Runtime;
  Runtime& runtime_for_adding();
  /// Calls 'what' in a turn of the worker, or at once while it has no thread. False when it was busy for too long; then 'what' may be
  /// called later, so it owns what it touches.
  bool ask(std::function<void(Runtime&)> what);
  /// The home runtime ends: stops and forgets it.
  void leave_home();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
