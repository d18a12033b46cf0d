// Agents: the agents of one program part, their queues and their life. It gives no turns of its own: it adds a queue for each priority in
// use, and one for starts and ends, to a Scheduler as Sources, so that messages, tables, timers and descriptors take turns under one
// policy. Either one scheduler, which the caller runs (seed 003, "Dispatchers With Common Thread For All Priorities"), or a thread with a
// scheduler for each priority in use (AgentThreads; "Dispatcher With Dedicated Thread For Every Priority").
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

#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/message/agent.h"
#include "rondo/message/topic.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

namespace message {
class Seat;
}

/// Sees each message before its handler does, on the agent's thread: for tests and traces. What it throws is dropped, and where memory has
/// ended it is not told.
class MessageWatch {
 public:
  virtual ~MessageWatch() = default;
  virtual void handling(std::string_view agent, const std::string& message) = 0;
};

struct AgentsOptions {
  /// Messages that may wait for all agents of one priority together. One more is refused with ResourceExhausted; or one of the next
  /// limits::kMessagePlacesKept, as so many places may be in the scheduler's hand or not. SIZE_MAX: as many as memory holds.
  std::size_t messages_max = limits::kMessagesOfPriority;
  /// How long an agent that is removed after its queue may go on with it; then the rest is dropped and counted.
  Duration drain = limits::kAgentDrain;
  /// Told of each handler that threw, on its agent's thread. By default nobody. Must not throw.
  std::function<void(const MessageFault&)> on_fault = {};
  /// How the runtime is stopped when a limit or a reaction asks for it; any thread. By default Scheduler::stop of every scheduler.
  /// Must not throw.
  std::function<void()> on_stop = {};
  /// nullptr: nobody looks on. Must outlive the agents.
  MessageWatch* watch = nullptr;
};

/// A group that was added.
struct GroupId {
  std::uint64_t number = 0;
  friend bool operator==(GroupId, GroupId) noexcept = default;
};

/// How to remove a group.
enum class Removal : std::uint8_t {
  AfterQueues,  // Nothing new is accepted; what waits is handled, for at most AgentsOptions::drain; then each agent finishes.
  AtOnce,       // What waits is dropped and counted; each agent finishes in its next turn, which no other agent's messages can delay.
};

/// Figures of one agent, or of one priority. A copy, made without a lock: each figure is a value it had, but not all at one instant.
struct MessageFigures {
  std::string name;  // Of the agent (47 bytes of it), or of the queue.
  Priority priority;
  std::uint64_t served = 0;     // Handled.
  std::uint64_t refused = 0;    // By a limit, or because the queue was full.
  std::uint64_t dropped = 0;    // By a limit, or because the agent was removed at once.
  std::uint64_t coalesced = 0;  // Took the place of one with the same key.
  std::uint64_t faults = 0;     // Handlers that threw.
  std::size_t queued = 0;
  std::size_t parked = 0;  // Wait for a retry.
  /// From the post to the handler, in nanoseconds; from a post in an agent's turn on the same thread, what the turn took up to then (32 us
  /// at most, beyond its last handler) may be added.
  Log2Histogram wait_ns;
  // Of a queue, not of an agent:
  Duration oldest{0};           // How long the oldest message has waited.
  std::uint64_t large = 0;      // Messages posted to agents that did not travel inline (limits::kInlineMessageBytes).
  std::uint64_t cut_turns = 0;  // Turns that ended because their time was over (limits::kMessagesTurn).
  std::size_t places = 0;       // For messages, made so far, by limits::kMessagePlacesChunk.
};

/// Of all agents of one Agents or AgentThreads.
struct AgentsFigures {
  std::uint64_t refused_groups = 0;  // Not added, for whatever reason: add() has told it.
  std::uint64_t queue_retries = 0;   // Queues that could not be added to their scheduler for want of memory, each time.
};

/// What a group is made of, while it is made.
class Group {
 public:
  /// Calls T(*this, arguments...) and keeps it. References are for use on one thread; what others need is T's address().
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
  friend class message::Seat;
  struct Parts;
  explicit Group(Agents& agents);
  ~Group();
  void adopt(std::unique_ptr<Agent> agent);
  Agents& agents_;
  std::unique_ptr<Parts> parts_;
};

class Agents {
 public:
  /// On one scheduler, which must outlive this. Made and destroyed on its thread, outside of turns.
  explicit Agents(Scheduler& scheduler, AgentsOptions options = {});
  /// Every agent finishes and is destroyed; what waits is dropped; posts from other threads are refused from here on.
  ~Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Makes a group of agents, all or nothing: `agents.add([&](Group& group) { group.make<Router>(...); return Status{}; })`, a callable
  /// that takes a Group& and returns a Status. If it returns an error or throws, or memory ends, the agents made so far are destroyed,
  /// latest first, have received nothing, and the error is returned (an exception as Internal, bad_alloc as ResourceExhausted).
  /// Constructors run on the calling thread; start and all that follows on the agents' own. Any thread, and inside handlers.
  template <class Make>
  requires std::is_invocable_r_v<Status, Make&, Group&> Result<GroupId> add(Make&& make) { return add_group(std::ref(make)); }
  /// A group of one; its address.
  template <class T, class... Arguments>
  Result<Address> make(Arguments&&... arguments) {
    Address address;
    Result<GroupId> added = add([&](Group& group) {
      address = group.make<T>(std::forward<Arguments>(arguments)...).address();
      return Status{};
    });
    if (!added) return failure(std::move(added.error()));
    return address;
  }
  /// Begins the end of a group; a second call can only hasten it. Once this has returned, no handler of an agent that is removed at once
  /// begins any more, but for what other threads were about to begin. 'done' is called on the thread of the agent that finished last,
  /// after all have been destroyed; it must not throw. Of several calls that bring one, the 'done' of the first is called and the others
  /// never, also where the runtime itself had begun the end (Reaction::StopAgent, Overflow::StopAgent, a start that threw). NotFound if
  /// there is no such group (any more); 'done' is then not called. Allocates nothing, but for the words of an error. Any thread.
  Status remove(GroupId group, Removal how = Removal::AfterQueues, std::function<void()> done = {});
  /// Groups that were added and have not wholly gone. Any thread.
  std::size_t groups() const;

  /// The topic 'name' for messages of type M; made when it is first asked for. Topics of one name and several types are several topics. The
  /// topics live as long as somebody holds them or has subscribed. Any thread.
  template <class M>
  Topic<M> topic(std::string_view name) {
    return Topic<M>{topic_core(name, message::kType<M>)};
  }

  /// Figures of the agents, and of the queues of the priorities in use, highest first. Any thread, at any time, without a lock, while
  /// agents come and go. An agent that goes meanwhile may be left out. O(agents).
  std::vector<MessageFigures> figures_of_agents() const;
  std::vector<MessageFigures> figures_of_queues() const;
  AgentsFigures figures() const noexcept;

  struct Core;

 private:
  friend class Agent;
  friend class AgentThreads;
  friend class Group;
  friend class message::Seat;
  explicit Agents(std::unique_ptr<Core> core);
  Result<GroupId> add_group(const std::function<Status(Group&)>& make);
  Result<GroupId> try_to_add(const std::function<Status(Group&)>& make);
  std::shared_ptr<message::TopicCore> topic_core(std::string_view name, const message::MessageType& type);
  std::unique_ptr<Core> core_;
};

}  // namespace rondo
