// ExecutorHost: what an executor meets around it: a journal that records its operations, a replay that answers in place of its target, a
// simulated world that disturbs it. A Runtime sets it on its scheduler (src/orch/executor_seats.h). Scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rondo/base/time.h"
#include "rondo/sched/executor_core.h"
#include "rondo/sched/source.h"

namespace rondo {

/// Where the operations of executors are written down. Executors are told apart by their names.
class ExecutorJournal {
 public:
  virtual ~ExecutorJournal() = default;
  virtual void ordered(std::string_view executor, std::size_t lane, const executor::Texts& orders) = 0;
  /// 'first': the number of the first operation in its lane.
  virtual void order_answers(std::string_view executor, std::size_t lane, std::uint64_t first, const executor::Texts& answers) = 0;
  /// The target of a simulated world has no room from now on, or has room again.
  virtual void room_changed(std::string_view executor, bool has_room) = 0;
};

/// A recorded run.
class ExecutorTape {
 public:
  virtual ~ExecutorTape() = default;
  virtual void joined(std::string_view executor, Source& source) = 0;
  virtual void left(std::string_view executor) = 0;
  /// The next record is of answers of this executor: their lane, the number of the first operation in it, and the answers, valid until the
  /// tape goes on.
  virtual bool next(std::string_view executor, std::size_t& lane, std::uint64_t& first, std::vector<std::string_view>& answers) = 0;
  /// The next record says that this executor's room ended or came back.
  virtual bool next_room(std::string_view executor, bool& has_room) = 0;
  /// Of the turn that is about to end.
  virtual Backlog backlog() = 0;
  virtual void refuse(std::string_view why) = 0;
};

/// The target's side of a simulated world: when batches are carried out and answered, and what fails. It wakes 'source' at both instants,
/// and when its room changes.
class ExecutorTrouble {
 public:
  virtual ~ExecutorTrouble() = default;
  virtual void joined(Source& source) = 0;
  virtual void left(Source& source) = 0;
  struct Times {
    Instant applied;
    Instant answered;
  };
  virtual Times begin(Source& source, std::size_t operations) = 0;
  /// How one operation fails; ok: it is applied.
  struct Failure {
    Status status = {};
    bool is_applied = false;  // Before it fails.
  };
  virtual Failure next_failure() = 0;
  virtual bool has_room() const = 0;
  /// The executor ends with 'operations' that were not applied. The number of the oldest ones that are applied now; all of them unless the
  /// process crashes.
  virtual std::size_t applied_at_end(std::size_t operations) = 0;
};

class ExecutorHost {
 public:
  virtual ~ExecutorHost() = default;
  /// What there is none of is null.
  struct Seat {
    ExecutorJournal* journal = nullptr;
    ExecutorTape* tape = nullptr;
    ExecutorTrouble* trouble = nullptr;
  };
  virtual Seat seat() = 0;
};

}  // namespace rondo
