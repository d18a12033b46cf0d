// RecordedCalls: the calls of a component that a journal records, because programs outside of the runtime cause them: a command of the
// admin socket, a worker. In a replay, the turns of such programs' sources are stand-ins, and the replay makes their calls again. A call
// by a part of the runtime that runs in a replay, too, is compared with the record. Scheduler's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/sched/scheduler.h"
#include "sched/executor_host.h"

namespace rondo {

class RecordedCalls {
 public:
  /// 'repeat' makes a recorded call again, which then calls record() with the same text. It returns false for a text that is no call.
  /// Two components of a runtime need different names. 'scheduler' must outlive it.
  RecordedCalls(Scheduler& scheduler, std::string name, std::function<bool(std::string_view call)> repeat) : name_(std::move(name)) {
    if (scheduler.executor_host() != nullptr) connections_ = scheduler.executor_host()->connections();
    if (connections_.records != nullptr) connections_.records->calls_joined(name_, std::move(repeat));
  }
  ~RecordedCalls() {
    if (connections_.records != nullptr) connections_.records->calls_left(name_);
  }
  RecordedCalls(const RecordedCalls&) = delete;
  RecordedCalls& operator=(const RecordedCalls&) = delete;

  bool is_recorded() const noexcept { return connections_.journal != nullptr; }
  bool is_replayed() const noexcept { return connections_.records != nullptr; }
  /// Records a call, before it has an effect.
  void record(std::string_view call) {
    if (connections_.journal != nullptr) connections_.journal->called(name_, call);
  }
  /// In a replay, where a program outside of it would run: makes the recorded calls that are next. Otherwise it does nothing.
  void repeat() {
    if (connections_.records != nullptr) connections_.records->repeat_calls();
  }
  /// In a replay: whether the next record is this call.
  bool is_next(std::string_view call) { return connections_.records != nullptr && connections_.records->is_next_call(name_, call); }

 private:
  const std::string name_;
  ExecutorHost::Connections connections_;
};

}  // namespace rondo
