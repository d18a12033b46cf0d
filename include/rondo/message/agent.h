// Agent: user code that owns some state and handles messages, one at a time, on one thread for life. It never sees queues or other agents:
// it has addresses of others, and topics. Where several agents have one priority, their messages are handled in the order of arrival of
// each single message over all of them (seed 003: "Events inside the same priority are handled in chronological order"). Those of an agent
// that cannot start before another thread has started one of its group come when it has started; others do not wait for that. See
// docs/guide/agents-and-messages.md.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/message/address.h"
#include "rondo/message/limit.h"
#include "rondo/message/message.h"
#include "rondo/message/timed_message.h"
#include "rondo/message/topic.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Group;
class Scheduler;

namespace message {
class Seat;
}

/// What is done when a handler throws. Ending the process is not among them.
enum class Reaction : std::uint8_t {
  Drop,         // The message is gone, counted and told (AgentsOptions::on_fault); the agent goes on. The default.
  Retry,        // See AgentOptions. As Drop after retries_max, and where the handler has taken the message over (M&&).
  StopAgent,    // The agent's group is removed at once: none of its handlers begins any more.
  StopRuntime,  // The runtime is stopped (AgentsOptions::on_stop).
};

/// A message that is tried again is parked for 'retry_delay' from when its handler threw, then goes behind what waits by then. Parked, it
/// counts against its type's limit, which it may exceed by one; where that drops the oldest, parked ones go first. Of types that merge by
/// key, it is not tried again once a newer message of its key was accepted, and counts as coalesced.
struct AgentOptions {
  Reaction reaction = Reaction::Drop;
  Duration retry_delay = 100ms;
  unsigned retries_max = limits::kMessageRetries;  // Of one message; at most limits::kMessageRetriesMost (InvalidArgument).
};

/// A handler that threw.
struct MessageFault {
  std::string_view agent;    // Its name; valid while the callback runs.
  std::string_view message;  // The type's name, or "start" or "finish".
  std::exception_ptr error;
  Reaction reaction = Reaction::Drop;  // What is done about it.
};

/// Base of every agent. Made by Group::make; its functions are for its own thread, and for its constructor.
class Agent {
 public:
  /// 'name' need not be unique; figures show its first 47 bytes. The priority stands for life (seed 003).
  Agent(Group& group, std::string name, Priority priority, AgentOptions options = {});
  virtual ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  const std::string& name() const noexcept;
  Priority priority() const noexcept;
  /// Others post here. Any thread, as long as the agent lives; the address itself lives longer.
  Address address() const noexcept;

 protected:
  /// Before the first message. Agents of a group start from the highest priority down, each when the one before it has started. If it
  /// throws, the whole group is removed.
  virtual void on_start() {}
  /// After the last message, once, if on_start() returned. The agent is destroyed after it.
  virtual void on_finish() {}
  /// What to do about an exception of a handler. By default AgentOptions::reaction.
  virtual Reaction on_exception(const MessageFault&) noexcept { return options_.reaction; }

  /// Handles messages that are posted to this agent's address: `receive<&Router::configure>()` for
  /// `void configure(const NewConfig&)`, or `void configure(NewConfig&&)` to take them over, which excludes Reaction::Retry
  /// (InvalidArgument, of the whole group). In the constructor only; one handler a type (assert).
  template <auto Method, class Self = typename message::MethodTraits<decltype(Method)>::Self>
  void receive() {
    add_handler(message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// Handles what is published on 'topic', from now on, or from when the agent is added. The handler takes a `const M&`. AlreadyExists for
  /// a second handler of this agent on the topic.
  template <auto Method, class M, class Self = typename message::MethodTraits<decltype(Method)>::Self>
  Status subscribe(const Topic<M>& topic) {
    using Traits = message::MethodTraits<decltype(Method)>;
    static_assert(std::is_same_v<typename Traits::Type, M>, "the handler's type is not the topic's");
    static_assert(!Traits::kTakesOver, "a published message belongs to all subscribers: take a const reference");
    return subscribe(topic.core_, message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// What was published before and waits is still handled. No effect on a topic without a handler of this agent.
  template <class M>
  void unsubscribe(const Topic<M>& topic) {
    unsubscribe(topic.core_);
  }
  /// Bounds what waits here of one type, parked messages included; before receive() and subscribe() of it, in the constructor (assert),
  /// once a type (assert).
  template <Message M>
  void limit(Limit limit) {
    add_limit(message::kType<M>, limit, message::KeyOf{});
  }
  /// Messages of type M whose keys are equal merge while they wait: the newest takes the place of the one that waits. 'keys' bounds how
  /// many wait, and 'overflow' answers one key too many; not Overflow::DropOldest (assert). Key is a pointer to a member, or to a function
  /// of `const M&`, whose result has a hash and an equality that do not throw.
  template <auto Key, Message M>
  void coalesce(std::size_t keys = limits::kMessagesOfType, Overflow overflow = Overflow::Reject) {
    add_limit(message::kType<M>, Limit{keys, overflow}, message::kKeyOf<M, Key>);
  }

  /// Posts 'message' to 'to' in 'delay' from now, or each 'period' (the first in one period from now), as long as the handle lives. See
  /// TimedMessage. Not in the constructor (assert).
  template <Message M>
  [[nodiscard]] TimedMessage send_later(Address to, M message, Duration delay) {
    return TimedMessage::once(scheduler(), std::move(to), std::move(message), delay);
  }
  template <Message M>
  [[nodiscard]] TimedMessage send_every(Address to, M message, Duration period) {
    return TimedMessage::periodic(scheduler(), std::move(to), std::move(message), period);
  }

  /// The scheduler that gives this agent its turns: its clock, its timers. Not in the constructor (assert).
  Scheduler& scheduler() const;

 private:
  friend class Group;
  friend class Orch;
  friend class message::Cell;
  friend class message::Seat;
  void add_handler(message::Handler handler);
  void add_limit(const message::MessageType& type, Limit limit, message::KeyOf key);
  Status subscribe(const std::shared_ptr<message::TopicCore>& topic, message::Handler handler);
  void unsubscribe(const std::shared_ptr<message::TopicCore>& topic) noexcept;

  message::Cell* cell_;
  AgentOptions options_;
  std::vector<std::shared_ptr<message::TopicCore>> topics_;
};

}  // namespace rondo
