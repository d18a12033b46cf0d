// ExecutorTap: records the operations of one executor and answers them in a replay, in place of the runtime's journal and replay. The
// Programmer has one, because the journal knows its operations. A tap that is no derived class keeps the operations out of both.
// Scheduler's thread.
#pragma once

#include <cstddef>
#include <span>

#include "rondo/sched/executor.h"
#include "rondo/sched/source.h"

namespace rondo {

class ExecutorTap {
 public:
  using Operations = ExecutorBase::Operations;

  virtual ~ExecutorTap() = default;
  virtual bool is_recorded() const noexcept { return false; }
  /// Receives each submission and each answered batch, in order. With one thread, a batch has the oldest unanswered operations of a lane.
  virtual void submitted(std::size_t /*lane*/, Operations& /*operations*/) {}
  virtual void answered(std::size_t /*lane*/, Operations& /*operations*/) {}

  // A replay gives the answers of a recorded run, at the recorded times; nothing is applied.

  virtual bool is_replayed() const noexcept { return false; }
  /// Sets the source whose turns deliver answers. When it is woken, it calls next() in collect() and in its turn.
  virtual void attach(Source& /*source*/) {}
  /// The next batch whose answers are due: its lane and the number of its operations. False if none is due yet.
  virtual bool next(std::size_t& /*lane*/, std::size_t& /*count*/) { return false; }
  /// Writes the answers of that batch into the operations; there are fewer of them if this run submitted fewer.
  virtual void answer(Operations& /*operations*/) {}
  /// The backlog that the recorded run reported at the end of the current turn.
  virtual Backlog backlog() { return Backlog::Empty; }

 protected:
  template <class Operation>
  static std::span<Operation> of(Operations& operations) {
    return static_cast<typename Executor<Operation>::Vector&>(operations).operations;
  }
};

namespace executor {
using Operations = ExecutorTap::Operations;
}

}  // namespace rondo
