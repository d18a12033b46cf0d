// Programmer: the Executor of the switch; it makes a blocking DataPlane asynchronous. One thread programs (two are slower: the kernel
// serialises them). Two lanes: Urgent (ports, neighbours, next hops, groups) overtakes Bulk (routes) between two batches. While both wait
// they alternate, because replacing groups is slow (0.1 ms each) and a flapping port must not stop the routes. If an order in Bulk depends
// on one in Urgent, the caller submits it after that one's answer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/limits.h"
#include "rondo/dataplane/op.h"
#include "rondo/sched/executor.h"
#include "rondo/sched/priority.h"

namespace rondo {

class OrderObserver;
class RecordedAnswers;
class Scheduler;

/// The lanes of a Programmer, by number.
enum class OrderLane : std::uint8_t { Urgent, Bulk };

using ProgrammerStats = ExecutorStats;

class Programmer {
 public:
  struct Options {
    bool in_line = false;   // See ExecutorOptions.
    Priority priority{48};  // Priority of the turns that deliver answers; above that of the sources that wait for them.
    std::size_t ops_max = limits::kProgrammerOps;
    OrderObserver* observer = nullptr;   // For a journal. If given, it must outlive the programmer.
    RecordedAnswers* answers = nullptr;  // For a replay. If given, it must outlive the programmer; then nothing is programmed.
    /// Called on the programming thread with each order that the data plane refused. Not called for a delete of a missing object, which
    /// counts as done.
    std::function<void(const Operation& refused)> on_refused = {};
    /// Called on the scheduler's thread with the error of each refused order; the caller gets the error that it returns.
    /// It puts names in the place of numbers. Observers get the error of the data plane.
    std::function<Status(const Status& error)> reword = {};
  };
  /// 'scheduler' and 'plane' must outlive it.
  Programmer(Scheduler& scheduler, DataPlane& plane, Options options);
  /// Applies the submitted operations; delivers no more answers.
  ~Programmer();

  /// Binds the programming thread to 'cpus': see Executor::pin.
  Status pin(std::span<const unsigned> cpus) { return executor_.pin(cpus); }

  using Done = Executor<Operation>::Done;
  /// See Executor.
  void submit(OrderLane lane, std::vector<Operation> ops, Done done) {
    if (reword_ && done) done = reworded(std::move(done));
    executor_.submit(static_cast<std::size_t>(lane), std::move(ops), std::move(done));
  }
  bool has_room() const noexcept { return executor_.has_room(); }
  void on_room(std::function<void()> wake) { executor_.on_room(std::move(wake)); }

  std::size_t in_flight() const noexcept { return executor_.in_flight(); }
  /// The failed operations include gone_deletes().
  const ProgrammerStats& stats() const noexcept { return executor_.stats(); }
  /// Deletes of objects that did not exist any more. Any thread.
  std::uint64_t gone_deletes() const noexcept { return gone_deletes_.load(std::memory_order_relaxed); }
  enum class Kind : std::uint8_t { AppliedSet, RefusedSet, AppliedDelete, RefusedDelete };
  /// Orders that the data plane has answered. A delete of what is gone is applied. Any thread.
  std::uint64_t answered(Kind kind) const noexcept { return answered_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed); }
  DataPlane& plane() noexcept { return plane_; }

 private:
  void apply(std::span<Operation> ops);
  Done reworded(Done done) const;

  DataPlane& plane_;
  const std::function<void(const Operation& refused)> on_refused_;
  const std::function<Status(const Status& error)> reword_;
  std::atomic<std::uint64_t> gone_deletes_ = 0;
  std::array<std::atomic<std::uint64_t>, 4> answered_{};  // By Kind.
  const std::unique_ptr<ExecutorTap> tap_;
  Executor<Operation> executor_;
};

}  // namespace rondo
