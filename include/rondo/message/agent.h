// Agent: user code that owns some state and handles messages, one at a time, on one thread for life. It never handles queues and holds no
// reference to other agents; it has their addresses, and topics. The messages of all agents of one priority are handled in the order of
// arrival, as in SObjectizer's priority dispatchers. If an agent cannot start before another thread has started one of its group, its
// messages wait until it has started; messages of other agents do not wait. See docs/guide/agents-and-messages.md.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/message/address.h"
#include "rondo/message/limit.h"
#include "rondo/message/limits.h"
#include "rondo/message/message.h"
#include "rondo/message/timed_message.h"
#include "rondo/message/topic.h"
#include "rondo/sched/priority.h"

namespace rondo {

class AgentGroup;
class Scheduler;

namespace message {
class OrchMailbox;
}

/// What happens when a handler throws. The process never ends for that reason.
enum class Reaction : std::uint8_t {
  Drop,         // The message is lost, counted and reported (AgentsOptions::on_fault); the agent continues. The default.
  Retry,        // See AgentOptions. Like Drop after retries_max attempts, and where the handler takes the message over (M&&).
  StopAgent,    // The agent's group is removed immediately: no further handler of the agent begins.
  StopRuntime,  // The runtime is stopped (AgentsOptions::on_stop).
};

/// A message for a retry is parked for 'retry_delay' after its handler threw, and then queued behind the waiting messages. A parked message
/// counts against the limit of its type, which it may exceed by one. If that limit drops the oldest message, it drops parked ones first.
/// For types that merge by key, a message is not retried after a newer message of its key was accepted; it then counts as coalesced.
struct AgentOptions {
  Reaction reaction = Reaction::Drop;
  Duration retry_delay = 100ms;
  unsigned retries_max = limits::kMessageRetries;  // Retries of one message; at most limits::kMessageRetriesMost (InvalidArgument).
};

/// A handler that threw.
struct MessageFault {
  std::string_view agent;    // Name of the agent; valid while the callback runs.
  std::string_view message;  // Name of the message's type, or "start" or "finish".
  std::exception_ptr error;
  Reaction reaction = Reaction::Drop;  // The reaction to this fault.
};

/// Base of every agent. AgentGroup::make makes it. Its functions may be called on its own thread, and in its constructor.
class Agent {
 public:
  /// 'name' need not be unique; an empty one is InvalidArgument, which Agents::add() returns. The priority never changes.
  Agent(AgentGroup& group, std::string name, Priority priority, AgentOptions options = {});
  virtual ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  const std::string& name() const noexcept;
  Priority priority() const noexcept;
  /// Other agents post to this address. Any thread, while the agent lives; the returned value may outlive the agent.
  Address address() const noexcept;

 protected:
  /// Called before the first message. Agents of a group start from the highest priority down, each after the previous one has started. If
  /// it throws, the whole group is removed.
  virtual void on_start() {}
  /// Called once, after the last message, if on_start() returned. The agent is destroyed after it.
  virtual void on_finish() {}
  /// Chooses the reaction to an exception of a handler. By default AgentOptions::reaction.
  virtual Reaction on_exception(const MessageFault&) noexcept { return options_.reaction; }

  /// Handles messages that are posted to this agent's address: `receive<&Router::configure>()` for `void configure(const NewConfig&)`. A
  /// handler `void configure(NewConfig&&)` takes messages over; it excludes Reaction::Retry (InvalidArgument for the whole group). Only in
  /// the constructor; one handler a type (assert).
  template <auto Method, class Self = typename message::MethodTraits<Method>::Self>
  void receive() {
    add_handler(message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// Handles the messages published on 'topic' from now on; in the constructor, from when the agent is added. The handler takes a `const
  /// M&`. AlreadyExists for a second handler of this agent on the topic.
  template <auto Method, class M, class Self = typename message::MethodTraits<Method>::Self>
  Status subscribe(const Topic<M>& topic) {
    using Traits = message::MethodTraits<Method>;
    static_assert(std::is_same_v<typename Traits::Type, M>, "the handler's type is not the topic's");
    static_assert(!Traits::kTakesOver, "a published message belongs to all subscribers: take a const reference");
    return subscribe(topic.core_, message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// Messages published before that still wait are handled. No effect on a topic without a handler of this agent.
  template <class M>
  void unsubscribe(const Topic<M>& topic) {
    unsubscribe(topic.core_);
  }
  /// Limits how many messages of one type wait here, including parked ones. In the constructor, before receive() and subscribe() of the
  /// type, and only once a type (assert).
  template <Message M>
  void limit(Limit limit) {
    add_limit(message::kType<M>, limit, message::KeyOf{});
  }
  /// Waiting messages of type M with equal keys merge: a newer message replaces the waiting one. 'keys' limits how many wait, and
  /// 'overflow' handles one key too many; not Overflow::DropOldest (assert). Key is a pointer to a member, or to a function of `const M&`.
  /// Its result needs a hash and an equality that do not throw.
  template <auto Key, Message M>
  void coalesce(std::size_t keys = limits::kMessagesOfType, Overflow overflow = Overflow::Reject) {
    add_limit(message::kType<M>, Limit{keys, overflow}, message::kKeyOf<M, Key>);
  }

  /// Posts 'message' to 'to' after 'delay', or every 'period' (first one period from now), while the returned handle lives. See
  /// TimedMessage. Not in the constructor (assert).
  template <Message M>
  [[nodiscard]] TimedMessage send_later(Address to, M message, Duration delay) {
    return TimedMessage::once(scheduler(), std::move(to), std::move(message), delay);
  }
  template <Message M>
  [[nodiscard]] TimedMessage send_every(Address to, M message, Duration period) {
    return TimedMessage::periodic(scheduler(), std::move(to), std::move(message), period);
  }

  /// The scheduler that gives this agent its turns, with its clock and timers. Not in the constructor (assert).
  Scheduler& scheduler() const;

 private:
  friend class AgentGroup;
  friend class message::AgentState;
  friend class message::OrchMailbox;
  void add_handler(message::Handler handler);
  void add_limit(const message::MessageType& type, Limit limit, message::KeyOf key);
  Status subscribe(const std::shared_ptr<message::TopicCore>& topic, message::Handler handler);
  void unsubscribe(const std::shared_ptr<message::TopicCore>& topic) noexcept;

  message::AgentState* state_;
  AgentOptions options_;
  std::vector<std::shared_ptr<message::TopicCore>> topics_;
};

}  // namespace rondo
