// SchedulerContext: one scheduler and the queues of agents on it. Its lock guards the waiting messages of all these queues; as the
// scheduler's Inbox it wakes those that other threads posted to. Shared by its queues, so it outlives the last address; 'core' and
// 'scheduler' are then gone, and every queue is closed.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "message/lifecycle.h"
#include "rondo/base/limits.h"
#include "rondo/message/agents.h"
#include "rondo/sched/inbox.h"
#include "rondo/sched/scheduler.h"

namespace rondo::message {

class AgentQueue;

class SchedulerContext final : public Inbox {
 public:
  SchedulerContext(Agents::Impl& agents, Scheduler& given) : core(agents), scheduler(given), lifecycle(*this) {}

  /// Call it before the scheduler is run.
  void enter();
  /// Call it when its queues are closed and no scheduler gives turns any more.
  void close() noexcept;

  /// True if the calling thread is in a turn of an agent of this scheduler.
  bool is_in_turn() const noexcept { return in_turn() == this; }

  /// Any thread. 'queue' is added to the scheduler on the scheduler's thread.
  void add(AgentQueue& queue) noexcept;
  /// Under the lock: a message was posted to the queue of 'priority'. Returns true if Scheduler::check_inboxes must be called. Posts of
  /// the scheduler's own thread do not make the loop gather.
  bool posted(Priority priority) noexcept {
    posted_to_ |= 1ULL << priority.level();
    came_ += thread_.load(std::memory_order_relaxed) == ::pthread_self() ? 0U : 1U;
    return mark(priority, scheduler);
  }

  Agents::Impl& core;
  Scheduler& scheduler;
  Lifecycle lifecycle;
  alignas(64) std::mutex lock;

 private:
  friend class InTurn;
  /// Tries again to add queues to the scheduler, for which there was no memory.
  class AddAgain final : public TimerNode {
   public:
    explicit AddAgain(SchedulerContext& context) : context_(context) {}

   private:
    void on_due() override;
    SchedulerContext& context_;
  };
  std::uint64_t hand_out() noexcept override;
  bool is_for(const Source& source) const noexcept override;
  void wake(AgentQueue& queue) noexcept;
  /// A thread-local variable: a member of the context would be written in every turn and read by each post on another processor.
  static const SchedulerContext*& in_turn() noexcept {
    thread_local constinit const SchedulerContext* context = nullptr;
    return context;
  }

  // Guarded by the lock.
  std::uint64_t posted_to_ = 0;  // Bit p: messages were posted to the queue of priority p since the last hand_out().
  std::uint64_t came_ = 0;

  alignas(64) std::array<std::atomic<AgentQueue*>, limits::kPriorities> queues_{};  // Written under the lock.
  std::atomic<pthread_t> thread_{};
  AddAgain add_again_{*this};
};

/// While it exists, the calling thread is in a turn of an agent of 'context'.
class InTurn {
 public:
  explicit InTurn(SchedulerContext& context) noexcept : before_(std::exchange(SchedulerContext::in_turn(), &context)) {
    const pthread_t self = ::pthread_self();
    if (context.thread_.load(std::memory_order_relaxed) != self) context.thread_.store(self, std::memory_order_relaxed);
  }
  ~InTurn() { SchedulerContext::in_turn() = before_; }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  const SchedulerContext* const before_;
};

}  // namespace rondo::message
