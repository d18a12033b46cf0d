// AgentQueue: the messages of all agents of one priority on one scheduler, in the order of their arrival, as one Source.
//
// Posts of all threads go to the list 'waiting_', under the lock of the scheduler's context. A turn takes this list as a whole into
// 'taken_' and handles it without the lock. So the lock is held for few instructions at a time, and by the turn once for many messages.
//
// A type with a limit takes the lock at both ends, because the post that exceeds the limit must find and take out another message. That
// costs O(1) while the message is in 'waiting_'; one that was taken is only marked as dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "message/agent_state.h"
#include "message/message_watch.h"
#include "message/node.h"
#include "message/node_pool.h"
#include "message/parked_message.h"
#include "message/scheduler_context.h"
#include "rondo/base/clock.h"
#include "rondo/sched/source.h"

namespace rondo::message {

class AgentQueue final : public Source {
 public:
  AgentQueue(std::shared_ptr<SchedulerContext> context, Priority priority, std::size_t messages_max);
  ~AgentQueue() override;

  /// Any thread. If the post is refused, the object at 'stored' still belongs to the caller.
  Status post(AgentState& agent, const Handler& handler, void* stored);
  /// As post(), without an error text, so that a refusal allocates nothing.
  StatusCode offer(AgentState& agent, const Handler& handler, void* stored);
  /// Sets whether 'agent' accepts posts. Any thread.
  void set_accepting(AgentState& agent, bool accepting) noexcept;

  // --- The scheduler's thread.
  /// 'parked' is due and is appended to the queue.
  void retry(ParkedMessage& parked) noexcept;
  /// Drops parked messages that newer ones have replaced.
  void drop_superseded() noexcept;
  /// Drops parked messages of 'agent', which ends and accepts nothing any more.
  void discard_parked(AgentState& agent) noexcept;
  /// Drops early messages of 'agent', which will not start.
  void discard_early(AgentState& agent) noexcept;
  /// The agent has started: merges its early messages into the queue by their arrival, so before most others.
  void put_in_order(NodeList& early) noexcept;
  /// Refuses posts from now on and leaves the scheduler. Called by Agents::~Agents.
  void close() noexcept;
  /// Called after close(): drops all waiting messages.
  void discard_all() noexcept;
  /// Adds the figures of an agent that has gone.
  void absorb(const Figures& figures) noexcept { gone_agents_.add(figures); }

  SchedulerContext& context() const noexcept { return *context_; }
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;
  std::uint64_t head_arrival() const override;
  std::size_t depth() const override { return own_.waiting(); }

  // --- Any thread.
  /// Counts a message that is not stored inline and is about to be posted.
  void count_large() noexcept { large_.fetch_add(1, std::memory_order_relaxed); }
  /// The figures of the queue, including those of agents that have gone.
  MessageFigures figures() const;

 private:
  enum class Verdict : std::uint8_t { Queue, Settled, Full, Gone, Reject, StopAgent, StopRuntime };
  /// The answer of a limit to one more message: its node, and whether that still has the message that is replaced.
  struct Admission {
    Verdict verdict = Verdict::Queue;
    Node* node = nullptr;
    bool replaces = false;
  };
  /// What became of a message whose handler was called.
  enum class Fate : std::uint8_t { Served, Parked, Superseded };

  std::mutex& lock() const noexcept { return context_->lock; }
  static StatusCode code_of(Verdict verdict) noexcept;
  Verdict put(AgentState& agent, const Handler& handler, void* stored);
  void enqueue(const Admission& admission, AgentState& agent, const Handler& handler, void* stored, Instant now) noexcept;
  Admission admit(AgentState& agent, const Handler& handler, void* stored);
  Admission drop_oldest(AgentState& agent, TypeLimit& limit) noexcept;
  void supersede(ParkedMessage& parked, Counter& counted) noexcept;
  Verdict refuse(AgentState& agent, Verdict verdict) noexcept;
  void act(AgentState& agent, Verdict verdict);
  Status refusal(const AgentState& agent, const Handler& handler, Verdict verdict) const;

  bool take() noexcept;
  bool handle(Node& node);
  bool take_from_limit(Node& node) noexcept;
  bool has_to_wait(Node& node);
  Fate failed(Node& node) noexcept;
  Fate park(Node& node) noexcept;
  bool turn_time_is_up(Instant end) noexcept;
  void let_go(ParkedMessage& parked) noexcept;
  void discard(Node& node) noexcept;
  void free(Node& node) noexcept;
  void note_oldest() noexcept {
    oldest_taken_.store((taken_.empty() ? Instant::never() : taken_.first->enqueued).nanoseconds(), std::memory_order_relaxed);
  }

  // Constant, and on its own cache line: posts of other threads read it while the scheduler's thread writes the members below. Those posts
  // must not use a clock of the program without the lock, because they may run after the scheduler is gone.
  alignas(64) const std::shared_ptr<SchedulerContext> context_;
  MessageWatch* const watch_;
  const Clock* const clock_;
  const bool real_time_;
  const SystemClock system_clock_;

  // Used by the scheduler's thread.
  alignas(64) NodeList taken_;
  std::vector<Node*> freed_;  // Given back to the pool together.
  Instant now_;
  bool running_ = false;
  bool long_items_ = false;        // One of the last limits::kItemsPerStep items took longer than limits::kPollAfter.
  std::uint32_t short_items_ = 0;  // The number of items after that one which did not.
  std::atomic<std::int64_t> oldest_taken_;
  Counter cut_turns_{0};

  // Guarded by the lock.
  alignas(64) NodeList waiting_;
  std::uint64_t last_taken_ = 0;  // Arrival number of the newest message that take() has moved to taken_.
  bool closed_ = false;
  NodePool pool_;
  ParkedList superseded_;
  // Posts that are about to wake the scheduler or to stop agents: the queue must not close meanwhile.
  std::atomic<std::uint32_t> wakers_{0};

  Counter large_{0};  // Written by any thread.
  Figures own_;       // Only 'posted' and 'gone', of all agents.
  Figures gone_agents_;
};

}  // namespace rondo::message
