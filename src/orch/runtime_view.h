// RuntimeView: read-only access to the inside of a runtime for external checkers (sim): its consumers with their ledgers, and the index of
// facts. It costs nothing when it is not used.
#pragma once

#include "orch/runtime_impl.h"
#include "rondo/base/assert.h"

namespace rondo {

class RuntimeView {
 public:
  explicit RuntimeView(const Runtime& runtime) : runtime_(runtime), impl_(*runtime.impl_) {}

  const FactIndex& facts() const noexcept { return impl_.facts; }
  const Scheduler& scheduler() const noexcept { return *impl_.scheduler; }
  const Store& store() const noexcept { return *impl_.store; }
  /// True if an Orch of this name was made, also one that exists no more.
  bool had_orch(std::string_view name) const { return impl_.orch_names.contains(name); }
  /// Consumers by table, in the order of the tables' names.
  const std::map<std::string, Consumer*, std::less<>>& consumers() const noexcept { return impl_.consumers; }

  /// See Runtime::Impl::expect_here.
  void expect_here(std::string_view function) const { impl_.expect_here(function); }
  /// See Runtime::ask_workers.
  template <class Answer>
  std::vector<Answer> ask_workers(std::function<Answer(Runtime& worker)> question) const {
    return runtime_.ask_workers<Answer>(std::move(question));
  }

  /// Adds an observer beside RuntimeOptions::observer. Call it before the first Orch is added; 'observer' outlives the runtime.
  static void attach(Runtime& runtime, RuntimeEvents& observer) {
    RONDO_ASSERT(runtime.impl_->observers.tables() == 0);
    runtime.impl_->observers.add(observer);
  }
  /// From now on executors of the runtime are simulated. Call it before the first is made; 'trouble' outlives the runtime.
  static void attach(Runtime& runtime, ExecutorTrouble& trouble) noexcept { runtime.impl_->executors->simulate(trouble); }

 private:
  const Runtime& runtime_;
  const Runtime::Impl& impl_;
};

}  // namespace rondo
