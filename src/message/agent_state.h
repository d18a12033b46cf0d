// AgentState: the runtime's data of one agent: handlers, limits, figures, and its stage of life. It outlives the agent as long as an
// address of it exists or one of its messages waits. One thread builds it; then the handlers by type are fixed. The queue's lock guards
// 'accepting', the lock of Lifecycle guards 'wanted' and its link, and all else belongs to the agent's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "message/figures.h"
#include "message/node.h"
#include "message/type_limit.h"
#include "rondo/message/agent.h"
#include "rondo/sched/timer.h"

namespace rondo::message {

class AgentQueue;
class AgentState;

/// A group that was added. Guarded by the lock of Agents, except 'next_start': the thread that starts an agent writes that, and it passes
/// from thread to thread with the start itself.
struct GroupState {
  std::uint64_t number = 0;
  std::vector<AgentState*> agents;  // Highest priority first; equals in the order in which they were made. Each holds a reference.
  std::atomic<std::size_t> next_start{0};
  std::size_t left = 0;
  std::function<void()> done;
};

class AgentState {
 public:
  enum class Stage : std::uint8_t { Made, Running, Gone };
  /// Bits of a request to Lifecycle.
  enum : std::uint8_t { kStart = 1, kRemoveAfterQueue = 2, kRemoveAtOnce = 4 };

  AgentState(Agent& owner, std::string called, Priority level, std::shared_ptr<AgentQueue> of)
      : name(std::move(called)), priority(level), queue(std::move(of)), agent(&owner) {}
  AgentState(const AgentState&) = delete;
  AgentState& operator=(const AgentState&) = delete;

  // --- While it is built.
  void add_handler(Handler handler);
  void add_limit(const MessageType& type, Limit limit, KeyOf key);
  TypeLimit* limit_of(const MessageType& type) noexcept;
  /// Stores a handler that is found by its subscription instead of its type. Also called later, on the agent's thread.
  const Handler& keep(Handler handler);

  // --- Any thread.
  const Handler* find(const MessageType& type) const noexcept {
    const auto found = by_type_.find(&type);
    return found != by_type_.end() ? found->second : nullptr;
  }
  void acquire() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  /// Returns an address that holds a reference.
  Address address() noexcept {
    acquire();
    return Address{this};
  }
  static AgentState* of(const Address& address) noexcept { return address.state_; }
  static AgentState* of(const Agent& agent) noexcept { return agent.state_; }
  /// On the agent's thread, while the agent exists.
  void start() const { agent->on_start(); }
  void finish() const { agent->on_finish(); }
  Reaction react(const MessageFault& fault) const noexcept { return agent->on_exception(fault); }
  const AgentOptions& agent_options() const noexcept { return agent->options_; }

  const std::string name;
  const Priority priority;
  const std::shared_ptr<AgentQueue> queue;
  Figures figures;
  std::atomic<bool> accepting{false};

  // --- The agent's thread.
  bool has_nothing_left() const noexcept { return read(figures.gone) == read(figures.posted) && parked == nullptr; }
  Agent* agent;
  Stage stage = Stage::Made;
  // Written by any thread: the agent is being removed immediately, so none of its handlers begins from now on. Beside 'stage', which is
  // read with it.
  std::atomic<bool> stops{false};
  bool draining = false;
  bool forgotten = false;
  std::list<AgentState*>::iterator place;  // In Impl::agents; guarded by the lock of Agents.
  NodeList early;                          // Messages whose turn came before the agent had started.
  ParkedMessage* parked = nullptr;         // Messages that wait for a retry.
  std::shared_ptr<GroupState> group;

  class DrainTimer final : public TimerNode {
   public:
    explicit DrainTimer(AgentState& agent) : agent_(agent) {}

   private:
    void on_due() override;
    AgentState& agent_;
  } drain_timer{*this};

  // --- Guarded by the lock of Lifecycle.
  AgentState* lifecycle_next = nullptr;
  std::uint8_t wanted = 0;  // 0 while it is not in the list of Lifecycle.

 private:
  ~AgentState() = default;

  std::atomic<std::uint32_t> references_{1};
  std::deque<Handler> handlers_;
  std::unordered_map<const MessageType*, const Handler*> by_type_;
  std::vector<std::unique_ptr<TypeLimit>> limits_;
};

}  // namespace rondo::message
