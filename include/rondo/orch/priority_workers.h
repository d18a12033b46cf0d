// PriorityWorkers: the Orchs of a runtime with a worker for each priority in use (seed 003, "Dispatcher With Dedicated Thread For Every
// Priority": one_per_prio). A slow handler then delays its own priority alone, and the system, which is told a rank and CPUs for each
// thread, decides between priorities. See rondo/orch/worker.h for what a worker is, what crosses between workers and how, and
// docs/guide/workers.md for when it pays; AgentThreads is the same for agents that know no tables.
//
// Order: the items of one table come in the table's order, messages of one priority in the order of their arrival. Rows carry no number of
// arrival, so several tables of one priority take turns, one row each.
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

struct PriorityWorkersOptions {
  /// Of each worker's scheduler.
  PolicyOptions policy = StrictlyOrdered{};
  /// Workers are named "NAME-p7".
  std::string name = "orchs";
  /// Asked once for each priority, when its worker is made: may change its options, such as nice, cpus or journal. A priority of ours says
  /// nothing to the system unless this does.
  std::function<void(Priority, WorkerOptions&)> adjust = {};
};

/// Home thread.
class PriorityWorkers {
 public:
  /// 'home' as for Worker.
  explicit PriorityWorkers(Runtime& home, PriorityWorkersOptions options = {});
  /// Stops; the Orchs end, those of the highest priority first.
  ~PriorityWorkers();
  PriorityWorkers(const PriorityWorkers&) = delete;
  PriorityWorkers& operator=(const PriorityWorkers&) = delete;

  /// Makes an Orch that lives, with all its sources, on the worker of 'priority' for life: `workers.add<Routes>(Priority::p1, argument...)`
  /// calls Routes(runtime, argument...). The Orch must say the same priority of itself (assert). Before start() (assert).
  template <class T, class... Arguments>
  T& add(Priority priority, Arguments&&... arguments) {
    T& orch = at(priority).add<T>(std::forward<Arguments>(arguments)...);
    check(orch, priority);
    return orch;
  }

  /// The worker of 'priority', made when it is first asked for; that is before start() (assert).
  Worker& at(Priority priority);
  /// Priorities in use.
  std::size_t size() const noexcept;

  /// Starts all, the highest priority first. Once (FailedPrecondition). If one cannot be started, none runs, and its Status says why.
  Status start();
  /// Worker::stop() of each, the highest first. The time of each (WorkerOptions::drain) begins now, so that all of them take no longer than
  /// the longest.
  void stop();

 private:
  static void check(const Orch& orch, Priority priority);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
