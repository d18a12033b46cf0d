// OrderObserver and RecordedAnswers: the journal and the replay of a Programmer. A lane is the number of an OrderLane. Scheduler's thread.
#pragma once

#include <cstddef>
#include <span>

#include "rondo/dataplane/op.h"
#include "rondo/sched/source.h"

namespace rondo {

/// Receives each submission and each answered batch, in order.
class OrderObserver {
 public:
  virtual ~OrderObserver() = default;
  virtual void submitted(std::size_t lane, std::span<const Operation> operations) = 0;
  /// A batch was answered: the oldest unanswered operations of a lane.
  virtual void answered(std::size_t lane, std::span<const Operation> operations) = 0;
};

/// Replaces a data plane: gives the answers of a recorded run, at the recorded times. See ExecutorTap.
class RecordedAnswers {
 public:
  virtual ~RecordedAnswers() = default;
  virtual void attach(Source& source) = 0;
  virtual bool next(std::size_t& lane, std::size_t& count) = 0;
  virtual void answer(std::span<Operation> operations) = 0;
  virtual Backlog backlog() = 0;
};

}  // namespace rondo
