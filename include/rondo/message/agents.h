// Agents: owns the agents of one program part, their queues and their life cycle. It gives no turns itself: it adds one queue for each
// priority in use, and one for starts and ends, to a Scheduler as Sources. So messages, tables, timers and descriptors take turns under one
// policy. With one scheduler, the caller runs it, as in SObjectizer's dispatchers with one thread for all priorities. AgentThreads has one
// thread with a scheduler for each priority in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rondo/base/id.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/message/agent.h"
#include "rondo/message/limits.h"
#include "rondo/message/topic.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

namespace message {
class OrchMailbox;
}

class MessageWatch;

struct AgentsOptions {
  /// The most messages that may wait for all agents of one priority together; further ones are refused with ResourceExhausted. A queue has
  /// limits::kMessagePlacesKept more places, for messages that are being handled. So the refusal may begin up to that many messages later.
  /// SIZE_MAX: no limit but memory.
  std::size_t messages_max = limits::kMessagesOfPriority;
  /// How long an agent removed with Removal::AfterQueues handles its queue; then the rest is dropped and counted. 0 or less:
  /// not at all.
  Duration drain = limits::kAgentDrain;
  /// Called for each handler that threw, on its agent's thread. Empty by default. Must not throw.
  std::function<void(const MessageFault&)> on_fault = {};
  /// Stops the runtime when a limit or a reaction requires it; called on any thread. By default Scheduler::stop of every scheduler. Must
  /// not throw.
  std::function<void()> on_stop = {};
  /// For sim::AgentKit; nullptr: none. Must outlive the agents.
  MessageWatch* watch = nullptr;
};

/// A group that was added.
using GroupId = Id<struct GroupIdTag, std::uint64_t>;

/// How to remove a group.
enum class Removal : std::uint8_t {
  AfterQueues,  // New messages are refused; waiting ones are handled, for at most AgentsOptions::drain; then each agent finishes.
  AtOnce,  // Waiting messages are dropped and counted; each agent finishes in its next turn, which messages of other agents cannot delay.
};

/// Figures of one agent, or of one priority. A copy: each figure is correct by itself, but they may be of different
/// times.
struct MessageFigures {
  std::string name;  // Name of the agent, or of the queue.
  Priority priority;
  std::uint64_t served = 0;     // Handled.
  std::uint64_t refused = 0;    // Refused by a limit, or because the queue was full.
  std::uint64_t dropped = 0;    // Dropped by a limit, or because the agent was removed with Removal::AtOnce.
  std::uint64_t coalesced = 0;  // Replaced a waiting message with the same key.
  std::uint64_t faults = 0;     // Handlers that threw.
  std::size_t queued = 0;
  std::size_t parked = 0;  // Waiting for a retry.
  /// From the post to the handler, in nanoseconds. For a post from a handler on the same thread it may also include the turn's time before
  /// the post: at most 32 us and the time of that handler.
  Log2Histogram wait_ns;
  // The following figures are of queues only.
  Duration oldest{0};           // How long the oldest message has waited.
  std::uint64_t large = 0;      // Messages posted to agents that did not travel inline (limits::kInlineMessageBytes).
  std::uint64_t cut_turns = 0;  // Turns that ended because their time was over (limits::kMessagesTurn).
  std::size_t places = 0;       // Places for messages allocated so far, in steps of limits::kMessagePlacesChunk.
};

/// A group while it is being made.
class AgentGroup {
 public:
  /// Calls T(*this, arguments...) and keeps the agent. Use the reference on one thread only; give T's address() to others.
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    auto agent = std::make_unique<T>(*this, std::forward<Arguments>(arguments)...);
    T& reference = *agent;
    adopt(std::move(agent));
    return reference;
  }
  Agents& agents() noexcept { return agents_; }

 private:
  friend class Agent;
  friend class Agents;
  friend class message::OrchMailbox;
  struct Impl;
  explicit AgentGroup(Agents& agents);
  ~AgentGroup();
  void adopt(std::unique_ptr<Agent> agent);
  Agents& agents_;
  std::unique_ptr<Impl> impl_;
};

class Agents {
 public:
  /// Uses one scheduler, which must outlive this object. Made and destroyed on the scheduler's thread, outside of turns.
  explicit Agents(Scheduler& scheduler, AgentsOptions options = {});
  /// Every agent finishes and is destroyed; waiting messages are dropped; later posts from other threads are refused.
  ~Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Makes a group of agents, all or nothing: `agents.add([&](AgentGroup& group) { group.make<Router>(...); return Status{}; })`. 'make' is
  /// a callable that takes an AgentGroup& and returns a Status. If it returns an error or throws, or memory is exhausted, the agents made
  /// so far are destroyed, latest first, without having received a message. The error is returned (an exception as Internal, bad_alloc as
  /// ResourceExhausted). Constructors run on the calling thread; on_start() and all later functions on the agents' own thread. Any thread,
  /// also inside handlers.
  template <class Make>
  requires std::is_invocable_r_v<Status, Make&, AgentGroup&> Result<GroupId> add(Make&& make) { return add_group(std::ref(make)); }
  /// Makes a group of one agent and returns its address.
  template <class T, class... Arguments>
  Result<Address> make(Arguments&&... arguments) {
    Address address;
    Result<GroupId> added = add([&](AgentGroup& group) {
      address = group.make<T>(std::forward<Arguments>(arguments)...).address();
      return Status{};
    });
    if (!added) return failure(std::move(added.error()));
    return address;
  }
  /// Begins to remove a group; a second call can only make it faster. With Removal::AtOnce, no handler of its agents begins after this has
  /// returned, except one that another thread is about to begin. 'done' is called on the thread of the agent that finished last, after all
  /// agents of the group are destroyed; it must not throw. If several calls pass a 'done', only the first is called. This also holds when
  /// the runtime began the removal (Reaction::StopAgent, Overflow::StopAgent, a start that threw). NotFound if there is no such group;
  /// 'done' is then not called. Allocates nothing except an error message. Any thread.
  Status remove(GroupId group, Removal how = Removal::AfterQueues, std::function<void()> done = {});
  /// Number of groups that were added and are not completely removed. Any thread.
  std::size_t groups() const;

  /// The topic 'name' for messages of type M; made on the first call. One name with several types gives separate topics. A topic lives
  /// while a Topic value or a subscription refers to it. Any thread.
  template <class M>
  Topic<M> topic(std::string_view name) {
    return Topic<M>{topic_core(name, message::kType<M>)};
  }

  /// Figures of the agents, and of the queues of the priorities in use, highest first. Any thread, also while agents are added
  /// and removed: those wait meanwhile, while posts and handlers do not. An agent that is being removed may be left out. O(agents).
  std::vector<MessageFigures> figures_of_agents() const;
  std::vector<MessageFigures> figures_of_queues() const;
  /// Groups that were not added, for any reason; add() returned it. Any thread.
  std::uint64_t refused_groups() const noexcept;
  /// Failed attempts to add a queue to its scheduler because memory was exhausted. Any thread.
  std::uint64_t queue_retries() const noexcept;

  struct Impl;

 private:
  friend class Agent;
  friend class AgentThreads;
  friend class AgentGroup;
  friend class message::OrchMailbox;
  explicit Agents(std::unique_ptr<Impl> core);
  Result<GroupId> add_group(const std::function<Status(AgentGroup&)>& make);
  Result<GroupId> try_to_add(const std::function<Status(AgentGroup&)>& make);
  std::shared_ptr<message::TopicCore> topic_core(std::string_view name, const message::MessageType& type);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
