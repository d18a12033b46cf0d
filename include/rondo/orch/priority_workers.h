// PriorityWorkers: runs the Orchs of a runtime on one worker for each priority in use, like SObjectizer's one_per_prio dispatcher. A slow
// handler then delays only its own priority. The operating system, which gets a nice value and CPUs for each thread, schedules the
// priorities. rondo/orch/worker.h describes what a worker is and what crosses between workers; docs/guide/workers.md explains when it pays.
// AgentThreads is the same for agents, without tables.
//
// Order: the items of one table are handled in the order of the table, messages of one priority in the order of their arrival. Rows have no
// arrival number, so several tables of one priority take turns, one row each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rondo/base/result.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/worker.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/priority.h"

namespace rondo {

/// All functions belong to the home runtime's thread.
class PriorityWorkers {
 public:
  /// Called once for each priority, when its worker is made; it may change the options, such as nice, cpus or journal. They begin with the
  /// name "orchs-p7" and the policy StrictlyOrdered.
  using Adjust = std::function<void(Priority, WorkerOptions&)>;
  /// 'home' must satisfy the same conditions as for Worker. Without 'adjust' the operating system treats the threads of all priorities
  /// alike.
  explicit PriorityWorkers(Runtime& home, Adjust adjust = {});
  /// Stops, then destroys the Orchs, those of the highest priority first.
  ~PriorityWorkers();
  PriorityWorkers(const PriorityWorkers&) = delete;
  PriorityWorkers& operator=(const PriorityWorkers&) = delete;

  /// Makes an Orch that lives, with all its sources, on the worker of 'priority': `workers.add<Routes>(Priority::p1, argument...)` calls
  /// Routes(runtime, argument...). The Orch's own priority must be the same (assert). Only before start() (assert).
  template <class T, class... Arguments>
  T& add(Priority priority, Arguments&&... arguments) {
    T& orch = at(priority).add<T>(std::forward<Arguments>(arguments)...);
    check(orch, priority);
    return orch;
  }

  /// The worker of 'priority', made on the first call; only before start() (assert).
  Worker& at(Priority priority);
  /// Number of priorities in use.
  std::size_t size() const noexcept;

  /// Starts all workers, the highest priority first. Only once (FailedPrecondition). If one cannot be started, none runs, and its error is
  /// returned.
  Status start();
  /// Worker::stop() of each, the highest priority first. The drain time of each (WorkerOptions::drain) begins now, so all of them together
  /// take no longer than the longest.
  void stop();

 private:
  static void check(const Orch& orch, Priority priority);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
