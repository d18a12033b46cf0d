// The implementation of Agents, shared by its files: the contexts, queues, agents, groups and topics. Members that are not atomic are
// guarded by 'lock'. Posting and handling a message touches none of them.
#pragma once

#include <array>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "message/agent_queue.h"
#include "message/agent_state.h"
#include "message/scheduler_context.h"
#include "message/topic_core.h"
#include "rondo/base/limits.h"
#include "rondo/message/agents.h"

namespace rondo {

struct Agents::Impl {
  using ContextFor = std::function<Result<std::shared_ptr<message::SchedulerContext>>(Priority)>;
  Impl(AgentsOptions given, ContextFor find) : options(std::move(given)), context_for(std::move(find)) {}

  /// Returns the queue of 'priority' and makes it if it is absent.
  Result<std::shared_ptr<message::AgentQueue>> queue(Priority priority);
  /// Makes the state of an agent in its constructor. Throws FailedAgent.
  message::AgentState& make_state(Agent& owner, std::string name, Priority priority);
  /// Takes ownership of all 'made', or of none.
  Result<GroupId> add(std::vector<std::unique_ptr<Agent>>& made);
  /// Removes the group immediately; no effect if its removal is under way. Any thread. Allocates nothing.
  void stop_group(message::GroupState& group) noexcept;
  void stop_all() noexcept;
  Status remove(GroupId group, Removal how, std::function<void()> done);
  /// As remove(), without an error text: returns false if there is no such group. Leaves 'done' unchanged if another callback is notified
  /// instead.
  bool begin_removal(std::uint64_t number, Removal how, std::function<void()>& done) noexcept;
  /// The figures of each agent that has not gone. Called with 'lock' held.
  std::vector<MessageFigures> figures_of_agents() const;
  /// Returns the reaction to an exception of a handler, and reports the exception.
  Reaction react(message::AgentState& agent, const message::Handler& handler, std::exception_ptr error, unsigned attempts) noexcept;
  /// Reports an exception of a start or an end.
  void report_fault(const message::AgentState& agent, std::string_view what, std::exception_ptr error, Reaction reaction) noexcept;
  /// The agent has been destroyed. On its thread.
  void gone(message::AgentState& agent) noexcept;
  /// The agent has gone and none of its messages waits any more. On its thread.
  void forget(message::AgentState& agent) noexcept;
  /// The agent was never added. Any thread.
  void forget_unadded(message::AgentState& agent) noexcept;
  /// From now on no agent is added, and no message accepted. Any thread. O(agents).
  void accept_no_more() noexcept;
  /// Finishes every agent and closes every queue. Called when no scheduler gives turns any more.
  void close() noexcept;

  AgentsOptions options;
  ContextFor context_for;
  mutable std::mutex lock;
  bool closed = false;  // No agent is added and no queue made any more.
  std::vector<std::shared_ptr<message::SchedulerContext>> contexts;
  std::array<std::shared_ptr<message::AgentQueue>, limits::kPriorities> queues;
  std::list<message::AgentState*> agents;  // In the order in which they were made.
  std::map<std::uint64_t, std::shared_ptr<message::GroupState>> groups;
  std::uint64_t last_group = 0;
  message::Counter refused_groups{0};  // Written by any thread, as is queue_retries.
  message::Counter queue_retries{0};
  std::map<std::pair<std::string, const message::MessageType*>, std::weak_ptr<message::TopicCore>> topics;
};

namespace message {
/// The exception of an agent's constructor when there is no place for it. Agents::add catches it, so it reaches no other code.
struct FailedAgent final : std::exception {
  explicit FailedAgent(Status status) : why(std::move(status)) {}
  const char* what() const noexcept override { return "there is no place for an agent"; }
  const Status why;
};
}  // namespace message

struct AgentGroup::Impl {
  std::vector<std::unique_ptr<Agent>> agents;
};

}  // namespace rondo
