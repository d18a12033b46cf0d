// ExecutorHost: the environment of an executor: a journal that records its operations, a replay that answers in place of its target, and a
// simulated world that injects faults. RecordedCalls uses the same journal and replay. A Runtime sets it on its scheduler
// (src/orch/runtime_executors.h). Scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/time.h"
#include "rondo/sched/source.h"
#include "sched/executor_texts.h"

namespace rondo {

/// Records the operations of executors and the calls of components. Each is identified by its name.
class ExecutorJournal {
 public:
  virtual ~ExecutorJournal() = default;
  virtual void ordered(std::string_view executor, std::size_t lane, const executor::Texts& orders) = 0;
  /// 'first': the number of the first operation in its lane.
  virtual void order_answers(std::string_view executor, std::size_t lane, std::uint64_t first, const executor::Texts& answers) = 0;
  /// The target of a simulated world has no room from now on, or has room again.
  virtual void room_changed(std::string_view executor, bool has_room) = 0;
  /// See RecordedCalls.
  virtual void called(std::string_view component, std::string_view call) = 0;
};

/// The answers and calls of a recorded run.
class ExecutorRecords {
 public:
  virtual ~ExecutorRecords() = default;
  virtual void joined(std::string_view executor, Source& source) = 0;
  virtual void left(std::string_view executor) = 0;
  /// True if the next record has answers of this executor. Sets their lane, the number of the first operation in it, and the answers,
  /// which are valid until the records advances.
  virtual bool next(std::string_view executor, std::size_t& lane, std::uint64_t& first, std::vector<std::string_view>& answers) = 0;
  /// True if the next record reports that this executor's room ended or returned.
  virtual bool next_room(std::string_view executor, bool& has_room) = 0;
  /// The recorded backlog of the turn that is about to end.
  virtual Backlog backlog() = 0;
  virtual void refuse(std::string_view why) = 0;
  // See RecordedCalls.
  virtual void calls_joined(std::string_view component, std::function<bool(std::string_view call)> repeat) = 0;
  virtual void calls_left(std::string_view component) = 0;
  virtual void repeat_calls() = 0;
  virtual bool is_next_call(std::string_view component, std::string_view call) = 0;
};

/// The target's side of a simulated world: when batches are applied and answered, and what fails. It wakes 'source' at both instants, and
/// when its room changes.
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
  /// How one operation fails; ok if it is applied.
  struct Failure {
    Status status = {};
    bool is_applied = false;  // True if the operation is applied although it fails.
  };
  virtual Failure next_failure() = 0;
  virtual bool has_room() const = 0;
  /// The executor ends with 'operations' that were not applied. Returns how many of the oldest are applied now: all of them unless the
  /// process crashes.
  virtual std::size_t applied_at_end(std::size_t operations) = 0;
};

class ExecutorHost {
 public:
  virtual ~ExecutorHost() = default;
  /// Absent parts are null.
  struct Connections {
    ExecutorJournal* journal = nullptr;
    ExecutorRecords* records = nullptr;
    ExecutorTrouble* trouble = nullptr;
  };
  virtual Connections connections() = 0;
};

}  // namespace rondo
