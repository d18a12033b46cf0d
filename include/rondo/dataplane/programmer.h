// Programmer: makes a blocking DataPlane asynchronous. One thread programs (two are slower: the kernel serialises them), so turns never
// wait for the kernel. Two lanes: Urgent (ports, neighbours, next hops, groups) overtakes Bulk (routes) between two batches, one batch of
// each in turn while both wait. The order within a lane is kept. Whoever submits to Bulk what depends on an Urgent order must have seen
// that order's answer first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/source.h"

namespace rondo {

class Scheduler;

enum class Lane : std::uint8_t { Urgent, Bulk };

/// Figures; read on the scheduler's thread.
struct ProgrammerStats {
  std::uint64_t submitted = 0;
  std::uint64_t applied = 0;
  std::uint64_t failed = 0;
  std::uint64_t batches = 0;
  std::uint64_t full_batches = 0;  // Of limits::kNetlinkBatch orders.
  std::uint64_t full = 0;          // Times Options::ops_max orders were under way, so that has_room() became false.
  Duration busy{0};                // Time inside DataPlane::apply.
  Histogram latency_ns;            // From submit to the answer's turn, one sample a submission.
};

/// Sees what is ordered and what is answered, in order. Scheduler's thread.
class OrderWatch {
 public:
  virtual ~OrderWatch() = default;
  virtual void submitted(Lane lane, std::span<const Operation> ops) = 0;
  /// A batch came back: the oldest orders of a lane that had not.
  virtual void answered(Lane lane, std::span<const Operation> ops) = 0;
};

/// In place of a data plane: what a recorded run was answered, when it was.
class RecordedAnswers {
 public:
  virtual ~RecordedAnswers() = default;
  /// The source in whose turns answers are delivered. Woken, it asks next(), in collect() and in its turn.
  virtual void attach(Source& source) = 0;
  /// The next batch that came back by now: its lane, and the status of each of its orders. False: none yet.
  virtual bool next(Lane& lane, std::vector<Status>& statuses) = 0;
  /// What the turn that is about to end said of its backlog.
  virtual Backlog backlog() = 0;
};

class Programmer {
 public:
  /// 'Thread' programs on a thread of its own. 'Inline' programs within turns of a source of the scheduler: for simulation and tests.
  enum class Mode : std::uint8_t { Thread, Inline };
  struct Options {
    Mode mode = Mode::Thread;
    Priority priority{48};  // Of the turns that deliver answers: above all that waits for them.
    std::size_t ops_max = limits::kProgrammerOps;
    OrderWatch* watch = nullptr;         // If given, it must outlive the programmer.
    RecordedAnswers* answers = nullptr;  // Likewise. Then nothing is programmed, and the mode is of no matter.
  };
  /// 'scheduler' and 'plane' must outlive it.
  Programmer(Scheduler& scheduler, DataPlane& plane, Options options);
  /// Applies what was submitted, delivers no more answers.
  ~Programmer();

  /// Keeps the programming thread on 'cpus' (see base/thread_settings.h for why and for the errors). Nothing happens inline.
  Status pin(std::span<const unsigned> cpus);

  /// Called on the scheduler's thread with the orders in the order submitted, each with its status. May be called in one or more turns,
  /// each order once.
  using Done = std::function<void(std::span<Operation> ops)>;

  /// Hands orders over, in a turn of its own after the current one; never blocks and never refuses. Scheduler's thread only. Orchs that
  /// submit in bulk look at has_room() first.
  void submit(Lane lane, std::vector<Operation> ops, Done done);

  /// Fewer than 'ops_max' orders are under way.
  bool has_room() const noexcept;
  /// 'wake' is called (in the answers' turn) each time room comes back after has_room() was false. Any number of listeners.
  void on_room(std::function<void()> wake);

  std::size_t in_flight() const noexcept;
  const ProgrammerStats& stats() const noexcept;
  DataPlane& plane() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
