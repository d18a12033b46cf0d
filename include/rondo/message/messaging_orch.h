// MessagingOrch: an Orch that is an agent, too. Its messages and its changes are handled in turns of one thread and share its state.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "rondo/message/agent.h"
#include "rondo/message/limits.h"
#include "rondo/orch/orch.h"

namespace rondo {

class MessagingOrch : public Orch {
 public:
  MessagingOrch(Runtime& runtime, std::string name, Priority priority);
  ~MessagingOrch() override;

  /// Messages that are posted to this address are handled by the handlers of receive(). Any thread may use the address. The constructor
  /// must call address() or receive() first (assert). Posts are refused until Runtime::add has returned.
  Address address();

 protected:
  /// Handles messages, as Agent does: `receive<&Routes::reload>()` for `void reload(const Reload&)`, in the constructor (assert). Messages
  /// take turns of this Orch's priority, together with those of all agents and Orchs of the runtime. Messages and changes have no order
  /// relative to each other. A message whose handler throws is dropped and counted.
  template <auto Method, class Self = typename message::MethodTraits<Method>::Self>
  void receive() {
    add_handler(message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// Like Agent::subscribe; only in the constructor (assert).
  template <auto Method, class M, class Self = typename message::MethodTraits<Method>::Self>
  Status subscribe(const Topic<M>& topic) {
    using Traits = message::MethodTraits<Method>;
    static_assert(std::is_same_v<typename Traits::Type, M> && !Traits::kTakesOver,
                  "a handler of a topic takes a const reference to its type");
    return add_subscription(topic.core_, message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// Like Agent::limit and Agent::coalesce.
  template <Message M>
  void limit(Limit limit) {
    add_limit(message::kType<M>, limit, message::KeyOf{});
  }
  template <auto Key, Message M>
  void coalesce(std::size_t keys = limits::kMessagesOfType, Overflow overflow = Overflow::Reject) {
    add_limit(message::kType<M>, Limit{keys, overflow}, message::kKeyOf<M, Key>);
  }

 private:
  /// From now on messages are accepted.
  void on_added() final;
  message::OrchMailbox& mailbox();
  void add_handler(const message::Handler& handler);
  Status add_subscription(const std::shared_ptr<message::TopicCore>& topic, const message::Handler& handler);
  void add_limit(const message::MessageType& type, const Limit& limit, const message::KeyOf& key);

  std::unique_ptr<message::OrchMailbox> mailbox_;  // Set until the Orch is added; then it belongs to the runtime's agents.
  Address address_;
  bool is_added_ = false;
};

}  // namespace rondo
