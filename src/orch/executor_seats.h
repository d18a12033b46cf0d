// ExecutorSeats: the connections of a runtime's executors: the runtime's journal, the records that a replay runs again, and the faults of a
// simulated world. Scheduler's thread.
#pragma once

#include <utility>

#include "orch/journal_recorder.h"
#include "sched/executor_host.h"

namespace rondo {

class ExecutorSeats final : public ExecutorHost {
 public:
  explicit ExecutorSeats(JournalRecorder& journal) noexcept : journal_(journal) {}
  /// Executors made after this call receive the faults that 'trouble' makes.
  void simulate(ExecutorTrouble& trouble) noexcept { trouble_ = &trouble; }
  bool is_simulated() const noexcept { return trouble_ != nullptr; }

  Seat seat() override {
    ExecutorRecords* const records = journal_.executor_records();
    // A replay uses the recorded answers, which contain the recorded faults.
    return {.journal = journal_.on() ? &journal_ : nullptr, .records = records, .trouble = records == nullptr ? trouble_ : nullptr};
  }

 private:
  JournalRecorder& journal_;
  ExecutorTrouble* trouble_ = nullptr;
};

}  // namespace rondo
