// ExecutorSeats: what the executors of a runtime meet: the runtime's journal, the tape of a replay, the trouble of a simulated world.
// Scheduler's thread.
#pragma once

#include <utility>

#include "orch/journal_recorder.h"
#include "sched/executor_host.h"

namespace rondo {

class ExecutorSeats final : public ExecutorHost {
 public:
  explicit ExecutorSeats(JournalRecorder& journal) noexcept : journal_(journal) {}
  /// From here on executors are in the world that makes 'trouble'.
  void simulate(ExecutorTrouble& trouble) noexcept { trouble_ = &trouble; }
  bool is_simulated() const noexcept { return trouble_ != nullptr; }

  Seat seat() override {
    ExecutorTape* const tape = journal_.executor_tape();
    // A replay has the recorded answers, and so the recorded trouble.
    return {.journal = journal_.on() ? &journal_ : nullptr, .tape = tape, .trouble = tape == nullptr ? trouble_ : nullptr};
  }

 private:
  JournalRecorder& journal_;
  ExecutorTrouble* trouble_ = nullptr;
};

}  // namespace rondo
