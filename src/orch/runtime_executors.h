// RuntimeExecutors: the connections of a runtime's executors: its observer's journal, the records that a replay runs again, and the faults
// of a simulated world. Scheduler's thread.
#pragma once

#include "sched/executor_host.h"

namespace rondo {

class RuntimeExecutors final : public ExecutorHost {
 public:
  /// 'records': the recorded answers of a replay; otherwise null.
  explicit RuntimeExecutors(ExecutorRecords* records) noexcept : records_(records) {}
  /// 'journal' records the orders to executors that are made after this call, and their answers. It may be null.
  void record(ExecutorJournal* journal) noexcept { journal_ = journal; }
  /// Executors made after this call receive the faults that 'trouble' makes.
  void simulate(ExecutorTrouble& trouble) noexcept { trouble_ = &trouble; }
  bool is_simulated() const noexcept { return trouble_ != nullptr; }

  Connections connections() override {
    // A replay uses the recorded answers, which contain the recorded faults.
    return {.journal = journal_, .records = records_, .trouble = records_ == nullptr ? trouble_ : nullptr};
  }

 private:
  ExecutorRecords* const records_;
  ExecutorJournal* journal_ = nullptr;
  ExecutorTrouble* trouble_ = nullptr;
};

}  // namespace rondo
