// Lifecycle: the source that starts and ends agents. It has the highest priority, and only agents wait in it, linked through their states.
// So no message can starve a start or an end (in SObjectizer it could), and neither allocates memory when it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "rondo/sched/source.h"

namespace rondo::message {

class AgentState;
class SchedulerContext;

class Lifecycle final : public Source {
 public:
  explicit Lifecycle(SchedulerContext& context);

  /// Any thread. 'what' is one of AgentState's bits.
  void request(AgentState& agent, std::uint8_t what) noexcept;
  /// Ends the agent immediately. On its own thread, not in one of its handlers.
  void finish(AgentState& agent) noexcept;
  /// As AgentQueue::close.
  void close() noexcept;

  Result<Backlog> collect() override { return has_backlog() ? Backlog::More : Backlog::Empty; }
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;
  std::size_t depth() const override;

 private:
  AgentState* pop(std::uint8_t& wanted) noexcept;
  void serve(AgentState& agent, std::uint8_t wanted) noexcept;
  void start(AgentState& agent) noexcept;

  SchedulerContext& context_;
  mutable std::mutex lock_;
  AgentState* first_ = nullptr;  // Guarded by lock_, as are the next three.
  AgentState* last_ = nullptr;
  std::size_t waiting_ = 0;
  bool closed_ = false;
  std::atomic<std::uint32_t> wakers_{0};
};

}  // namespace rondo::message
