// RuntimeView: the inside of a runtime for those who check it from outside (sim): its consumers with their ledgers, and the index of
// constraints, read only. It costs nothing where it is not used.
#pragma once

#include "orch/runtime_parts.h"
#include "rondo/base/assert.h"

namespace rondo {

class RuntimeView {
 public:
  explicit RuntimeView(const Runtime& runtime) : parts_(*runtime.parts_) {}

  const ConstraintIndex& constraints() const noexcept { return parts_.constraints; }
  const Scheduler& scheduler() const noexcept { return *parts_.scheduler; }
  const Store& store() const noexcept { return *parts_.store; }
  /// By table, in the order of their names.
  const std::map<std::string, Consumer*, std::less<>>& consumers() const noexcept { return parts_.consumers; }

  /// From here on 'witness' sees what consumers do. Before the first Orch is added; it outlives the runtime.
  static void attach(Runtime& runtime, Witness& witness) noexcept {
    RONDO_ASSERT(runtime.parts_->consumers.empty());
    runtime.parts_->witness = &witness;
  }
  /// From here on executors of the runtime are simulated. Before the first is made; 'trouble' outlives the runtime.
  static void attach(Runtime& runtime, ExecutorTrouble& trouble) noexcept { runtime.parts_->executors->simulate(trouble); }

 private:
  const Runtime::Parts& parts_;
};

}  // namespace rondo
