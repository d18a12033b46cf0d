// Programmer: the switch's Executor: it makes a blocking DataPlane asynchronous. One thread programs (two are slower: the kernel serialises
// them). Two lanes: Urgent (ports, neighbours, next hops, groups) overtakes Bulk (routes) between two batches; while both wait they take
// turns, because replacing groups is slow (0.1 ms each) and a port that flaps must not stop the routes. Whoever submits to Bulk what
// depends on an Urgent order must have seen that order's answer first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"
#include "rondo/sched/executor.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;

/// The lanes of a Programmer, by number.
enum class Lane : std::uint8_t { Urgent, Bulk };

using ProgrammerStats = ExecutorStats;

/// Sees what is ordered and what is answered. A lane is the number of a Lane.
using OrderWatch = ExecutorWatch<Operation>;

/// In place of a data plane: what a recorded run was answered, when it was.
using RecordedAnswers = ExecutorAnswers<Operation>;

class Programmer {
 public:
  using Mode = ExecutorMode;
  struct Options {
    Mode mode = Mode::Thread;
    Priority priority{48};  // Of the turns that deliver answers: above all that waits for them.
    std::size_t ops_max = limits::kProgrammerOps;
    OrderWatch* watch = nullptr;         // If given, it must outlive the programmer.
    RecordedAnswers* answers = nullptr;  // Likewise. Then nothing is programmed, in either mode.
    /// Told each order that the data plane refused, on the thread that programs; not a delete of what is gone already, which is done.
    std::function<void(const Operation& refused)> on_refused = {};
  };
  /// 'scheduler' and 'plane' must outlive it.
  Programmer(Scheduler& scheduler, DataPlane& plane, Options options);
  /// Applies what was submitted, delivers no more answers.
  ~Programmer() = default;

  /// Keeps the programming thread on 'cpus': see Executor::pin.
  Status pin(std::span<const unsigned> cpus) { return executor_.pin(cpus); }

  using Done = Executor<Operation>::Done;
  /// See Executor.
  void submit(Lane lane, std::vector<Operation> ops, Done done) {
    executor_.submit(static_cast<std::size_t>(lane), std::move(ops), std::move(done));
  }
  bool has_room() const noexcept { return executor_.has_room(); }
  void on_room(std::function<void()> wake) { executor_.on_room(std::move(wake)); }

  std::size_t in_flight() const noexcept { return executor_.in_flight(); }
  /// Among those that failed are gone_deletes().
  const ProgrammerStats& stats() const noexcept { return executor_.stats(); }
  /// Deletes of what was gone already. Any thread.
  std::uint64_t gone_deletes() const noexcept { return gone_deletes_.load(std::memory_order_relaxed); }
  DataPlane& plane() noexcept { return plane_; }

 private:
  void apply(std::span<Operation> ops);

  DataPlane& plane_;
  const std::function<void(const Operation& refused)> on_refused_;
  std::atomic<std::uint64_t> gone_deletes_ = 0;
  Executor<Operation> executor_;
};

}  // namespace rondo
